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
