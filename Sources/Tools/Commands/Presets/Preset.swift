import ACLFormats
import Authorization

/// A ready-made folder: its entries and its mode (docs/guide/presets.md).
enum Preset: String, CaseIterable {
    case dropBox = "drop-box"
    case appendOnly = "append-only"
    case noDelete = "no-delete"
    case teamShare = "team-share"
    case readOnly = "read-only"
    case everyoneReads = "public"

    /// The people whom the entries name.
    struct People {
        /// An entry's word for the owner of the directory.
        var owner: String
        /// For the members of the group.
        var group: String
        /// Whether the caller named the group: with a drop box only its members put something in then.
        var isGroupNamed: Bool
    }

    var summary: String {
        switch self {
        case .dropBox: "anyone, or the group, puts files in; only the owner of the folder reads them"
        case .appendOnly: "the group adds files and lines; nothing that is there is changed or removed"
        case .noDelete: "the group adds and changes; nothing is removed or renamed"
        case .teamShare: "the group works on everything; others see nothing"
        case .readOnly: "the group reads; only the owner of the folder changes"
        case .everyoneReads: "the group works on everything; all others read"
        }
    }

    /// The nine bits of the directory.
    var mode: UInt16 { self == .everyoneReads ? 0o755 : 0o700 }

    private static let inherit = ",file_inherit,directory_inherit"
    private static let reading = "list,search,readattr,readextattr,readsecurity"
    private static let writing = "add_file,add_subdirectory,writeattr,writeextattr"

    /// The entries in the text of `chmod +a`, in the order in which they decide.
    func entries(_ people: People) -> [String] {
        let (owner, group) = (people.owner, people.group)
        let whole = "\(owner) allow \(Self.reading),\(Self.writing),delete,delete_child\(Self.inherit)"
        switch self {
        case .dropBox:
            let adding = people.isGroupNamed ? group : "everyone"
            return [
                "\(owner) allow read,delete,readattr,readextattr,readsecurity,file_inherit,only_inherit",
                "everyone deny read,file_inherit,only_inherit", "\(adding) allow add_file,search",
            ]
        case .appendOnly:
            return [
                whole, "everyone deny write,delete,file_inherit,only_inherit", "everyone deny delete,delete_child,directory_inherit",
                "\(group) allow \(Self.reading),add_file,add_subdirectory,directory_inherit",
                "\(group) allow read,append,readattr,readextattr,readsecurity,file_inherit,only_inherit",
            ]
        case .noDelete:
            return [
                whole, "everyone deny delete,delete_child\(Self.inherit)", "\(group) allow \(Self.reading),\(Self.writing)\(Self.inherit)",
            ]
        case .teamShare: return [whole, "\(group) allow \(Self.reading),\(Self.writing),delete,delete_child\(Self.inherit)"]
        case .readOnly:
            return [
                whole, "everyone deny \(Self.writing),delete,delete_child\(Self.inherit)", "\(group) allow \(Self.reading)\(Self.inherit)",
            ]
        case .everyoneReads:
            return [
                whole, "\(group) allow \(Self.reading),\(Self.writing),delete,delete_child\(Self.inherit)",
                "everyone allow \(Self.reading)\(Self.inherit)",
            ]
        }
    }

    /// The entries as values.
    /// - Parameter names: for identities in the words of `people`.
    func list(_ people: People) throws(ACLTextError) -> [ACE] {
        var list: [ACE] = []
        for text in entries(people) { list += try ACLTextParser.parse(Array(text.utf8), names: NoNames(), isDirectory: true) }
        return list
    }
}
