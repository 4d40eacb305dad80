import ACLFormats
import Authorization
import ToolSupport

/// The entries of a preset, and what people can do with them, as text or JSON.
struct PresetText {
    private let plan: PresetPlan
    private let isJSON: Bool
    private let sink: OutputSink

    init(_ plan: PresetPlan, isJSON: Bool, _ sink: OutputSink) { (self.plan, self.isJSON, self.sink) = (plan, isJSON, sink) }

    func show() {
        if isJSON { return json(plan.change.entries.map { ACLTextPrinter.line($0, isDirectory: true, names: SystemNames()) }) }
        sink.line("\(plan.preset.rawValue): \(plan.preset.summary)")
        sink.line("mode \(String(plan.change.mode, radix: 8)), owner \(plan.ownerName), group \(plan.groupName)")
        sink.line(ACLTextPrinter.protectedLine)
        for entry in ACLTextPrinter.lines(ACL(plan.change.entries), isDirectory: true, names: SystemNames()) { sink.line(entry) }
        let width = PresetOutlook.Act.allCases.map(\.rawValue.count).max() ?? 0
        func row(_ head: String, _ cells: [String]) -> String {
            head + String(repeating: " ", count: width - head.count)
                + cells.map { "  " + $0 + String(repeating: " ", count: max(0, 6 - $0.count)) }.joined()
        }
        sink.line(trimmed(row("", PresetOutlook.Person.allCases.map(\.rawValue))))
        for act in PresetOutlook.Act.allCases {
            sink.line(trimmed(row(act.rawValue, PresetOutlook.Person.allCases.map { plan.outlook.can($0, act) ? "yes" : "no" })))
        }
    }

    private func trimmed(_ text: String) -> String {
        var text = text
        while text.last == " " { text.removeLast() }
        return text
    }

    private func json(_ entries: [String]) {
        let acts = PresetOutlook.Person.allCases.map { person in
            JSON.Member(
                person.rawValue,
                .object(PresetOutlook.Act.allCases.map { JSON.Member($0.rawValue, .bool(plan.outlook.can(person, $0))) }))
        }
        let value = JSON.object([
            .init("preset", .string(plan.preset.rawValue)), .init("mode", .string(String(plan.change.mode, radix: 8))),
            .init("no_inherit", .bool(true)), .init("entries", .array(entries.map { .string($0) })), .init("can", .object(acts)),
        ])
        sink.output(JSONText.write(value) + [0x0A])
    }
}
