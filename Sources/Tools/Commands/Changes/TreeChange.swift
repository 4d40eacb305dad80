import Authorization
import BackingStore
import LinuxSystem

/// An object as a walk met it.
struct MetObject {
    let node: SharedDescriptor
    /// Below the top; `.` for the top itself.
    let path: [UInt8]
    let status: FileStatus
    /// The directory in which its name was found; nil if that does not matter.
    var directory: SharedDescriptor?

    var kind: ObjectKind { ObjectKind(typeBits: status.mode) }
}

/// What a command makes of one object.
struct PlannedChange {
    /// nil: the object stays as it is.
    var states: (before: TreeState, after: TreeState)?
    /// The list that the object has afterwards.
    var list: ACL?
    /// What the object does not get, against the command.
    var lacks: String?
    /// Whether the object's list carries the mark `no_inherit` (docs/reference/authorization.md Q25), and the command's user is told so.
    var isProtected = false
}

/// Why a command leaves an object as it is.
enum LeftObject: Error {
    case failure(AttributeFailure)
    case reason(String)
}

/// What a command does with each object of a tree.
protocol TreeChange: Sendable {
    /// Whether owner and group may change.
    var changesOwners: Bool { get }
    /// Whether flags may change.
    var changesFlags: Bool { get }
    /// Whether files get set-id bits that they do not have.
    var setsID: Bool { get }
    /// Whether what happens to an object depends on the list of its directory.
    var needsListAbove: Bool { get }
    /// What the command does with a file, if that is a change of its list alone; nil: more, or something else.
    var listChange: ListChange? { get }
    /// What is said of an object that carries the mark `no_inherit`, where `plan` says that this matters.
    var warningOfMark: String { get }

    /// - Parameters:
    ///   - list: of the directory that the object lies in, as it is after the command.
    ///   - read: reads the present state.
    func plan(
        _ object: MetObject, under list: ACL?, _ read: () throws(AttributeFailure) -> TreeState
    ) throws(LeftObject) -> PlannedChange
}

extension TreeChange {
    var changesFlags: Bool { false }
    var setsID: Bool { false }
    var listChange: ListChange? { nil }
    var warningOfMark: String { "keeps its own entries: it carries no_inherit" }
}
