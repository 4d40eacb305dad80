import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import TestSupport
import Testing
import WireFormats

@testable import ACLFileSystem

/// POSIX ACLs that are not set: the errno, the line in the log, and that nothing is changed. On a mount the kernel refuses most malformed
/// lists before the daemon is asked (docs/reference/posix-acl.md "Setting").
@Suite(.enabled(if: geteuid() == 0, "needs root"))
struct PosixRefusalTests {
    private final class Log: Sendable {
        private let kept = Lock<[String]>([])
        var lines: [String] { kept.withLock { $0 } }
        func add(_ line: String) { kept.withLock { $0.append(line) } }
    }

    private let top: String
    private let log = Log()
    private let fileSystem: FileSystem
    private let owner = Caller(uid: 501, gid: 501, tid: 0)

    init() throws {
        var template = Array("/var/tmp/aclfs-posix.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
        top = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(top, 0o755)
        mkdir(top + "/d", 0o700)
        close(open(top + "/f", O_CREAT | O_WRONLY, 0o600))
        for name in ["d", "f"] { chown("\(top)/\(name)", 501, 501) }
        chmod(top + "/d", 0o1770)
        var options = MountOptions()
        options.allowOther = true
        fileSystem = FileSystem(
            tree: try BackingTree(
                directory: Syscall.open(top, OpenFlag.readOnly | OpenFlag.directory), metadataName: "trusted.aclfs", descriptorBudget: 64,
                report: { _ in }), options: options, report: { [log] in log.add($0) })
        try fileSystem.join()
    }

    private func end() {
        fileSystem.leave()
        for name in ["f"] { unlink("\(top)/\(name)") }
        rmdir(top + "/d")
        rmdir(top)
    }

    private func set(_ name: String, _ bytes: [UInt8], _ attribute: String = "system.posix_acl_access") -> Errno? {
        do throws(Errno) {
            guard case .found(let entry) = try fileSystem.operations.lookups.lookup(name, in: .root, owner) else { return .noent }
            defer { fileSystem.operations.lookups.forgetLookups(of: entry.node, 1) }
            try bytes.withUnsafeBytes { bytes in
                Result { () throws(Errno) in try fileSystem.operations.xattrs.setXattr(entry.node, attribute, bytes, flags: 0, owner) }
            }.get()
        } catch { return error }
        return nil
    }

    private func state(_ name: String) throws -> [String] {
        let object = try Syscall.open("\(top)/\(name)", OpenFlag.readOnly)
        let mode = try Syscall.statx(object.rawValue).mode
        return ["\(mode)"] + (try Syscall.listxattr(.any(object.rawValue))).map { String(decoding: $0, as: UTF8.self) }
    }

    private typealias Entry = PosixWireEntry

    @Test func malformedListsAreNamedInTheLog() throws {
        defer { end() }
        let before = try state("f")
        let malformed: [([UInt8], String)] = [
            (
                PosixWire.bytes([Entry(.owner, 6), Entry(.owner, 6), Entry(.owningGroup, 4), Entry(.other, 0)]),
                "second one for the same subject (the owner)"
            ),
            (
                PosixWire.bytes([Entry(.owner, 6), Entry(.user, 6, id: 502), Entry(.owningGroup, 4), Entry(.other, 0)]),
                "no mask; a list that names users or groups needs one"
            ),
            (PosixWire.bytes([Entry(.owningGroup, 4), Entry(.owner, 6), Entry(.other, 0)]), "the order is owner, users, owning group"),
            ([2, 0, 0, 0, 1, 0, 6], "7 bytes"), ([1, 0, 0, 0], "version 1"), ([2, 0, 0, 0, 64, 0, 6, 0, 0, 0, 0, 0], "unknown tag 64"),
        ]
        for (number, (bytes, words)) in malformed.enumerated() {
            #expect(set("f", bytes) == .inval)
            #expect(log.lines.count == number + 1 && log.lines.last?.contains(words) == true, "\(log.lines): \(words)")
            #expect(log.lines.last?.contains("setting system.posix_acl_access") == true)
        }
        #expect(try state("f") == before)
        #expect(log.lines[2].contains("(g::r--,u::rw-,o::---)") || log.lines[2].contains("u::rw-,g::r--,o::---"), "\(log.lines[2])")
    }

    @Test func listsWithoutEntriesAreNamedInTheLog() throws {
        defer { end() }
        let before = try state("d")
        let list = PosixList(owner: 7, group: 7, groups: [.init(600, 7)], mask: 7, other: 0)
        for _ in 0..<5 { #expect(set("d", PosixWire.bytes(list.wireEntries)) == .opnotsupp) }
        #expect(log.lines.count == 5, "\(log.lines)")
        #expect(
            log.lines[0].contains("in a sticky directory") && log.lines[0].contains("u::rwx,g::rwx,g:600:rwx,m::rwx,o::---"), "\(log.lines)"
        )
        #expect(log.lines[0].contains("by uid 501 was refused (EOPNOTSUPP)"), "\(log.lines)")
        #expect(try state("d") == before)
        // Of a file there is no default ACL.
        #expect(set("f", PosixWire.bytes(list.wireEntries), "system.posix_acl_default") == .acces)
        #expect(set("f", PosixWire.bytes(list.wireEntries)) == nil)
    }
}
