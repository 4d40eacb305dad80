import TestSupport
import Testing

/// A user who holds a file keeps waiting whoever changes that file, for a while, and nobody else
/// (docs/decisions/0020-held-files.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct HeldFileTests {
    /// What holds which file: a file system, a call, how many mounts there are.
    static let ways: [String] =
        MountTesting.isLong
        ? [
            "ext4 direct one auto", "ext4 direct one dev", "ext4 direct two auto", "ext4 write two auto", "ext4 write two dev",
            "xfs read one auto", "xfs read one dev", "xfs direct two auto", "xfs write two auto", "btrfs write two auto",
            "btrfs write two dev", "tmpfs write two auto", "tmpfs write two dev",
        ] : ["ext4 direct one auto", "tmpfs write two dev"]

    private static func begin(_ way: String) -> String {
        let words = way.split(separator: " ").map(String.init)
        let option = words[3] == "auto" ? "" : "-o transport=\(words[3])"
        return HeldFile.prelude + """
            backing \(words[0]); how=\(words[1]); "$A" mount \(option) "$B" "$T/mnt"; from=$T/mnt; mounts=$T/mnt
            if [ \(words[2]) = two ]; then
                mkdir "$T/second"; "$A" mount \(option) "$B" "$T/second"; from=$T/second; mounts="$T/mnt $T/second"
            fi
            D=$T/mnt/dir; F=$D/held

            """
    }

    /// Every operation that changes a file. The first waits and fails; who comes later learns at once that it is held.
    @Test(arguments: ways) func changingAHeldFile(_ way: String) throws {
        let result = try MountNamespace().run(
            Self.begin(way) + #"""
                hold $how "$from/dir/held"
                while_waiting chmod "$T/mnt/other" chmod 600 "$F"
                try touch touch "$F"; try chown chown 61782 "$F"; try chgrp chgrp 61782 "$F"; try setfattr setfattr -n user.x -v y "$F"
                try acl setfattr -n system.aclfs.acl -v 'user:root allow read' "$F"; try flag chattr +d "$F"
                try cut truncate -s 10 "$F"; try owner setfattr -n system.aclfs.owner -v 'FFFFEEEE-DDDD-CCCC-BBBB-AAAA00000005' "$F"
                goes_on "$T/mnt/other"
                for name in touch chown chgrp setfattr acl flag cut owner; do tried $name "$busy"; done
                try rm rm -f "$F"; tried rm "$busy"; try mv mv "$F" "$D/moved"; tried mv "$busy"
                try onto mv "$D/free" "$F"; tried onto "$busy"; try ln ln "$F" "$D/linked"; tried ln "$busy"
                try cross mv "$F" "$T/mnt/other/"; tried cross "$busy"
                goes_on "$D"; goes_on "$T/mnt/other"
                holds 'what status tells' "$("$A" status "$T/mnt")" 'held_files 1'
                is 'as before' '644 61781 65536 1' "$(stat -c '%a %u %s %h' "$B/dir/held")"
                go_on
                # What waited in the kernel is through in a moment.
                for i in $(seq 500); do timeout 20 chmod 640 "$F" 2>/dev/null && break; sleep 0.02; done
                is 'changed' 640 "$(stat -c %a "$F")"; timeout 20 mv "$F" "$D/moved"; timeout 20 rm "$D/moved"; is 'gone' 1 "$(status test -e "$F")"
                end $mounts
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Data that comes through the daemon.
    @Test(arguments: MountTesting.isLong ? ["ext4 write two auto", "xfs write two dev", "tmpfs write two auto"] : ["ext4 write two auto"])
    func dataOfAHeldFile(_ way: String) throws {
        let result = try MountNamespace().run(
            Self.begin(way) + #"""
                # A handle whose writes come to the daemon.
                exec 7>>"$F"; exec 8<>"$F"; hold $how "$from/dir/held"
                try write python3 -c 'import os; os.write(7, b"x")'
                # And one that the kernel writes past the daemon: it waits as it does on the file system, and alone.
                try past python3 -c 'import os; os.pwrite(8, b"y", 0)'
                case $how-$(stat -fc %T "$B") in write-xfs) ;; *) is 'a reader' 5 "$(timeout 20 head -c 5 "$F" | wc -c)" ;; esac
                for i in $(seq 12); do try open$i truncate -s $i "$F"; done
                goes_on "$T/mnt/other"; goes_on "$T/second/other"
                is 'the write waits' 1 "$(status grep -q status "$T/out-past")"
                go_on; is 'written in the end' 'status 0' "$(await write)"; is 'past the daemon' 'status 0' "$(await past)"
                for i in $(seq 12); do settled open$i; done; exec 7>&- 8>&-
                for i in $(seq 500); do timeout 20 truncate -s 0 "$F" 2>/dev/null && break; sleep 0.02; done
                is 'cut' 0 "$(stat -c %s "$B/dir/held")"; end $mounts
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Many files, many callers: those who wait take no more threads than there are to spare.
    @Test(arguments: MountTesting.isLong ? ["ext4 direct one auto", "ext4 direct one dev"] : ["ext4 direct one dev"])
    func manyHeldFiles(_ way: String) throws {
        let result = try MountNamespace().run(
            Self.begin(way) + #"""
                for i in $(seq 12); do cp "$B/dir/held" "$B/dir/held$i"; chown 61781 "$B/dir/held$i"; prepare $how "$D/held$i"; done
                stop; for i in $(seq 12); do echo x >"$T/go-$i"; done
                for holder in $holders; do await_hold some; done
                for i in $(seq 12); do for j in 1 2 3; do try change$i$j setpriv --reuid $((61781 * (j < 3))) --clear-groups chmod 60$j "$D/held$i"; done; done
                goes_on "$T/mnt/other"
                for i in $(seq 12); do for j in 1 2 3; do tried change$i$j "$busy"; done; done
                goes_on "$T/mnt/other"; go_on; end $mounts
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Without passthrough no caller holds anything.
    @Test func withoutPassthrough() throws {
        let result = try MountNamespace().run(
            HeldFile.prelude + #"""
                backing ext4; "$A" mount -o passthrough=off "$B" "$T/mnt"; F=$T/mnt/dir/held
                prepare direct "$F"; stop; echo x >"$T/go-1"; sleep 0.3
                try chmod chmod 600 "$F"; tried chmod 'status 0'; is 'changed' 600 "$(stat -c %a "$B/dir/held")"
                goes_on "$T/mnt/dir"; timeout 20 rm -f "$F"; is 'gone' 1 "$(status test -e "$F")"; go_on; end "$T/mnt"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// While threads of the daemon sleep on a held file.
    @Test func unmountingMeanwhile() throws {
        let result = try MountNamespace().run(
            Self.begin("ext4 direct one auto") + #"""
                hold $how "$F"; try chmod chmod 600 "$F"; tried chmod "$busy"
                is 'in use' 32 "$(status timeout 20 "$A" unmount "$T/mnt")"; is 'by force' 0 "$(status timeout 20 "$A" unmount -f "$T/mnt")"
                is 'gone' 0 "$(mounted "$T/mnt")"; go_on
                for i in $(seq 500); do umount "$B" 2>/dev/null && break; sleep 0.02; done; is 'let go' 0 "$(mounted "$B")"; end
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// The holder lets the file go for moments, also between the question whether it is free and the act. Then its directory waits
    /// too, as on the file system itself, and others do not.
    @Test func aHolderWhoComesAgain() throws {
        let result = try MountNamespace().run(
            Self.begin("ext4 direct one auto") + #"""
                for i in 1 2 3 4; do prepare again "$F"; done; stop
                for i in 1 2 3 4; do echo x >"$T/go-$i"; done; await_hold some
                (while [ ! -e "$T/enough" ]; do kill -CONT $server; sleep 0.01; kill -STOP $server; sleep 0.05; done) & turns=$!
                for i in $(seq 6); do
                    try mv$i mv "$F" "$D/moved"; try ln$i ln "$F" "$D/linked"; try chmod$i chmod 60$i "$F"
                    goes_on "$T/mnt/other"; for name in mv chmod; do settled $name$i 'No such file'; done
                    # The name of an earlier turn may be there still.
                    settled ln$i 'No such file' 'File exists'
                    # Whatever came of it, the file has its name again.
                    for j in $(seq 500); do
                        for name in moved linked; do [ ! -e "$D/$name" ] || timeout 20 mv "$D/$name" "$F" 2>/dev/null; done
                        timeout 20 ls "$D" >/dev/null 2>&1 && break; sleep 0.02
                    done
                done
                touch "$T/enough"; wait $turns; go_on
                for i in $(seq 500); do
                    [ -e "$D/moved" ] || [ -e "$D/linked" ] || break
                    for name in moved linked; do [ ! -e "$D/$name" ] || mv "$D/$name" "$F" 2>/dev/null || rm -f "$D/$name" 2>/dev/null; done
                done
                is 'as before' 'held 61781 65536 1' "$(cd "$D"; stat -c '%n %u %s %h' held)"
                for i in $(seq 500); do timeout 20 rm -f "$F" "$D/moved" "$D/linked" 2>/dev/null && break; sleep 0.02; done
                is 'gone' 'free' "$(ls "$D")"; goes_on "$D"; end $mounts
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
