import ACLFormats
import ControlProtocol
import ToolSupport

/// `aclfs effective`: every right, whether it is granted, and by which rule.
package enum EffectiveRights {
    /// - Returns: the exit status: 0, or 2 without an answer.
    package static func perform(_ arguments: EffectiveRequest) -> Int32 {
        do throws(ControlError) { return try show(arguments) } catch {
            printError("aclfs: \(error.message)")
            return 2
        }
    }

    private static func show(_ arguments: EffectiveRequest) throws(ControlError) -> Int32 {
        let location = try MountLocation(arguments.path)
        let explanations: [Explanation]
        do throws(ControlError) {
            explanations = try location.client().ask(EffectiveMessage(path: location.names, subject: arguments.subject)).explanations
        } catch { throw Explain.named(error, arguments.path) }
        if arguments.json {
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
