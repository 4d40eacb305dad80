import ACLFormats
import Authorization
import ToolSupport

/// What an offline command prints: each object, or a summary.
final class OfflineReport {
    private let sink: OutputSink
    private let isJSON: Bool
    private let isVerbose: Bool
    private let names = SystemNames()
    private let progress: OfflineProgress
    private(set) var changed = 0
    private(set) var left = 0

    init(_ sink: OutputSink, isJSON: Bool, isVerbose: Bool) {
        (self.sink, self.isJSON, self.isVerbose) = (sink, isJSON, isVerbose)
        progress = OfflineProgress(sink, isShown: !isJSON)
    }

    /// Counts an object for the progress on a terminal.
    func examine() { progress.advance() }

    /// - Parameters:
    ///   - verb: what happens to it, as `changed` or `would change`.
    ///   - acl: its new entries.
    func note(_ verb: String, _ path: [UInt8], from old: OfflineState, to new: OfflineState, isDirectory: Bool, _ acl: ACL?) {
        changed += 1
        progress.clear()
        if isJSON {
            let text = acl.map { ACLAttributeText.write($0, isDirectory: isDirectory, names: names) } ?? []
            let entries = text.split(separator: 0x0A).map { JSON.string(String(decoding: $0, as: UTF8.self)) }
            return json(
                path, verb,
                [
                    .init("old_mode", .string(Self.octal(old.mode))), .init("new_mode", .string(Self.octal(new.mode))),
                    .init("entries", .array(entries)),
                ])
        }
        guard isVerbose else { return }
        let mode = old.mode == new.mode ? "" : " (mode \(Self.octal(old.mode)) to \(Self.octal(new.mode)))"
        sink.line("\(verb) \(escapedName(path))\(mode)")
        for line in acl.map({ ACLTextPrinter.lines($0, isDirectory: isDirectory, names: names) }) ?? [] { sink.line(line) }
    }

    /// An object that stays as it is, and why.
    func leave(_ path: [UInt8], _ reason: String) {
        left += 1
        progress.clear()
        if isJSON { json(path, "left", [.init("reason", .string(reason))]) }
        sink.complain(path, reason)
    }

    /// A line without an object.
    func warn(_ text: String) {
        progress.clear()
        sink.complain("warning: \(text)")
    }

    /// The summary; with JSON each object has its line.
    func summarize(_ verb: String) {
        progress.clear()
        if isJSON { return }
        sink.line("\(verb) \(changed) \(changed == 1 ? "object" : "objects")\(left == 0 ? "" : ", left \(left) as before")")
    }

    private func json(_ path: [UInt8], _ action: String, _ members: [JSON.Member]) {
        sink.output(JSONText.write(.object([JSON.path(path), .init("action", .string(action))] + members)) + [0x0A])
    }

    private static func octal(_ mode: UInt16) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
