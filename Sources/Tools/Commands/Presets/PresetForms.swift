import ACLFormats
import Authorization

/// Recognises the lists that presets make, with all that inherits from them: their order is not the one that `aclfs chmod` keeps, on purpose.
struct PresetForms {
    /// For each preset the entries of the directory, of directories below it, and of files; the last two are marked as inherited.
    private var forms: [[ACE]] = []
    /// Stand for the owner and for the group of a preset.
    private static let (owner, group) = (GUID(user: .max - 7), GUID(group: .max - 7))

    init() {
        for preset in Preset.allCases {
            for isGroupNamed in [false, true] {
                let people = Preset.People(owner: Self.owner.uuidText, group: Self.group.uuidText, isGroupNamed: isGroupNamed)
                guard var list = try? preset.list(people) else { continue }
                add(list)
                // What a directory inherits changes once more below it, and then no further.
                for _ in 0..<2 {
                    add(list.compactMap { $0.inherited(by: .file) })
                    list = list.compactMap { $0.inherited(by: .directory) }
                    add(list)
                }
            }
        }
    }

    private mutating func add(_ form: [ACE]) { if !form.isEmpty, !forms.contains(form) { forms.append(form) } }

    /// - Parameter entries: the explicit or the inherited ones of an object, in their order.
    /// - Returns: whether a preset makes them, for any owner and group.
    func contain(_ entries: some Collection<ACE>) -> Bool { forms.contains { Self.matches($0, entries) } }

    private static func matches(_ form: [ACE], _ entries: some Collection<ACE>) -> Bool {
        guard form.count == entries.count else { return false }
        var people: [GUID: GUID] = [:]
        return zip(form, entries).allSatisfy { wanted, entry in
            var named = wanted
            if wanted.guid == owner || wanted.guid == group {
                named.guid = people[wanted.guid] ?? entry.guid
                people[wanted.guid] = named.guid
            }
            return named == entry
        }
    }
}
