import ACLFormats
import Authorization
import Glibc
import LinuxSystem

/// Locks on objects of a backing directory that several hosts share, so that two hosts do not both read a record and the second to
/// write it loses what the first has written (docs/decisions/0023-shared-backings.md).
///
/// A file has flock(2), which cluster file systems pass on and which ends with its holder. The kernel passes none on for other
/// kinds: they get an attribute beside the record, made only if it is not there. One whose holder has died is broken after a time.
final class RecordLocks: Sendable {
    /// After this long the change is refused: EBUSY.
    static let patience: UInt64 = 10_000_000_000
    /// An attribute that has stayed the same for so long has no holder any more.
    static let lifetime: UInt64 = 5_000_000_000
    /// Two hosts that break the same lock have both written within this time.
    static let breakingTime: UInt32 = 500

    private let report: @Sendable (String) -> Void
    private let hasReported = Lock(false)

    init(report: @escaping @Sendable (String) -> Void) { self.report = report }

    /// Once: one message for each object would fill the log.
    func noteNone(_ error: Errno) {
        let isNew = hasReported.withLock { said in
            defer { said = true }
            return !said
        }
        guard isNew else { return }
        report(
            "records are changed without a lock where the backing file system gives none (\(error)): hosts that change the "
                + "same object at the same moment may lose one of the changes")
    }
}

/// Which lock is held; release it.
public enum RecordLock: Sendable {
    case file(SharedDescriptor)
    case attribute(SharedDescriptor, token: [UInt8])
    /// None is needed, or there is none.
    case none
}

extension BackingTree {
    /// The kind of file system that an object lies on, if other hosts may change it.
    public func sharedFileSystem(of object: BackingObject) -> SharedFileSystem? { changeTimes.shared(object.key.device) }

    /// Whether there is any such file system in the tree, as far as it was seen.
    public var hasSharedFileSystem: Bool { changeTimes.hasAnyShared }

    public func isShared(device: UInt64) -> Bool { changeTimes.shared(device) != nil }

    /// Keeps other hosts from changing the record of an object until `release`. What was read before is out of date.
    /// Sleeps: never to be called under a lock that others need.
    /// - Throws: `busy` if another host does not release it within `patience`.
    public func lockRecord(of object: BackingObject, patience: UInt64? = nil) throws(Errno) -> RecordLock {
        guard isShared(device: object.key.device) else { return .none }
        let descriptor = try descriptor(of: object)
        let end = SystemTime.monotonic() + (patience ?? RecordLocks.patience)
        if object.kind == .file, let file = try lockFile(descriptor, until: end) { return .file(file) }
        return try lockByAttribute(descriptor, until: end)
    }

    public func release(_ lock: RecordLock) {
        switch lock {
        case .none: return
        // Not by close(2): a server may be told of that later.
        case .file(let file): flock(file.rawValue, LOCK_UN)
        case .attribute(let descriptor, let token):
            // Broken meanwhile, it is another's.
            guard holder(descriptor) == token else { return }
            try? ownersAccess.with(OwnersAccess.writing, on: descriptor.rawValue) { () throws(Errno) in
                try Syscall.removexattr(.any(descriptor.rawValue), lockName)
            }
        }
    }

    private var lockName: String { metadataName + ".lock" }

    /// - Returns: nil if this file cannot be opened or the file system knows no flock(2).
    private func lockFile(_ descriptor: SharedDescriptor, until end: UInt64) throws(Errno) -> SharedDescriptor? {
        // NFS gives an exclusive lock only to who may write.
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

    /// - Returns: nil if it is locked now, or why it cannot be.
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
                    // On a read-only or full file system the change itself says so.
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

    /// nil: nobody's, or it cannot be told.
    private func holder(_ descriptor: SharedDescriptor) -> [UInt8]? {
        try? ownersAccess.with(OwnersAccess.reading, on: descriptor.rawValue) { () throws(Errno) in
            try Syscall.getxattr(.any(descriptor.rawValue), lockName)
        }
    }

    /// Not in step with another host that waits, too.
    private static func sleepForLock(until end: UInt64) throws(Errno) {
        if SystemTime.monotonic() >= end { throw .busy }
        SystemTime.sleep(milliseconds: UInt32.random(in: 1...6))
    }
}
