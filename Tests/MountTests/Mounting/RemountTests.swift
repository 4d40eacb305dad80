import TestSupport
import Testing

/// What a living mount can change, through mount(8).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct RemountTests {
    @Test func readOnlyAndBackInKernelAndDaemon() throws {
        let result = try MountNamespace().run(
            #"""
            explained() { "$A" explain --as root open-write "$T/mnt/file" | tail -n 1; }
            touch "$T/back/file"
            mount -t aclfs "$T/back" "$T/mnt" -o noexec,noatime,nosymfollow
            is 'mount -o remount,ro' 0 "$(mount -o remount,ro "$T/mnt" 2>&1; echo $?)"
            is 'the kernel' ro,nosuid,nodev,noexec,noatime,nosymfollow "$(findmnt -no VFS-OPTIONS "$T/mnt")"
            holds 'the file system' "$(findmnt -no FS-OPTIONS "$T/mnt")" ro,
            is 'the daemon' 'denied: EROFS' "$(explained)"
            is 'a write' "touch: cannot touch '$T/mnt/file': Read-only file system" "$(touch "$T/mnt/file" 2>&1)"
            is 'mount -o remount,rw' 0 "$(mount -o remount,rw "$T/mnt" 2>&1; echo $?)"
            is 'the daemon again' allowed "$(explained)"
            is 'a write again' 0 "$(status touch "$T/mnt/file")"
            is 'what was not said' rw,nosuid,nodev,noexec,noatime,nosymfollow "$(findmnt -no VFS-OPTIONS "$T/mnt")"
            is 'said by the command of aclfs' 0 "$("$A" mount -o remount,exec "$T/back" "$T/mnt" 2>&1; echo $?)"
            is 'only that' rw,nosuid,nodev,noatime,nosymfollow "$(findmnt -no VFS-OPTIONS "$T/mnt")"
            is 'the daemon lets execute' 0 "$("$A" status "$T/mnt" | grep -c noexec)"
            # Without a helper: the daemon follows what the kernel says.
            mount -i -o remount,ro "$T/mnt"
            for i in $(seq 1500); do [ "$(explained)" = allowed ] || break; sleep 0.02; done
            is 'without helper, ro' 'denied: EROFS' "$(explained)"
            mount -i -o remount,rw "$T/mnt"
            for i in $(seq 1500); do [ "$(explained)" = allowed ] && break; sleep 0.02; done
            is 'without helper, rw' allowed "$(explained)"
            # One bind mount's flag says nothing of the others.
            mkdir "$T/bind"; mount --bind "$T/mnt" "$T/bind"; mount -o remount,bind,ro "$T/bind"; sleep 0.1
            is 'a bind mount' 0 "$(status touch "$T/mnt/file")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A remount without the helper counts from its return, in either direction: for calls and for questions.
    @Test func whatTheKernelAloneChangesCountsAtOnce() throws {
        let result = try MountNamespace().run(
            #"""
            explained() { "$A" explain --as root open-write "$T/mnt/file" | tail -n 1; }
            touch "$T/back/file"; cp /bin/true "$T/back/true"; chmod 777 "$T/back/file"; "$A" mount -o exec "$T/back" "$T/mnt"
            for i in $(seq 15); do
                mount -i -o remount,ro "$T/mnt"; [ "$(explained)" = 'denied: EROFS' ] || echo "explained, ro, round $i"
                mount -i -o remount,rw "$T/mnt"; : 2>/dev/null >"$T/mnt/file" || echo "a write, rw, round $i"
                mount -i -o remount,ro "$T/mnt"; (: >"$T/mnt/file") 2>/dev/null && echo "a write, ro, round $i"
                mount -i -o remount,rw "$T/mnt"; [ "$(explained)" = allowed ] || echo "explained, rw, round $i"
                mount -i -o remount,noexec "$T/mnt"; mount -i -o remount,exec "$T/mnt"; "$T/mnt/true" 2>/dev/null || echo "executed, round $i"
            done
            is 'what the helper says stays' 0 "$(mount -o remount,ro "$T/mnt" 2>&1; echo $?)"; is 'explained' 'denied: EROFS' "$(explained)"
            is 'and back' 0 "$(mount -o remount,rw "$T/mnt" 2>&1; echo $?)"; is 'explained again' allowed "$(explained)"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func byFstabAndRefusedAsAWhole() throws {
        let result = try MountNamespace().run(
            #"""
            touch "$T/back/file"
            words() { "$A" status --json "$T/mnt" | grep -o '"options":[^]]*'; }
            echo "$T/back  $T/mnt  aclfs  nofail,nogrpid,cache=strict  0 0" >/etc/fstab
            mount -a
            is 'with the words of fstab' 0 "$(mount -o remount,ro "$T/mnt" 2>&1; echo $?)"
            is 'and back' 0 "$(mount -o remount,rw "$T/mnt" 2>&1; echo $?)"
            is securelevel 0 "$(mount -o remount,securelevel=1 "$T/mnt" 2>&1; echo $?)"
            holds 'it rose' "$(words)" securelevel=1
            before=$(words)$(options "$T/mnt")
            said=$(mount -o remount,ro,securelevel=0 "$T/mnt" 2>&1); is 'lowering it' 32 $?
            holds 'why not' "$said" 'securelevel may only rise while mounted; it is 1'
            is 'nothing changed' "$before" "$(words)$(options "$T/mnt")"
            said=$(mount -o remount,ro,noacl "$T/mnt" 2>&1); is 'what is fixed' 32 $?
            holds 'named' "$said" "'noacl' cannot change while mounted"
            is 'still nothing' "$before" "$(words)$(options "$T/mnt")"
            is 'unknown words' 1 "$(status mount -o remount,noacls "$T/mnt")"
            exec 7>>"$T/mnt/file"
            said=$(mount -o remount,ro,securelevel=2 "$T/mnt" 2>&1); is busy 32 $?
            holds 'who is in the way' "$said" 'Device or resource busy (EBUSY); files are open for writing'
            is 'nothing at all' "$before" "$(words)$(options "$T/mnt")"
            echo text >&7; exec 7>&-
            is 'the writer went on' text "$(cat "$T/back/file")"
            is 'no mount' 32 "$(status "$A" mount -o remount,ro "$T/back" "$T/bin")"
            """#)
        #expect(result.output == "done", "\(result)")
    }
    /// The kernel says nothing of a remount with another `dirsync`, and SELinux refuses one with another label.
    @Test func whatTheKernelCannotChangeIsRefused() throws {
        let result = try MountNamespace().run(
            #"""
            refused() { # WORD
                said=$("$A" mount -o "remount,ro,$1" "$T/back" "$T/mnt" 2>&1); is "$1" 32 $?
                holds "$1" "$said" "'$1' cannot change while mounted; unmount and mount again"
                is 'nothing changed' "$before" "$(options "$T/mnt")"
            }
            "$A" mount "$T/back" "$T/mnt"; before=$(options "$T/mnt")
            refused dirsync; refused context=system_u:object_r:tmp_t:s0; refused rootcontext=a
            umount "$T/mnt"; "$A" mount -o dirsync "$T/back" "$T/mnt"
            is 'as it is in force' 0 "$("$A" mount -o remount,ro,dirsync "$T/back" "$T/mnt" 2>&1; echo $?)"
            is 'with the words of the kernel' 0 "$(mount -o remount,rw "$T/mnt" 2>&1; echo $?)"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
