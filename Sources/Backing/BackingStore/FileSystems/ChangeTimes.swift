import LinuxSystem
import Synchronization

/// Whether the ctime of an object differs between all its states (docs/internals/coherence.md R17).
final class ChangeTimes: Sendable {
    private enum Trust {
        /// Each change after a read has a new timestamp.
        case always
        /// Only once the timestamp is older than the clock's tick.
        case afterTick
        /// Attributes may change without a new timestamp, or on another host.
        case never
    }

    private static let tick: Int64 = 20_000_000
    private static let wholeSecondTick: Int64 = 2_000_000_000
    private struct Known {
        var device: UInt64
        var trust: Trust
        var shared: SharedFileSystem?
        var copiesBytes: Bool
        var cookies: DirectoryCookies
    }

    /// The file systems of a tree, which are few.
    private let known = Lock<[Known]>([])
    private let hasShared = Atomic<Bool>(false)

    /// Whether a ctime identifies the state of an object that was just read.
    /// - Parameters:
    ///   - ctime: the object's, before it was read.
    ///   - device: its device.
    ///   - descriptor: an object on this device.
    func identifiesState(_ ctime: Timespec, on device: UInt64, _ descriptor: SharedDescriptor) -> Bool {
        // Some file systems store whole seconds (ext4 with small inodes), whatever the kernel does.
        let isWhole = ctime.nsec == 0
        switch trust(device, descriptor) {
        case .always where !isWhole: return true
        case .never: return false
        case .always, .afterTick:
            return ctime <= SystemTime.now().moved(nanoseconds: isWhole ? -Self.wholeSecondTick : -Self.tick)
        }
    }

    /// Whether each change after a read has a new timestamp, including the change with this one.
    func distinguishesEveryChange(_ stamp: Timespec, on device: UInt64, _ descriptor: SharedDescriptor) -> Bool {
        trust(device, descriptor) == .always && stamp.nsec != 0
    }

    /// Whether objects of this device may change without a new ctime, as on another host.
    func mayChangeElsewhere(_ device: UInt64, _ descriptor: SharedDescriptor) -> Bool { trust(device, descriptor) == .never }

    private func trust(_ device: UInt64, _ descriptor: SharedDescriptor) -> Trust {
        if let trust = known.withLock({ $0.first { $0.device == device }?.trust }) { return trust }
        // What cannot be told now is asked again.
        guard let type = try? Syscall.fileSystemType(descriptor.rawValue) else { return .never }
        let new = Known(
            device: device, trust: Self.trust(inType: type, on: .running), shared: SharedFileSystem.of(magic: type),
            copiesBytes: type == FileSystemType.ext4 || type == FileSystemType.tmpfs, cookies: DirectoryCookies(type: type))
        known.withLock { known in
            if !known.contains(where: { $0.device == device }) { known.append(new) }
        }
        if new.shared != nil { hasShared.store(true, ordering: .sequentiallyConsistent) }
        return new.trust
    }

    /// What positions in the directories of a device are.
    /// - Parameters:
    ///   - device: the device.
    ///   - descriptor: an object on it.
    func directoryCookies(_ device: UInt64, _ descriptor: SharedDescriptor) -> DirectoryCookies {
        _ = trust(device, descriptor)
        return known.withLock { $0.first { $0.device == device }?.cookies } ?? .opaque
    }

    var hasAnyShared: Bool { hasShared.load(ordering: .sequentiallyConsistent) }

    /// The type of a device's file system, if other hosts may change it. The device must have been looked up before.
    func shared(_ device: UInt64) -> SharedFileSystem? {
        guard hasAnyShared else { return nil }
        return known.withLock { $0.first { $0.device == device }?.shared }
    }

    /// Whether a file system copies files byte by byte, and shares no blocks between them. The device must have been looked up before.
    func copiesBytes(_ device: UInt64) -> Bool { known.withLock { $0.first { $0.device == device }?.copiesBytes } ?? false }

    /// Since Linux 6.13 timestamps of these file systems differ after each read; tmpfs changes the ctime with attributes since 6.6.
    /// A file system of another machine, or an unknown one, is asked each time.
    private static func trust(inType type: UInt64, on kernel: KernelRelease) -> Trust {
        switch type {
        case FileSystemType.ext4, FileSystemType.xfs, FileSystemType.btrfs:
            kernel >= KernelRelease(6, 13) ? .always : .afterTick
        case FileSystemType.tmpfs:
            kernel >= KernelRelease(6, 13) ? .always : kernel >= KernelRelease(6, 6) ? .afterTick : .never
        default: .never
        }
    }
}
