import TestSupport
import Testing

/// What a mount says of itself.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct MountStatusTests {
    @Test func whoReachesTheSource() throws {
        let result = try MountNamespace().run(
            #"""
            reach() { "$A" status "$T/mnt" | sed -n 's/^  source reachable by: //p'; }
            warned() { "$A" mount "$1" "$T/mnt" 2>&1 | grep -c 'warning: source .* can be reached directly'; }
            is 'below a closed directory' 0 "$(warned "$T/back")"
            is 'root only' 'root only' "$(reach)"
            chmod 755 "$T/back"
            is 'as it is now' "every user (mode 0755 of $T/back)" "$(reach)"
            chown 61747:61744 "$T/back"; chmod 750 "$T/back"
            is 'owner and group' "user 61747 or group 61744 (mode 0750 of $T/back)" "$(reach)"
            umount "$T/mnt"
            is 'others than the owner' 1 "$(warned "$T/back")"; umount "$T/mnt"
            chmod 700 "$T/back"; is 'the owner alone' 0 "$(warned "$T/back")"
            is 'the owner is named' "user 61747 (mode 0700 of $T/back)" "$(reach)"
            umount "$T/mnt"
            mkdir "$T/open"; is 'open to all' 1 "$(warned "$T/open")"; umount "$T/mnt"
            is 'over itself' 0 "$("$A" mount "$T/open" "$T/open" 2>&1 | grep -c warning)"
            holds 'hidden' "$("$A" status "$T/open")" 'source reachable by: root only here'
            holds 'for programs' "$("$A" status --json "$T/open")" '"source_reachable_by":"root only here'
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whichPathsOfTheKernelRun() throws {
        let result = try MountNamespace().run(
            #"""
            "$A" mount -f -o 'kernel_features="-statx,-killpriv2"' "$T/back" "$T/mnt" 2>"$T/log" &
            for i in $(seq 1500); do grep -qs 'kernel paths' "$T/log" && break; sleep 0.02; done
            status=$("$A" status "$T/mnt")
            for path in epoch passthrough uring statx killpriv2 expire; do
                holds 'the log' "$(cat "$T/log")" "$path o"
                holds 'the status' "$status" "$path o"
            done
            holds 'why not' "$status" 'statx off (hidden by kernel_features)'
            holds 'the log, too' "$(cat "$T/log")" 'killpriv2 off (hidden by kernel_features)'
            holds 'for programs' "$("$A" status --json "$T/mnt")" '"statx":{"used":false,"why":"hidden by kernel_features"}'
            umount "$T/mnt"; wait; is 'the end is no failure' 0 $?
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A copy of the mount table, as a sandbox has it, has a mount several times at one place.
    @Test func eachMountOnce() throws {
        let result = try MountNamespace().run(
            #"""
            "$A" mount "$T/back" "$T/mnt"; mount --bind "$T/mnt" "$T/mnt"; mkdir "$T/else"; mount --bind "$T/mnt" "$T/else"
            is 'at one place' 1 "$("$A" status | grep -c "^$T/mnt:")"; is 'elsewhere' 1 "$("$A" status | grep -c "^$T/else:")"
            is 'help X' "$("$A" status --help)" "$("$A" help status)"
            is 'help X Y' "$("$A" sandbox grant add --help)" "$("$A" help sandbox grant add)"
            is 'help, not a file' "$("$A" chmod --help 2>&1)" "$("$A" help chmod +x "$T/fstab" 2>&1)"
            umount "$T/else" "$T/mnt" "$T/mnt"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
