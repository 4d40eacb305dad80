import ACLFormats
import Authorization

/// What two sources state differently about one object.
struct Difference {
    let path: [UInt8]
    /// For each property its lines on either side.
    private(set) var lines: [(property: ExportProperty, before: [String], after: [String])] = []

    /// - Parameters:
    ///   - ignored: properties that are not compared.
    ///   - asShown: whether only what `ls -le` shows of lists is compared.
    ///   - names: of the identities on both sides.
    /// - Returns: nil if they state the same, as far as both state it.
    init?(_ one: ExportedObject, _ other: ExportedObject, ignoring ignored: Set<ExportProperty>, asShown: Bool, names: DifferenceNames) {
        path = one.path
        for property in ExportProperty.allCases where !ignored.contains(property) {
            guard let before = Self.value(property, one, asShown), let after = Self.value(property, other, asShown), before != after else {
                continue
            }
            var sides = [(one, DifferenceNames.Side.before), (other, .after)].map { Self.text(property, $0.0, asShown, names.on($0.1)) }
            // Two identities of one name.
            if sides[0] == sides[1] { sides = [one, other].map { Self.text(property, $0, asShown, NoNames()) } }
            lines.append((property, sides[0], sides[1]))
        }
        if lines.isEmpty { return nil }
    }

    private static func value(_ property: ExportProperty, _ object: ExportedObject, _ asShown: Bool) -> AnyHashable? {
        switch property {
        case .kind: object.kind
        case .owner: object.owner
        case .group: object.group
        case .mode: object.mode
        case .flags: object.flags.map { asShown ? $0.intersection(shownFlags) : $0 }
        case .backup: object.isExcluded
        case .acl: object.list.map { asShown ? shown($0, object.isDirectory) : $0 }
        }
    }

    private static func text(_ property: ExportProperty, _ object: ExportedObject, _ asShown: Bool, _ names: some IdentityNames) -> [String]
    {
        var single = ExportedObject(path: ExportPath.top, kind: object.kind)
        switch property {
        case .kind: return ["# kind: \(object.kind.exportWord)"]
        case .owner: single.owner = object.owner
        case .group: single.group = object.group
        case .mode: single.mode = object.mode
        case .flags: single.flags = object.flags
        case .backup: single.isExcluded = object.isExcluded
        case .acl: single.list = object.list.map { asShown ? shown($0, object.isDirectory) : $0 }
        }
        // Path and kind are the first two.
        return ExportWriter(.text, names: names).lines(of: single).dropFirst(2).map { String(decoding: $0, as: UTF8.self) }
    }

    private static let shownFlags = FileFlagName.all.reduce(into: FileFlags()) { $0.formUnion($1.flag) }

    /// A list with the bits that ls shows, in which an empty list looks like none.
    private static func shown(_ list: ExportedList, _ isDirectory: Bool) -> ExportedList {
        guard case .entries(let acl) = list, !acl.entries.isEmpty else { return .none }
        return .entries(
            ACL(
                acl.entries.map { entry in
                    var shown = ACE(
                        guid: entry.guid, flagsWord: entry.flagsWord & 0xF | entry.flags.intersection(.inherited).rawValue, rights: [])
                    for name in RightName.all where isDirectory || name.fileWord != nil {
                        shown.rights.formUnion(entry.rights.intersection(name.right))
                    }
                    for name in ACEFlagName.inheritance where isDirectory || name.shownOnFiles {
                        shown.flags.formUnion(entry.flags.intersection(name.flag))
                    }
                    return shown
                }))
    }

    // MARK: Output

    /// As diff(1) marks them. A list that differs is shown whole, because its order counts.
    var text: [String] {
        lines.flatMap { line -> [String] in
            guard line.property == .acl else { return line.before.map { "-\($0)" } + line.after.map { "+\($0)" } }
            return LineDifference.lines(line.before, line.after)
        }
    }

    var json: [JSON.Member] {
        let properties = lines.map { line -> JSON.Member in
            func value(_ lines: [String]) -> JSON {
                if line.property == .acl {
                    if lines == ["# acl: none"] { return .null }
                    return .array(lines.filter { !$0.hasPrefix("#") }.map { .string($0) })
                }
                return .string(String(lines.first?.drop { $0 != " " }.dropFirst().drop { $0 != " " }.dropFirst() ?? ""))
            }
            return .init(line.property.rawValue, .array([value(line.before), value(line.after)]))
        }
        return [JSON.path(path), .init("change", .string("changed")), .init("properties", .object(properties))]
    }
}

/// The lines of two texts with `-`, `+` or a blank in front, as few as possible of them changed.
enum LineDifference {
    static func lines(_ before: [String], _ after: [String]) -> [String] {
        // The length of the longest common part of what follows each pair of places.
        var common = [[Int]](repeating: [Int](repeating: 0, count: after.count + 1), count: before.count + 1)
        for i in before.indices.reversed() {
            for j in after.indices.reversed() {
                common[i][j] = before[i] == after[j] ? common[i + 1][j + 1] + 1 : max(common[i + 1][j], common[i][j + 1])
            }
        }
        var (i, j) = (0, 0)
        var lines: [String] = []
        while i < before.count || j < after.count {
            if i < before.count, j < after.count, before[i] == after[j] {
                lines.append(" \(before[i])")
                (i, j) = (i + 1, j + 1)
            } else if i < before.count, j == after.count || common[i + 1][j] >= common[i][j + 1] {
                lines.append("-\(before[i])")
                i += 1
            } else {
                lines.append("+\(after[j])")
                j += 1
            }
        }
        return lines
    }
}
