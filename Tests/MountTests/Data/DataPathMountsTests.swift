import Foundation
import Glibc
import TestSupport
import Testing

/// One file through several mounts, whose kernels know nothing of one another's pages (docs/internals/data-path.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct DataPathMountsTests {
    private static let pairs = [
        ("passthrough=auto", "passthrough=auto"), ("passthrough=auto", "passthrough=off"),
        ("passthrough=off", "passthrough=auto"), ("passthrough=off", "passthrough=off"),
    ]

    /// Each writes in turn and the other reads: through descriptors that stay open and new ones.
    @Test(arguments: pairs) func eachSeesTheOthersBytes(_ first: String, _ second: String) throws {
        let fixture = try MountFixture(options: first)
        let root = try ActingProcess(.root)
        try root.must("hold", "1", fixture.path("f"), String(O_RDWR | O_CREAT), "0666")
        try root.must("chmod", fixture.path("f"), "0666")
        try root.must("pwrite", "1", "0", "start...")
        // The second mount comes while the first has the file open.
        let other = fixture.top + "/other"
        mkdir(other, 0o755)
        try fixture.mount(second, at: other)
        let bob = try ActingProcess(.bob)
        try bob.must("hold", "1", other + "/f", String(O_RDWR), "0")
        for round in 0..<50 {
            let (here, there) = ("here\(1000 + round)", "then\(1000 + round)")
            try root.must("pwrite", "1", "0", here)
            let seen = try soon(here) { try bob.must("pread", "1", "0") }
            #expect(seen == here, "\(first), \(second)")
            try bob.must("pwrite", "1", "0", there)
            let back = try soon(there) { try root.must("pread", "1", "0") }
            #expect(back == there, "\(first), \(second)")
            try bob.must("hold", "2", other + "/f", String(O_RDONLY), "0")
            #expect(try bob.must("pread", "2", "0") == there)
            try bob.must("close", "2")
        }
        try root.must("close", "1")
        try bob.must("close", "1")
        #expect(try fixture.idsLeft() == 0)
        #expect(try fixture.idsLeft(at: other) == 0)
    }

    /// The kernel of the writer's mount has not heard of the bits.
    @Test(arguments: pairs) func setIDBitsFromTheOtherMountGo(_ first: String, _ second: String) throws {
        let fixture = try MountFixture(options: "suid,\(first)")
        let other = fixture.top + "/other"
        mkdir(other, 0o755)
        try fixture.mount("suid,\(second)", at: other)
        let (root, alice, bob) = (try ActingProcess(.root), try ActingProcess(.alice), try ActingProcess(.bob))
        for (number, (here, there)) in [(fixture.mountpoint, other), (other, fixture.mountpoint)].enumerated() {
            let name = "/program\(number)"
            try root.must("create", here + name, "0644", "0")
            try root.must("chown", here + name, "501", "20")
            try alice.must("chmod", here + name, "0666")
            try bob.must("hold", "1", here + name, String(O_WRONLY), "0")
            try alice.must("chmod", there + name, "04777")
            try bob.must("pwrite", "1", "0", "evil")
            var status = stat()
            #expect(stat(fixture.backing + name, &status) == 0 && status.st_mode & 0o7777 == 0o777, "\(first), \(second)")
            try bob.must("close", "1")
        }
    }

    /// Where pages are kept they are dropped right after the reply (docs/internals/coherence.md "Several mounts").
    private func soon(_ wanted: String, _ read: () throws -> String) throws -> String {
        var seen = ""
        try eventually {
            seen = try read()
            return seen == wanted
        }
        return seen
    }

    /// Several processes through both mounts, against a model, with and without a fill.
    @Test(arguments: pairs.prefix(3)) func randomCallsThroughTwoMounts(_ first: String, _ second: String) throws {
        let said = ProcessInfo.processInfo.environment["ACLFS_SEED"].flatMap { UInt64($0) }
        for run in 0..<(MountTesting.isLong ? 100 : 4) {
            let fixture = try ZeroFillFixture(.tmpfs, "\(first),zerofill=\(run % 2 == 0 ? "write" : "off")")
            let other = fixture.mount.top + "/other"
            mkdir(other, 0o755)
            try fixture.mount.mount(second, at: other)
            let seed = said ?? UInt64.random(in: 1...1_000_000_000)
            // Where one keeps pages, the other's writes are seen a moment later: then each process has the file to itself.
            let isExact = first == second
            let result = try fixture.gaps(
                "random", String(seed), "80", "4", fixture.path("f"), isExact ? other + "/f" : fixture.path("f"))
            #expect(result.status == 0, "ACLFS_SEED=\(seed), \(first), \(second): \(result)")
            #expect(try fixture.mount.idsLeft() == 0)
        }
    }
}
