import Foundation
import Glibc
import TestSupport
import Testing

private enum NFS4Tools {
    static let isPossible = MountTesting.isPossible && (try? Spawn.run(["nfs4_setfacl", "--version"]))?.status == 0
}

/// nfs4-acl-tools on a mount, as ordinary users run them (docs/reference/nfs4.md).
@Suite(.serialized, .enabled(if: NFS4Tools.isPossible, "needs root, /dev/fuse and nfs4-acl-tools"))
struct NFS4ToolsTests {
    private static let users = [
        "alice": TestUser(uid: 501, gid: 20, groups: [20]), "bob": TestUser(uid: 502, gid: 20, groups: [20]),
        "carol": TestUser(uid: 503, gid: 30, groups: [30]), "root": .root,
    ]
    // It ends before the namespace that it is in.
    private let fixture: MountFixture
    private let accounts: PrivateAccounts

    init() throws {
        accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502, "carol": 503],
            groups: [20: .init(name: "staff", members: ["alice", "bob"]), 30: .init(name: "interns", members: ["carol"])])
        fixture = try MountFixture(within: accounts.within)
        chmod(fixture.backing, 0o755)
    }

    /// Runs a script as a user, in the top of the mount.
    private func run(_ user: String, _ script: String) throws -> CommandResult {
        let identity = try #require(Self.users[user])
        return try Spawn.run(
            accounts.within + identity.arguments + ["--", "sh", "-c", "cd \(fixture.mountpoint) && export LC_ALL=C; \(script)"])
    }

    /// As `run`, for a script that must succeed.
    @discardableResult
    private func must(_ user: String, _ script: String) throws -> String {
        let result = try run(user, script)
        guard result.status == 0 else { throw FixtureError("\(script): \(result)") }
        return result.output
    }

    /// The entries that nfs4_getfacl shows.
    private func shown(_ path: String) throws -> [String] {
        try must("alice", "nfs4_getfacl \(path)").split(separator: "\n").map(String.init).filter { !$0.hasPrefix("# file: ") }
    }

    private func mode(_ path: String) throws -> String { try must("root", "stat -c %a \(path)") }

    private func make(_ name: String, _ mode: String = "644") throws {
        try must("root", "echo text >\(name) && chown alice:staff \(name) && chmod \(mode) \(name)")
    }

    private func canRead(_ user: String, _ path: String) throws -> Bool { try run(user, "cat \(path) >/dev/null").status == 0 }
    private func canWrite(_ user: String, _ path: String) throws -> Bool { try run(user, ": >>\(path)").status == 0 }

    private static let of644 = ["A::OWNER@:rwatTnNcCy", "A:g:GROUP@:rtncy", "A::EVERYONE@:rtncy"]
    private static let of600 = ["A::OWNER@:rwatTnNcCy", "A:g:GROUP@:tcy", "A::EVERYONE@:tcy"]

    @Test func anEntryAndAMode() throws {
        try make("f")
        try must("alice", "nfs4_setfacl -a A::1500:r f && chmod 600 f")
        #expect(try shown("f") == ["A::1500:r"] + Self.of600)
        let other = TestUser(uid: 1500, gid: 1500, groups: [1500])
        let (path, within) = (fixture.path("f"), accounts.within)
        #expect(try Spawn.run(within + other.arguments + ["--", "cat", path]).output == "text")
        #expect(try canRead("alice", "f"))
        for user in ["bob", "carol"] { #expect(try !canRead(user, "f")) }
        for id: UInt32 in [1499, 1501, 20] {
            let next = TestUser(uid: id, gid: 20, groups: [20])
            #expect(try Spawn.run(within + next.arguments + ["--", "cat", path]).status != 0)
        }
        // Read and written back it is the same.
        let before = try must("root", "getfattr -e hex -n system.nfs4_acl f; getfattr -e text -n system.aclfs.acl f; stat -c %a f")
        try must("alice", "nfs4_getfacl f >/tmp/aclfs-nfs4-$$ && nfs4_setfacl -S /tmp/aclfs-nfs4-$$ f && rm /tmp/aclfs-nfs4-$$")
        #expect(try must("root", "getfattr -e hex -n system.nfs4_acl f; getfattr -e text -n system.aclfs.acl f; stat -c %a f") == before)
    }

    /// Each verb, with what it leads to.
    @Test func eachVerb() throws {
        try make("f")
        #expect(try shown("f") == Self.of644)
        try must("alice", "nfs4_setfacl -a D::bob:r f")
        #expect(try shown("f") == ["D::bob:r"] + Self.of644)
        #expect(try !canRead("bob", "f") && canRead("carol", "f"))
        try must("alice", "nfs4_setfacl -a A:g:interns:wa 2 f")
        #expect(try shown("f") == ["D::bob:r", "A:g:interns:wa"] + Self.of644)
        #expect(try canWrite("carol", "f") && !canWrite("bob", "f"))
        try must("alice", "printf 'A::carol@example.org:x\\n# a comment\\nA:g:20:T\\n' | nfs4_setfacl -A - 3 f")
        #expect(try shown("f") == ["D::bob:r", "A:g:interns:wa", "A::carol:x", "A:g:staff:T"] + Self.of644)
        try must("alice", "nfs4_setfacl -x A::carol:x f")
        try must("alice", "nfs4_setfacl -x 1 f")
        try must("alice", "echo A:g:staff:T | nfs4_setfacl -X - f")
        #expect(try shown("f") == ["A:g:interns:wa"] + Self.of644)
        #expect(try canRead("bob", "f"))
        try must("alice", "nfs4_setfacl -m A:g:interns:wa D:g:interns:r f")
        #expect(try shown("f") == ["D:g:interns:r"] + Self.of644)
        #expect(try !canRead("carol", "f"))
        // Of the entries that stand for the mode.
        try must("alice", "nfs4_setfacl -m A::EVERYONE@:rtncy A::EVERYONE@:tcy f")
        #expect(try mode("f") == "640")
        try must("alice", "nfs4_setfacl -s A::bob:RW,A::OWNER@:RWX,A:g:GROUP@:X,A::EVERYONE@:tcy f")
        #expect(try shown("f") == ["A::bob:rwatTnNcCy", "A::OWNER@:rwaxtTnNcCy", "A:g:GROUP@:xtcy", "A::EVERYONE@:tcy"])
        #expect(try mode("f") == "710")
        #expect(try canWrite("bob", "f"))
        try must("alice", "printf 'A::OWNER@:RW\\nA:g:GROUP@:R\\nA::EVERYONE@:R\\n' | nfs4_setfacl -S - f")
        #expect(try shown("f") == Self.of644)
        #expect(try mode("f") == "644")
        #expect(try run("root", "getfattr -n system.aclfs.acl f").status != 0)
        mkdir(fixture.top + "/alice", 0o755)
        chown(fixture.top + "/alice", 501, 20)
        let editor = fixture.top + "/alice/edit"
        // In place: nfs4_setfacl keeps the file open.
        try must(
            "alice",
            #"""
            cat >\#(editor) <<'END'
            #!/bin/sh
            sed -e 's/^A:g:GROUP@:.*/A:g:GROUP@:tcy/' -e 's/^A::EVERYONE@:.*/A::EVERYONE@:tcy/' "$1" >"$0.out" && cat "$0.out" >"$1"
            END
            chmod 700 \#(editor) && EDITOR=\#(editor) nfs4_setfacl -e f
            """#)
        #expect(try mode("f") == "600")
        // `--test` changes nothing.
        try must("alice", "nfs4_setfacl --test -a A::bob:r f")
        #expect(try shown("f") == Self.of600)
    }

    @Test func recursively() throws {
        try must(
            "root", "mkdir -p d/e && echo text >d/f && echo text >d/e/g && ln -s f d/link && chmod -R go= d && chown -hR alice:staff d")
        #expect(try !canRead("bob", "d/e/g"))
        try must("alice", "nfs4_setfacl -R -a A:fd:bob:RX d")
        for path in ["d", "d/e"] {
            #expect(
                try shown(path) == [
                    "A:fd:bob:rxtncy", "A::OWNER@:rwaDxtTnNcCy", "A:g:GROUP@:tcy", "A::EVERYONE@:tcy",
                ])
        }
        for path in ["d/f", "d/e/g"] { #expect(try shown(path) == ["A::bob:rxtncy"] + Self.of600) }
        #expect(try canRead("bob", "d/f") && canRead("bob", "d/e/g") && !canRead("carol", "d/e/g"))
        // New objects inherit.
        try must("alice", "umask 077; mkdir d/new && echo text >d/new/h")
        #expect(try canRead("bob", "d/new/h") && !canRead("carol", "d/new/h"))
        #expect(try shown("d/new/h").first == "A::bob:rxtncy")
        try must("alice", "nfs4_setfacl -R -s A::OWNER@:RWX,A:g:GROUP@:tcy,A::EVERYONE@:tcy d")
        for path in ["d/f", "d/e/g"] {
            #expect(try mode(path) == "700")
            #expect(try run("root", "getfattr -n system.aclfs.acl \(path)").status != 0)
        }
        #expect(try mode("d") == "700" && mode("d/e") == "700")
        #expect(try !canRead("bob", "d/f"))
        // Another user changes nothing.
        #expect(try run("bob", "nfs4_setfacl -R -a A::bob:R d").status != 0)
        let before = try shown("d")
        #expect(try run("carol", "nfs4_setfacl -a A::carol:R d").status != 0)
        #expect(try shown("d") == before)
    }

    /// Files without a list: what is shown for each mode sets that mode on another file.
    @Test func filesWithoutAList() throws {
        let modes = ["0", "400", "444", "604", "640", "44", "77", "177", "755", "531", "246", "700", "7", "664"]
        for mode in modes {
            try make("from", mode)
            try make("to", "600")
            try must("root", "nfs4_getfacl from | nfs4_setfacl -S - to")
            #expect(try self.mode("to") == mode)
            #expect(try run("root", "getfattr -n system.aclfs.acl to").status != 0, "\(mode)")
        }
        try make("from", "604")
        #expect(try shown("from") == ["A::OWNER@:rwatTnNcCy", "A:g:GROUP@:tcy", "D:g:GROUP@:rn", "A::EVERYONE@:rtncy"])
        try make("from", "077")
        #expect(
            try shown("from") == ["A::OWNER@:tTcCy", "D::OWNER@:rwaxnN", "A:g:GROUP@:rwaxtTnNcy", "A::EVERYONE@:rwaxtTnNcy"])
    }

    /// What cannot be mapped is refused, and nothing is changed.
    @Test func whatIsRefused() throws {
        try make("f")
        try must("alice", "nfs4_setfacl -a A::bob:r f")
        let before = try shown("f")
        for spec in ["U:S:bob:r", "L:F:bob:r", "A:S:bob:r", "A::dave:r", "A:g:bob:r", "A::staff:r", "A::INTERACTIVE@:r", "A::bob@:r"] {
            let result = try run("alice", "nfs4_setfacl -a \(spec) f")
            #expect(result.status != 0 && result.output.contains("Invalid argument"), "\(spec): \(result)")
        }
        for user in ["bob", "carol"] {
            let result = try run(user, "nfs4_setfacl -a A::\(user):RWX f")
            #expect(result.status != 0 && result.output.contains("Operation not permitted"), "\(result)")
        }
        #expect(try shown("f") == before)
        try must("root", "setfattr -n system.aclfs.acl -v 'user:bob deny readsecurity' f")
        // nfs4_getfacl cannot even stat the file, and says so with exit status 0.
        let denied = try run("bob", "getfattr -n system.nfs4_acl f")
        #expect(denied.status != 0 && denied.output.contains("Permission denied"), "\(denied)")
        #expect(try shown("f") == ["D::bob:c"] + Self.of644)
    }

    // MARK: The document

    @Test func theLookAtItIsTrue() throws {
        let section = try #require(try DocumentExamples("docs/reference/nfs4.md").sections.first { $0.heading == "A look at it" })
        #expect(section.examples.count == 15)
        try DocumentExamples.run(section.examples, mountpoints: ["/srv/share"])
    }
}
