import Foundation
import Glibc
import TestSupport
import Testing

/// Sizes, offsets and times at the ends of their numbers: what a caller, a file system or a stored byte chose ends in an answer.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct EdgeTests {
    /// SEEK_HOLE behind the last page that a file can have is answered with a negative number.
    @Test(arguments: BackingKind.reserving.filter { $0 != .ext4 }, ["zerofill=write", "zerofill=allocate,passthrough=off"])
    func aByteInTheLastPageOfAFileEndsNothing(_ kind: BackingKind, _ options: String) throws {
        let fixture = try ZeroFillFixture(kind, options)
        let (file, place) = (fixture.path("f"), Int64.max - 4095)
        let alice = try ActingProcess(.alice)
        try alice.must("create", file, "0644", "0")
        try alice.must("truncate", file, String(place))
        try alice.must("hold", "1", file, String(O_RDWR), "0")
        try alice.must("pwrite", "1", String(place), "x")
        // If the gap is filled before the close answers, the answer is that of the file system behind.
        let closed = try alice.call("close", "1")
        #expect(["ok", "ENOSPC"].contains(closed.word), "\(closed)")
        #expect(try fixture.status("f", onMount: true).st_size == place + 1)
        let holes = try TestUser.alice.shell("exec 8<\(file); /usr/bin/perl -e 'printf \"%s\", sysseek(STDIN, \(place), 4)' <&8")
        #expect(holes.output == String(place + 1), "the end of a file is a hole: \(holes)")
    }

    private static let ways = ["zerofill=write", "zerofill=off,passthrough=off", "zerofill=allocate,passthrough=off", "zerofill=off"]

    /// A short run takes one way, a long one all.
    @Test(arguments: BackingKind.reserving) func callsAreAnsweredAsByTheFileSystemBehind(_ kind: BackingKind) throws {
        let said = ProcessInfo.processInfo.environment["ACLFS_SEED"].flatMap { UInt64($0) }
        for options in MountTesting.isLong ? Self.ways : [Self.ways.randomElement() ?? ""] {
            let seed = said ?? UInt64.random(in: 0..<1 << 32)
            let fixture = try ZeroFillFixture(kind, options)
            let native = fixture.mount.top + "/native"
            mkdir(native, 0o755)
            for command in [
                ["mkdir", "-m", "1777", fixture.backingPath("here"), fixture.backingPath("native")],
                ["mount", "--bind", fixture.backingPath("native"), native],
            ] { try #require(try Spawn.run(command).status == 0, "\(command)") }
            defer { umount2(native, Int32(MNT_DETACH)) }
            let rounds = MountTesting.isLong ? "2000" : "40"
            let result = try TestUser.alice.run(MountTesting.program("aclfs-edges"), String(seed), rounds, fixture.path("here"), native)
            #expect(result.status == 0, "\(kind.rawValue), \(options), ACLFS_SEED=\(seed): \(result)")
            #expect(try fixture.statusNumber("files_waiting") >= 0, "the daemon serves")
        }
    }

    /// ext4 stores times until 2446: more nanoseconds than 64 bits count.
    @Test(.enabled(if: LoopTesting.isPossible, "needs loop devices and mkfs.ext4")) func aStoredTimeFarFromNowEndsNothing() throws {
        let result = try MountNamespace().run(
            #"""
            umount /usr/sbin; cd "$T"; truncate -s 16M image; mkfs.ext4 -q -F -b 4096 -I 256 image
            mkdir fs; mount -o loop image fs; mkdir -m 1777 fs/far fs/past; touch fs/far/f fs/past/f; umount fs
            # The upper two bits of the seconds are in the second field, whose other bits are nanoseconds.
            for name in far far/f; do debugfs -w -R "set_inode_field /$name ctime 0x7fffffff" image; done >/dev/null 2>&1
            for name in far far/f; do debugfs -w -R "set_inode_field /$name ctime_extra 3" image; done >/dev/null 2>&1
            for name in past past/f; do debugfs -w -R "set_inode_field /$name ctime 0x80000000" image; done >/dev/null 2>&1
            for name in past past/f; do debugfs -w -R "set_inode_field /$name ctime_extra 0" image; done >/dev/null 2>&1
            mount -o loop image "$T/back"; chmod 700 "$T/back"; "$A" mount "$T/back" "$T/mnt"
            is 'a time in 2446' 15032385535 "$(stat -c %Z "$T/mnt/far/f")"; is 'one in 1901' -2147483648 "$(stat -c %Z "$T/mnt/past/f")"
            is 'listed' 'f f' "$(ls "$T/mnt/far" "$T/mnt/past" | grep '^f$' | paste -sd ' ')"
            touch "$T/mnt/far/g" "$T/mnt/past/g"; is 'served' g "$(ls "$T/mnt/far" | grep g)"
            "$A" unmount "$T/mnt"; umount "$T/back"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
