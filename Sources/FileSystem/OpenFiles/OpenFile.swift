import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// An open file, with what was granted at the open.
final class OpenFile: Sendable {
    let node: Node
    /// O_PATH.
    let pathDescriptor: SharedDescriptor
    /// How its data travels, the same as for other handles of the object.
    let dataPath: DataPathReference
    let isReadable: Bool
    let isWritable: Bool
    /// Only `append` was granted, or the object was append-only. The handle may add bytes at the end and change none.
    let isAppendOnly: Bool
    /// What each write through the handle promises.
    let durability: Durability
    /// The handle made the file, which another user owns: the one of a set-uid directory (docs/reference/authorization.md Q4).
    let isHandedOver: Bool
    var mode: HandleMode {
        var mode: HandleMode = isReadable ? .readable : []
        if isWritable { mode.insert(.writable) }
        if isAppendOnly { mode.insert(.appendOnly) }
        return mode
    }
    /// What is known of the file's gaps, while this handle can write.
    var writableFile: WritableFile? { additions.withLock { $0.writableFile } }
    /// Opened with the handle. nil for a handle that only reads and whose data bypasses the daemon.
    private let opened: SharedDescriptor?
    /// In the live tables; -1: none. Changed only under the lock of `OpenFiles`.
    nonisolated(unsafe) var slot: Int32 = -1
    private let times: AccessTimes
    private let additions = Lock(Additions())
    private let charge: HandleQuota.Charge
    var openedBy: UInt32 { charge.uid }

    /// What the handle gets after the open was granted.
    private struct Additions {
        var writableFile: WritableFile?
        var descriptor: SharedDescriptor?
        /// Opened with O_APPEND at the first use; offsets have no effect on it.
        var appender: (SharedDescriptor, HandleQuota.Charge)?
    }

    init(
        node: Node, pathDescriptor: SharedDescriptor, descriptor: SharedDescriptor?, _ times: AccessTimes, _ charge: HandleQuota.Charge,
        _ dataPath: DataPathReference, isReadable: Bool, isWritable: Bool, isAppendOnly: Bool,
        isHandedOver: Bool = false, _ durability: Durability
    ) {
        (self.node, self.pathDescriptor, self.charge, self.dataPath) = (node, pathDescriptor, charge, dataPath)
        (opened, self.times) = (descriptor, times)
        self.isReadable = isReadable
        self.isWritable = isWritable
        self.isAppendOnly = isAppendOnly
        self.isHandedOver = isHandedOver
        self.durability = durability
    }

    func save(_ id: HandleID) -> SavedFile {
        SavedFile(
            id: id.rawValue, node: node.id.rawValue, pathDescriptor: pathDescriptor.rawValue, descriptor: opened?.rawValue ?? -1,
            mode: mode.rawValue, isHandedOver: isHandedOver, durability: durability.rawValue, user: charge.uid, payer: charge.payer,
            path: dataPath.saved, isCounted: writableFile != nil)
    }

    /// Call it before the handle is in the table.
    func attach(_ writableFile: WritableFile?) { additions.withLock { $0.writableFile = writableFile } }

    /// A descriptor of the backing file with the access mode of the handle.
    func descriptor() throws(Errno) -> SharedDescriptor {
        if let opened { return opened }
        return try additions.withLock { additions throws(Errno) in
            if let descriptor = additions.descriptor { return descriptor }
            let descriptor = SharedDescriptor(
                try times.open(
                    pathDescriptor.rawValue, OpenFlag.readOnly | OpenFlag.nonBlock | OpenFlag.noControllingTerminal))
            additions.descriptor = descriptor
            return descriptor
        }
    }

    /// Performs O_TRUNC, which a handle that only reads may ask for too.
    func truncate() throws(Errno) {
        if isWritable, let opened { return try Syscall.ftruncate(opened.rawValue, size: 0) }
        try Syscall.truncate(pathDescriptor.rawValue, size: 0)
    }

    func appendingDescriptor() throws(Errno) -> SharedDescriptor {
        try additions.withLock { additions throws(Errno) in
            if let appender = additions.appender { return appender.0 }
            let secondCharge = try charge.chargeAnother()
            let descriptor = SharedDescriptor(
                try Syscall.reopen(pathDescriptor.rawValue, OpenFlag.writeOnly | OpenFlag.append))
            additions.appender = (descriptor, secondCharge)
            return descriptor
        }
    }
}

/// An open directory with its descriptor.
final class OpenDirectory: Sendable {
    let node: Node
    let descriptor: SharedDescriptor
    /// Locked while a listing moves it.
    let position: Lock<ListingPosition>
    let listing: UnusedListing
    /// The directory had been listed when it was opened. Only then its objects are worth a watch: `rm -r` lists a tree once.
    let wasListedBefore: Bool
    /// In the live tables; -1: none. Changed only under the lock of `OpenFiles`.
    nonisolated(unsafe) var slot: Int32 = -1
    let charge: HandleQuota.Charge

    init(node: Node, descriptor: SharedDescriptor, _ position: ListingPosition, _ charge: HandleQuota.Charge, cache: KernelCache) {
        (self.node, self.descriptor, self.charge) = (node, descriptor, charge)
        self.position = Lock(position)
        listing = UnusedListing(of: node, cache)
        wasListedBefore = node.exposure.wasListed
    }

    init(
        _ saved: SavedDirectory, _ node: Node, _ descriptor: SharedDescriptor, _ position: ListingPosition, _ charge: HandleQuota.Charge,
        cache: KernelCache
    ) {
        (self.node, self.descriptor, self.charge) = (node, descriptor, charge)
        self.position = Lock(position)
        listing = UnusedListing(of: node, cache)
        listing.assumeOne()
        wasListedBefore = saved.wasListedBefore
    }

    func save(_ id: HandleID) -> SavedDirectory {
        let (last, second, numbered) = position.withLock { $0.save() }
        return SavedDirectory(
            id: id.rawValue, node: node.id.rawValue, descriptor: descriptor.rawValue, user: charge.uid, payer: charge.payer,
            wasListedBefore: wasListedBefore, last: last, second: second, numbered: numbered)
    }
}
