import ACLFormats
import Authorization
import Identity
import LinuxSystem

@testable import Commands

/// alice and bob are in staff (20); bob and carol in eng (30).
struct ReportAccounts: AccountSource {
    private static let users = [
        AccountDatabase.User(name: "alice", uid: 501, gid: 20), .init(name: "bob", uid: 502, gid: 20),
        .init(name: "carol", uid: 503, gid: 30),
    ]
    private static let groups = [AccountDatabase.Group(name: "staff", gid: 20), .init(name: "eng", gid: 30)]

    func user(named name: String) -> AccountDatabase.User? { Self.users.first { $0.name == name } }
    func user(uid: UInt32) -> AccountDatabase.User? { Self.users.first { $0.uid == uid } }
    func group(named name: String) -> AccountDatabase.Group? { Self.groups.first { $0.name == name } }
    func group(gid: UInt32) -> AccountDatabase.Group? { Self.groups.first { $0.gid == gid } }
    func groups(ofUser uid: UInt32) -> [UInt32] { [501: [20], 502: [20, 30], 503: [30]][uid] ?? [] }
}

/// A tree as a walk tells of it.
struct ReportScene {
    var classes = ObjectClasses()
    private(set) var events: [ReportEvent] = []

    /// - Parameter entries: in the words of `chmod +a`.
    func item(
        _ kind: ObjectKind, _ mode: UInt16, owner: UInt32 = 501, group: UInt32 = 20, flags: FileFlags = [], _ entries: [String] = []
    ) -> ObjectClass {
        var facts = ObjectFacts(kind: kind, owner: owner, group: group, mode: FileMode(rawValue: mode), flags: flags)
        if !entries.isEmpty {
            facts.acl = (try? ACLAttributeText.parse(entries.joined(separator: "\n").utf8, names: AccountIdentityNames(ReportAccounts())))
        }
        return ObjectClass(facts: facts, isExcluded: flags.contains(.noDump))
    }

    mutating func folder(_ name: String, _ mode: UInt16 = 0o755, owner: UInt32 = 501, group: UInt32 = 20, acl entries: [String] = []) {
        enter(Array(name.utf8), item(.directory, mode, owner: owner, group: group, entries))
    }
    mutating func enter(_ name: [UInt8], _ item: ObjectClass) {
        events.append(.enter(name: name, number: classes.number(of: item)))
    }
    mutating func file(
        _ name: String, _ mode: UInt16 = 0o644, owner: UInt32 = 501, group: UInt32 = 20, flags: FileFlags = [], acl entries: [String] = []
    ) {
        add(Array(name.utf8), item(.file, mode, owner: owner, group: group, flags: flags, entries))
    }
    mutating func add(_ name: [UInt8], _ item: ObjectClass) {
        events.append(.object(name: name, number: classes.number(of: item)))
    }
    mutating func take(_ event: ReportEvent) { events.append(event) }
    mutating func leave() { events.append(.leave) }

    var subjects: ReportSubjects { ReportSubjects(of: classes.all, from: ReportAccounts()) }

    /// - Parameter above: classes of directories above, the lowest last.
    func report(above: [Int] = [], mostPlaces: Int = 20_000) -> ReportValue? {
        var builder = ReportBuilder(
            VerdictMaker(classes: classes.all, subjects: subjects, volume: VolumeState()), above: above, mostPlaces: mostPlaces)
        for event in events { builder.take(event) }
        return builder.report(of: Array("/srv/share".utf8), notes: ["A note."])
    }

    func page(largest: Int = ReportPage.largest) -> String {
        guard let report = report() else { return "" }
        let bytes = ReportPage.make(
            report, .init(version: "1", time: "now"), names: AccountIdentityNames(ReportAccounts()), largest: largest)
        return String(validating: bytes, as: UTF8.self) ?? "no UTF-8"
    }
}

extension ReportPlace {
    /// One line for each place: its path, what rows say, and what else is there.
    func text(_ report: ReportValue) -> [String] {
        let who = WhoText(subjects: report.subjects)
        let rows = PlaceText(report: report).rows(self).map { row in
            let look = report.looks[row.look]
            return "\(row.what) [\(who.text(look.verdict, ReportColumn.write.rights(of: look.kind)))]"
        }
        let names = examples.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
        let rest = [reason, closed, omitted.places > 0 ? "\(omitted.places) left out" : nil].compactMap { $0 }
        return ["\(names.isEmpty ? "." : names): \((rows + rest).joined(separator: "; "))"] + children.flatMap { $0.text(report) }
    }
}
