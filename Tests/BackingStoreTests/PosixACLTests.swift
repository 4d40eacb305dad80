import ACLFormats
import Authorization
import LinuxSystem
import Testing

@testable import BackingStore

/// POSIX ACLs that backing objects carry by themselves (docs/reference/authorization.md Q22).
@Suite struct PosixACLTests {
    private let directory: TemporaryTree
    private let tree: BackingTree
    private static let access = "system.posix_acl_access"
    private static let standard = "system.posix_acl_default"

    init() throws {
        directory = try TemporaryTree()
        tree = try directory.tree()
    }

    /// The kernel's form: user::rw-, user:502:r--, group::r--, mask::rw-, other::---.
    private static let list = bytes([(0x01, 6, .max), (0x02, 4, 502), (0x04, 4, .max), (0x10, 6, .max), (0x20, 0, .max)])
    private static let read = PosixACL([PosixACL.Entry(.user(502), 4), PosixACL.Entry(.owningGroup, 4)])

    private static func bytes(_ entries: [(UInt16, UInt16, UInt32)]) -> [UInt8] {
        func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }
        return little(UInt32(2)) + entries.flatMap { little($0.0) + little($0.1) + little($0.2) }
    }

    @Test func theyAreReadWithTheRecord() throws {
        let file = try directory.file("file")
        #expect(try tree.facts(directory.find("file", in: tree)).rare == nil)
        try Syscall.setxattr(.open(file.rawValue), Self.access, Self.list)
        let facts = try tree.facts(directory.find("file", in: tree))
        #expect(facts.rare?.posixACL == Self.read && facts.acl == nil)
        // Once more, from what is kept.
        #expect(try tree.facts(directory.find("file", in: tree)).rare?.posixACL == Self.read)
        try Syscall.removexattr(.open(file.rawValue), Self.access)
        #expect(try tree.facts(directory.find("file", in: tree)).rare == nil)
    }

    /// Whoever is named in a list that cannot be read might be denied by it.
    @Test func oneThatCannotBeReadIsUnreadable() throws {
        let file = try directory.file("file")
        try Syscall.setxattr(.open(file.rawValue), Self.access, Self.list)
        let found = try directory.find("file", in: tree)
        var unreadable = 0
        for number in 1...6 {
            // Its descriptor is kept, and no record yet.
            tree.forgetDescriptors()
            _ = try? tree.descriptor(of: found.object)
            let (result, faults) = Faults.with(.call(number, .io)) { () throws(Errno) in
                try tree.facts(found.object, found.descriptor, found.status)
            }
            guard faults.failures > 0 else { break }
            guard case .success(let facts) = result else { continue }
            #expect(facts.rare?.posixACL == .unreadable || facts.rare?.posixACL == Self.read, "call \(number)")
            if facts.rare?.posixACL == .unreadable { unreadable += 1 }
            // What could not be read once is read at the next look.
            #expect(try tree.facts(found.object, found.descriptor, found.status).rare?.posixACL == Self.read, "after call \(number)")
        }
        #expect(unreadable > 0)
    }

    @Test func thoseAtTheTopAreCounted() throws {
        #expect(try tree.posixACLsAtTop(limit: 100) == 0)
        let file = try directory.file("file")
        try directory.file("other")
        try directory.makeDirectory("directory")
        try Syscall.setxattr(.open(file.rawValue), Self.access, Self.list)
        let inner = try Syscall.openat(directory.directory.rawValue, "directory", OpenFlag.readOnly | OpenFlag.directory)
        try Syscall.setxattr(.open(inner.rawValue), Self.standard, Self.list)
        #expect(try tree.posixACLsAtTop(limit: 100) == 2)
        #expect(try tree.posixACLsAtTop(limit: 0) == 0)
    }

    /// What a directory gives to new objects belongs to what is known of them.
    @Test func aDefaultListComesWithNewObjects() throws {
        try Syscall.setxattr(.open(directory.directory.rawValue), Self.standard, Self.list)
        let root = try tree.descriptor(of: tree.root)
        func stored() throws -> StoredFacts {
            let status = try Syscall.statx(root.rawValue)
            let name = "new\(UInt32.random(in: .min ... .max))"
            let file = SharedDescriptor(
                try Syscall.openat(root.rawValue, name, OpenFlag.create | OpenFlag.exclusive | OpenFlag.readWrite, mode: 0o660))
            try Syscall.fchmod(file.rawValue, mode: 0o660)
            let facts = ObjectFacts(kind: .file, owner: 0, group: 0, mode: FileMode(rawValue: 0o660), flags: [], rare: nil)
            return tree.stored(MetadataRecord(), withNew: facts, file.rawValue, in: tree.root, root, status)
        }
        #expect(try stored().rare?.posixACL == Self.read)
        let (faulty, faults) = Faults.with(.callsOf("getxattr(_:_:into:)", .io)) { try stored() }
        #expect(try faulty.get().rare?.posixACL == .unreadable && faults.failures > 0)
        try Syscall.removexattr(.open(directory.directory.rawValue), Self.standard)
        #expect(try stored().rare == nil)
    }
}
