import LinuxSystem

/// The mounts of this namespace according to /proc. The table is read again only after it has changed: a listing of a directory with many mounts
/// asks about each.
final class MountedFileSystems: Sendable {
    static let all = MountedFileSystems()

    private struct State {
        var table: SharedDescriptor?
        /// Whether a mount is one of aclfs, by its id, and without such ids (Linux before 5.8) by its device.
        var byID: [UInt64: Bool] = [:]
        var byDevice: [UInt64: Bool] = [:]
    }
    private let state = Lock(State())

    /// Whether an object is on an aclfs mount of any daemon. The daemon does not enter a mount that the table does not show.
    func isAclfs(_ status: FileStatus) -> Bool {
        state.withLock { state in
            func known() -> Bool? { status.mountID == 0 ? state.byDevice[status.device] : state.byID[status.mountID] }
            if let table = state.table, !Syscall.hasExceptionalCondition(table.rawValue), let known = known() { return known }
            guard (try? read(&state)) != nil else {
                state = State()
                return true
            }
            return known() ?? true
        }
    }

    private func read(_ state: inout State) throws(Errno) {
        (state.byID, state.byDevice) = ([:], [:])
        let table: SharedDescriptor
        if let open = state.table {
            table = open
        } else {
            table = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        }
        state.table = table
        for mount in try MountInfo.read(table.rawValue) {
            let isAclfs = mount.type.elementsEqual("fuse.aclfs".utf8)
            state.byID[mount.id] = isAclfs
            if state.byDevice[mount.device] == nil { state.byDevice[mount.device] = isAclfs }
        }
    }
}
