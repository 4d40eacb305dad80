import ACLFormats
import Identity

/// One line of `aclfs explain --who-can`: a user, and the rule that allows it.
struct WhoCanRow {
    var name: String
    var uid: UInt32
    var stage: String
    var entry: String?

    var cells: [String] { [escapedName(name.utf8), stage, entry ?? ""] }

    /// As `--json` prints it.
    var json: JSON {
        .object([
            .init("user", .string(name)), .init("uid", .integer(Int64(uid))), .init("stage", .string(stage)),
            .init("entry", entry.map { .string($0) } ?? .null),
        ])
    }
}
