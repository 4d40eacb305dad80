import ACLFormats
import Authorization
import LinuxSystem
import Testing

@testable import BackingStore

/// When what was read of an object may be believed later (docs/internals/coherence.md R17).
@Suite struct ChangeTimeTests {
    private let directory: TemporaryTree
    private let tree: BackingTree
    private static let list = MetadataRecord(acl: ACL([ACE(GUID(user: 502), .deny, [.read])]))

    init() throws {
        directory = try TemporaryTree()
        tree = try directory.tree()
    }

    /// A file system stores what it likes: ext4 until 2446, which is more nanoseconds from now than 64 bits count.
    @Test(arguments: [Int64.min, -2_147_483_648, 15_032_385_535, .max], [UInt32(0), 1, .max])
    func anyStoredTimeHasAnAnswer(_ seconds: Int64, _ nanoseconds: UInt32) throws {
        let file = try directory.file("file")
        let descriptor = SharedDescriptor(try Syscall.dup(file.rawValue))
        let device = try Syscall.statx(file.rawValue).device
        let isCertain = ChangeTimes().identifiesState(Timespec(sec: seconds, nsec: nanoseconds), on: device, descriptor)
        // Where each change has a time of its own, a time with nanoseconds is certain whatever it is.
        if nanoseconds == 0 { #expect(isCertain == (seconds < 0)) }
    }

    /// Whoever changes it, through the mount or behind it.
    @Test func aChangeIsSeenAtTheNextLook() throws {
        let file = try directory.file("file")
        for round in 0..<50 {
            let record = round % 2 == 0 ? Self.list : MetadataRecord()
            try Syscall.fchmod(file.rawValue, mode: 0o600)
            try tree.write(record, to: file.rawValue)
            #expect(try tree.facts(directory.find("file", in: tree)).acl == record.acl, "\(round)")
            #expect(try tree.facts(directory.find("file", in: tree)).acl == record.acl, "\(round)")
        }
    }

    @Test func whatWasReadIsCurrentUntilAChange() throws {
        let file = try directory.file("file")
        // A stamp that a later change could share is not believed on all file systems.
        SystemTime.sleep(milliseconds: 30)
        let found = try directory.find("file", in: tree)
        _ = try tree.facts(found)
        guard tree.isCurrent(found.object, found.status) else { return }
        try Syscall.fchmod(file.rawValue, mode: 0o600)
        let status = try Syscall.statx(file.rawValue)
        #expect(!tree.isCurrent(found.object, status))
        // Our own change left the record alone: it is carried on, as an assumption.
        tree.keepRecord(of: found.object, before: found.status, after: status, found.descriptor)
        #expect(!tree.isCurrent(found.object, status))
        let (_, faults) = Faults.with(.none) { () throws(Errno) in try tree.facts(found.object, found.descriptor, status) }
        #expect(faults.calls.isEmpty, "the record is not read again: \(faults.calls)")
    }

    @Test func whatOthersChangedMeanwhileIsNotCarriedOn() throws {
        let file = try directory.file("file")
        SystemTime.sleep(milliseconds: 30)
        let found = try directory.find("file", in: tree)
        _ = try tree.facts(found)
        // Another changes the record, then we the mode, without a look in between.
        try Syscall.setxattr(.open(file.rawValue), "user.aclfs", Self.list.encoded())
        let before = try Syscall.statx(file.rawValue)
        try Syscall.fchmod(file.rawValue, mode: 0o600)
        let after = try Syscall.statx(file.rawValue)
        tree.keepRecord(of: found.object, before: before, after: after, found.descriptor)
        #expect(try tree.facts(found.object, found.descriptor, after).acl == Self.list.acl)
    }

    /// A file system whose kind could not be learned once is asked again: for good it would be believed nothing, and not be known
    /// to be shared with other hosts.
    @Test func theKindOfFileSystemIsLearnedLater() throws {
        let (made, faults) = Faults.with(.callsOf("fstatvfs(_:)", .io)) { () throws(Errno) -> BackingTree? in try? directory.tree() }
        #expect(faults.failures > 0)
        guard let tree = try made.get() else { return }
        try directory.file("file")
        SystemTime.sleep(milliseconds: 30)
        let found = try directory.find("file", in: tree)
        _ = try tree.facts(found)
        let reference = try directory.find("file", in: self.tree)
        _ = try self.tree.facts(reference)
        #expect(tree.isCurrent(found.object, found.status) == self.tree.isCurrent(reference.object, reference.status))
    }
}
