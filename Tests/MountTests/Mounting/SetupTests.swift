import TestSupport
import Testing

/// `aclfs fstab-line` and `aclfs doctor`.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SetupTests {
    @Test func aLineOfFstabMounts() throws {
        let result = try MountNamespace().run(
            #"""
            mkdir "$T/back/a b" "$T/d	e"
            line=$("$A" fstab-line -o noowners,cache=strict "$T/back/a b" "$T/d	e")
            is 'the line' "$T/back/a\\040b  $T/d\\011e  aclfs  noowners,cache=strict,nofail,x-systemd.requires-mounts-for=$T/back/a\\040b  0 0" "$line"
            echo "$line" >/etc/fstab
            is 'all of fstab' 0 "$(mount -a 2>&1; echo $?)"
            holds 'options' "$("$A" status "$T/d	e")" noowners
            umount "$T/d	e"
            "$A" fstab-line "$T/back" "$T/back" >/etc/fstab
            is 'over itself it waits for nothing' "$T/back  $T/back  aclfs  nofail  0 0" "$(cat /etc/fstab)"
            is 'by its place' 0 "$(mount "$T/back" 2>&1; echo $?)"
            umount "$T/back"
            cd "$T"; holds 'real paths' "$("$A" fstab-line back mnt)" "$T/back  $T/mnt "
            holds 'automount' "$("$A" fstab-line --automount back mnt)" ',noauto,x-systemd.automount  0 0'
            holds 'not yet there' "$("$A" fstab-line /none/a /none/b)" '/none/a  /none/b '
            is 'a relative path that is not there' 2 "$(status "$A" fstab-line none mnt)"
            said=$("$A" fstab-line -o owwners back mnt 2>&1); is 'a wrong option' 2 $?
            holds 'the nearest one' "$said" "did you mean 'owners'"
            is 'a contradiction' 2 "$(status "$A" fstab-line -o noowners,suid back mnt)"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func theDoctorFindsWhatIsWrong() throws {
        let result = try MountNamespace().run(
            #"""
            # Other tests' mounts may be dead.
            mount --make-rprivate /
            awk '$3 == "fuse.aclfs" { print $2 }' /proc/self/mounts | while read -r m; do umount -lc "$(printf "$m")" 2>/dev/null; done
            echo user_allow_other >"$T/fuse.conf"; touch /etc/fuse.conf; mount --bind "$T/fuse.conf" /etc/fuse.conf
            said=$("$A" doctor "$T/back"); is 'all is well' 0 $?
            holds 'the device' "$said" 'ok      /dev/fuse: '
            holds 'the helpers' "$said" 'ok      helpers of mount(8): '
            holds 'the line' "$said" 'ok      /etc/fuse.conf: '
            holds 'the source' "$said" "ok      $T/back: reachable past the mount by root only"
            chmod 755 "$T/back"
            said=$("$A" doctor "$T/back"); is 'a note is no problem' 0 $?
            holds 'others reach it' "$said" "note    $T/back: reachable past the mount by every user"
            holds 'what to do' "$said" "→ chmod 0700 $T/back"
            case $("$A" doctor "$T/back" "$T/back") in *'by every user'*) echo 'over itself it is hidden' ;; esac
            rm "$T/sbin/mount.aclfs"
            holds 'no helper' "$("$A" doctor)" 'note    helpers of mount(8): mount.aclfs not found'
            mount -t ramfs ramfs "$T/bin"
            said=$("$A" doctor "$T/bin"); is 'no attributes' 1 $?
            holds 'why' "$said" "problem $T/bin: its file system stores no extended attributes"
            said=$("$A" doctor "$T/none"); is 'no source' 1 $?
            holds 'why not' "$said" "problem $T/none: No such file or directory"
            chmod 700 "$T/back"; "$A" mount "$T/back" "$T/mnt"
            holds 'a mount that answers' "$("$A" doctor)" "ok      $T/mnt: "
            kill_daemon "$T/mnt"
            said=$("$A" doctor); is 'a dead mount' 1 $?
            holds 'its remedy' "$said" "aclfs unmount $T/mnt removes it"
            "$A" doctor --json | python3 -c 'import json, sys; assert {f["level"] for f in json.load(sys.stdin)} >= {"fine", "problem"}' || echo json
            "$A" unmount "$T/mnt"
            mount -t tmpfs none /dev; mkdir -p "$T/none"
            said=$("$A" doctor); is 'no device' 1 $?
            holds 'which' "$said" 'problem /dev/fuse: '
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
