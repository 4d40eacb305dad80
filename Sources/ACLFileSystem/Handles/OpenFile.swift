import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// An open file: what was granted when it was opened.
final class OpenFile: Sendable {
    let node: Node
    /// O_PATH.
    let pathDescriptor: SharedDescriptor
    /// Which way its data goes, together with all others that have the object open.
    let dataPath: DataPathReference
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
    var writableFile: WritableFile? { additions.withLock { $0.writableFile } }
    /// Opened with the handle, unless it is for reading and its data does not come here.
    private let opened: SharedDescriptor?
    private let times: AccessTimes
    private let additions = Lock(Additions())
    private let charge: HandleQuota.Charge
    var openedBy: UInt32 { charge.uid }

    /// What a handle gets after it was granted.
    private struct Additions {
        var writableFile: WritableFile?
        var descriptor: SharedDescriptor?
        /// Opened O_APPEND on first use; on it, positions do not count.
        var appender: (SharedDescriptor, HandleQuota.Charge)?
    }

    init(
        node: Node, pathDescriptor: SharedDescriptor, descriptor: SharedDescriptor?, _ times: AccessTimes, _ charge: HandleQuota.Charge,
        _ dataPath: DataPathReference, isReadable: Bool, isWritable: Bool, isAppendOnly: Bool
    ) {
        (self.node, self.pathDescriptor, self.charge, self.dataPath) = (node, pathDescriptor, charge, dataPath)
        (opened, self.times) = (descriptor, times)
        self.isReadable = isReadable
        self.isWritable = isWritable
        self.isAppendOnly = isAppendOnly
    }

    /// Before the handle is known to anybody else.
    func attach(_ writableFile: WritableFile?) { additions.withLock { $0.writableFile = writableFile } }

    /// Of the backing file, with the access mode of the handle.
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

    /// O_TRUNC, which a handle that only reads may ask for as well.
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
