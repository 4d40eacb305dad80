import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// An open file: what was granted when it was opened.
final class OpenFile: Sendable {
    let node: Node
    /// O_PATH.
    let place: SharedDescriptor
    /// Which way its data goes, together with all others that have the object open.
    let way: DataPathShare
    let isReadable: Bool
    let isWritable: Bool
    /// Only `append` was granted, or the object was append-only: bytes may be added at the end, none changed.
    let isAppendOnly: Bool
    var mode: HandleMode {
        var mode: HandleMode = isReadable ? .readable : []
        if isWritable { mode.insert(.writable) }
        if isAppendOnly { mode.insert(.appendOnly) }
        return mode
    }
    /// Of the file while this handle can write: what is known about its gaps.
    var growth: Growth? { later.withLock { $0.growth } }
    /// Opened with the handle, unless it is for reading and its data does not come here.
    private let opened: SharedDescriptor?
    private let times: AccessTimes
    private let later = Lock(Later())
    private let portion: HandleQuota.Portion
    var openedBy: UInt32 { portion.uid }

    /// What a handle gets after it was granted.
    private struct Later {
        var growth: Growth?
        var descriptor: SharedDescriptor?
        /// Opened O_APPEND on first use; on it, positions do not count.
        var appender: (SharedDescriptor, HandleQuota.Portion)?
    }

    init(
        node: Node, place: SharedDescriptor, descriptor: SharedDescriptor?, _ times: AccessTimes, _ portion: HandleQuota.Portion,
        _ way: DataPathShare, isReadable: Bool, isWritable: Bool, isAppendOnly: Bool
    ) {
        (self.node, self.place, self.portion, self.way) = (node, place, portion, way)
        (opened, self.times) = (descriptor, times)
        self.isReadable = isReadable
        self.isWritable = isWritable
        self.isAppendOnly = isAppendOnly
    }

    /// Before the handle is known to anybody else.
    func enter(_ growth: Growth?) { later.withLock { $0.growth = growth } }

    /// Of the backing file, with the access mode of the handle.
    func descriptor() throws(Errno) -> SharedDescriptor {
        if let opened { return opened }
        return try later.withLock { later throws(Errno) in
            if let descriptor = later.descriptor { return descriptor }
            let descriptor = SharedDescriptor(
                try times.open(
                    place.rawValue, OpenFlag.readOnly | OpenFlag.nonBlock | OpenFlag.noControllingTerminal))
            later.descriptor = descriptor
            return descriptor
        }
    }

    /// O_TRUNC, which a handle that only reads may ask for as well.
    func cut() throws(Errno) {
        if isWritable, let opened { return try Syscall.ftruncate(opened.rawValue, size: 0) }
        try Syscall.truncate(place.rawValue, size: 0)
    }

    func appendingDescriptor() throws(Errno) -> SharedDescriptor {
        try later.withLock { later throws(Errno) in
            if let appender = later.appender { return appender.0 }
            let second = try portion.another()
            let descriptor = SharedDescriptor(
                try Syscall.reopen(place.rawValue, OpenFlag.writeOnly | OpenFlag.append))
            later.appender = (descriptor, second)
            return descriptor
        }
    }
}

/// An open directory and where its descriptor stands.
final class OpenDirectory: Sendable {
    let node: Node
    let descriptor: SharedDescriptor
    /// Held while a listing moves the descriptor's position.
    let position = Lock(())
    let listing: UnusedListing
    private let portion: HandleQuota.Portion

    init(node: Node, descriptor: SharedDescriptor, _ portion: HandleQuota.Portion, cache: KernelCache) {
        (self.node, self.descriptor, self.portion) = (node, descriptor, portion)
        listing = UnusedListing(of: node, cache)
    }
}

/// The handles that the kernel holds. Ids are never reused.
final class HandleTable: Sendable {
    private enum Entry {
        case file(OpenFile)
        case directory(OpenDirectory)
    }
    private struct State {
        var entries: [HandleID: Entry] = [:]
        var next: UInt64 = 1
    }
    private let state = Lock(State())

    /// The names in listings that the kernel may not have used yet.
    var unusedNames: ExposedEntries {
        let listings = state.withLock { state in
            state.entries.values.compactMap { entry -> UnusedListing? in
                if case .directory(let directory) = entry { directory.listing } else { nil }
            }
        }
        var names = ExposedEntries()
        for listing in listings { names.append(listing.takeUnused()) }
        return names
    }

    func add(_ file: OpenFile) -> HandleID { add(.file(file)) }
    func add(_ directory: OpenDirectory) -> HandleID { add(.directory(directory)) }

    private func add(_ entry: Entry) -> HandleID {
        // The closure may run only once, so the id is made inside it.
        state.withLock { state in
            let id = HandleID(state.next)
            state.next += 1
            state.entries[id] = entry
            return id
        }
    }

    func file(_ id: HandleID) throws(Errno) -> OpenFile {
        guard case .file(let file) = state.withLock({ $0.entries[id] }) else { throw .badf }
        return file
    }

    func directory(_ id: HandleID) throws(Errno) -> OpenDirectory {
        guard case .directory(let directory) = state.withLock({ $0.entries[id] }) else { throw .badf }
        return directory
    }

    /// The node of a handle of either kind.
    func node(_ id: HandleID) throws(Errno) -> Node {
        switch state.withLock({ $0.entries[id] }) {
        case .file(let file): return file.node
        case .directory(let directory): return directory.node
        case nil: throw .badf
        }
    }

    func hasWritableFile(of node: Node, openedBy uid: UInt32) -> Bool {
        state.withLock { state in
            state.entries.values.contains { entry in
                guard case .file(let file) = entry else { return false }
                return file.node === node && file.isWritable && file.openedBy == uid
            }
        }
    }

    /// Whether somebody has a file open for writing.
    var hasWritableFile: Bool {
        state.withLock { state in
            state.entries.values.contains { entry in
                if case .file(let file) = entry { file.isWritable } else { false }
            }
        }
    }

    func remove(_ id: HandleID) { state.withLock { _ = $0.entries.removeValue(forKey: id) } }
}
