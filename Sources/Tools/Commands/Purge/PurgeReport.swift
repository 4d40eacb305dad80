import ACLFormats
import ToolSupport

/// What `aclfs purge` prints: objects, or a summary.
final class PurgeReport {
    private let sink: OutputSink
    private let isDryRun: Bool
    private let isVerbose: Bool
    private let json: Bool
    private var removed = 0
    private var bytes: UInt64 = 0
    private var containers = 0
    private(set) var exitStatus: Int32 = 0

    init(_ sink: OutputSink, isDryRun: Bool, isVerbose: Bool, json: Bool) {
        (self.sink, self.isDryRun, self.isVerbose, self.json) = (sink, isDryRun, isVerbose, json)
    }

    func beginContainer() { containers += 1 }

    /// - Parameters:
    ///   - path: of an object that is gone, or would be.
    ///   - freed: the space that its last name held.
    func remove(_ path: [UInt8], freeing freed: UInt64) {
        removed += 1
        bytes += freed
        let verb = isDryRun ? "would remove" : "removed"
        if json { return line(path, verb, [.init("bytes", .integer(Int64(clamping: freed)))]) }
        if isDryRun || isVerbose { sink.line("\(verb) \(escapedName(path))") }
    }

    func fail(_ path: [UInt8], _ reason: String) {
        exitStatus = 1
        if json { line(path, "failed", [.init("reason", .string(reason))]) }
        sink.complain(path, reason)
    }

    /// - Parameters:
    ///   - container: the path of a container in use.
    ///   - uses: what uses it.
    ///   - isNamed: the command line named it, and not a directory above.
    func skip(_ container: [UInt8], _ uses: [String], isNamed: Bool) {
        if isNamed { exitStatus = 1 }
        if json { line(container, "skipped", [.init("reasons", .array(uses.map { .string($0) }))]) }
        sink.complain(container, "in use, and left as it is:")
        for use in uses { sink.error(Array("\(escapedText(use.utf8))\n".utf8)) }
    }

    /// A line that concerns no container alone.
    func note(_ text: String) { sink.complain(text) }

    /// With JSON each object has its line.
    func summarize() {
        if json { return }
        func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
        let verb = isDryRun ? "would remove" : "removed"
        sink.line("\(verb) \(counted(removed, "object")), \(bytes) bytes, in \(counted(containers, "container"))")
    }

    private func line(_ path: [UInt8], _ action: String, _ members: [JSON.Member]) {
        sink.output(JSONText.write(.object([JSON.path(path), .init("action", .string(action))] + members)) + [0x0A])
    }
}
