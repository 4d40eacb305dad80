import Foundation
import Glibc
import ReferenceModel
import TestSupport

/// A mount whose every outcome is compared with what the model says.
final class ModelStressRun {
    let fixture: MountFixture
    private let processes: [ActingProcess]
    private let host: ModelHost
    private var worlds = 0
    /// How often each outcome came.
    private(set) var outcomes: [String: Int] = [:]
    /// How many answers to questions under way differed from what they had been before.
    private(set) var overtaken = 0

    struct Difference {
        var index: Int
        var text: String
    }

    private static let credentials = EquivalenceCall.users.map {
        ModelCredential(uid: $0.uid, gid: $0.gid, groups: $0.groups)
    }

    init(_ options: String) throws {
        fixture = try MountFixture(options: options)
        processes = try EquivalenceCall.users.map { try ActingProcess($0) }
        var host = ModelHost()
        for uid: UInt32 in 501...503 {
            if let account = getpwuid(uid) { host.names["user:\(uid)"] = "user:" + String(cString: account.pointee.pw_name) }
        }
        for gid: UInt32 in 600...601 {
            if let group = getgrgid(gid) { host.names["group:\(gid)"] = "group:" + String(cString: group.pointee.gr_name) }
        }
        var status = stat()
        stat(fixture.backing, &status)
        host.countsSubdirectories = status.st_nlink > 1
        host.protectsHardLinks = ProcFile.text("/proc/sys/fs/protected_hardlinks").hasPrefix("1")
        host.kernelClearsSetID = options.contains("-killpriv2")
        // Where names are handed out (FileSystem.listingFlags).
        host.kernelKeepsListings = !options.contains("cache=strict") && !options.contains("-epoch")
        self.host = host
    }

    /// Makes the calls in a fresh directory, up to the first whose outcome the model does not know.
    func run(_ calls: [EquivalenceCall]) throws -> Difference? {
        worlds += 1
        // What a link leads to above the top is gone with the world, too.
        let above = fixture.path("world\(worlds)")
        let top = above + "/top"
        guard let root = processes.last else { return nil }
        try root.must("mkdir", above, "0755", "0")
        try root.must("mkdir", top, "0777", "0")
        var tree = ModelTree(top: ModelNode(type: "dir", owner: 0, group: 0, mode: 0o777), host: host)
        var status = stat()
        stat(top, &status)
        tree.setGroupOfTop(status.st_gid)
        defer { closeAll(tree) }
        var index = 0
        while index < calls.count {
            let end = calls[(index + 1)...].firstIndex { !$0.joins } ?? calls.count
            if let difference = try make(Array(calls[index..<end]), at: index, in: top, &tree) { return difference }
            index = end
        }
        return try whole(top, "", &tree, root).map { Difference(index: calls.count - 1, text: "at the end: " + $0) }
    }

    private func closeAll(_ tree: ModelTree) {
        for number in processes.indices {
            for slot in tree.heldDescriptors(of: number) { _ = try? processes[number].call("close", String(slot)) }
        }
    }

    /// The first call, and those that are made while it is under way.
    private func make(
        _ calls: [EquivalenceCall], at index: Int, in top: String, _ tree: inout ModelTree
    ) throws -> Difference? {
        let before = tree
        let answers = Self.answers(calls[0], tree)
        let questions = calls.dropFirst().filter { !Self.answers($0, tree).isEmpty }
        if answers.isEmpty { return nil }
        for call in [calls[0]] + questions { try processes[call.user].begin(call.words(in: top)) }
        // All must be taken before anything is judged.
        let result = Self.shown(calls[0], try processes[calls[0].user].end())
        let others = try questions.map { Self.shown($0, try processes[$0.user].end()) }
        outcomes[result.word, default: 0] += 1
        guard let answer = answers.first(where: { $0.word == result.word && (result.value == $0.value) }) else {
            return Difference(index: index, text: "\(calls[0]): \(result), must be \(Self.shown(answers))")
        }
        tree = answer.tree
        for (question, result) in zip(questions, others) {
            outcomes[result.word, default: 0] += 1
            // Names are looked up one after the other: what moves meanwhile may be met twice or not at all.
            guard Self.areWhole.contains(calls[0].words[0]), !Self.followsLinks(question, before, tree) else { continue }
            let (old, new) = (Self.answers(question, before), Self.answers(question, tree))
            if Self.asksTwice(question, before, tree) { continue }
            if !(old + new).contains(where: { $0.word == result.word && $0.value == result.value }) {
                return Difference(
                    index: index + calls.count - 1,
                    text: "\(question): \(result) while \(calls[0]), must be \(Self.shown(old)) or \(Self.shown(new))")
            }
            if old.first.map({ $0.word != result.word || $0.value != result.value }) ?? false { overtaken += 1 }
        }
        return nil
    }

    /// Changes of one object's rights, or one name that comes.
    private static let areWhole: Set<String> = ["chmod", "chown", "setxattr", "removexattr", "create", "mkdir", "utimes", "symlink"]

    private static func followsLinks(_ call: EquivalenceCall, _ before: ModelTree, _ after: ModelTree) -> Bool {
        [before, after].contains { $0.followsLinks(call.words[1], by: credentials[call.user]) }
    }

    /// For access(2) with X_OK the kernel first needs the mode, by a request of its own in the name of the caller or from its cache. One of
    /// the two is then decided before the change, and the other after it, if the change concerns readattr.
    private static func asksTwice(_ call: EquivalenceCall, _ before: ModelTree, _ after: ModelTree) -> Bool {
        guard call.words[0] == "access", let mode = Int32(call.words[2]), mode & X_OK != 0 else { return false }
        let attributes = EquivalenceCall(user: call.user, words: ["attributes", call.words[1]])
        return answers(attributes, before).map(\.word) != answers(attributes, after).map(\.word)
    }

    private static func answers(_ call: EquivalenceCall, _ tree: ModelTree) -> [ModelAnswer] {
        tree.answers(call.words, by: credentials[call.user], process: call.user)
    }

    private static func shown(_ answers: [ModelAnswer]) -> String {
        answers.map { CallResult(word: $0.word, value: $0.value).description }.joined(separator: " or ")
    }

    /// The size of a directory is the backing file system's affair.
    private static func shown(_ call: EquivalenceCall, _ result: CallResult) -> CallResult {
        guard call.words[0] == "attributes", result.isOK else { return result }
        var words = result.value.split(separator: " ").map(String.init)
        if words[0].hasPrefix("4") { words[4] = "0" }
        return CallResult(word: result.word, value: words.joined(separator: " "))
    }

    /// All that root sees at the end.
    private func whole(_ top: String, _ path: String, _ tree: inout ModelTree, _ root: ActingProcess) throws -> String? {
        func differs(_ words: [String]) throws -> String? {
            let call = EquivalenceCall(user: processes.count - 1, words: words)
            let answers = Self.answers(call, tree)
            let result = Self.shown(call, try root.call(call.words(in: top)))
            guard let answer = answers.first(where: { $0.word == result.word && $0.value == result.value }) else {
                return "\(call): \(result), must be \(Self.shown(answers))"
            }
            tree = answer.tree
            return nil
        }
        if !path.isEmpty {
            for name in ["system.aclfs.acl", "system.aclfs.flags", "user.x"] {
                if let difference = try differs(["getxattr", path, name]) { return difference }
            }
            if let difference = try differs(["attributes", path]) { return difference }
            if tree.isFile(path) {
                if let difference = try differs(["hold", "9", path, String(O_RDONLY), "0"]) { return difference }
                for offset in [0, 4096, 8192] {
                    if let difference = try differs(["pread", "9", String(offset)]) { return difference }
                }
                return try differs(["close", "9"])
            }
        }
        guard let names = tree.names(path) else { return nil }
        if !path.isEmpty, let difference = try differs(["names", path]) { return difference }
        for name in names {
            if let difference = try whole(top, path + "/" + name, &tree, root) { return difference }
        }
        return nil
    }
}
