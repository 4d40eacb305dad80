import Foundation
import Glibc
import TestSupport

/// Whether a file system with quotas can be made here. Those of ext4 and XFS need a kernel with quota formats; a group of
/// btrfs needs none, and takes effect at the same calls.
enum QuotaTesting {
    static let missing: String? = {
        var reason = LoopTesting.missing
        if reason == nil {
            do {
                let trial = try MountFixture(options: nil)
                _ = try LoopFileSystem.withQuota(of: 24, image: trial.top + "/image", at: trial.backing)
            } catch {
                reason = "no file system here offers quotas: \(error)"
            }
        }
        if let reason { print("the tests of quotas did not run: \(reason)") }
        return reason
    }()
    static var isPossible: Bool { missing == nil }
}

extension LoopFileSystem {
    /// Users may have so many megabytes of it in all; there is far more room than that.
    static func withQuota(of megabytes: Int, image: String, at directory: String) throws -> LoopFileSystem {
        try LoopFileSystem(
            image: image, at: directory, maker: ["mkfs.btrfs", "-q"], megabytes: 256,
            finally: [
                ["btrfs", "quota", "enable", directory],
                // What is counted must be right before it is limited.
                ["btrfs", "quota", "rescan", "-w", directory],
                ["btrfs", "qgroup", "limit", "\(megabytes)M", "0/5", directory],
            ])
    }
}

/// Two equal file systems with a quota: one used as it is, one through aclfs.
final class QuotaFixture {
    static let megabytes = 24

    private(set) var mount: MountFixture?
    private var native: LoopFileSystem?
    private var backing: LoopFileSystem?
    private let images: ScratchDirectory

    /// The directories that users write into.
    var nativePlace: String { mount.map { $0.top + "/native/d" } ?? "" }
    var place: String { mount?.path("d") ?? "" }
    var backingPlace: String { mount.map { $0.backing + "/d" } ?? "" }

    init(_ options: String) throws {
        images = try ScratchDirectory("quota", in: "/var/tmp")
        let fixture = try MountFixture(options: nil)
        mount = fixture
        mkdir(fixture.top + "/native", 0o755)
        native = try .withQuota(of: Self.megabytes, image: images.path + "/native", at: fixture.top + "/native")
        backing = try .withQuota(of: Self.megabytes, image: images.path + "/backing", at: fixture.backing)
        for top in [fixture.top + "/native", fixture.backing] {
            mkdir(top + "/d", 0o1777)
            chmod(top + "/d", 0o1777)
        }
        try fixture.mount(options)
    }

    deinit {
        // From the top of the stack down; the fixture then finds its directory empty.
        if let mount { for path in mount.mountpoints { _ = try? mount.unmount(at: path) } }
        native = nil
        backing = nil
        mount = nil
    }

    /// What was freed counts until it is committed.
    func settle() throws {
        guard let mount else { return }
        for directory in [mount.top + "/native", mount.backing] {
            let result = try Spawn.run(["btrfs", "filesystem", "sync", directory])
            guard result.status == 0 else { throw FixtureError("sync \(directory): \(result)") }
        }
    }
}
