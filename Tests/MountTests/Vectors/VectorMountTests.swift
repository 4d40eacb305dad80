import ACLFormats
import Authorization
import Conformance
import Foundation
import TestSupport
import Testing

/// Every case of Tests/Vectors that Linux can express, as a real user's system call on a real mount.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct VectorMountTests {
    /// Without a sandbox, and in one that lets everything pass everywhere.
    @Test(arguments: [false, true]) func statedVectors(_ isConfined: Bool) throws {
        let file = try VectorFiles.vectors()
        try run(file.vectors, file.groups, name: "vectors.json", isConfined)
    }

    /// A sample; all of them with ACLFS_TEST_LONG=1.
    @Test(arguments: [false, true]) func randomDecisions(_ isConfined: Bool) throws {
        let all = try VectorFiles.randomDecisions()
        let chosen = MountTesting.isLong ? all : stride(from: 0, to: all.count, by: 13).map { all[$0] }
        try run(chosen, try VectorFiles.vectors().groups, name: "random-decisions.jsonl", isConfined)
    }

    private struct Case {
        var world: VectorWorld
        var expectation: LinuxExpectation
        var word: String
    }

    /// The options under which a vector's world is mounted.
    private func options(of vector: Vector) -> String {
        // Where ownership is ignored a mount with set-id programs is refused (docs/reference/authorization.md Q1).
        var words = ["special=open", vector.volume.ignoreOwnership ? "nosuid" : "suid", "dev", "unknown99"]
        words.append(vector.cred.directoryOptOut == true ? "groups=process" : "groups=directory")
        if vector.volume.readOnly { words.append("ro") }
        if vector.volume.ignoreOwnership { words.append("noowners") }
        if vector.volume.noExec { words.append("noexec") }
        if vector.securelevel > 0 { words.append("securelevel=\(vector.securelevel)") }
        return words.joined(separator: ",")
    }

    private func run(
        _ vectors: [Vector], _ directory: [UInt32: VectorGroup], name: String, _ isConfined: Bool
    ) throws {
        let accounts = try PrivateAccounts(vectors: directory)
        let fixture = try MountFixture(options: "special=open,suid,dev,unknown99", within: accounts.within)
        let root = try ActingProcess(.root, within: accounts.within)
        let profile = fixture.top + "/all.entitlements"
        try SandboxFixture.profile(SandboxFixture.everything).write(toFile: profile, atomically: false, encoding: .utf8)
        var groups: [String: [Case]] = [:]
        var reasons: [String: Int] = [:]
        for vector in vectors {
            let expectation = try LinuxExpectation(vector, directory)
            if let reason = expectation.reason { reasons[reason, default: 0] += 1 }
            guard let word = expectation.word else { continue }
            let world = VectorWorld(vector: vector, path: fixture.path(vector.id))
            do { for words in try world.steps() { try root.must(words) } } catch { throw FixtureError("\(vector.id): \(error)") }
            groups[options(of: vector), default: []].append(
                Case(world: world, expectation: expectation, word: word))
        }
        var actors: [TestUser: ActingProcess] = [:]
        for (options, cases) in groups {
            #expect(try fixture.unmount().status == 0)
            try fixture.mount(options + (isConfined ? ",sandbox=\(profile)" : ""))
            for item in cases {
                let user = TestUser(item.world.vector.cred)
                let actor = try actors[user] ?? ActingProcess(user, within: accounts.within)
                actors[user] = actor
                let call = try VectorCall(item.world)
                let word = call.word(of: try call.calls.map { try actor.call($0).word })
                #expect(word == item.word, "\(describe(item.world.vector))")
                if word == "ok", item.word == "ok", let effects = item.expectation.effects {
                    try compare(effects, item.world, root, accounts)
                }
            }
        }
        let ran = groups.values.reduce(0) { $0 + $1.count }
        print("\(name): \(vectors.count) cases, \(ran) on \(groups.count) mounts\(isConfined ? " with a profile" : "")")
        for (reason, count) in reasons.sorted(by: { $0.key < $1.key }) {
            print("    \(count) × \(reason)")
        }
    }

    private func describe(_ vector: Vector) -> String {
        "\(vector.id) \(vector.title): stage \(vector.expect?.stage ?? "")\n\(vector.json)"
    }

    private func compare(
        _ effects: VectorEffects, _ world: VectorWorld, _ root: ActingProcess, _ accounts: PrivateAccounts
    ) throws {
        let path = VectorCall.affected(world)
        let told = Comment(rawValue: describe(world.vector))
        let status = try root.must("stat", path)
        let fields = unescaped(status).split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
        guard fields.count == 5 else { throw FixtureError("stat gave \(status)") }
        if let owner = effects.owner { #expect(UInt32(fields[0]) == owner, told) }
        if let group = effects.group { #expect(UInt32(fields[1]) == group, told) }
        if let mode = effects.mode, world.vector.op.call != "symlink" {
            #expect(UInt16(fields[2], radix: 8) == mode.value, told)
        }
        if let flags = effects.flags {
            let text = unescaped(try root.must("getxattr", path, "system.aclfs.flags"))
            #expect(try FileFlagsText.parseAttribute(text) == FileFlags(vectorWords: flags), told)
        }
        switch effects.acl {
        case nil: break
        case .absent: #expect(try root.call("getxattr", path, "system.aclfs.acl").word == "ENODATA", told)
        case .present(let entries):
            let text = unescaped(try root.must("getxattr", path, "system.aclfs.acl"))
            #expect(try ACLAttributeText.parse(text, names: accounts) == ACL(vector: entries), told)
        }
    }
}

extension TestUser {
    /// The user of a vector with the groups of the process; what the directory service adds is aclfs's to find.
    fileprivate init(_ cred: VectorCred) {
        self.init(uid: cred.uid, gid: cred.gid, groups: cred.groups.sorted(), ruid: cred.ruid, rgid: cred.rgid)
    }
}
