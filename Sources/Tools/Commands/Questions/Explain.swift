import ACLFormats
import ArgumentParser
import Authorization
import ControlProtocol
import Glibc
import Identity
import LinuxSystem
import ToolSupport

/// Names of users, each looked up once.
private final class UserNames {
    private var known: [Int64: String] = [:]

    /// - Returns: the name, or the number where there is none.
    func user(_ uid: Int64?) -> String {
        guard let uid, let number = UInt32(exactly: uid) else { return "uid ?" }
        if let name = known[uid] { return name }
        let name = (try? AccountDatabase.user(uid: number))?.name ?? "uid \(uid)"
        known[uid] = name
        return name
    }
}

/// `aclfs explain`: whether an operation is allowed, and why.
struct Explain: ParsedCommand, ListedCommand {
    static let summary = "whether an operation is allowed, and why"
    static let example = "explain --as bob open-write plans"
    static var moreHelp: String? { OperationHelp.text }
    static let configuration = CommandConfiguration(
        commandName: "aclfs explain", abstract: "Whether an operation is allowed, and why.",
        usage: """
            aclfs explain [--json] [--as USER[:GROUP,...]] OPERATION PATH [PATH2]
            aclfs explain [--json] [-R] --who-can OPERATION PATH
            aclfs explain [--json] --last [N] [MOUNTPOINT]
            """)

    @Flag(help: "JSON instead of text.") var json = false
    @Option(name: .customLong("as"), help: ArgumentHelp("The user to decide for; by default the caller.", valueName: "USER[:GROUP,...]"))
    var subject: String?
    @Flag(help: "List the users to whom the operation is allowed.") var whoCan = false
    @Flag(name: [.customShort("R"), .long], help: "With --who-can: also for all below PATH, as they are found.") var recursive = false
    @Flag(help: "List the last 20 denials, or the last N.") var last = false
    @Argument(
        help: ArgumentHelp(
            "The name of a right, or open-read, unlink, chmod and so on; and what it is done to.", valueName: "OPERATION PATH"))
    var words: [ByteWord] = []

    /// - Returns: the exit status: 0 allowed, 1 denied, 2 no answer.
    func perform() throws(ControlError) -> Int32 {
        guard whoCan || !recursive else { throw ControlError("-R needs --who-can") }
        if last { return try listDenials() }
        if whoCan { return try listUsers() }
        return try explain()
    }

    private func explain() throws(ControlError) -> Int32 {
        guard words.count == 2 || words.count == 3 else {
            throw ControlError("usage: aclfs explain [--json] [--as USER[:GROUP,…]] OPERATION PATH [PATH2]")
        }
        let word = try Self.operation(words[0].bytes)
        let first = try MountLocation(words[1].bytes)
        var second: MountLocation?
        if words.count == 3 {
            guard word.operation.call?.takesSecondPath == true else {
                throw ControlError("operation \(word.text) takes one path, not two")
            }
            let location = try MountLocation(words[2].bytes)
            guard location.entry.device == first.entry.device else {
                throw ControlError("\(word.text): the two paths are on different mounts; that is refused with EXDEV")
            }
            second = location
        }
        let question = ExplainMessage(word, path: first.names, secondPath: second?.names, subject: subject)
        let answer: ExplainAnswer
        do throws(ControlError) { answer = try first.client().ask(question) } catch { throw Self.named(error, words[1].bytes) }
        guard let explanation = answer.explanation else { throw ControlError(ControlError.notUnderstood) }
        func path(_ place: Explanation.Place) -> [UInt8] {
            place.isSecondPath ? (second ?? first).shown(place.depth) : first.shown(place.depth)
        }
        if json {
            printJSON(explanation.json(path: path))
        } else {
            for line in explanation.text(path: path) { printLine(line) }
        }
        return explanation.isAllowed ? 0 : 1
    }

    private static func operation(_ bytes: [UInt8]) throws(ControlError) -> CalledOperation {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let operation = CalledOperation(text) else { throw ControlError(AskedOperation.unknown(text)) }
        return operation
    }

    private func listUsers() throws(ControlError) -> Int32 {
        guard words.count == 2, subject == nil else {
            throw ControlError("usage: aclfs explain [--json] [-R] --who-can OPERATION PATH")
        }
        let word = try Self.operation(words[0].bytes)
        let location = try MountLocation(words[1].bytes)
        let users = AccountDatabase.allUsers()
        /// The rule by which the sandbox refuses every user.
        var rule: String?
        func rows(_ names: [[UInt8]]) throws(ControlError) -> [WhoCanRow] {
            // A connection for each object: the daemon closes one that is silent for a second.
            let client = try location.client()
            var rows: [WhoCanRow] = []
            for user in users {
                let answer = try client.ask(ExplainMessage(word, path: names, subject: user.name, isBrief: true))
                guard let explanation = answer.explanation else { continue }
                let last = explanation.steps.last
                if explanation.isAllowed {
                    rows.append(WhoCanRow(name: user.name, uid: user.uid, stage: last?.stage ?? "", entry: last?.entry))
                } else if let last, last.stage == Stage.sandbox(.object).name {
                    rule = "the sandbox refuses \(escapedName(location.shown(last.place.depth))): \(last.entry ?? "-")"
                }
            }
            return rows
        }
        do throws(ControlError) {
            if recursive {
                return try WhoCanTree(json: json, ask: { (names) throws(ControlError) in try rows(names) })
                    .run(words[1].bytes, location)
            }
            let rows = try rows(location.names)
            if json {
                printJSON(.array(rows.map(\.json)))
            } else {
                for line in ExplainTable.lines(rows.map(\.cells)) { printLine(line) }
                if rows.isEmpty, let rule { printError("aclfs: no user may: \(rule)") }
            }
            return rows.isEmpty ? 1 : 0
        } catch { throw Self.named(error, words[1].bytes) }
    }

    /// `--last [N] [MOUNTPOINT]`. The default is the mount of the working directory, or the only one.
    private func listDenials() throws(ControlError) -> Int32 {
        var words = self.words.map(\.bytes)
        var count: Int64 = 20
        if let word = words.first, let number = Int64(String(decoding: word, as: UTF8.self)) {
            guard number > 0 else { throw ControlError("--last takes a number above 0") }
            count = number
            words.removeFirst()
        }
        guard words.count < 2 else { throw ControlError("usage: aclfs explain [--json] --last [N] [MOUNTPOINT]") }
        let mount: MountEntry
        if let path = words.first {
            mount = try MountLocation(path, isFollowed: true).entry
        } else if let here = try? MountLocation(Array("./.".utf8)) {
            mount = here.entry
        } else {
            let mounts = MountTable.entries().filter { $0.type == "fuse.aclfs" }
            guard Set(mounts.map(\.device)).count == 1, let only = mounts.first else {
                let paths = Set(mounts.map(\.path)).sorted().map { escapedName($0.utf8) }.joined(separator: ", ")
                throw ControlError(mounts.isEmpty ? "there is no aclfs mount here" : "there are several mounts here; name one: \(paths)")
            }
            mount = only
        }
        let denials = try Self.denials(count, on: mount)
        if json {
            printJSON(.array(denials.map(\.json)))
            return 0
        }
        let names = UserNames()
        let rows = denials.map { denial in
            [
                Self.utc(denial.time ?? 0), names.user(denial.uid), denial.operation ?? "", Self.place(denial), denial.errno ?? "",
                denial.stage ?? "", denial.rule ?? "",
            ]
        }
        for line in ExplainTable.lines(rows) { printLine(line) }
        if denials.contains(where: { $0.path == nil && !$0.isGone }) {
            printError(
                "aclfs: an inode number is shown where no path was found, or where you may not list every directory on the path")
        }
        if rows.isEmpty { printError("aclfs: there are no denials that you may see (root and the user who mounted see all)") }
        return 0
    }

    /// - Returns: the newest denials first, with paths of this mount namespace.
    private static func denials(_ count: Int64, on mount: MountEntry) throws(ControlError) -> [DenialForm] {
        var denials: [DenialForm] = []
        while denials.count < count {
            // A new connection for each message: the daemon closes one that is silent for a second, and printing takes time.
            let client = try ControlClient(device: mount.device, owner: mount.userID ?? 0)
            let answer = try client.ask(LastMessage(count: count, before: denials.last?.number)).denials
            if answer.isEmpty { break }
            denials += answer.map { denial in
                guard let path = denial.path else { return denial }
                let location = MountLocation(mount, path)
                return denial.called(location.shown(location.names.count))
            }
        }
        return denials
    }

    private static func place(_ denial: DenialForm) -> String {
        if let path = denial.path { return escapedName(path) }
        let number = "inode \(denial.inode ?? "-")"
        return denial.isGone ? number + " (no longer there)" : number
    }

    private static func utc(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        var buffer = [CChar](repeating: 0, count: 32)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func named(_ error: ControlError, _ path: [UInt8]) -> ControlError {
        error.code == nil ? error : ControlError("\(escapedName(path)): \(error.message)", code: error.code)
    }
}
