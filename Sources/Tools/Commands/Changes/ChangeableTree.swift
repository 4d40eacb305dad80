import ACLFormats
import LinuxSystem

/// What a command changes: a directory or another object, with all below it, on a mount or on a backing directory that no daemon serves.
protocol ChangeableTree: Sendable {
    /// The real path.
    var path: [UInt8] { get }
    /// The object that the command names. All others are opened from it.
    var top: SharedDescriptor { get }
    /// Of the top.
    var status: FileStatus { get }
    /// For the header of an undo file.
    var place: UndoHeader.Place { get }
    /// Whether a daemon judges each change.
    var isMounted: Bool { get }

    /// - Parameters:
    ///   - node: any descriptor of the object.
    ///   - status: its status.
    ///   - owners: whether the state has owner and group.
    ///   - flags: whether it has the flags, where they are not in a record.
    ///   - tools: those of the calling thread.
    func state(
        of node: SharedDescriptor, _ status: FileStatus, owners: Bool, flags: Bool, _ tools: TreeTools
    ) throws(AttributeFailure) -> TreeState

    /// Changes an object from one state to another. On the way, and if a call fails, its mode grants no more than before and after.
    /// - Parameters:
    ///   - node: any descriptor of it.
    ///   - old: the present state.
    ///   - new: the state that it gets.
    ///   - status: its present status.
    ///   - setsID: whether a file gets set-id bits that it does not have.
    /// - Returns: the set-id bits of the new mode that were left out (`ModeWriting`).
    /// - Throws: the error of a call; the old state is restored then, as far as the system allows, but for set-id bits.
    func change(
        _ node: SharedDescriptor, from old: TreeState, to new: TreeState, _ status: FileStatus, setsID: Bool, _ tools: TreeTools
    ) throws(AttributeFailure) -> UInt16

    /// - Throws: why no object may be changed now.
    func requireChangeable(_ warn: (String) -> Void) throws(CommandFailure)

    /// A failure in words.
    /// - Parameter isChange: whether it is of a change, and not of reading.
    func message(_ failure: AttributeFailure, isChange: Bool, _ node: SharedDescriptor, _ status: FileStatus, _ tools: TreeTools) -> String
}

/// What each thread of a command has for itself.
struct TreeTools {
    let files = LinuxFiles(staysBeneath: true)
    let names = SystemNames()
}

extension ChangeableTree {
    var identity: TreeIdentity { TreeIdentity(status) }

    func state(
        of node: SharedDescriptor, _ status: FileStatus, owners: Bool, _ tools: TreeTools
    ) throws(AttributeFailure) -> TreeState {
        try state(of: node, status, owners: owners, flags: false, tools)
    }

    func header(_ command: String) -> UndoHeader { UndoHeader(source: path, identity: identity, place: place, command: command) }

    /// A failure of a change, with what of the object could not be put back.
    /// - Parameter status: before the change.
    func failure(
        _ failure: AttributeFailure, _ node: SharedDescriptor, _ status: FileStatus, _ tools: TreeTools
    ) -> AttributeFailure {
        guard let now = try? Syscall.statx(node.rawValue, mask: StatMask.basic, flags: AtFlag.forceSync),
            (now.uid, now.gid, now.mode) != (status.uid, status.gid, status.mode)
        else { return failure }
        let mode = String(now.mode & 0o7777, radix: 8)
        return .refused(
            "\(message(failure, isChange: true, node, status, tools)); it could not be put back as it was: now its owner is \(now.uid), "
                + "its group \(now.gid), its mode 0\(mode)")
    }
}
