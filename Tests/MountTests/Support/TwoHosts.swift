import Foundation
import Glibc
import LinuxSystem
import TestSupport

/// Two mounts of aclfs, each with a daemon of its own, on two bindfs mounts of one directory: what two hosts see of a network file
/// system. Locks on files go through to the directory.
final class TwoHosts {
    static let isPossible = MountTesting.isPossible && (try? Spawn.run(["sh", "-c", "command -v bindfs"]))?.status == 0

    let here: MountFixture
    /// The directory that both show, as a third host would see it.
    let real: String
    /// Where the other host has mounted.
    let other: String

    init(options: String = "cache=strict", mountsOther: Bool = true) throws {
        here = try MountFixture(options: nil)
        real = here.top + "/private/real"
        let otherBacking = here.top + "/private/other"
        other = here.top + "/other"
        for path in [real, otherBacking, other] { mkdir(path, 0o755) }
        for path in [here.backing, otherBacking] {
            let words = ["bindfs", "--enable-lock-forwarding", "--multithreaded", "-o", "attr_timeout=0,entry_timeout=0", real, path]
            let result = try Spawn.run(words)
            guard result.status == 0 else { throw FixtureError("\(words): \(result)") }
        }
        try here.mount(options)
        guard mountsOther else { return }
        try here.mount(options, of: otherBacking, at: other)
    }

    /// An attribute as the third host sees it; nil if it is not there.
    func stored(_ attribute: String, of name: String) -> [UInt8]? {
        guard let object = try? opened(name) else { return nil }
        return try? Syscall.getxattr(.any(object.rawValue), attribute)
    }

    func store(_ attribute: String, _ value: [UInt8], of name: String) throws {
        let object = try opened(name)
        try Syscall.setxattr(.any(object.rawValue), attribute, value)
    }

    func remove(_ attribute: String, of name: String) throws {
        let object = try opened(name)
        try Syscall.removexattr(.any(object.rawValue), attribute)
    }

    private func opened(_ name: String) throws -> SharedDescriptor {
        SharedDescriptor(try Syscall.open("\(real)/\(name)", OpenFlag.path | OpenFlag.noFollow))
    }
}
