import ACLFormats
import Authorization
import LinuxSystem
import ToolSupport

/// What a command that changes trees prints: each object, or a summary.
// Unchecked: the threads of a command share it, and each use holds the lock.
final class ChangeReport: @unchecked Sendable {
    private let lock = Lock(())
    private let sink: OutputSink
    private let isJSON: Bool
    private let isVerbose: Bool
    private let prefix: [UInt8]
    private let names = SystemNames()
    private let progress: ChangeProgress
    private var changed = 0
    private var left = 0
    private var kept = 0
    private var isCountLow = false

    /// - Parameter prefix: the path of the top, as the user wrote it; empty: paths are shown from the top on.
    init(_ sink: OutputSink, isJSON: Bool, isVerbose: Bool, prefix: [UInt8] = [], total: @escaping () -> Int? = { nil }) {
        (self.sink, self.isJSON, self.isVerbose, self.prefix) = (sink, isJSON, isVerbose, prefix)
        progress = ChangeProgress(sink, isShown: !isJSON, total: total)
    }

    /// Whether progress is shown.
    var showsProgress: Bool { progress.isShown }
    /// Whether no object was left as it was against the command.
    var isComplete: Bool { lock.withLock { _ in left == 0 } }

    /// Counts objects for the progress on a terminal.
    func examine(_ count: Int = 1) { lock.withLock { _ in progress.advance(count) } }

    /// Counts objects that need no line of their own.
    func count(examined: Int, changed: Int) {
        lock.withLock { _ in
            self.changed += changed
            progress.advance(examined)
        }
    }

    /// What came of some objects is not known; they are as the command says.
    func noteUncounted() { lock.withLock { _ in isCountLow = true } }

    /// Whether each changed object has a line.
    var namesObjects: Bool { isJSON || isVerbose }

    /// - Parameters:
    ///   - verb: what happens to it, as `changed` or `would change`.
    ///   - list: its new list.
    func note(_ verb: String, _ path: [UInt8], from old: TreeState, to new: TreeState, isDirectory: Bool, _ list: ACL?) {
        lock.withLock { _ in
            changed += 1
            if isJSON {
                json(path, verb, members(old, new, isDirectory, list))
            } else if isVerbose {
                progress.clear()
                sink.line("\(verb) \(escapedName(shown(path)))\(differences(old, new))")
                for line in list.map({ ACLTextPrinter.lines($0, isDirectory: isDirectory, names: names) }) ?? [] { sink.line(line) }
            }
        }
    }

    /// An object that stays as it is, and why.
    /// - Parameter reason: called by one thread at a time.
    func leave(_ path: [UInt8], _ reason: () -> String) {
        lock.withLock { _ in
            left += 1
            progress.clear()
            let reason = reason()
            if isJSON { json(path, "left", [.init("reason", .string(reason))]) }
            sink.complain(shown(path), reason)
        }
    }

    func leave(_ path: [UInt8], _ reason: String) { leave(path) { reason } }

    /// An object whose list carries the mark `no_inherit`. The first few are named.
    func keep(_ path: [UInt8], _ warning: String) {
        lock.withLock { _ in
            kept += 1
            if isJSON { json(path, "kept", [.init("reason", .string("no_inherit"))]) }
            guard kept <= Self.mostKept else { return }
            progress.clear()
            sink.complain("warning: \(escapedName(shown(path))) \(warning)")
        }
    }

    private static let mostKept = 10

    /// A line without an object.
    func warn(_ text: String) {
        lock.withLock { _ in
            progress.clear()
            sink.complain("warning: \(text)")
        }
    }

    /// The summary; with JSON each object has its line.
    func summarize(_ verb: String) {
        lock.withLock { _ in
            progress.clear()
            if kept > Self.mostKept { sink.complain("warning: so do \(kept - Self.mostKept) more") }
            if isJSON { return }
            let number = "\(isCountLow ? "at least " : "")\(changed) \(changed == 1 ? "object" : "objects")"
            sink.line("\(verb) \(number)\(left == 0 ? "" : ", left \(left) unchanged")")
        }
    }

    private func shown(_ path: [UInt8]) -> [UInt8] {
        if prefix.isEmpty { return path }
        return path == UndoEntry.topPath ? prefix : joinedPath(prefix, path)
    }

    private func json(_ path: [UInt8], _ action: String, _ members: [JSON.Member]) {
        sink.output(JSONText.write(.object([JSON.path(shown(path)), .init("action", .string(action))] + members)) + [0x0A])
    }

    private func members(_ old: TreeState, _ new: TreeState, _ isDirectory: Bool, _ list: ACL?) -> [JSON.Member] {
        let text = list.map { ACLAttributeText.write($0, isDirectory: isDirectory, names: names) } ?? []
        let entries = text.split(separator: 0x0A).map { JSON.string(String(decoding: $0, as: UTF8.self)) }
        var members: [JSON.Member] = [
            .init("old_mode", .string(Self.octal(old.mode))), .init("new_mode", .string(Self.octal(new.mode))),
        ]
        if let owners = new.owners {
            members += [.init("uid", .integer(Int64(owners.uid))), .init("gid", .integer(Int64(owners.gid)))]
        }
        return members + [.init("entries", .array(entries))]
    }

    private func differences(_ old: TreeState, _ new: TreeState) -> String {
        var parts: [String] = []
        if let before = old.owners, let after = new.owners {
            let users = [before.uid, after.uid].map { name(GUID(user: $0), $0) }
            let groups = [before.gid, after.gid].map { name(GUID(group: $0), $0) }
            if before.uid != after.uid { parts.append("owner \(users[0]) to \(users[1])") }
            if before.gid != after.gid { parts.append("group \(groups[0]) to \(groups[1])") }
        }
        if old.mode != new.mode { parts.append("mode \(Self.octal(old.mode)) to \(Self.octal(new.mode))") }
        return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
    }

    private func name(_ identity: GUID, _ number: UInt32) -> String {
        names.name(of: identity).map { escapedName($0.name.utf8) } ?? "\(number)"
    }

    private static func octal(_ mode: UInt16) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
