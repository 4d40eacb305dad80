import Foundation
import Glibc
import TestSupport
import Testing

/// Whoever may write attributes cannot take the room that a later list needs.
@Suite(.serialized, .enabled(if: LoopTesting.isPossible, "needs root, /dev/fuse, loop devices and mkfs.ext4"))
struct SpaceForRecordTests {
    let root: ActingProcess
    let alice: ActingProcess

    init() throws {
        root = try ActingProcess(.root)
        alice = try ActingProcess(.alice)
    }

    private func list(_ count: Int, _ words: String = "deny read") -> String {
        (0..<count).map { "user:#\(1000 + $0) \(words)" }.joined(separator: "\n")
    }

    /// Sets attributes of these sizes, the largest first, each until no more fits. How many there are then.
    private func fill(_ path: String, sizes: [Int], nameLength: Int = 8) throws -> Int {
        var count = 0
        for size in sizes {
            while count < 2000 {
                let number = String(count)
                let name = "user." + number + String(repeating: "n", count: nameLength - number.utf8.count)
                let result = try alice.call("setxattr", path, name, String(repeating: "v", count: size))
                guard result.isOK else {
                    #expect(result.word == "ENOSPC")
                    break
                }
                count += 1
            }
        }
        return count
    }

    private func expectEntries(_ count: Int, _ path: String, _ location: SourceLocation = #_sourceLocation) throws {
        let text = String(decoding: unescaped(try root.must("getxattr", path, "system.aclfs.acl")), as: UTF8.self)
        let lines = text.split(separator: "\n").filter { $0.contains("deny read") }
        #expect(lines.count == count, sourceLocation: location)
    }

    /// With `list_room=` so many; as many as a list has at all with 128.
    @Test(arguments: [("", 32), ("list_room=128", 128), ("list_room=1", 1)])
    func moreEntriesFitBesideWhateverUsersStored(_ option: String, _ room: Int) throws {
        let fixture = try SpaceFixture(["-b", "4096"], mountOptions: option)
        #expect(fixture.warning == "")
        for (name, sizes, length) in [("large", [600, 60, 4, 0], 8), ("small", [0], 8), ("long", [0], 200), ("one", [3000, 860, 700], 8)] {
            let file = fixture.place + "/" + name
            try alice.must("create", file, "0644", "0")
            #expect(try fill(file, sizes: sizes, nameLength: length) > 0)
            try root.must("setxattr", file, "system.aclfs.acl", list(room))
            try expectEntries(room, file)
            #expect(try alice.call("open", file, String(O_RDONLY)).isOK)
        }
        // Beside the list that is there.
        for present in [1, 40, 120] {
            let file = fixture.place + "/p\(present)"
            try alice.must("create", file, "0644", "0")
            try root.must("setxattr", file, "system.aclfs.acl", list(present))
            _ = try fill(file, sizes: [600, 60, 4, 0])
            try root.must("setxattr", file, "system.aclfs.acl", list(min(present + room, 128)))
            try expectEntries(min(present + room, 128), file)
        }
    }

    /// What `aclfs status` and `aclfs doctor` say is what there is: a tree from a Mac survives.
    @Test func whatAMacStoresSurvivesACopy() throws {
        let fixture = try SpaceFixture(["-b", "4096"])
        let room = "other attributes: 3224 bytes for all of an object (list_room=)"
        #expect(try Spawn.run([MountTesting.program("aclfs"), "status", fixture.place]).output.contains("  \(room)"))
        #expect(try Spawn.run([MountTesting.program("aclfs"), "doctor", fixture.backing?.directory ?? ""]).output.contains(room))
        let result = try TestUser.alice.shell(
            #"""
            cd \#(fixture.nativePlace); mkdir tree; touch tree/f tree/g tree/h; value() { head -c "$1" /dev/zero | tr '\0' v; }
            setfattr -n user.com.apple.FinderInfo -v "$(value 32)" tree/f; setfattr -n user.com.apple.quarantine -v "$(value 57)" tree/f
            setfattr -n user.com.apple.metadata:kMDItemWhereFroms -v "$(value 1400)" tree/f
            setfattr -n user.com.apple.metadata:_kMDItemUserTags -v "$(value 300)" tree/f
            setfattr -n user.com.apple.ResourceFork -v "$(value 2600)" tree/g; setfattr -n user.name -v "$(value 3224)" tree/h
            rsync -aX tree \#(fixture.place)/; echo rsync $?; cp -a tree \#(fixture.place)/copy 2>&1
            """#)
        #expect(result.output.hasPrefix("rsync 0"), "\(result)")
        for name in ["f", "g", "h"] {
            for copy in ["tree", "copy"] {
                let dump = "getfattr -d -m ^user"
                let (native, here) = (
                    try TestUser.alice.shell("cd \(fixture.nativePlace)/tree; \(dump) \(name)").output,
                    try TestUser.alice.shell("cd \(fixture.place)/\(copy); \(dump) \(name)").output
                )
                #expect(native == here && native.contains("user."), "\(copy)/\(name)")
            }
        }
        let long = String(repeating: "v", count: 3225)
        #expect(try alice.call("setxattr", fixture.place + "/tree/h", "user.name", long).word == "ENOSPC")
    }

    @Test func withSmallBlocksFourMoreEntriesFit() throws {
        let fixture = try SpaceFixture(["-b", "1024"])
        #expect(fixture.warning.contains("ACLs of 39 entries, not of 128"))
        for present in [0, 1, 12, 30] {
            let file = fixture.place + "/f\(present)"
            try alice.must("create", file, "0644", "0")
            if present > 0 { try root.must("setxattr", file, "system.aclfs.acl", list(present)) }
            #expect(try fill(file, sizes: [300, 60, 4, 0]) > 0)
            try root.must("setxattr", file, "system.aclfs.acl", list(present + 4))
            try expectEntries(present + 4, file)
        }
        // As many as the mount said, where nothing else is.
        let file = fixture.place + "/alone"
        try alice.must("create", file, "0644", "0")
        try root.must("setxattr", file, "system.aclfs.acl", list(39))
        #expect(try root.call("setxattr", file, "system.aclfs.acl", list(44)).word == "ENOSPC")
        try expectEntries(39, file)
    }

    @Test func largeValuesElsewhereLeaveRoomForTheName() throws {
        let fixture = try SpaceFixture(["-b", "4096", "-O", "ea_inode"])
        #expect(fixture.warning == "")
        let file = fixture.place + "/f"
        try alice.must("create", file, "0644", "0")
        try alice.must("setxattr", file, "user.large", String(repeating: "v", count: 20_000))
        #expect(try fill(file, sizes: [40, 0], nameLength: 200) > 10)
        #expect(try fill(file, sizes: [0], nameLength: 9) >= 0)
        try root.must("setxattr", file, "system.aclfs.acl", list(128))
        try expectEntries(128, file)
        #expect(try alice.must("getxattr", file, "user.large").utf8.count == 20_000)
        // No record was left behind where none was set.
        try alice.must("create", fixture.place + "/g", "0644", "0")
        _ = try fill(fixture.place + "/g", sizes: [3000, 0], nameLength: 200)
        #expect(try root.call("getxattr", fixture.backingPlace + "/g", "trusted.aclfs").word == "ENODATA")
    }

    @Test func whatIsThereStaysAndMayShrink() throws {
        let fixture = try SpaceFixture(["-b", "4096"])
        let file = fixture.place + "/f"
        try alice.must("create", file, "0644", "0")
        // Written around aclfs, before it served: more than it would have allowed.
        let text = String(repeating: "v", count: 3400)
        try root.must("setxattr", fixture.backingPlace + "/f", "user.old", text)
        #expect(try alice.must("getxattr", file, "user.old") == text)
        #expect(try alice.call("setxattr", file, "user.new", "x").word == "ENOSPC")
        #expect(try alice.call("setxattr", file, "user.old", text + "xxxx").word == "ENOSPC")
        #expect(try alice.call("setxattr", file, "user.old", text).isOK)
        #expect(try alice.call("setxattr", file, "user.old", "again", "1").word == "EEXIST")
        #expect(try alice.call("setxattr", file, "user.none", text, "2").word == "ENODATA")
        #expect(try alice.call("setxattr", file, "user.old", "short").isOK)
        #expect(try alice.call("setxattr", file, "user.new", "x").isOK)
        #expect(try root.call("setxattr", file, "trusted.big", text).word == "ENOSPC")
    }

    @Test func aListThatDoesNotFitIsNotInherited() throws {
        let fixture = try SpaceFixture(["-b", "1024"])
        let directory = fixture.place + "/in"
        try root.must("mkdir", directory, "0777", "0")
        try root.must("setxattr", directory, "system.aclfs.acl", list(20, "allow read,file_inherit,directory_inherit"))
        #expect(try alice.call("create", directory + "/fits", "0644", "0").isOK)
        // New directories get two POSIX ACLs from the backing file system, which take the room of the record.
        var acl: [UInt8] = [2, 0, 0, 0]
        func add(_ tag: UInt8, _ id: Int) { acl += [tag, 0, 7, 0, UInt8(id & 0x7F), UInt8(id >> 8), 0, 0] }
        add(1, 0)
        for id in 512..<552 { add(2, id) }
        for tag: UInt8 in [4, 16, 32] { add(tag, 0) }
        try root.must(
            "setxattr", fixture.backingPlace + "/in", "system.posix_acl_default", String(decoding: acl, as: UTF8.self))
        #expect(try alice.call("mkdir", directory + "/d", "0755", "0").word == "ENOSPC")
        #expect(try TestUser.root.shell("ls \(fixture.backingPlace)/in").output == "fits")
    }

    @Test func otherFileSystemsAreMeasured() throws {
        let fixture = try SpaceFixture(["-b", "1024"])
        let top = try #require(fixture.mount).top
        let lower = fixture.nativePlace + "/lower"
        for name in ["", "/low", "/up", "/work"] { mkdir(lower + name, 0o755) }
        mkdir(top + "/private/over", 0o755)
        mkdir(top + "/mnt2", 0o755)
        defer { _ = try? Spawn.run(["umount", "-l", top + "/private/over"]) }
        let options = "lowerdir=\(lower)/low,upperdir=\(lower)/up,workdir=\(lower)/work"
        let overlay = try Spawn.run(["mount", "-t", "overlay", "-o", options, "overlay", top + "/private/over"])
        guard overlay.status == 0 else { throw FixtureError("overlay: \(overlay)") }
        let mounted = try Spawn.run([MountTesting.program("aclfs"), "mount", top + "/private/over", top + "/mnt2"])
        defer { _ = try? Spawn.run([MountTesting.program("aclfs"), "unmount", top + "/mnt2"]) }
        // What trying finds is what ext4's layout says.
        #expect(mounted.output.contains("ACLs of 39 entries, not of 128"), "\(mounted)")
    }
}
