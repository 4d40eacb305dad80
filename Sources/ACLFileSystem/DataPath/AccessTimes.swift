import BackingStore
import LinuxSystem
import MountOptions
import Synchronization

/// Whether reading moves the access times of the backing objects: `noatime`, `nodiratime`, `relatime`, `strictatime` (docs/data-path.md).
///
/// The kernel leaves the access times of a FUSE mount to its server, whatever the mount's flags say. On the backing file system they go by
/// the flags of the mount through which a file was opened, also where the kernel reads by itself (passthrough). So files are opened
/// through a copy of that mount, attached nowhere, that has the flags which were asked for. Where nothing was asked, nothing is done.
public final class AccessTimes: Sendable {
    private struct State {
        var rule: AccessTimeRule
        /// Of the mount that the root lies on: its id and its copy, or nil if it cannot be copied.
        var copy: (mount: UInt64, directory: SharedDescriptor?)?
    }

    private let state: Lock<State>
    private let isConfigured: Atomic<Bool>
    private let tree: BackingTree

    init(_ rule: AccessTimeRule, _ tree: BackingTree) {
        self.tree = tree
        state = Lock(State(rule: rule))
        isConfigured = Atomic(rule != AccessTimeRule())
    }

    /// For what is opened from here on.
    func change(to rule: AccessTimeRule) {
        state.withLock { $0 = State(rule: rule) }
        isConfigured.store(rule != AccessTimeRule(), ordering: .sequentiallyConsistent)
    }

    /// Whether each reading must be seen below: then the kernel may not list by itself.
    var areStrict: Bool { isConfigured.load(ordering: .relaxed) && state.withLock { $0.rule.files == .strict } }

    /// An object, opened anew for the handle of a caller.
    /// - Parameter descriptor: O_PATH is enough.
    func open(_ descriptor: Int32, _ flags: Int32) throws(Errno) -> OwnedDescriptor {
        let access = flags & OpenFlag.accessMask
        guard isConfigured.load(ordering: .relaxed), access != OpenFlag.writeOnly else { return try Syscall.reopen(descriptor, flags) }
        // Whether one may write there the mount itself says: of a later change to read-only its copy knows nothing.
        let asBelow = access == OpenFlag.readOnly ? nil : SharedDescriptor(try Syscall.reopen(descriptor, flags))
        if let onCopy = descriptorOnMountCopy(of: descriptor), let opened = try? Syscall.reopen(onCopy.rawValue, flags) { return opened }
        let isQuiet = state.withLock { state in
            state.rule.files == .never || state.rule.leavesDirectories && flags & OpenFlag.directory != 0
        }
        // Of others' objects an ordinary user's daemon may not ask for that.
        if isQuiet, let opened = try? Syscall.reopen(descriptor, flags | OpenFlag.noAccessTime) { return opened }
        if let asBelow { return try Syscall.dup(asBelow.rawValue) }
        return try Syscall.reopen(descriptor, flags)
    }

    /// The object on a mount that has the flags (O_PATH); nil where it need not or cannot be had.
    func descriptorOnMountCopy(of descriptor: Int32) -> SharedDescriptor? {
        guard isConfigured.load(ordering: .relaxed), let status = try? Syscall.statx(descriptor, flags: AtFlag.dontSync) else { return nil }
        let (rule, copy) = state.withLock { state in
            if state.copy == nil { state.copy = Self.copyOfRoot(tree, state.rule) }
            return (state.rule, state.copy)
        }
        guard let copy, let directory = copy.directory else { return nil }
        if copy.mount == status.mountID, let handle = try? Syscall.nameToHandle(descriptor),
            let onCopy = try? Syscall.openByHandle(directory.rawValue, handle, OpenFlag.path | OpenFlag.noFollow)
        {
            return SharedDescriptor(onCopy)
        }
        // On a mount below, which must not be kept busy longer than the file is open; or there are no handles.
        return try? Self.copy(of: descriptor, rule)
    }

    private static func copyOfRoot(_ tree: BackingTree, _ rule: AccessTimeRule) -> (mount: UInt64, directory: SharedDescriptor?) {
        guard let root = try? tree.descriptor(of: tree.root),
            let status = try? Syscall.statx(root.rawValue, flags: AtFlag.dontSync), status.mountID != 0
        else { return (0, nil) }
        guard let copy = try? Self.copy(of: root.rawValue, rule),
            // A handle is looked up from a descriptor that is open.
            let directory = try? Syscall.reopen(copy.rawValue, OpenFlag.readOnly | OpenFlag.directory)
        else { return (status.mountID, nil) }
        return (status.mountID, SharedDescriptor(directory))
    }

    private static func copy(of descriptor: Int32, _ rule: AccessTimeRule) throws(Errno) -> SharedDescriptor {
        let copy = SharedDescriptor(try Syscall.cloneMount(descriptor))
        let files: MountAccessTimes? =
            switch rule.files {
            case .asBelow: nil
            case .never: .never
            case .relative: .relative
            case .strict: .strict
            }
        try Syscall.setAccessTimes(ofMount: copy.rawValue, files, leavesDirectories: rule.leavesDirectories)
        return copy
    }
}
