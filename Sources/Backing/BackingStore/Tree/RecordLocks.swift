import ACLFormats
import Authorization
import Glibc
import LinuxSystem

/// Locks on objects of a backing directory that several hosts share. Without them two hosts read a record, and the second one to
/// write it loses the first change (docs/decisions/0023-shared-backings.md).
///
/// A file has flock(2), which cluster file systems pass on and which ends with its holder. For other kinds the kernel does not pass
/// it on: an attribute beside the record is the lock. The lock of a dead holder expires.
final class RecordLocks: Sendable {
    /// The time after which the change fails with EBUSY, in nanoseconds.
    static let timeout: UInt64 = 10_000_000_000
    /// The time after which an unchanged attribute has no holder, in nanoseconds.
    static let lifetime: UInt64 = 5_000_000_000
    /// The time in which two hosts that break the same lock have both written, in milliseconds.
    static let breakingTime: UInt32 = 500

    private let report: @Sendable (String) -> Void
    private let hasReported = Lock(false)

    init(report: @escaping @Sendable (String) -> Void) { self.report = report }

    /// Reports once: a message for each object would fill the log.
    func noteNone(_ error: Errno) {
        let isNew = hasReported.withLock { hasReported in
            defer { hasReported = true }
            return !hasReported
        }
        guard isNew else { return }
        report(
            "records are changed without a lock where the backing file system gives none (\(error)): hosts that change the "
                + "same object at the same moment may lose one of the changes")
    }
}

/// The lock that is held, until `release`.
public enum RecordLock: Sendable {
    case file(SharedDescriptor)
    case attribute(SharedDescriptor, token: [UInt8])
    /// No lock is needed, or the file system has none.
    case none
}

extension BackingTree {
    /// The type of an object's file system, if other hosts may change it.
    public func sharedFileSystem(of object: BackingObject) -> SharedFileSystem? { changeTimes.shared(object.key.device) }

    /// Whether the tree has such a file system, among those that were looked up.
    public var hasSharedFileSystem: Bool { changeTimes.hasAnyShared }

    /// Whether other hosts may change the objects of a device.
    public func isShared(device: UInt64) -> Bool { changeTimes.shared(device) != nil }

    /// Whether the kernel opens files of a device in the name of the caller, whatever they are registered for.
    public func opensAsCaller(device: UInt64) -> Bool { changeTimes.shared(device)?.opensAsCaller ?? false }

    /// Whether events tell of every change of an object: all of them happen on this machine, on the file system of the tree's root.
    public func tellsOfEveryChange(_ object: BackingObject) -> Bool {
        object.key.device == root.key.device && !changeTimes.mayChangeElsewhere(object.key.device, rootDescriptor)
    }

    /// Locks the record of an object against changes by other hosts until `release`. What was read before is stale. It may sleep:
    /// do not call it with a lock that other threads need.
    /// - Parameters:
    ///   - object: the object.
    ///   - timeout: in nanoseconds; nil = the default.
    /// - Throws: `busy` if another host does not release it within the timeout.
    public func lockRecord(of object: BackingObject, timeout: UInt64? = nil) throws(Errno) -> RecordLock {
        guard isShared(device: object.key.device) else { return .none }
        let descriptor = try descriptor(of: object)
        let end = SystemTime.monotonic() + (timeout ?? RecordLocks.timeout)
        if object.kind == .file, let file = try lockFile(descriptor, until: end) { return .file(file) }
        return try lockByAttribute(descriptor, until: end)
    }

    /// Releases a lock of `lockRecord`.
    public func release(_ lock: RecordLock) {
        switch lock {
        case .none: return
        // Not by close(2), of which a server may learn later.
        case .file(let file): flock(file.rawValue, LOCK_UN)
        case .attribute(let descriptor, let token):
            // If the token differs, another host has broken the lock and holds it.
            guard holder(descriptor) == token else { return }
            try? ownersAccess.with(OwnersAccess.writing, on: descriptor.rawValue) { () throws(Errno) in
                try Syscall.removexattr(.any(descriptor.rawValue), lockName)
            }
        }
    }

    private var lockName: String { metadataName + ".lock" }

    /// - Returns: nil if the file cannot be opened or the file system has no flock(2).
    private func lockFile(_ descriptor: SharedDescriptor, until end: UInt64) throws(Errno) -> SharedDescriptor? {
        // NFS grants an exclusive lock only on a descriptor open for writing.
        for access in [OpenFlag.readOnly, OpenFlag.readWrite] {
            guard let opened = try? Syscall.reopen(descriptor.rawValue, access | OpenFlag.nonBlock | OpenFlag.noControllingTerminal)
            else { continue }
            let file = SharedDescriptor(opened)
            switch try Self.hold(file, until: end) {
            case nil: return file
            case .badf: continue
            default: return nil
            }
        }
        return nil
    }

    /// - Returns: nil if it is locked now, else the error.
    private static func hold(_ file: SharedDescriptor, until end: UInt64) throws(Errno) -> Errno? {
        while flock(file.rawValue, LOCK_EX | LOCK_NB) != 0 {
            let error = Errno(rawValue: errno)
            guard error == .again || error == .intr else { return error }
            try sleepForLock(until: end)
        }
        return nil
    }

    private func lockByAttribute(_ descriptor: SharedDescriptor, until end: UInt64) throws(Errno) -> RecordLock {
        var generator = SystemRandomNumberGenerator()
        let token = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        var seen: (token: [UInt8], since: UInt64)?
        while true {
            do throws(Errno) {
                try setToken(token, XattrFlag.create, descriptor)
                return .attribute(descriptor, token: token)
            } catch {
                switch error {
                case .exist: break
                case .opnotsupp, .perm, .acces, .nospc, .dquot, .rofs, .inval, .range, .toobig:
                    // On a read-only or full file system the change itself fails.
                    recordLocks.noteNone(error)
                    return .none
                default: throw error
                }
            }
            let now = SystemTime.monotonic()
            let other = holder(descriptor)
            if let other, other == seen?.token, let since = seen?.since, now - since >= RecordLocks.lifetime {
                try setToken(token, 0, descriptor)
                SystemTime.sleep(milliseconds: RecordLocks.breakingTime)
                if holder(descriptor) == token { return .attribute(descriptor, token: token) }
                seen = nil
            } else if other != seen?.token {
                seen = other.map { ($0, now) }
            }
            try Self.sleepForLock(until: end)
        }
    }

    private func setToken(_ token: [UInt8], _ flags: Int32, _ descriptor: SharedDescriptor) throws(Errno) {
        try ownersAccess.with(OwnersAccess.writing, on: descriptor.rawValue) { () throws(Errno) in
            try Syscall.setxattr(.any(descriptor.rawValue), lockName, token, flags: flags)
        }
    }

    /// nil: no holder, or unknown.
    private func holder(_ descriptor: SharedDescriptor) -> [UInt8]? {
        try? ownersAccess.with(OwnersAccess.reading, on: descriptor.rawValue) { () throws(Errno) in
            try Syscall.getxattr(.any(descriptor.rawValue), lockName)
        }
    }

    /// A random time, so that hosts that wait do not retry together.
    private static func sleepForLock(until end: UInt64) throws(Errno) {
        if SystemTime.monotonic() >= end { throw .busy }
        SystemTime.sleep(milliseconds: UInt32.random(in: 1...6))
    }
}
