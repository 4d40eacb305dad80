import ACLFormats
import Authorization
import LinuxSystem
import Testing

@testable import BackingStore

/// The record on an object: written, read, and what becomes of one that cannot be read (docs/decisions/0002-fail-closed-records.md).
@Suite struct RecordTests {
    private let directory: TemporaryTree
    private let tree: BackingTree
    private static let list = MetadataRecord(flags: .hidden, acl: ACL([ACE(GUID(user: 502), .deny, [.read])]))

    init() throws {
        directory = try TemporaryTree()
        tree = try directory.tree()
    }

    @Test func whatIsWrittenIsRead() throws {
        let file = try directory.file("file")
        try tree.write(Self.list, to: file.rawValue)
        #expect(try tree.record(file.rawValue) == Self.list)
        let facts = try tree.facts(directory.find("file", in: tree))
        #expect(facts.flags == .hidden && facts.acl == Self.list.acl && facts.kind == .file && facts.mode.rawValue == 0o644)
    }

    @Test func anEmptyRecordIsNoAttribute() throws {
        let file = try directory.file("file")
        #expect(try tree.record(file.rawValue).isEmpty)
        try tree.write(Self.list, to: file.rawValue)
        try tree.write(MetadataRecord(), to: file.rawValue)
        #expect(try Syscall.listxattr(.open(file.rawValue)).isEmpty)
        // Once more there is nothing to remove.
        try tree.write(MetadataRecord(), to: file.rawValue)
        #expect(try tree.facts(directory.find("file", in: tree)).acl == nil)
    }

    @Test func theLongestListIsReadAgain() throws {
        let entries = (0..<UInt32(ACL.maximumEntryCount)).map { ACE(GUID(user: $0), .allow, [.read]) }
        let record = MetadataRecord(acl: ACL(entries))
        let shared = try TemporaryTree(below: "/dev/shm")
        let tree = try shared.tree()
        let file = try shared.file("file")
        try tree.write(record, to: file.rawValue)
        #expect(try tree.facts(shared.find("file", in: tree)).acl == record.acl)
    }

    private func expectRefused(_ name: String, _ because: String) throws {
        let found = try directory.find(name, in: tree)
        #expect(throws: Errno.io, "\(name)") { try tree.facts(found) }
        #expect(throws: Errno.io) { try tree.record(found.descriptor.rawValue) }
        // Once for each state of the object.
        #expect(throws: Errno.io) { try tree.facts(found) }
        let lines = directory.said.filter { $0.contains("/" + name + ":") }
        #expect(lines.count == 1 && lines[0].contains(because), "\(lines)")
    }

    @Test func damagedAndNewerRecordsAreNoneThatLetsAnybodyIn() throws {
        let whole = try Self.list.encoded()
        var (flipped, newer) = (whole, whole)
        flipped[whole.count - 1] ^= 1
        newer[4] = 99
        let damaged: [(String, [UInt8], String)] = [
            ("flipped", flipped, "checksum"), ("short", Array(whole.dropLast()), "truncated"), ("long", whole + [0], "after the end"),
            ("empty", [], "truncated"), ("other", Array("something else that is long enough for it".utf8), "mark"),
        ]
        for (name, bytes, because) in damaged {
            let file = try directory.file(name)
            try Syscall.setxattr(.open(file.rawValue), "user.aclfs", bytes)
            try expectRefused(name, because)
        }
        let file = try directory.file("newer")
        try Syscall.setxattr(.open(file.rawValue), "user.aclfs", newer)
        let found = try directory.find("newer", in: tree)
        #expect(throws: Errno.io) { try tree.facts(found) }
    }

    @Test func aRestoredRecordCountsAtOnce() throws {
        let file = try directory.file("file")
        try Syscall.setxattr(.open(file.rawValue), "user.aclfs", [1, 2, 3])
        #expect(throws: Errno.io) { try tree.facts(directory.find("file", in: tree)) }
        try tree.write(Self.list, to: file.rawValue)
        #expect(try tree.facts(directory.find("file", in: tree)).acl == Self.list.acl)
    }

    /// Only the file system's own "there is none" counts as that.
    @Test func whatCannotBeReadIsNotNone() throws {
        let file = try directory.file("file")
        try tree.write(Self.list, to: file.rawValue)
        for function in ["getxattr(_:_:into:)", "getxattrat(_:_:_:into:)"] {
            for error in [Errno.io, .nomem, .perm, .mfile] {
                tree.forgetDescriptors()
                let found = try directory.find("file", in: directory.tree())
                let (result, faults) = Faults.with(.callsOf(function, error)) { () throws(Errno) in
                    try tree.facts(found.object, found.descriptor, found.status)
                }
                guard faults.failures > 0 else { continue }
                #expect(throws: Errno.io, "\(function) \(error)") { try result.get() }
            }
        }
        #expect(directory.said.allSatisfy { $0.contains("cannot be read") }, "\(directory.said)")
    }

    @Test func aRecordThatCannotBeWrittenIsAsBefore() throws {
        let file = try directory.file("file")
        try tree.write(Self.list, to: file.rawValue)
        for error in [Errno.nospc, .dquot, .io] {
            for record in [MetadataRecord(flags: .userImmutable), MetadataRecord()] {
                let (result, _) = Faults.with(.call(1, error)) { () throws(Errno) in try tree.write(record, to: file.rawValue) }
                #expect(throws: error) { try result.get() }
                #expect(try tree.record(file.rawValue) == Self.list)
            }
        }
    }
}
