import Foundation
import TestSupport
import Testing

/// The stage that the log of decisions and `explain --last` name is the one that `explain` derives (docs/reference/authorization.md 3.11), also where the
/// outcome does not depend on it.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct StageTests {
    private static let program = MountTesting.program("aclfs")
    private static let log = "audit=all,audit_limit=100000,audit_user_limit=100000,cache=strict"
    /// Members and others of the groups 20, 600 and 601.
    private static let users = [TestUser.alice, .bob, .carol, TestUser(uid: 504, gid: 700, groups: [700, 601])]

    private struct Question: Hashable {
        var uid: UInt32
        var operation: String
        var path: String
    }

    private static func lines(_ path: String) -> [(question: Question, isAllowed: Bool, stage: String)] {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            guard let json = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any],
                let uid = json["uid"] as? Int, let operation = json["operation"] as? String, let path = json["path"] as? String,
                let stage = json["stage"] as? String
            else { return nil }
            return (Question(uid: UInt32(uid), operation: operation, path: path), json["decision"] as? String == "allowed", stage)
        }
    }

    /// What `explain` says of one line of the log.
    private func explained(_ question: Question) throws -> (isAllowed: Bool, stage: String)? {
        guard let user = Self.users.first(where: { $0.uid == question.uid }) else { return nil }
        // A look-up is a line about the name; the right is the directory's.
        let path = question.operation == "search" ? (question.path as NSString).deletingLastPathComponent : question.path
        let subject = "\(user.uid):\(([user.gid] + user.groups).map(String.init).joined(separator: ","))"
        let result = try Spawn.run([Self.program, "explain", "--json", "--as", subject, question.operation, path])
        let json = (try? JSONSerialization.jsonObject(with: Data(result.output.utf8))) as? [String: Any]
        guard let json, let allowed = json["allowed"] as? Bool, let last = (json["steps"] as? [[String: Any]])?.last,
            let stage = last["stage"] as? String
        else { throw FixtureError("\(question): \(result)") }
        return (allowed, stage)
    }

    /// A member of the group is refused by the group's bits, whatever the others have.
    @Test func theClassIsTheCallersOwn() throws {
        let fixture = try MountFixture(options: nil)
        let log = fixture.top + "/private/audit"
        try fixture.mount("audit_log=\(log),\(Self.log)")
        let root = try ActingProcess(.root)
        for (name, mode) in [("closed", "0600"), ("open", "0644")] {
            try root.must("create", fixture.path(name), "0600", "0")
            try root.must("chown", fixture.path(name), "0", "600")
            try root.must("chmod", fixture.path(name), mode)
        }
        for (user, stage) in [(TestUser.alice, "posix:group:object"), (.bob, "posix:other:object")] {
            let process = try ActingProcess(user)
            #expect(try process.call("open", fixture.path("closed"), "0").word == "EACCES")
            #expect(try process.call("open", fixture.path("open"), "0").word == "ok")
            let last = try user.run(Self.program, "explain", "--last", "1", fixture.mountpoint)
            #expect(last.output.contains(stage), "\(last)")
            func told() -> [String] {
                Self.lines(log).filter { $0.question.uid == user.uid && $0.question.operation == "open-read" }.map(\.stage)
            }
            #expect(eventually { told().count == 2 } && told() == [stage, stage], "\(told())")
        }
    }

    /// Random objects and callers; `ACLFS_SEED` repeats them.
    @Test func theLogAndExplainAgree() throws {
        let seed = ProcessInfo.processInfo.environment["ACLFS_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0 ... .max)
        print("StageTests: ACLFS_SEED=\(seed)")
        var random = SplitMix64(seed: seed)
        let fixture = try MountFixture(options: nil)
        let log = fixture.top + "/private/audit"
        try fixture.mount("audit_log=\(log),\(Self.log)")
        let root = try ActingProcess(.root)
        let count = MountTesting.isLong ? 200 : 12
        var paths: [String] = []
        func settle(_ path: String, isDirectory: Bool) throws {
            if random.chance(50) { try root.must("setxattr", path, "system.aclfs.acl", entries(&random)) }
            let sticky = isDirectory && random.chance(30) ? 0o1000 : 0
            let mode = sticky | (0..<3).reduce(0) { bits, _ in bits << 3 | random.pick([0, 4, 5, 6, 7, 7]) }
            try root.must("chown", path, "\(random.pick([0, 501, 502]))", "\(random.pick([20, 600, 601]))")
            try root.must("chmod", path, "0" + String(mode, radix: 8))
            if random.chance(15) { try root.must("setxattr", path, "system.aclfs.flags", random.pick(["uchg", "uappnd", "schg"])) }
        }
        for number in 0..<count {
            let directory = fixture.path("d\(number)")
            try root.must("mkdir", directory, "0777", "0")
            for name in ["\(directory)/f", "\(directory)/g"] {
                try root.must("create", name, "0666", "0")
                try settle(name, isDirectory: false)
                paths.append(name)
            }
            try settle(directory, isDirectory: true)
            paths.append(directory)
        }
        // If they are allowed, they change nothing that a later decision depends on.
        for user in Self.users {
            let process = try ActingProcess(user)
            for path in paths.shuffled(using: &random).prefix(MountTesting.isLong ? 200 : 12) {
                switch random.below(6) {
                case 0: try process.call("open", path, "0")
                case 1: try process.call("open", path, "1")
                case 2: try process.call("access", path, String(random.pick([1, 2, 4])), "0")
                case 3: try process.call("getxattr", path, "user.none")
                case 4: try process.call("list", path)
                default: try process.call("utimes", path, "explicit")
                }
            }
        }
        try root.must("create", fixture.path("last"), "0600", "0")
        #expect(eventually { Self.lines(log).contains { $0.question.path == fixture.path("last") } })
        var compared: (Set<String>, Int) = ([], 0)
        var seen: Set<Question> = []
        for line in Self.lines(log).reversed() where line.question.uid != 0 {
            let question = line.question
            // As a word of `explain` this is one right, and reading the list asks two.
            guard question.operation != "readsecurity", seen.insert(question).inserted else { continue }
            guard let derived = try explained(question) else { continue }
            compared.0.insert(line.stage.filter { !$0.isNumber })
            compared.1 += 1
            #expect(
                derived.isAllowed == line.isAllowed && derived.stage == line.stage,
                "ACLFS_SEED=\(seed): \(question): the log has \(line.isAllowed) \(line.stage), explain \(derived)")
        }
        #expect(compared.1 > 40 && compared.0.count > 3, "\(compared)")
    }

    private func entries(_ random: inout SplitMix64) -> String {
        (0...random.below(3)).map { _ in
            let who = random.pick(["user:#501", "user:#502", "group:#600", "group:#601", "group@", "owner@", "everyone@"])
            let rights = random.pick(["read", "write", "execute", "read_set", "write_set", "readattr", "delete", "full_control"])
            return "\(who) \(random.pick(["allow", "deny"])) \(rights)"
        }.joined(separator: "\n")
    }
}
