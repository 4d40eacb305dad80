import ACLFormats
import Authorization
import CLinux
import Glibc
import LinuxSystem
import Testing

@testable import BackingStore

/// The bit that an ordinary user's daemon gives its user for one call (docs/decisions/0016-an-ordinary-users-daemon.md).
@Suite(.enabled(if: geteuid() == 0, "needs root")) struct OwnersAccessTests {
    private static let user: UInt32 = 501
    private static let name = "user.aclfs"
    private let directory: TemporaryTree
    private let access = OwnersAccess(user: Self.user)

    init() throws {
        directory = try TemporaryTree()
        try Syscall.fchmod(directory.directory.rawValue, mode: 0o755)
    }

    /// - Returns: O_PATH, as the tree holds it.
    private func file(mode: UInt32, owner: UInt32 = Self.user) throws -> SharedDescriptor {
        let name = "file\(UInt64.random(in: .min ... .max))"
        let file = try directory.file(name)
        try Syscall.setxattr(.open(file.rawValue), Self.name, [1])
        try Syscall.fchown(file.rawValue, uid: owner, gid: owner)
        try Syscall.fchmod(file.rawValue, mode: mode)
        return SharedDescriptor(try Syscall.openat(directory.directory.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
    }

    /// As file systems see a daemon of this user: without capabilities over files.
    private func asUser<Value>(_ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        _ = aclfs_setfsuid(Self.user)
        defer { _ = aclfs_setfsuid(0) }
        return try body()
    }

    private func read(_ file: SharedDescriptor) throws(Errno) -> [UInt8] {
        try asUser { () throws(Errno) in
            try access.with(OwnersAccess.reading, on: file.rawValue) { () throws(Errno) in
                try Syscall.getxattr(.any(file.rawValue), Self.name)
            }
        }
    }

    private func write(_ file: SharedDescriptor) throws(Errno) {
        try asUser { () throws(Errno) in
            try access.with(OwnersAccess.writing, on: file.rawValue) { () throws(Errno) in
                try Syscall.setxattr(.any(file.rawValue), Self.name, [2])
            }
        }
    }

    private func state(_ file: SharedDescriptor) throws -> (mode: UInt32, value: [UInt8]) {
        (try Syscall.statx(file.rawValue).mode & 0o7777, try Syscall.getxattr(.any(file.rawValue), Self.name))
    }

    @Test func ownersReachTheirOwnRecords() throws {
        for mode: UInt32 in [0, 0o044, 0o1055, 0o4000, 0o444, 0o600] {
            let file = try file(mode: mode)
            #expect(try read(file) == [1], "\(String(mode, radix: 8))")
            try write(file)
            let after = try state(file)
            #expect(after.mode == mode && after.value == [2], "\(String(mode, radix: 8)): \(after)")
        }
    }

    @Test func othersObjectsAndSetGroupIDStayClosed() throws {
        for file in [try file(mode: 0, owner: 502), try file(mode: 0o2000)] {
            let before = try state(file)
            #expect(throws: Errno.acces) { try read(file) }
            #expect(throws: Errno.acces) { try write(file) }
            let after = try state(file)
            #expect(after.mode == before.mode && after.value == before.value)
        }
    }

    /// What is not there is looked for by its name, which needs no bit: the object does not change.
    @Test func whatIsNotThereChangesNothing() throws {
        let file = try file(mode: 0)
        let before = try Syscall.statx(file.rawValue).ctime
        #expect(throws: Errno.nodata) { try asUser { () throws(Errno) in try access.value("user.none", of: file.rawValue) } }
        #expect(try Syscall.statx(file.rawValue).ctime == before)
        #expect(try asUser { () throws(Errno) in try access.value(Self.name, of: file.rawValue) } == [1])
        #expect(try state(file).mode == 0)
    }

    /// Whatever fails, the bit goes again; only where it cannot be taken away it stays, and it is the owner's own.
    @Test func aFailureTakesTheBitBack() throws {
        for (bits, isWriting) in [(OwnersAccess.reading, false), (OwnersAccess.writing, true)] {
            var number = 0
            while true {
                number += 1
                let file = try file(mode: 0o044)
                let (result, faults) = Faults.with(.call(number, .io)) { () throws(Errno) in
                    if isWriting { try write(file) } else { _ = try read(file) }
                }
                let after = try state(file)
                guard faults.failures > 0 else { break }
                let failed = faults.calls[number - 1]
                #expect(throws: Errno.io) { try result.get() }
                let isTakingBack = failed == "fchmod(_:mode:)" && number > 3
                #expect(after.mode == 0o044 || isTakingBack && after.mode == 0o044 | bits, "call \(number) (\(failed)): \(after)")
                #expect(after.value == [1] || isWriting && isTakingBack)
            }
            #expect(number > 4)
        }
    }
}
