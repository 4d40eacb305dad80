import ACLFormats
import ArgumentParser
import ControlProtocol
import ToolSupport

/// `aclfs effective`: every right, whether it is granted, and by which rule.
struct Effective: ParsedCommand, ListedCommand {
    static let summary = "every right on an object, and its rule"
    static let example = "effective --as bob plans"
    static let configuration = CommandConfiguration(
        commandName: "aclfs effective", abstract: "Every right on an object, granted or denied, and by which rule.",
        usage: "aclfs effective [--json] [--as USER[:GROUP,...]] PATH")

    @Flag(help: "JSON instead of text.") var json = false
    @Option(name: .customLong("as"), help: ArgumentHelp("The user to decide for; by default the caller.", valueName: "USER[:GROUP,...]"))
    var subject: String?
    @Argument(help: ArgumentHelp(valueName: "PATH")) var path: ByteWord

    /// - Returns: the exit status: 0, or 2 without an answer.
    func perform() throws(ControlError) -> Int32 {
        let location = try MountLocation(path.bytes)
        let explanations: [Explanation]
        do throws(ControlError) {
            explanations = try location.client().ask(EffectiveMessage(path: location.names, subject: subject)).explanations
        } catch { throw Explain.named(error, path.bytes) }
        if json {
            printJSON(.array(explanations.map { $0.json { location.shown($0.depth) } }))
            return 0
        }
        // A closed directory above denies every right: then there is one answer.
        let isClosed = explanations.count == 1
        let steps = explanations.compactMap(\.steps.last)
        for line in ExplainTable.lines(
            steps.map { step in
                [step.words.joined(separator: ","), step.isAllowed ? "allowed" : "denied", step.stage, step.entry ?? ""]
            })
        {
            printLine(line)
        }
        if explanations.contains(where: { $0.notes.contains(Explanation.inheritsNothing) }) {
            printLine("note: \(Explanation.inheritsNothing)")
        }
        if isClosed, let step = steps.last {
            printLine("no right is granted: search is denied at \(escapedName(location.shown(step.place.depth)))")
        }
        return 0
    }
}
