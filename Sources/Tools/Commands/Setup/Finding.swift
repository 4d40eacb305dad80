import ACLFormats
import Glibc
import Mounting
import ToolSupport

/// What `aclfs doctor` has found about one thing.
struct Finding {
    enum Level: String {
        case fine = "ok"
        /// It works, but worse than it could, or only for some.
        case note
        /// Mounting fails, or does not protect.
        case problem
    }

    var level: Level
    /// What was looked at.
    var subject: String
    /// How it is.
    var state: String
    /// What to do; nil: nothing.
    var remedy: String?

    static func fine(_ subject: String, _ state: String) -> Finding { Finding(level: .fine, subject: subject, state: state) }
    static func note(_ subject: String, _ state: String, do remedy: String) -> Finding {
        Finding(level: .note, subject: subject, state: state, remedy: remedy)
    }
    static func problem(_ subject: String, _ state: String, do remedy: String) -> Finding {
        Finding(level: .problem, subject: subject, state: state, remedy: remedy)
    }
    /// A path that cannot be resolved.
    /// - Parameters:
    ///   - path: as the user wrote it.
    ///   - failure: of `MountPath.resolved`.
    ///   - missing: what to do if nothing has that name.
    static func unresolved(_ path: String, role: String, _ failure: MountFailure, missing: String) -> Finding {
        let name = escapedName(path.utf8)
        if let closed = MountPlace.closedDirectory(on: path) {
            return .problem(
                name, "this user may not search \(escapedName(closed.utf8))",
                do: "its owner has to allow this user to search it, or name another directory")
        }
        let state = String(failure.message.dropFirst("\(role) \(path): ".count))
        let isMissing = access(path, F_OK) != 0 && errno == ENOENT
        return .problem(name, state, do: isMissing ? missing : "name a directory that this user may search")
    }

    var json: JSON {
        .object(
            [.init("level", .string(level.rawValue)), .init("subject", .string(subject)), .init("state", .string(state))]
                + (remedy.map { [.init("remedy", .string($0))] } ?? []))
    }

    /// As text, without colour: the level is a word.
    var lines: [String] {
        let mark = level.rawValue + String(repeating: " ", count: max(1, 8 - level.rawValue.count))
        return [mark + subject + ": " + state] + (remedy.map { ["        → " + $0] } ?? [])
    }
}
