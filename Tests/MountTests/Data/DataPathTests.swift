import Foundation
import Glibc
import TestSupport
import Testing

/// Data that goes from the kernel to the backing file by itself, and the rules that keep it right (docs/internals/data-path.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct DataPathTests {
    private func make(_ fixture: MountFixture, _ name: String, _ bytes: String = "0123456789abcdef") throws -> String {
        let root = try ActingProcess(.root)
        let path = fixture.path(name)
        try root.must("hold", "1", path, String(O_WRONLY | O_CREAT), "0666")
        try root.must("write", "1", bytes)
        try root.must("close", "1")
        try root.must("chmod", path, "0666")
        return path
    }

    @Test func dataGoesPastTheDaemonIfItMay() throws {
        for (way, isPast) in [("passthrough=auto", true), ("passthrough=off", false), ("kernel_features=-passthrough", false)] {
            let fixture = try MountFixture(options: way)
            let file = try make(fixture, "f")
            let bob = try ActingProcess(.bob)
            try bob.must("hold", "1", file, String(O_RDWR), "0")
            try bob.must("pwrite", "1", "4", "XY")
            #expect(try bob.must("pread", "1", "0") == "0123XY6789abcdef")
            #expect(try fixture.backingBytes("f") == Array("0123XY6789abcdef".utf8))
            #expect(try (fixture.dataNumber("opens_passthrough") > 0) == isPast, "\(way)")
            #expect(try (fixture.dataNumber("opens_cached") > 0) == !isPast, "\(way)")
            let said = try Spawn.run([MountTesting.program("aclfs"), "status", fixture.mountpoint]).output
            #expect(said.contains(isPast ? "passthrough on (" : "passthrough off ("), "\(said)")
        }
    }

    /// What happens to the file between the first open and the second.
    private static let changes: [(String, [String])] = [
        ("nothing", []),
        ("a list that lets some only append", ["setxattr", "system.aclfs.acl", "user:#503 deny write"]),
        ("set-id bits", ["chmod", "06777"]),
        ("append-only", ["setxattr", "system.aclfs.flags", "uappnd"]),
    ]

    @Test(arguments: dataWays) func eachPairOfOpensHasItsData(_ way: String) throws {
        let fixture = try MountFixture(options: "suid,\(way)")
        let root = try ActingProcess(.root)
        var number = 0
        for (what, change) in Self.changes {
            for isBefore in what == "nothing" ? [false] : [false, true] {
                for first in Opener.all {
                    for second in Opener.all {
                        number += 1
                        let (name, about) = ("f\(number)", "\(first), \(what)\(isBefore ? " before" : ""), \(second), \(way)")
                        let file = try make(fixture, name)
                        let (one, two) = (try ActingProcess(first.user), try ActingProcess(second.user))
                        func alter() throws {
                            if let call = change.first { try root.must2([call, file] + change.dropFirst()) }
                        }
                        if isBefore { try alter() }
                        let held = try one.call("hold", "1", file, String(first.flags), "0")
                        #expect(held.isOK || held.word == "EPERM" && what == "append-only", "\(about): \(held)")
                        if !isBefore { try alter() }
                        let opened = try two.call("hold", "1", file, String(second.flags), "0")
                        // Only who could overwrite through a mapping what he may only add to must wait.
                        let mayWait = second.flags & O_APPEND != 0 && second.isReader && !isBefore && way == "passthrough=auto"
                        #expect(
                            opened.isOK || opened.word == "EPERM" && what == "append-only" || opened.word == "EBUSY" && mayWait,
                            "\(about): \(opened)")
                        try exchange(fixture, name, (first, one, held.isOK), (second, two, opened.isOK), about)
                        try root.must("setxattr", file, "system.aclfs.flags", "-")
                    }
                }
            }
        }
        #expect(try fixture.idsLeft() == 0)
    }

    /// Each writes what it may; each that reads must see what the backing file holds.
    private func exchange(
        _ fixture: MountFixture, _ name: String, _ first: (Opener, ActingProcess, Bool),
        _ second: (Opener, ActingProcess, Bool), _ about: String
    ) throws {
        for (position, (opener, process, isOpen)) in [first, second].enumerated() where isOpen && opener.isWriter {
            let bytes = position == 0 ? "AAAA" : "BBBB"
            let result = try process.call("pwrite", "1", String(position * 8), bytes)
            #expect(result.isOK || result.word == "EPERM", "\(about): \(result)")
            guard result.isOK, opener.isPlain else { continue }
            let held = try fixture.backingBytes(name)
            #expect(Array(held[(position * 8)..<(position * 8 + 4)]) == Array(bytes.utf8), "\(about)")
        }
        let truth = String(decoding: try fixture.backingBytes(name), as: UTF8.self)
        for (opener, process, isOpen) in [first, second] where isOpen && opener.isReader && opener.flags & Opener.direct == 0 {
            #expect(try process.must("pread", "1", "0") == truth, "\(about)")
        }
        let other = try ActingProcess(.root)
        try other.must("hold", "1", fixture.path(name), String(O_RDONLY), "0")
        #expect(try other.must("pread", "1", "0") == truth, "\(about)")
    }

    @Test(arguments: dataWays) func whoMayOnlyAppendChangesNoByte(_ way: String) throws {
        let fixture = try MountFixture(options: way)
        let file = try make(fixture, "log", "first\n")
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        // Somebody has it open from before the list.
        try root.must("hold", "1", file, String(O_RDONLY), "0")
        try root.must("setxattr", file, "system.aclfs.acl", "user:#502 deny write")
        try bob.must("hold", "1", file, String(O_WRONLY | O_APPEND), "0")
        try bob.must("setfl", "1", "0")
        #expect(try bob.call("pwrite", "1", "0", "XXXXX").word == "EPERM")
        try bob.must("setfl", "1", String(O_APPEND))
        try bob.must("write", "1", "second")
        let rw = try bob.call("hold", "2", file, String(O_RDWR | O_APPEND), "0")
        #expect(rw.word == (way == "passthrough=auto" ? "EBUSY" : "ok"))
        try root.must("close", "1")
        try bob.must("close", "1")
        // Now nobody has it open: the next open goes another way.
        try bob.must("hold", "2", file, String(O_RDWR | O_APPEND), "0")
        #expect(try !bob.call("map", "2").isOK)
        try bob.must("setfl", "2", "0")
        #expect(try bob.call("pwrite", "2", "0", "XXXXX").word == "EPERM")
        try root.must("hold", "1", file, String(O_RDONLY), "0")
        #expect(try root.must("pread", "1", "0") == "first\\x0asecond")
    }

    @Test(arguments: dataWays) func whatNoLongerAppendsWritesWhereItIsTold(_ way: String) throws {
        let fixture = try MountFixture(options: way)
        let file = try make(fixture, "f")
        let bob = try ActingProcess(.bob)
        for (number, flags) in [O_RDWR | O_APPEND, O_RDWR | O_APPEND | O_CREAT].enumerated() {
            let name = number == 0 ? file : fixture.path("fresh")
            if number == 1 { try ActingProcess(.root).must("chmod", fixture.mountpoint, "0777") }
            try bob.must("hold", "1", name, String(flags), "0644")
            try bob.must("write", "1", "appended")
            try bob.must("setfl", "1", "0")
            try bob.must("pwrite", "1", "0", "AB")
            #expect(try bob.must("pread", "1", "0").hasPrefix("AB"), "\(way)")
            try bob.must("close", "1")
        }
    }

    @Test(arguments: dataWays) func writingClearsSetIDWhateverTheWay(_ way: String) throws {
        let fixture = try MountFixture(options: "suid,\(way)")
        let file = try make(fixture, "program")
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        func mode() throws -> String { String(decoding: unescaped(try root.must("stat", file)), as: UTF8.self) }
        // Open before the bits are set.
        try bob.must("hold", "1", file, String(O_RDWR), "0")
        try root.must("chmod", file, "06777")
        try bob.must("pwrite", "1", "0", "x")
        #expect(try mode().hasPrefix("0 0 777 "))
        // Set while somebody reads it; the next writer could map it.
        try root.must("chmod", file, "06777")
        try root.must("hold", "2", file, String(O_RDONLY), "0")
        try bob.must("hold", "2", file, String(O_RDWR), "0")
        let mapped = try bob.call("map", "2")
        #expect(try !mapped.isOK || mode().hasPrefix("0 0 777 "))
        // Root's writing leaves them.
        try root.must("chmod", file, "06777")
        try root.must("hold", "3", file, String(O_RDWR), "0")
        try root.must("pwrite", "3", "0", "y")
        #expect(try mode().hasPrefix("0 0 6777 "))
    }

    @Test(arguments: dataWays) func aMappingOutlivesItsDescriptor(_ way: String) throws {
        let fixture = try MountFixture(options: way)
        let file = try make(fixture, "f")
        let (alice, bob) = (try ActingProcess(.alice), try ActingProcess(.bob))
        try alice.must("hold", "1", file, String(O_RDWR), "0")
        try alice.must("mapkeep", "1", "1")
        try alice.must("close", "1")
        usleep(20_000)
        // Whoever opens it now sees what is stored, and the mapping what is written.
        try bob.must("hold", "1", file, String(O_RDWR), "0")
        try alice.must("mapstore", "1", "3", "S")
        #expect(try bob.must("pread", "1", "0").hasPrefix("012S4567"))
        try bob.must("pwrite", "1", "5", "W")
        #expect(try alice.must("mapload", "1") == "012S4W67")
        try bob.must("close", "1")
        try alice.must("mapstore", "1", "0", "Z")
        try alice.must("unmap", "1")
        #expect(try fixture.backingBytes("f").starts(with: "Z12S4W67".utf8))
        #expect(try fixture.idsLeft() == 0)
    }

    /// A store into a mapping moves times; the kernel's own copy of them must not hide it.
    @Test(arguments: dataWays, ["cache=auto", "cache=exclusive"])
    func timesFollowAMapping(_ way: String, _ cache: String) throws {
        let fixture = try MountFixture(options: "\(way),\(cache)")
        let file = try make(fixture, "f")
        func modified() -> timespec {
            var status = stat()
            stat(file, &status)
            return status.st_mtim
        }
        let alice = try ActingProcess(.alice)
        _ = modified()
        try alice.must("hold", "1", file, String(O_RDWR), "0")
        try alice.must("mapkeep", "1", "1")
        let before = modified()
        usleep(30_000)
        try alice.must("mapstore", "1", "3", "S")
        // Without passthrough the time is set when the page is written.
        try alice.must("unmap", "1")
        try alice.must("close", "1")
        let after = modified()
        #expect((after.tv_sec, after.tv_nsec) > (before.tv_sec, before.tv_nsec))
    }

    @Test func everyBackingIDIsGivenBack() throws {
        let fixture = try MountFixture()
        let file = try make(fixture, "f")
        let script = """
            cd '\(fixture.mountpoint)'
            for i in $(seq 300); do : <f; : >>f; : >n$i; cat n$i >/dev/null; done
            exec 3<>f; (exec 3>&-; exec 4<>f; cat <&4 >/dev/null) & (echo x >&3) & wait
            # Killed with the file open, and while opening.
            for i in $(seq 20); do sleep 60 <f >>n$i & pid=$!; (while :; do : <f; done) & loop=$!; sleep 0.01; kill -9 $pid $loop; wait; done 2>/dev/null
            """
        let root = try TestUser.root.run("bash", "-c", script)
        #expect(root.status == 0, "\(root)")
        #expect(try fixture.idsLeft() == 0)
        #expect(try fixture.dataNumber("backing_ids_opened") >= 300)
        #expect(try fixture.dataNumber("backing_ids_refused") == 0)
        // None is kept of what is gone, or it would keep its space.
        #expect(try fixture.dataNumber("backing_ids_idle") > 0)
        try TestUser.root.run("sh", "-c", "rm '\(fixture.mountpoint)'/*").check()
        #expect(try eventually { try fixture.dataNumber("backing_ids_idle") == 0 })
        _ = file
    }

    /// Files are opened again more often than not, and their ids are kept for it: a bounded number.
    @Test func idsAreKeptForTheNextOpen() throws {
        let fixture = try MountFixture()
        let file = try make(fixture, "f")
        let reader = try ActingProcess(.bob)
        for _ in 0..<100 {
            try reader.must("hold", "1", file, String(O_RDONLY), "0")
            try reader.must("close", "1")
            #expect(try fixture.idsLeft() == 0)
        }
        let opened = try fixture.dataNumber("backing_ids_opened")
        #expect(opened == 1)
        // Another file under the name has an id of its own.
        try TestUser.root.run("sh", "-c", "cd '\(fixture.mountpoint)'; echo other >g; mv g f; cat f >/dev/null").check()
        #expect(try fixture.dataNumber("backing_ids_opened") == 2)
        try TestUser.root.run("sh", "-c", "cd '\(fixture.mountpoint)'; for i in $(seq 2000); do : >n$i; cat n$i; done").check()
        #expect(try fixture.idsLeft() == 0)
        let idle = try fixture.dataNumber("backing_ids_idle")
        #expect(idle >= 512 && idle <= 1024, "\(idle)")
    }

    @Test func anUnnamedFileIsReadAndWritten() throws {
        let fixture = try MountFixture()
        let root = try ActingProcess(.root)
        try root.must("mkdir", fixture.path("d"), "0777", "0")
        for flags in [O_RDWR, O_WRONLY] {
            try root.must("hold", "1", fixture.path("d"), String(flags | 0o20200000), "0600")
            try root.must("write", "1", "unnamed")
            try root.must("linkheld", "1", fixture.path("d/n\(flags)"))
            #expect(try fixture.backingBytes("d/n\(flags)") == Array("unnamed".utf8))
            try root.must("close", "1")
        }
        #expect(try fixture.idsLeft() == 0)
    }

    /// copy_file_range(2) is a copy by the kernel where the bytes of both files go past the daemon, unless the file system may share blocks.
    @Test(arguments: dataWays) func aCopyGoesTheWayOfItsFiles(_ way: String) throws {
        let fixture = try MountFixture(options: way)
        let (source, copy) = (fixture.path("source"), fixture.path("copy"))
        let script = "head -c 4000000 /dev/urandom > '\(source)' && exec chmod 0666 '\(source)'"
        #expect(try TestUser.root.run("bash", "-c", script).status == 0)
        let type = try Spawn.run(["stat", "-f", "-c", "%T", fixture.backing]).output
        let sharesNoBlocks = type.hasPrefix("ext") || type.hasPrefix("tmpfs")
        let before = try fixture.bytesWrittenByDaemon()
        #expect(try TestUser.root.run("cp", source, copy).status == 0)
        let written = try fixture.bytesWrittenByDaemon() - before
        #expect((written < 1_000_000) == (way == "passthrough=auto" && sharesNoBlocks), "\(written) bytes, \(way), \(type)")
        #expect(try fixture.backingBytes("copy") == fixture.backingBytes("source"))
        // A part of a file, into the middle of another.
        let part = """
            import os
            r, w = os.open('\(source)', os.O_RDONLY), os.open('\(copy)', os.O_WRONLY)
            os.ftruncate(w, 10)
            assert os.copy_file_range(r, w, 5000, 3_999_000, 20) == 1000
            """
        #expect(try TestUser.root.run("python3", "-c", part).status == 0)
        let (whole, parts) = (try fixture.backingBytes("source"), try fixture.backingBytes("copy"))
        #expect(parts.count == 1020 && Array(parts[20...]) == Array(whole[3_999_000...]) && parts[10..<20].allSatisfy { $0 == 0 })
        #expect(try fixture.idsLeft() == 0)
    }

    /// A descriptor of the daemon's would keep the blocks of a file that is gone.
    @Test(arguments: ["cache=strict", "cache=auto"]) func aRemovedFileIsFreed(_ way: String) throws {
        let fixture = try MountFixture(options: way)
        let root = try ActingProcess(.root)
        let open = try make(fixture, "open")
        try root.must("hold", "1", open, String(O_RDWR), "0")
        try root.must("unlink", open)
        var status = stat()
        try root.must("fstat", "1")
        try root.must("close", "1")
        #expect(try fixture.keepsNoRemovedFile())
        for name in ["one", "two"] { _ = try make(fixture, name) }
        #expect(unlink(fixture.backing + "/one") == 0)
        // With a timeout the kernel asks a moment later.
        for _ in 0..<200 where lstat(fixture.path("one"), &status) == 0 { usleep(20000) }
        #expect(lstat(fixture.path("one"), &status) != 0 && lstat(fixture.path("two"), &status) == 0)
        #expect(try fixture.keepsNoRemovedFile(), "removed on the backing directory")
    }

    /// What still comes to the daemon from a handle whose data does not.
    @Test(arguments: dataWays) func otherCallsOnAnOpenFile(_ way: String) throws {
        let fixture = try MountFixture(options: way)
        _ = try make(fixture, "f", String(repeating: "x", count: 8192))
        let script = """
            cd '\(fixture.mountpoint)'
            python3 - <<'END'
            import os
            r = os.open('f', os.O_RDONLY)
            assert os.lseek(r, 0, os.SEEK_HOLE) == 8192 and os.lseek(r, 5, os.SEEK_DATA) == 5
            os.fsync(r)
            w = os.open('g', os.O_RDWR | os.O_CREAT)
            assert os.copy_file_range(r, w, 8192, 0) == 8192
            assert os.pread(w, 9000, 0) == b'x' * 8192
            os.posix_fallocate(w, 0, 20000)
            assert os.fstat(w).st_size == 20000
            os.ftruncate(w, 10)
            assert os.read(os.open('g', os.O_RDONLY), 100) == b'x' * 10
            a = os.open('g', os.O_WRONLY | os.O_APPEND)
            os.write(a, b'end')
            assert os.fstat(w).st_size == 13 and os.lseek(w, 0, os.SEEK_END) == 13
            os.unlink('g')
            assert os.pread(w, 100, 0) == b'x' * 10 + b'end'
            os.fdatasync(w)
            h = os.open('f', os.O_RDONLY); os.unlink('f')
            assert os.lseek(h, 0, os.SEEK_HOLE) == 8192 and os.pread(h, 4, 0) == b'xxxx'
            END
            """
        let result = try TestUser.root.run("bash", "-c", script)
        #expect(result.status == 0, "\(result)")
        #expect(try fixture.idsLeft() == 0)
    }
}

extension ActingProcess {
    func must2(_ words: [String]) throws {
        let result = try call(words)
        guard result.isOK else { throw FixtureError("\(words): \(result)") }
    }
}
