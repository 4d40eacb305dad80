import TestSupport
import Testing

/// An ordinary user's mount: mount(8) starts the helper as the user, and fusermount3 does the rest.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct UserMountTests {
    /// zed owns the backing directory and the mount point; the program lies where zed reaches it.
    static let setup = #"""
        command -v fusermount3 >/dev/null || { echo 'fusermount3 (package fuse3) is missing'; exit; }
        cp "$A" "${A}d" "$T/bin"; A=$T/bin/aclfs
        ln -sf "${A}d" "$T/sbin/mount.aclfs"; ln -sf "${A}d" "$T/sbin/mount.fuse.aclfs"
        cp /etc/passwd "$T/passwd"; echo 'zed:x:61743:61743::/nonexistent:/bin/sh' >>"$T/passwd"
        mount --bind "$T/passwd" /etc/passwd
        mknod -m 666 "$T/fuse" c 10 229; mount --bind "$T/fuse" /dev/fuse
        touch "$T/fuse.conf"; mount --bind "$T/fuse.conf" /etc/fuse.conf
        mkdir "$T/zed" "$T/zed/back"; chown -R 61743:61743 "$T/zed" "$T/mnt"; chmod 700 "$T/zed"
        zed() { "$ACT" 61743 61743 - -- "$@"; }
        other() { "$ACT" 61749 61749 - -- "$@"; }

        """#

    private func run(_ script: String) throws -> CommandResult { try MountNamespace().run(Self.setup + script) }

    @Test func byFstabMountedAndUnmountedByTheUser() throws {
        let result = try run(
            #"""
            echo "$T/zed/back  $T/mnt  aclfs  user,noauto  0 0" >/etc/fstab
            # The environment names places that must not matter.
            export XDG_RUNTIME_DIR=$T/mnt/run
            said=$(zed mount "$T/mnt" 2>&1); is mount 0 $?
            holds 'the store' "$said" 'metadata is kept in user.aclfs'
            is type fuse.aclfs "$(findmnt -no FSTYPE "$T/mnt")"
            holds flags "$(options "$T/mnt")" rw,nosuid,nodev,noexec
            holds owner "$(options "$T/mnt")" user_id=61743
            is "the user's own" text "$(zed sh -c "echo text >$T/mnt/file; cat $T/mnt/file" 2>&1)"
            holds 'not others' "$(other ls "$T/mnt" 2>&1)" 'Permission denied'
            holds 'asked by the user' "$(zed "$A" status "$T/mnt" 2>&1)" 'metadata in user.aclfs'
            holds 'asked by root' "$("$A" status "$T/mnt" 2>&1)" 'metadata in user.aclfs'
            said=$(zed mount -o remount,ro "$T/mnt" 2>&1); is remount 32 $?
            holds 'why not' "$said" 'only root may change'
            is 'still writable' 0 "$(zed touch "$T/mnt/file" 2>&1; echo $?)"
            is 'by root' 0 "$(mount -o remount,ro "$T/mnt" 2>&1; echo $?)"
            is 'now read-only' 1 "$(zed touch "$T/mnt/file" 2>/dev/null; echo $?)"
            is 'another user' 32 "$(other umount "$T/mnt" 2>/dev/null; echo $?)"
            is umount 0 "$(zed umount "$T/mnt" 2>&1; echo $?)"
            is gone 0 "$(mounted "$T/mnt")"
            rm -rf /tmp/aclfs-61743
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whatOnlyRootMayAskFor() throws {
        let result = try run(
            #"""
            refused() {
                said=$(zed "$A" mount -o "$1" "$T/zed/back" "$T/mnt" 2>&1); is "$1" 1 $?
                holds "$1" "$said" "$2"
            }
            refused allow_other "option 'allow_other' needs root, or a line user_allow_other in /etc/fuse.conf"
            refused metadata=trusted 'metadata=trusted needs root'
            refused suid "option 'suid' needs root"
            refused dev "option 'dev' needs root"
            refused nosymfollow "option 'nosymfollow' needs root: fusermount3 does not pass it"
            refused nodiratime "option 'nodiratime' needs root"
            echo "$T/zed/back  $T/mnt  aclfs  users,noauto,suid,dev  0 0" >/etc/fstab
            said=$(zed mount "$T/mnt" 2>&1); is fstab 1 $?
            holds 'fstab says why' "$said" "needs root"
            is 'nothing is mounted' 0 "$(mounted "$T/mnt")"
            echo '#user_allow_other' >"$T/fuse.conf"; refused allow_other 'needs root, or'
            echo user_allow_other >"$T/fuse.conf"
            is 'with flags' 0 "$(zed "$A" mount -o sync,dirsync,noatime,noexec "$T/zed/back" "$T/mnt" >/dev/null 2>&1; echo $?)"
            for flag in sync dirsync noatime noexec; do holds "$flag" ",$(options "$T/mnt")," ",$flag,"; done
            said=$(zed sh -c "cd $T/mnt && $A unmount $T/mnt" 2>&1); is 'in use' 32 $?
            holds 'why' "$said" 'busy (EBUSY); in use by what is listed below'
            zed "$A" unmount "$T/mnt"
            is 'permitted' 0 "$(zed "$A" mount -o allow_other "$T/zed/back" "$T/mnt" >/dev/null 2>&1; echo $?)"
            is 'others see it' 0 "$(other ls "$T/mnt" >/dev/null 2>&1; echo $?)"
            # A daemon that is told to end takes its mount away.
            kill $(daemon "$T/mnt"); for i in $(seq 1500); do [ "$(mounted "$T/mnt")" = 0 ] && break; sleep 0.02; done
            is 'ended by a signal' 0 "$(mounted "$T/mnt")"
            # A dead one is healed by the user who made it.
            zed "$A" mount "$T/zed/back" "$T/mnt" 2>/dev/null; kill_daemon "$T/mnt"
            is healed 0 "$(zed "$A" mount "$T/zed/back" "$T/mnt" >/dev/null 2>&1; echo $?)"
            is 'one mount' 1 "$(mounted "$T/mnt")"
            # What stands first on a user's PATH is not run.
            mkdir "$T/path"; printf '#!/bin/sh\necho wrong\n' >"$T/path/fusermount3"; chmod 755 "$T/path/fusermount3"
            is 'by the command of aclfs' 0 "$(PATH=$T/path:$PATH zed "$A" unmount "$T/mnt" 2>&1; echo $?)"
            is 'mounted with a strange PATH' 0 \
                "$(PATH=$T/path:$PATH zed "$A" mount "$T/zed/back" "$T/mnt" 2>&1 | grep -c wrong)"
            is 'again one mount' 1 "$(mounted "$T/mnt")"; umount "$T/mnt"
            # Only root opens the device as it is here by default.
            chmod 600 "$T/fuse"
            said=$(zed "$A" mount "$T/zed/back" "$T/mnt" 2>&1); is 'no device' 2 $?
            holds 'the device is named' "$said" '/dev/fuse: Permission denied (EACCES)'
            chmod 666 "$T/fuse"
            # Another user's directory: fusermount3 refuses, and says why.
            said=$(zed "$A" mount "$T/zed/back" "$T/back" 2>&1); is 'a foreign mount point' 32 $?
            for program in "$A" "${A}d"; do
                chmod u+s "$program"
                said=$(zed "$program" mount "$T/zed/back" "$T/mnt" 2>&1); is "set-uid: $program" 1 $?
                holds 'set-uid' "$said" 'must not be installed set-uid'; chmod u-s "$program"
            done
            rm -rf /tmp/aclfs-61743
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
