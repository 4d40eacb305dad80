import Foundation
import TestSupport
import Testing

/// mount(8) and umount(8) with the helpers of aclfs.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct FstabTests {
    @Test func allOfFstabTwiceAndUmount() throws {
        let result = try MountNamespace().run(
            #"""
            mkdir "$T/back/a b,c" "$T/d e,f" "$T/plain"
            cat >/etc/fstab <<END
            $T/back  $T/mnt  aclfs  nofail,nogrpid,x-systemd.requires-mounts-for=$T/back,X-other=1,comment=x,_netdev  0 0
            $T/back/a\\040b,c  $T/d\\040e,f  fuse.aclfs  defaults  0 0
            END
            is all 0 "$(mount -a 2>&1 || echo $?; echo 0)"
            is first fuse.aclfs "$(findmnt -no FSTYPE "$T/mnt")"
            is source "$T/back" "$(findmnt -no SOURCE "$T/mnt")"
            is strange "$T/back/a b,c" "$(findmnt -no SOURCE "$T/d e,f")"
            holds 'default flags' "$(options "$T/mnt")" rw,nosuid,nodev
            holds 'options reach the daemon' "$("$A" status "$T/mnt")" nogrpid
            echo text >"$T/d e,f/file"; is 'it serves' text "$(cat "$T/back/a b,c/file")"
            is again 0 "$(mount -a 2>&1; echo $?)"
            is 'nothing new' 2 "$(grep -c " $T/.*fuse.aclfs" /proc/self/mounts)"
            is 'by its place' 0 "$(umount "$T/d e,f" 2>&1; echo $?)"
            is 'by fstab' 0 "$(umount "$T/mnt" 2>&1; echo $?)"
            is 'all gone' 0 "$(grep -c "$T/.*fuse.aclfs" /proc/self/mounts)"
            is 'from fstab alone' 0 "$(mount "$T/mnt" 2>&1; echo $?)"
            is 'in use' 32 "$(status mount "$T/mnt")"
            (cd "$T/mnt" && is busy 32 "$(status umount "$T/mnt")")
            is 'still there' fuse.aclfs "$(findmnt -no FSTYPE "$T/mnt")"
            is 'the command of aclfs' 0 "$(status "$A" unmount "$T/mnt")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func aMissingSourceFailsUnlessNofailIsSaid() throws {
        let result = try MountNamespace().run(
            #"""
            echo "$T/none  $T/mnt  aclfs  defaults  0 0" >/etc/fstab
            said=$(mount "$T/mnt" 2>&1); is 'without' 32 $?
            is 'the reason' "aclfs: source $T/none: No such file or directory (ENOENT)" "$said"
            echo "$T/none  $T/mnt  aclfs  nofail  0 0" >/etc/fstab
            said=$(mount -a 2>&1); is 'with nofail' 0 $?
            holds 'it is said' "$said" 'does not exist'
            is 'nothing is mounted' 0 "$(mounted "$T/mnt")"
            # nofail forgives nothing else.
            touch "$T/file"; echo "$T/file  $T/mnt  aclfs  nofail  0 0" >/etc/fstab
            is 'no directory' 32 "$(status mount "$T/mnt")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func aDeadAclfsMountIsHealedAndNoOther() throws {
        let result = try MountNamespace().run(
            #"""
            echo text >"$T/back/file"
            echo "$T/back  $T/mnt  aclfs  defaults  0 0" >/etc/fstab
            mount "$T/mnt"; kill_daemon "$T/mnt"
            is dead "cat: $T/mnt/file: Transport endpoint is not connected" "$(cat "$T/mnt/file" 2>&1)"
            # mount(8) takes what the kernel lists for mounted and calls no helper.
            is 'mount -a' 0 "$(mount -a 2>&1; echo $?)"
            is 'mount DIR' 0 "$(mount "$T/mnt" 2>&1; echo $?)"
            is 'it serves again' text "$(cat "$T/mnt/file")"
            is 'one mount' 1 "$(mounted "$T/mnt")"
            kill_daemon "$T/mnt"
            is 'a fake mount heals nothing' 32 "$(status mount.aclfs "$T/back" "$T/mnt" -f)"
            is 'aclfs unmount' 0 "$(status "$A" unmount "$T/mnt")"
            is 'mount -a then' 0 "$(mount -a 2>&1; echo $?)"
            is 'it serves once more' text "$(cat "$T/mnt/file")"
            umount "$T/mnt"
            # Over itself, the dead mount covers the source as well; named relatively and with a slash.
            mount -t aclfs "$T/back" "$T/back"; kill_daemon "$T/back"
            cd "$T"; is 'over itself' 0 "$("$A" mount "$T/back" ./back/ 2>&1; echo $?)"
            is 'served over itself' text "$(cat "$T/back/file")"
            is 'one mount over itself' 1 "$(mounted "$T/back")"
            cd /; umount "$T/back"
            # A dead mount of another file system stays.
            exec 7<>/dev/fuse
            mount -i -t fuse.other -o fd=7,rootmode=40000,user_id=0,group_id=0 other "$T/mnt"
            exec 7>&-
            is 'another type' 32 "$(status mount "$T/mnt")"
            is 'it stays' fuse.other "$(findmnt -no FSTYPE "$T/mnt")"
            is 'unmount refuses' 32 "$(status "$A" unmount "$T/mnt")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whatMountFuse3AddsDoesNotCount() throws {
        let result = try MountNamespace().run(
            #"""
            [ -x /usr/sbin/mount.fuse ] || { echo 'mount.fuse (package fuse3) is missing'; exit; }
            # mount.fuse3 looks for the program on its own path.
            ln -s "$A" "$T/bin/aclfs"; mount --bind "$T/bin" /usr/local/bin
            rm "$T/sbin/mount.fuse.aclfs"
            is 'without the helper of aclfs' 0 "$(mount -t fuse.aclfs "$T/back" "$T/mnt" -o nogrpid 2>&1; echo $?)"
            is flags rw,nosuid,nodev,relatime "$(findmnt -no VFS-OPTIONS "$T/mnt")"
            is remount 0 "$(mount -o remount,ro "$T/mnt" 2>&1; echo $?)"
            is 'flags after' ro,nosuid,nodev,relatime "$(findmnt -no VFS-OPTIONS "$T/mnt")"
            umount "$T/mnt"
            is 'type fuse' 0 "$(mount -t fuse "aclfs#$T/back" "$T/mnt" 2>&1; echo $?)"
            is 'its type' fuse.aclfs "$(findmnt -no FSTYPE "$T/mnt")"
            is 'its flags' rw,nosuid,nodev,relatime "$(findmnt -no VFS-OPTIONS "$T/mnt")"
            umount "$T/mnt"
            # As an older one would call it, with the user's words before the addition.
            "$A" "$T/back" "$T/mnt" -o dev,noowners,dev,suid 2>/dev/null
            is 'named before' rw,nosuid,relatime "$(findmnt -no VFS-OPTIONS "$T/mnt")"
            umount "$T/mnt"
            "$A" "$T/back" "$T/mnt" -f -o dev,suid 2>"$T/log" & for i in $(seq 100); do
                [ "$(mounted "$T/mnt")" = 1 ] && break; sleep 0.02
            done
            stat "$T/mnt" >/dev/null; umount "$T/mnt"; wait
            holds 'the log' "$(cat "$T/log")" "'dev,suid' at the end of the options is ignored, because mount.fuse3 adds it"
            # Said as a command of its own they count.
            "$A" mount -o dev,suid "$T/back" "$T/mnt"
            is 'said by aclfs mount' rw,relatime "$(findmnt -no VFS-OPTIONS "$T/mnt")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func inAnotherMountNamespace() throws {
        let result = try MountNamespace().run(
            #"""
            mkfifo "$T/go"
            unshare -m --propagation private sh -c "echo >$T/go; exec sleep 100" & there=$!
            read -r _ <"$T/go"
            is 'mount -N' 0 "$(mount -N $there -t aclfs "$T/back" "$T/mnt" 2>&1; echo $?)"
            is 'not here' 0 "$(mounted "$T/mnt")"
            is 'but there' 1 "$(grep -c "$T/mnt fuse.aclfs" /proc/$there/mounts)"
            is 'umount -N' 0 "$(umount -N $there "$T/mnt" 2>&1; echo $?)"
            kill -9 $there; wait $there 2>/dev/null
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whatInstallPutsInPlace() throws {
        let result = try MountNamespace().run(
            "P='\(Repository.top.path)'\n"
                + #"""
                make -s -C "$P" install release="$A" DESTDIR="$T/root" || echo 'install failed'
                # The links are relative, so they hold wherever the tree lies.
                is mount 0 "$("$T/root/usr/sbin/mount.fuse.aclfs" "$T/back" "$T/mnt" -o rw 2>&1; echo $?)"
                is 'what serves' "$T/root/usr/sbin/aclfsd" "$(readlink /proc/$(daemon "$T/mnt" "$T/root/usr/sbin/aclfsd")/exe)"
                umount "$T/mnt"
                is 'the same' 0 "$("$T/root/usr/sbin/mount.aclfs" "$T/back" "$T/mnt" -n -o rw 2>&1; echo $?)"
                umount "$T/mnt"
                # The command finds it from its own place.
                is 'the command' 0 "$("$T/root/usr/bin/aclfs" mount "$T/back" "$T/mnt" 2>&1; echo $?)"
                is 'what serves it' 1 "$(daemon "$T/mnt" "$T/root/usr/sbin/aclfsd" | wc -l)"
                umount "$T/mnt"
                # And the page of mount.fuse.aclfs, a link.
                is 'manual' "$(($(ls "$P/docs/man/"*.8 | wc -l) + 1))" "$(ls "$T/root/usr/share/man/man8" | wc -l)"
                is 'documents' "$(ls "$P/docs/"*.md | wc -l)" "$(ls "$T/root/usr/share/doc/aclfs/docs/"*.md | wc -l)"
                is 'profiles' "$(ls "$P/mount-helpers/sandbox")" "$(ls "$T/root/usr/share/aclfs/sandbox")"
                is 'the unit' 1 "$(grep -c '^ExecStart=/usr/bin/aclfs mount' "$T/root/usr/lib/systemd/system/aclfs@.service")"
                make -s -C "$P" uninstall DESTDIR="$T/root"
                is 'nothing is left' 0 "$(find "$T/root" ! -type d | wc -l)"
                is 'nor a directory of aclfs' '' "$(find "$T/root" -name aclfs)"
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
