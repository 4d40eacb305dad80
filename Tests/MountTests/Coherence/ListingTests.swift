import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// What `ls` and the like ask beside the attributes, and what a stranger is told.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ListingTests {
    /// Natively nobody is refused a `security.*` attribute; here it takes readextattr, and the answer to whoever has
    /// not got it is the one that programs expect: there is none.
    @Test func aStrangersListingIsQuiet() throws {
        let fixture = try MountFixture()
        let native = fixture.top + "/native"
        let script = """
            mkdir -p $D/closed; cd $D; for n in 1 2 3; do echo text >f$n; done; ln -s f1 link; chmod 600 f1; chmod 0 f2
            chmod 711 closed; chown -R 501:20 .; touch -h -d @1000000000 * .
            """
        for place in [native, fixture.path("d")] {
            #expect(try Spawn.run(["sh", "-c", "D=\(place); \(script)"]).status == 0)
        }
        for options in ["-l", "-la", "-lZ", "-l --color=always", "-ln --full-time", "-ldZ"] {
            let expected = try TestUser.bob.shell("cd \(native) && ls \(options) 2>&1")
            let seen = try TestUser.bob.shell("cd \(fixture.path("d")) && ls \(options) 2>&1")
            #expect(!expected.output.isEmpty && expected.status == 0)
            // How many blocks a directory takes, and what stands above, is each file system's own.
            #expect(ownLines(seen.output) == ownLines(expected.output), "ls \(options)")
            #expect(seen.status == 0)
        }
    }

    private func ownLines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("total ") && !$0.hasSuffix(" ..") }
            .map {
                $0.hasPrefix("d")
                    ? $0.split(whereSeparator: { $0 == " " }).enumerated().filter { $0.offset != 4 }
                        .map { String($0.element) }.joined(separator: " ") : $0
            }
    }

    @Test func labelsStayGuarded() throws {
        let fixture = try MountFixture()
        let root = try ActingProcess(.root)
        let bob = try ActingProcess(.bob)
        let file = fixture.path("f")
        try root.must("create", file, "0600", "0")
        try root.must("chown", file, "501", "20")
        try root.must("setxattr", file, "security.label", "secret")
        try root.must("setxattr", file, "user.x", "value")
        #expect(try ActingProcess(.alice).must("getxattr", file, "security.label") == "secret")
        // The same whether it is there or not.
        #expect(try bob.call("getxattr", file, "security.label").word == "ENODATA")
        #expect(try bob.call("getxattr", file, "security.none").word == "ENODATA")
        #expect(try bob.call("getxattr", file, "security.selinux").word == "EOPNOTSUPP")
        #expect(try bob.call("getxattr", file, "user.x").word == "EACCES")
        #expect(try bob.must("listxattr", file) == "")
        try root.must("setxattr", file, "system.aclfs.acl", "user:#502 allow readextattr")
        #expect(try bob.must("getxattr", file, "security.label") == "secret")
        // With its list, which is listed for copies.
        #expect(try bob.must("listxattr", file) == "user.com.apple.acl.text\\x00user.x\\x00")
        try root.must("setxattr", file, "system.aclfs.acl", "user:#501 deny readextattr")
        #expect(try ActingProcess(.alice).call("getxattr", file, "security.label").word == "ENODATA")
    }

    /// `ls -l` asks for the label of each object, until one answer says that the file system has none.
    @Test func theLabelThatSELinuxReads() throws {
        let fixture = try MountFixture()
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        let file = fixture.path("f")
        try root.must("create", file, "0644", "0")
        for _ in 0..<2 { #expect(try bob.call("getxattr", file, "security.selinux").word == "EOPNOTSUPP") }
        try root.must("setxattr", file, "security.selinux", "label")
        #expect(try bob.must("getxattr", file, "security.selinux") == "label")
        try root.must("setxattr", file, "system.aclfs.acl", "user:#502 deny readextattr")
        #expect(try bob.call("getxattr", file, "security.selinux").word == "EOPNOTSUPP")
        #expect(try root.must("getxattr", file, "security.selinux") == "label")
        try root.must("removexattr", file, "security.selinux")
        #expect(try root.call("getxattr", file, "security.selinux").word == "EOPNOTSUPP")
    }

    /// The kernel would ask for the attributes before it shows what it keeps of a listing.
    @Test(arguments: ["readattr", "readsecurity"]) func whoMayNotStatListsAgainThroughHisHandle(_ right: String) throws {
        let fixture = try MountFixture(options: "cache=auto")
        let root = try ActingProcess(.root)
        try root.must("mkdir", fixture.path("d"), "0777", "0")
        try root.must("setxattr", fixture.path("d"), "system.aclfs.acl", "user:#502 deny \(right)")
        let bob = try ActingProcess(.bob)
        #expect(try bob.call("stat", fixture.path("d")).word == "EACCES")
        try bob.must("hold", "1", fixture.path("d"), String(O_RDONLY), "0")
        for _ in 0..<3 { try bob.must("relist", "1") }
    }

    /// Here it asks: when the directory was opened, everybody could read its attributes. Nothing tells that request from stat(2)'s, and
    /// what /proc says of the asking thread can be forged (docs/reference/security.md).
    @Test(arguments: ["readattr", "readsecurity"], ["cache=auto", "cache=exclusive", "cache=2"])
    func whoMayNotStatAnyMoreOpensAnewToListAgain(_ right: String, _ options: String) throws {
        let fixture = try MountFixture(options: options)
        let root = try ActingProcess(.root)
        try root.must("mkdir", fixture.path("d"), "0777", "0")
        let bob = try ActingProcess(.bob)
        try bob.must("hold", "1", fixture.path("d"), String(O_RDONLY), "0")
        try bob.must("relist", "1")
        try root.must("setxattr", fixture.path("d"), "system.aclfs.acl", "user:#502 deny \(right)")
        #expect(try bob.call("relist", "1").word == "EACCES")
        #expect(try bob.call("fstat", "1").word == "EACCES")
        #expect(try bob.call("stat", fixture.path("d")).word == "EACCES")
        try bob.must("hold", "2", fixture.path("d"), String(O_RDONLY), "0")
        for _ in 0..<3 { try bob.must("relist", "2") }
    }

    /// execve(2) asks for `security.capability` as the caller, where set-id bits count.
    @Test func whatMayNotBeReadCanBeRun() throws {
        let fixture = try MountFixture(options: "suid")
        let program = fixture.path("true")
        #expect(try Spawn.run(["cp", "/bin/true", program]).status == 0)
        try ActingProcess(.root).must("chmod", program, "0711")
        #expect(try TestUser.bob.shell("cat \(program)").status != 0)
        #expect(try TestUser.bob.run(program).status == 0)
    }

    @Test func tenThousandEntriesAsAStranger() throws {
        let fixture = try MountFixture()
        let many = fixture.backing + "/many"
        let made = try Spawn.run(["sh", "-c", "mkdir \(many) && cd \(many) && seq 10000 | xargs touch && chmod 600 * && chown 501:20 * ."])
        #expect(made.status == 0, "\(made)")
        let clock = ContinuousClock()
        var result = CommandResult(status: -1, output: "")
        let duration = try clock.measure {
            result = try TestUser.bob.shell("ls -l --color=always \(fixture.path("many")) 2>&1 | wc -l")
        }
        #expect(result.output == "10001", "\(result)")
        print("ls -l --color of 10 000 entries as a stranger: \(duration)")
        // A few requests for each; about 2 s with a debug build.
        #expect(duration < .seconds(20))
    }
}
