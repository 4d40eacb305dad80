import ACLFormats
import Authorization
import Glibc
import LinuxSystem
import Testing

@testable import BackingStore

/// Room for the record beside the attributes of others (docs/decisions/0006-room-for-the-record.md).
@Suite struct AttributeSpaceTests {
    @Test func countsAsExt4Does() {
        #expect(AttributeSpace.footprint(name: Array("user.a".utf8), size: 0) == 20)
        #expect(AttributeSpace.footprint(name: Array("user.abcd".utf8), size: 5) == 28)
        #expect(AttributeSpace.extBlock(size: 4096).capacity == 4060)
        #expect(AttributeSpace.ample.entries(recordName: "trusted.aclfs") == ACL.maximumEntryCount)
        #expect(AttributeSpace.extBlock(size: 4096, spills: true).entries(recordName: "trusted.aclfs") == ACL.maximumEntryCount)
        #expect((1..<128).contains(AttributeSpace.extBlock(size: 1024).entries(recordName: "trusted.aclfs")))
        #expect(AttributeSpace.extBlock(size: 0).entries(recordName: "trusted.aclfs") == 0)
    }

    @Test func keepsRoomForTheRecordThatIsThereAndMoreEntries() {
        let (space, name) = (AttributeSpace.extBlock(size: 4096), "trusted.aclfs")
        func kept(_ space: AttributeSpace, _ present: Int?, _ entries: Int) -> Int {
            space.reservation(recordName: name, present: present, entries: entries)
        }
        func footprint(_ size: Int) -> Int { AttributeSpace.footprint(name: Array(name.utf8), size: size) }
        #expect(kept(space, nil, 32) == footprint(MetadataRecord.size(entries: 32)))
        for present in [0, 1, 96, 127] {
            let size = MetadataRecord.size(entries: present)
            #expect(kept(space, size, 32) >= footprint(MetadataRecord.size(entries: min(present + 32, 128))))
        }
        #expect(kept(space, MetadataRecord.size(entries: 120), 128) == footprint(MetadataRecord.maximumSize), "no more than there can be")
        #expect(kept(.extBlock(size: 1024), nil, 32) == footprint(MetadataRecord.size(entries: 4)))
        #expect(space.forOthers(recordName: name, entries: 32) == 3224 && space.forOthers(recordName: name, entries: 0) > 3900)
        #expect(AttributeSpace.extBlock(size: 0).forOthers(recordName: name, entries: 128) == 0)
        for ample in [AttributeSpace.ample, .extBlock(size: 4096, spills: true)] {
            #expect(ample.forOthers(recordName: name, entries: 128) == 65_536)
        }
    }

    private func set(_ name: String, _ size: Int, flags: Int32 = 0, _ tree: BackingTree, _ file: SharedDescriptor) throws(Errno) {
        let status = try Syscall.statx(file.rawValue)
        let bytes = [UInt8](repeating: 1, count: size)
        try tree.keepingRoom(besides: Array(name.utf8), size: size, flags: flags, entries: 40, on: file.rawValue, status) {
            () throws(Errno) in
            try Syscall.setxattr(.open(file.rawValue), name, bytes, flags: flags)
        }
    }

    /// However many attributes others set, a list that fitted before fits afterwards.
    @Test func othersLeaveItsRoom() throws {
        let directory = try TemporaryTree()
        let tree = try directory.tree()
        let file = try directory.file("file")
        let space = try tree.rootAttributeSpace()
        let entries = min(space.entries(recordName: "user.aclfs"), 40)
        let record = MetadataRecord(acl: ACL((0..<UInt32(entries)).map { ACE(GUID(user: $0), .allow, [.read]) }))
        var refused: Errno?
        for number in 0..<40 where refused == nil {
            do throws(Errno) { try set("user.other\(number)", 100, tree, file) } catch { refused = error }
        }
        #expect(refused == nil || refused == .nospc)
        #expect(space.capacity == nil || refused == .nospc)
        try tree.write(record, to: file.rawValue)
        #expect(try tree.record(file.rawValue) == record)
        // What does not grow is never refused.
        try set("user.other0", 100, tree, file)
        try set("user.other0", 4, tree, file)
    }

    @Test func whatCannotBeLookedAtIsNotSet() throws {
        let directory = try TemporaryTree()
        let tree = try directory.tree()
        let file = try directory.file("file")
        // There the room is held by a record that says nothing, and may stay behind.
        if try tree.rootAttributeSpace().spills { return }
        for number in 1...10 {
            let (result, faults) = Faults.with(.call(number, .io)) { () throws(Errno) in try set("user.name", 10, tree, file) }
            let isSet = try Syscall.listxattr(.open(file.rawValue)).contains(Array("user.name".utf8))
            if case .success = result {
                #expect(faults.failures == 0 && isSet, "call \(number)")
                break
            }
            #expect(!isSet, "call \(number)")
        }
    }
}
