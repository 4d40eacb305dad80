import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// docs/internals/coherence.md: what the kernel may answer by itself, and what must take that back or leave it alone.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct KernelCacheTests {
    private static let everythingMasked = "kernel_features=-epoch:-passthrough:-uring:-statx:-killpriv2:-expire"

    private func decisions(_ fixture: MountFixture) throws -> Int {
        let status = try Spawn.run([MountTesting.program("aclfs"), "status", "--json", fixture.mountpoint])
        let mounts = try JSONSerialization.jsonObject(with: Data(status.output.utf8)) as? [[String: Any]]
        return try #require((mounts?.first?["counters"] as? [String: Any])?["allowed"] as? Int, "\(status)")
    }

    private func path(_ fixture: MountFixture) throws -> ActingProcess {
        let root = try ActingProcess(.root)
        for name in ["a", "a/b", "a/b/c"] { try root.must("mkdir", fixture.path(name), "0755", "0") }
        try root.must("create", fixture.path("a/b/c/f"), "0644", "0")
        return root
    }

    @Test func aWalkThatEverybodyMayTakeAsksOnce() throws {
        let fixture = try MountFixture(options: "cache=exclusive")
        _ = try path(fixture)
        let bob = try ActingProcess(.bob)
        try bob.must("stat", fixture.path("a/b/c/f"))
        #expect(try bob.call("stat", fixture.path("a/b/c/none")).word == "ENOENT")
        let before = try decisions(fixture)
        for _ in 0..<100 {
            try bob.must("stat", fixture.path("a/b/c/f"))
            #expect(try bob.call("stat", fixture.path("a/b/c/none")).word == "ENOENT")
        }
        #expect(try decisions(fixture) - before < 20)
    }

    @Test(arguments: ["cache=strict", "cache=0"])
    func strictAsksEachTime(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        _ = try path(fixture)
        let bob = try ActingProcess(.bob)
        let before = try decisions(fixture)
        for _ in 0..<50 { try bob.must("stat", fixture.path("a/b/c/f")) }
        #expect(try decisions(fixture) - before >= 250)
    }

    /// Whether the names on the way are believed: of twenty looks few are asked about.
    private func isCached(_ fixture: MountFixture, _ root: ActingProcess) throws -> Bool {
        try root.must("stat", fixture.path("a/b/c/f"))
        let before = try decisions(fixture)
        for _ in 0..<20 { try root.must("stat", fixture.path("a/b/c/f")) }
        return try decisions(fixture) - before <= 5
    }

    /// R7: a directory whose name must not be handed out is cached again when the kernel has forgotten it.
    @Test func aMarkedDirectoryRecovers() throws {
        let fixture = try MountFixture(options: "cache=exclusive")
        let root = try path(fixture)
        try root.must("chmod", fixture.path("a/b"), "0700")
        try root.must("stat", fixture.path("a/b/c/f"))
        try root.must("chmod", fixture.path("a/b"), "0755")
        #expect(try eventually(every: 200_000) { try isCached(fixture, root) })
    }

    /// `tar -x` by root makes directories, sets their modes, and then makes files below them. That many walks do not wait for the attempts.
    @Test func aNewDirectoryIsNotAskedForAtEachWalk() throws {
        let fixture = try MountFixture(options: "cache=exclusive")
        let root = try ActingProcess(.root)
        let below = (1...4).map { "/d\($0)" }.joined()
        // While other programs mount and unmount, a bump may have to wait.
        let areFew = try (1...5).contains { number in
            let tree = fixture.path("t\(number)")
            #expect(try Spawn.run(["sh", "-c", "mkdir -p $0\(below) && chmod -R 755 $0 && echo >$0\(below)/f", tree]).status == 0)
            let before = try decisions(fixture)
            for _ in 0..<3000 { try root.must("stat", tree + below + "/f") }
            // Five for each walk, for more than a second.
            return try decisions(fixture) - before < 8000
        }
        #expect(areFew)
    }

    /// What is below such a directory goes with it, in the midst of work there: that is no reason to mark it, too.
    @Test func whatIsBelowAMarkedDirectoryStaysCached() throws {
        let fixture = try MountFixture(options: "cache=auto")
        let root = try ActingProcess(.root)
        let below = (1...8).map { "/d\($0)" }.joined()
        let trees = (1...3).map { "t\($0)" }
        for tree in trees {
            #expect(
                try Spawn.run(["sh", "-c", "mkdir -p $0\(below) && chmod 755 $0 && echo >$0\(below)/f", fixture.path(tree)]).status == 0)
        }
        let end = SystemTime.monotonic() + 6_000_000_000
        var (samples, slow) = (0, 0)
        while SystemTime.monotonic() < end {
            let before = try decisions(fixture)
            for _ in 0..<1000 {
                for tree in trees { try root.must("stat", fixture.path(tree + below + "/f")) }
            }
            samples += 1
            // Of each walk nine could be asked; one for each directory that is marked, and all names anew behind a bump.
            if try decisions(fixture) - before > 8000 { slow += 1 }
        }
        #expect(slow * 3 <= samples, "\(slow) of \(samples)")
    }

    /// docs/internals/coherence.md "The price of a bump": a bump, and a refusal while the kernel checks a name, detach what is mounted below.
    @Test func aMountBelowSurvivesStrangers() throws {
        let fixture = try MountFixture()
        let root = try path(fixture)
        let bob = try ActingProcess(.bob)
        try root.must("mkdir", fixture.path("other"), "0755", "0")
        try root.must("chown", fixture.path("other"), "502", "20")
        try bob.must("stat", fixture.path("a/b/c"))
        #expect(try Spawn.run(["mount", "-t", "tmpfs", "tmpfs", fixture.path("a/b/c")]).status == 0)
        defer { _ = try? Spawn.run(["umount", "-l", fixture.path("a/b/c")]) }
        usleep(100_000)
        for round in 0..<1000 {
            try bob.must("chmod", fixture.path("other"), round % 2 == 0 ? "0700" : "0755")
        }
        try root.must("chmod", fixture.path("a"), "0700")
        for _ in 0..<100 {
            let word = try bob.call("stat", fixture.path("a/b/c")).word
            #expect(word == "ENOMEM" || word == "EACCES")
        }
        #expect(MountFixture.isMounted(fixture.path("a/b/c")))
        try root.must("chmod", fixture.path("a"), "0755")
        #expect(MountFixture.isMounted(fixture.path("a/b/c")))
    }

    /// After the mount below has gone, names are handed out again.
    @Test func cachingComesBackAfterAMountBelow() throws {
        let fixture = try MountFixture(options: "cache=exclusive")
        let root = try path(fixture)
        #expect(try Spawn.run(["mount", "-t", "tmpfs", "tmpfs", fixture.path("a/b/c")]).status == 0)
        #expect(try Spawn.run(["umount", fixture.path("a/b/c")]).status == 0)
        #expect(try eventually(every: 200_000) { try isCached(fixture, root) })
    }

    @Test func theWorkingDirectoryKeepsItsPath() throws {
        let fixture = try MountFixture()
        _ = try path(fixture)
        let script = """
            cd "$1" || exit 1
            for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
                chmod 755 . && /bin/pwd >/dev/null || exit 2
                stat "$1/c" >/dev/null
                sleep 0.25
            done
            /bin/pwd
            """
        let result = try Spawn.run(["sh", "-c", script, "sh", fixture.path("a/b")])
        #expect(result.status == 0)
        #expect(result.output.contains(fixture.path("a/b")))
    }

    /// I2: what changes behind the mount is seen at the next request where nothing is cached, soon elsewhere.
    @Test func changesBehindTheMountAreSeen() throws {
        let fixture = try MountFixture(options: "cache=strict")
        let root = try path(fixture)
        let bob = try ActingProcess(.bob)
        let file = fixture.path("a/b/c/f")
        try root.must("create", fixture.path("closed"), "0644", "0")
        try root.must("setxattr", fixture.path("closed"), "system.aclfs.acl", "user:#502 deny read")
        for round in 0..<100 {
            try bob.must("open", file, "0")
            let copied = try Spawn.run([
                "cp", "--preserve=xattr", "--attributes-only", fixture.backing + "/closed", fixture.backing + "/a/b/c/f",
            ])
            #expect(copied.status == 0)
            #expect(try bob.call("open", file, "0").word == "EACCES", "round \(round)")
            #expect(try Spawn.run(["setfattr", "-x", "trusted.aclfs", fixture.backing + "/a/b/c/f"]).status == 0)
        }
    }

    /// What was stored with a new object is believed without reading it, but not when it has changed.
    @Test func changesOfNewObjectsAreSeen() throws {
        let fixture = try MountFixture(options: "cache=strict")
        let root = try path(fixture)
        let bob = try ActingProcess(.bob)
        try root.must("create", fixture.path("closed"), "0644", "0")
        try root.must("setxattr", fixture.path("closed"), "system.aclfs.acl", "user:#502 deny read,list")
        try root.must("mkdir", fixture.path("closed-d"), "0755", "0")
        try root.must("setxattr", fixture.path("closed-d"), "system.aclfs.acl", "user:#502 deny read,list")
        // Inherited: there is a record to be believed.
        try root.must("setxattr", fixture.path("a/b/c"), "system.aclfs.acl", "user:#502 allow delete,file_inherit,directory_inherit")
        for round in 0..<50 {
            let name = "a/b/c/new\(round)"
            let isDirectory = round % 2 == 0
            if isDirectory {
                try root.must("mkdir", fixture.path(name), "0755", "0")
            } else {
                try root.must("create", fixture.path(name), "0644", "0")
            }
            #expect(try unescaped(root.must("getxattr", fixture.path(name), "system.aclfs.acl")).isEmpty == false)
            try bob.must("open", fixture.path(name), "0")
            let copied = try Spawn.run([
                "cp", "--preserve=xattr", "--attributes-only", "-T", "-r", fixture.backing + "/closed\(isDirectory ? "-d" : "")",
                fixture.backing + "/" + name,
            ])
            #expect(copied.status == 0, "\(copied)")
            #expect(try bob.call("open", fixture.path(name), "0").word == "EACCES", "round \(round)")
        }
    }

    /// Every fast path away: everything still works, also what those paths would have done for us.
    @Test func nothingDependsOnTheFastPaths() throws {
        let fixture = try MountFixture(options: "suid," + Self.everythingMasked)
        let root = try path(fixture)
        let bob = try ActingProcess(.bob)
        let file = fixture.path("a/b/c/f")
        try root.must("chown", file, "501", "20")
        try root.must("chmod", file, "06777")
        try bob.must("hold", "1", file, String(O_WRONLY), "0")
        try bob.must("write", "1", "x")
        #expect(unescaped(try root.must("stat", file)).starts(with: "501 20 777 ".utf8))
        try root.must("chmod", file, "06777")
        try bob.must("truncate", file, "0")
        #expect(unescaped(try root.must("stat", file)).starts(with: "501 20 777 ".utf8))
        // Only where an act of his goes with it.
        try bob.must("close", "1")
        try root.must("chmod", file, "06755")
        #expect(try bob.call("chmod", file, "0755").word == "EPERM")
        for _ in 0..<100 {
            try root.must("chmod", fixture.path("a"), "0700")
            #expect(try bob.call("stat", file).word == "EACCES")
            try root.must("chmod", fixture.path("a"), "0755")
            try bob.must("stat", file)
        }
    }
}
