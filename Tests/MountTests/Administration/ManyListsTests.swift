import Foundation
import Glibc
import TestSupport
import Testing

/// Lists of many files by one request (docs/reference/control.md "Lists of many files"): the same as one by one, and never more.
@Suite(.serialized, .enabled(if: MountTesting.isPossible && isInstalled("getfattr"), "needs root, /dev/fuse, attr"))
struct ManyListsTests {
    private let tree: TreeFixture
    private var top: String { tree.fixture.mountpoint }
    init() throws {
        tree = try TreeFixture()
        _ = try tree.go(to: .mount)
    }

    // MARK: Through the command

    /// Files, directories and others, some of which 505 may not change, read, or find.
    private static func mixed(_ name: String) -> String {
        """
        mkdir -p \(name)/e/f \(name)/closed \(name)/full; touch \(name)/{1..70} \(name)/e/{1..5} \(name)/e/f/{1..3} 'name'; mv name '\(name)/a b'
        touch "\(name)/"$'line\\nfeed' "\(name)/"$'\\377'
        ln -s nowhere \(name)/link; mkfifo \(name)/pipe; ln \(name)/1 \(name)/one; ln \(name)/2 \(name)-outside
        aclfs chmod +a 'user:501 allow read,write,file_inherit,directory_inherit' \(name)
        aclfs chmod +a 'user:502 deny read,file_inherit,limit_inherit,directory_inherit' \(name)
        aclfs chmod +a 'user:503 allow read' \(name)/e/2 \(name)/e/f/2; aclfs chmod +ai 'user:504 allow read' \(name)/e/2 \(name)/e/f/2
        for i in {1..128}; do echo "user:$((1000 + i)) allow read"; done > entries; touch \(name)/full/many
        aclfs chmod -E \(name)/full/many < entries; rm entries
        chown -R 505:20 \(name) \(name)-outside; chown 0 \(name)/{10..20}; aclfs chmod +a 'user:505 allow writesecurity' \(name)/15
        aclfs chflags uchg \(name)/30; aclfs chmod +a 'user:505 deny readsecurity' \(name)/31; aclfs chmod +a 'user:505 deny writesecurity' \(name)/32
        chown 0 \(name)/closed; touch \(name)/closed/in; chmod 700 \(name)/closed
        """
    }

    private func state(_ name: String) throws -> String {
        try tree.shell(
            """
            cd \(name) && find . -print0 | sort -z | xargs -0 getfattr -h -n system.aclfs.acl 2>&1; find . -printf '%p %m %U %G %n\\n' | sort
            """
        ).output
    }

    /// A run that names each object makes one request for each. It says the same, and leaves the same.
    @Test(
        arguments: MountTesting.isLong
            ? [["propagate"], ["explicit", "-R"], ["strip", "-R", "--inherited"], ["strip", "-R"]] : [["propagate"], ["strip", "-R"]])
    func theSameAsOneByOne(_ words: [String]) throws {
        let made = try tree.shell(Self.mixed("many") + "\n" + Self.mixed("single"))
        #expect(made.status == 0, "\(made)")
        #expect(try state("many") == state("single"))
        if words != ["propagate"] { for name in ["many", "single"] { _ = try tree.aclfs("propagate", "--hard-links", "\(top)/\(name)") } }
        for isRoot in [false, true] {
            func run(_ name: String, _ more: String...) throws -> (status: Int32, lines: [String]) {
                let all = words + more + ["\(top)/\(name)"]
                let user = TestUser(uid: 505, gid: 20, groups: [20])
                let prefix = isRoot ? [] : user.arguments + ["--"]
                let result = try Spawn.run(tree.within + prefix + [MountTesting.program("aclfs")] + all)
                let lines = result.output.replacingOccurrences(of: "\(top)/\(name)", with: "TOP").split(separator: "\n").map(String.init)
                return (
                    result.status,
                    lines.filter { $0.hasPrefix("aclfs: ") || $0.contains(" objects") || $0.hasPrefix("changed 1 ") }.sorted()
                )
            }
            let many = try run("many")
            let single = try run("single", "--verbose")
            #expect(many.status == single.status && many.lines == single.lines, "root \(isRoot): \(many) and \(single)")
            #expect(try state("many") == state("single"), "root \(isRoot)")
            #expect(try run("many").lines.last?.contains("changed 0 objects") == true)
        }
    }

    /// No name is changed that something else is mounted on.
    @Test func aFileThatIsMountedOverStays() throws {
        try tree.shell("mkdir d; touch d/{1..9} elsewhere; aclfs chmod +a 'user:501 allow read,file_inherit' d")
        #expect(try Spawn.run(tree.within + ["mount", "--bind", "\(top)/elsewhere", "\(top)/d/5"]).status == 0)
        let run = try tree.aclfs("propagate", "\(top)/d")
        #expect(try Spawn.run(tree.within + ["umount", "\(top)/d/5"]).status == 0)
        #expect(
            run.output.contains("d/5: another file system is mounted here") && run.output.hasSuffix("changed 8 objects, left 1 unchanged"),
            "\(run)")
        let lists = try tree.shell("getfattr -n system.aclfs.acl d/5 elsewhere 2>&1 | grep -c 'No such attribute'")
        #expect(lists.output == "2", "\(lists)")
    }

    /// The point of all this: a request for each file would be two hundred.
    @Test(.enabled(if: isInstalled("strace"), "needs strace")) func oneRequestForManyFiles() throws {
        try tree.shell("mkdir d; touch d/{1..200}; aclfs chmod +a 'user:501 allow read,file_inherit' d")
        // An older strace has no word for setxattrat(2), which Linux 6.13 brought. After a mount by another test the requests are single ones.
        var calls = 1000
        for _ in 0..<10 where calls > 100 {
            let run = try tree.shell(
                """
                aclfs strip -R --inherited d
                strace -f -qq -o ../calls '\(MountTesting.program("aclfs"))' propagate d && grep -cE 'setxattr|syscall_0x1cf' ../calls
                """)
            #expect(run.output.contains("changed 200 objects\n"), "\(run)")
            calls = Int(run.output.split(separator: "\n").last ?? "") ?? -1
        }
        #expect((4...100).contains(calls))
    }

    // MARK: The attribute itself

    private func value(_ change: UInt8, _ names: String..., token: UInt8 = 9) -> String {
        Self.escaped([1, change, token, 0, 0, 0, 0, 0, 0, 0], names)
    }

    private static func escaped(_ head: [UInt8], _ names: [String]) -> String {
        var bytes = head
        for name in names { bytes += Array(name.utf8) + [0] }
        return bytes.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static let name = "system.aclfs.lists"
    private func set(_ user: ActingProcess, _ path: String, _ value: String) throws -> String {
        // Other tests mount and unmount: the daemon has to read the mount table first.
        try patiently("EOPNOTSUPP") { try user.call("setxattr", path, Self.name, value, "0").word }
    }

    /// - Parameter passing: an answer that another follows after a while.
    private func patiently(_ passing: String, _ body: () throws -> String) throws -> String {
        let end = Date() + 10
        while Date() < end {
            let answer = try body()
            if answer != passing { return answer }
            usleep(20_000)
        }
        return passing
    }
    private func outcomes(_ user: ActingProcess, _ path: String) throws -> [UInt8]? {
        let result = try user.call("getxattr", path, Self.name)
        return result.isOK ? Array(unescaped(result.value).dropFirst(8)) : nil
    }

    @Test func whatNeedsACloserLookIsLeft() throws {
        let fixture = try MountFixture()
        let (root, alice, bob) = (try ActingProcess(.root), try ActingProcess(.alice), try ActingProcess(.bob))
        let d = fixture.path("d")
        try root.must("mkdir", d, "0777")
        for name in ["plain", "bobs", "hard", "locked", "open"] { try root.must("create", d + "/" + name, "0644", "0") }
        try root.must("mkdir", d + "/sub", "0755")
        try root.must("link", d + "/hard", d + "/harder")
        try root.must("symlink", "plain", d + "/link")
        for name in ["", "/plain", "/hard", "/locked", "/open", "/sub"] { try root.must("chown", d + name, "501", "20") }
        try root.must("chown", d + "/bobs", "502", "20")
        try root.must("setxattr", d, "system.aclfs.acl", "user:#503 allow read,file_inherit,directory_inherit", "0")
        try root.must("setxattr", d + "/locked", "system.aclfs.flags", "uchg", "0")
        try alice.must("hold", "1", d + "/open", String(O_WRONLY), "0")
        let names = ["plain", "bobs", "hard", "locked", "open", "sub", "link", "missing"]
        #expect(try outcomes(alice, d) == nil)
        #expect(try set(alice, d, Self.escaped([1, 1, 9, 0, 0, 0, 0, 0, 0, 0], names)) == "ok")
        #expect(try outcomes(alice, d) == [1, 2, 2, 2, 2, 2, 2, 2])
        // Of this thread alone.
        #expect(try outcomes(bob, d) == nil)
        #expect(try outcomes(root, d) == nil)
        #expect(try set(alice, d, value(1, "plain")) == "ok")
        #expect(try outcomes(alice, d) == [0])
        let list = try root.must("getxattr", d + "/plain", "system.aclfs.acl")
        #expect(String(decoding: unescaped(list), as: UTF8.self).hasSuffix("inherited allow read\n"))
        for name in names.dropFirst() { #expect(try root.call("getxattr", d + "/" + name, "system.aclfs.acl").word != "ok", "\(name)") }
        // He may not read what he would pass on.
        try root.must("setxattr", d, "system.aclfs.acl", "user:#502 deny readsecurity\nuser:#503 allow read,file_inherit", "0")
        #expect(try set(bob, d, value(1, "bobs")) == "ok")
        #expect(try outcomes(bob, d) == [2])
        #expect(try set(bob, d, value(4, "bobs")) == "ok")
        #expect(try outcomes(bob, d) == [0])
        // Not even by name.
        try root.must("setxattr", d, "system.aclfs.acl", "user:#502 deny search\nuser:#503 allow read,file_inherit", "0")
        #expect(try set(bob, d, value(4, "bobs")) == "EACCES")
        #expect(try outcomes(bob, d) == [0], "of the request before")
    }

    /// What is refused is recorded, as by any request.
    @Test func aRefusalIsRecorded() throws {
        try tree.shell("mkdir d; touch d/roots; chmod 777 d; aclfs chmod +a 'user:501 allow read,file_inherit' d")
        try tree.shell("aclfs chmod +a 'user:501 allow read' d/roots")
        let bob = TestUser.bob.arguments + ["--", "python3", "-c", Self.setting(4, "roots"), "\(top)/d"]
        #expect(try patiently("Operation not supported") { try Spawn.run(tree.within + bob).output } == "ok 2")
        let last = try tree.aclfs("explain", "--last", "1", top)
        #expect(last.output.contains("d/roots") && last.output.contains("setacl"), "\(last)")
    }

    private static func setting(_ change: Int, _ name: String) -> String {
        """
        import os, sys
        try:
            os.setxattr(sys.argv[1], 'system.aclfs.lists', bytes([1, \(change)] + [9] * 8) + b'\(name)\\0')
            print('ok', *os.getxattr(sys.argv[1], 'system.aclfs.lists')[8:])
        except OSError as error: print(error.strerror)
        """
    }

    /// A mount on a file may keep its user from it: the kernel looks at the mount of the directory only.
    @Test func nothingIsChangedBelowAMount() throws {
        try tree.shell(
            "mkdir d; touch d/{1..5} elsewhere; aclfs chmod +a 'user:501 allow read,file_inherit' d; aclfs chmod +a 'user:501 allow read' d/5"
        )
        func ask(_ before: String) throws -> String {
            let shell = "\(before); exec python3 -c \"$0\" '\(top)/d'"
            return try Spawn.run(tree.within + ["unshare", "-m", "--propagation", "private", "bash", "-ec", shell, Self.setting(4, "5")])
                .output
        }
        let bind = "mount --bind '\(top)/elsewhere' '\(top)/d/5'; mount -o remount,ro,bind '\(top)/d/5'"
        #expect(try ask(bind) == "Operation not supported")
        #expect(try ask("true") == "Operation not supported", "another namespace")
        #expect(try tree.shell(bind).status == 0)
        func here() throws -> String { try Spawn.run(tree.within + ["python3", "-c", Self.setting(4, "5"), "\(top)/d"]).output }
        #expect(try here() == "Operation not supported")
        #expect(try Spawn.run(tree.within + ["umount", "\(top)/d/5"]).status == 0)
        #expect(try tree.shell("getfattr -n system.aclfs.acl d/5").status == 0)
        // When the daemon has read the mount table.
        #expect(try patiently("Operation not supported", here) == "ok 1")
        #expect(try tree.shell("getfattr -n system.aclfs.acl d/5").status != 0)
    }

    @Test func whatIsNoRequestIsRefused() throws {
        let fixture = try MountFixture()
        let root = try ActingProcess(.root)
        let d = fixture.path("d")
        try root.must("mkdir", d, "0755")
        try root.must("create", d + "/f", "0644", "0")
        for text in [
            value(1, ".."), value(1, "a/b"), value(1, ""), value(0, "f"), value(5, "f"), value(1),
            value(1, "f").replacingOccurrences(of: "\\x01\\x01", with: "\\x02\\x01"), "x", "",
        ] {
            #expect(try set(root, d, text) == "EINVAL", "\(text)")
        }
        #expect(try set(root, d + "/f", value(1, "f")) == "ENOTDIR")
        #expect(try root.call("removexattr", d, Self.name).word == "EOPNOTSUPP")
        #expect(try root.call("getxattr", d, Self.name).word == "ENODATA")
        #expect(try outcomes(root, d) == nil)
        // The kernel refuses it where nothing may change.
        try root.must("setxattr", d, "system.aclfs.acl", "user:#503 allow read,file_inherit", "0")
        let readOnly = fixture.top + "/read-only"
        mkdir(readOnly, 0o755)
        for words in [["--bind", fixture.mountpoint, readOnly], ["-o", "remount,ro,bind", readOnly]] {
            #expect(try Spawn.run(["mount"] + words).status == 0)
        }
        defer { _ = try? Spawn.run(["umount", "-l", readOnly]) }
        #expect(try set(root, readOnly + "/d", value(1, "f")) == "EROFS")
        #expect(try root.call("getxattr", d + "/f", "system.aclfs.acl").word == "ENODATA")
    }
}
