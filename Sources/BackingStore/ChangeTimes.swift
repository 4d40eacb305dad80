import LinuxSystem
import Synchronization

/// Whether a ctime tells one state of an object from every other (docs/coherence.md R17).
final class ChangeTimes: Sendable {
    private enum Trust {
        /// Each change after a look has another stamp.
        case always
        /// Only when the stamp is older than changes that could share it.
        case settled
        /// Attributes may change without a new stamp, or elsewhere.
        case never
    }

    private static let tick: Int64 = 20_000_000
    private static let wholeSecondTick: Int64 = 2_000_000_000
    private struct Known {
        var device: UInt64
        var trust: Trust
        var shared: SharedFileSystem?
    }

    /// Of the file systems of a tree, which are few.
    private let known = Lock<[Known]>([])
    private let hasShared = Atomic<Bool>(false)

    /// Asked after the object was read.
    /// - Parameter descriptor: of an object on that device.
    func identify(_ ctime: Timespec, on device: UInt64, _ descriptor: SharedDescriptor) -> Bool {
        // A file system of whole seconds (ext4 with small inodes) cannot tell more, whatever the kernel does.
        let isWhole = ctime.nsec == 0
        switch trust(device, descriptor) {
        case .always where !isWhole: return true
        case .never: return false
        case .always, .settled:
            let now = SystemTime.now()
            let age = (now.sec - ctime.sec) * 1_000_000_000 + Int64(now.nsec) - Int64(ctime.nsec)
            return age >= (isWhole ? Self.wholeSecondTick : Self.tick)
        }
    }

    /// Whether each change after a look has another stamp, this one's included.
    func isAlwaysTold(_ stamp: Timespec, on device: UInt64, _ descriptor: SharedDescriptor) -> Bool {
        trust(device, descriptor) == .always && stamp.nsec != 0
    }

    /// Whether objects of this device may be another machine's.
    func areOthers(_ device: UInt64, _ descriptor: SharedDescriptor) -> Bool { trust(device, descriptor) == .never }

    private func trust(_ device: UInt64, _ descriptor: SharedDescriptor) -> Trust {
        if let trust = known.withLock({ $0.first { $0.device == device }?.trust }) { return trust }
        // What cannot be told now is asked again.
        guard let type = try? Syscall.fileSystemType(descriptor.rawValue) else { return .never }
        let new = Known(device: device, trust: Self.trust(inType: type, on: .running), shared: SharedFileSystem.of(magic: type))
        known.withLock { known in
            if !known.contains(where: { $0.device == device }) { known.append(new) }
        }
        if new.shared != nil { hasShared.store(true, ordering: .sequentiallyConsistent) }
        return new.trust
    }

    var hasAnyShared: Bool { hasShared.load(ordering: .sequentiallyConsistent) }

    /// The kind of a device's file system, if other hosts may change it; of a device that was asked about before.
    func shared(_ device: UInt64) -> SharedFileSystem? {
        guard hasAnyShared else { return nil }
        return known.withLock { $0.first { $0.device == device }?.shared }
    }

    /// Linux 6.13 gave these file systems stamps that differ whenever somebody looked in between; tmpfs stamps a
    /// change of attributes since 6.6. A file system that caches another machine's, or is not known here, is asked
    /// each time.
    private static func trust(inType type: UInt64, on kernel: KernelRelease) -> Trust {
        switch type {
        case FileSystemType.ext4, FileSystemType.xfs, FileSystemType.btrfs:
            kernel >= KernelRelease(6, 13) ? .always : .settled
        case FileSystemType.tmpfs:
            kernel >= KernelRelease(6, 13) ? .always : kernel >= KernelRelease(6, 6) ? .settled : .never
        default: .never
        }
    }
}
