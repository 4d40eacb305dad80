import CFuseShim
import CFuseTransport
import Glibc
import LinuxSystem

/// The transport of requests to the daemon (docs/internals/transport.md).
public enum Transport: Sendable {
    /// Over io_uring if the kernel offers it and rings can be created, else through the device.
    case automatic
    /// Over io_uring, or the mount is not served.
    case uring
    case device

    var raw: aclfs_fuse_transport {
        switch self {
        case .automatic: ACLFS_FUSE_TRANSPORT_AUTO
        case .uring: ACLFS_FUSE_TRANSPORT_URING
        case .device: ACLFS_FUSE_TRANSPORT_DEV
        }
    }
}

extension Transport {
    /// Lets several uids take turns as one user, on all transports of the process (docs/internals/transport.md "Whose turn it is").
    /// - Parameter person: the uid that stands for all of a person's. It may be called on any thread, for each request.
    public static func setPersons(_ person: @escaping @convention(c) (UInt32) -> UInt32) { aclfs_transport_set_persons(person) }
}

/// Why requests cannot come over io_uring.
public struct RingObstacle: Sendable, CustomStringConvertible {
    public let description: String

    private static let parameter = "/sys/module/fuse/parameters/enable_uring"

    /// The obstacle that is visible before a mount; nil = none.
    public static func present() -> RingObstacle? {
        guard let word = try? Syscall.readAll(path: parameter) else {
            return RingObstacle(description: "the kernel does not offer it (Linux 6.14 brought it)")
        }
        guard word.first == UInt8(ascii: "Y") else {
            return RingObstacle(description: "the kernel's administrator has not switched it on (\(parameter) is N)")
        }
        return RingObstacle(errno: -aclfs_transport_probe_rings())
    }

    /// - Parameter errno: the error of creating a ring; 0 = nil.
    init?(errno: Int32) {
        switch errno {
        case 0: return nil
        case EPERM, EACCES: description = "io_uring is forbidden to the daemon (kernel.io_uring_disabled, seccomp)"
        case ENOSYS, EINVAL: description = "the kernel's io_uring is too old, or there is none"
        case ENOMEM, EMFILE, ENFILE:
            description = "the rings could not be made: \(Errno(rawValue: errno)) (one for each processor is needed)"
        case ENODEV: description = "the number of possible processors is unknown (/sys/devices/system/cpu/possible)"
        default: description = "the rings could not be made: \(Errno(rawValue: errno))"
        }
    }

    private init(description: String) { self.description = description }
}

extension Negotiated {
    /// Why requests come through the device instead of io_uring.
    public var ringObstacle: RingObstacle? {
        if ringFailure == EOPNOTSUPP { return RingObstacle.present() ?? .notOffered }
        return RingObstacle(errno: ringFailure)
    }
}

extension RingObstacle {
    fileprivate static let notOffered = RingObstacle(description: "the kernel does not offer it")
}
