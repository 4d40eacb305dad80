import BackingStore
import LinuxSystem
import MountOptions
import Synchronization

/// Whether reading moves the access times of the backing objects: `noatime`, `nodiratime`, `relatime`, `strictatime`. The daemon
/// opens files on a detached copy of their mount that has these flags (docs/internals/data-path.md "Access times").
public final class AccessTimes: Sendable {
    private struct State {
        var rule: AccessTimeRule
        /// The mount of the root: its id, and its copy or nil if the kernel refuses to copy it.
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

    /// Sets the rule for objects that are opened later. Handles that are open keep the earlier rule.
    /// - Parameter rule: what the mount options say.
    func change(to rule: AccessTimeRule) {
        state.withLock { $0 = State(rule: rule) }
        isConfigured.store(rule != AccessTimeRule(), ordering: .sequentiallyConsistent)
    }

    /// Whether the daemon must see each reading of a directory. The kernel then may not cache listings.
    var areStrict: Bool { isConfigured.load(ordering: .relaxed) && state.withLock { $0.rule.files == .strict } }

    /// Opens an object anew for a handle of a caller.
    /// - Parameters:
    ///   - descriptor: of the object; O_PATH is enough.
    ///   - flags: as for open(2).
    /// - Returns: a descriptor on a mount that has the flags, if there is one.
    /// - Throws: the errno of open(2).
    func open(_ descriptor: Int32, _ flags: Int32) throws(Errno) -> OwnedDescriptor {
        let access = flags & OpenFlag.accessMask
        guard isConfigured.load(ordering: .relaxed), access != OpenFlag.writeOnly else { return try Syscall.reopen(descriptor, flags) }
        // The copy does not follow a later change to read-only, so the original mount decides about writing.
        let asBelow = access == OpenFlag.readOnly ? nil : SharedDescriptor(try Syscall.reopen(descriptor, flags))
        if let onCopy = descriptorOnMountCopy(of: descriptor), let opened = try? Syscall.reopen(onCopy.rawValue, flags) { return opened }
        let isQuiet = state.withLock { state in
            state.rule.files == .never || state.rule.leavesDirectories && flags & OpenFlag.directory != 0
        }
        // The kernel refuses O_NOATIME to an ordinary user's daemon on objects of other users.
        if isQuiet, let opened = try? Syscall.reopen(descriptor, flags | OpenFlag.noAccessTime) { return opened }
        if let asBelow { return try Syscall.dup(asBelow.rawValue) }
        return try Syscall.reopen(descriptor, flags)
    }

    /// Finds the object on a copy of its mount that has the flags.
    /// - Parameter descriptor: of the object; O_PATH is enough.
    /// - Returns: an O_PATH descriptor; nil if no option asks for a copy, or the kernel refuses it.
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
        // The object is on a mount below, or has no file handle. Its own copy keeps that mount busy only while the file is open.
        return try? Self.copy(of: descriptor, rule)
    }

    private static func copyOfRoot(_ tree: BackingTree, _ rule: AccessTimeRule) -> (mount: UInt64, directory: SharedDescriptor?) {
        guard let root = try? tree.descriptor(of: tree.root),
            let status = try? Syscall.statx(root.rawValue, flags: AtFlag.dontSync), status.mountID != 0
        else { return (0, nil) }
        guard let copy = try? Self.copy(of: root.rawValue, rule),
            // open_by_handle_at(2) needs a descriptor that is not O_PATH.
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
