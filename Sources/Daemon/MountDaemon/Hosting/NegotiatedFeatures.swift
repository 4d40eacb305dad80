import ACLFormats
import ControlProtocol
import FuseSession
import LinuxSystem
import MountOptions
import ToolSupport

/// What the kernel agreed to in FUSE_INIT.
final class NegotiatedFeatures: Sendable {
    private let agreed = Lock<Negotiated?>(nil)
    private let masked: Set<String>
    private let isStrict: Bool
    private let passthrough: MountOptions.Passthrough
    private let server: SharedFileSystem?

    /// - Parameter server: the type of the backing directory's file system, if other hosts may change it.
    init(_ options: MountOptions, server: SharedFileSystem?) {
        self.server = server
        masked = Set(options.maskedKernelFeatures)
        passthrough = options.passthrough
        isStrict = options.cache == .strict || options.cache == .seconds(0)
    }

    private func features(_ agreed: Negotiated, obstacle: String? = nil, watchObstacle: String?) -> [NegotiatedFeature] {
        NegotiatedFeature.all(
            agreed, masked: masked, isStrict: isStrict, passthrough: passthrough, server: server, obstacle: obstacle,
            watchObstacle: watchObstacle)
    }

    /// - Parameter watchObstacle: as in `status`.
    func set(_ negotiated: Negotiated, watchObstacle: String?) {
        agreed.withLock { $0 = negotiated }
        let lines = features(negotiated, watchObstacle: watchObstacle).map(\.line)
        Journal.note(.info, "kernel paths: " + lines.joined(separator: ", "))
    }

    /// Whether FUSE_INIT has been answered.
    var areKnown: Bool { agreed.withLock { $0 != nil } }

    /// The features in use, for `aclfs status`.
    /// - Parameters:
    ///   - obstacle: why there is no passthrough although the kernel agreed to it.
    ///   - watchObstacle: why changes of the backing directory are not watched for.
    func status(obstacle: String?, watchObstacle: String?) -> [JSON.Member] {
        guard let agreed = agreed.withLock({ $0 }) else { return [] }
        return [
            .init(.protocolVersion, "\(agreed.kernelMajor).\(agreed.kernelMinor)"), .init(.transport, agreed.uring ? "uring" : "dev"),
            .init(.maxWrite, agreed.maxWrite), .init(.parallelDirectoryOperations, agreed.parallelDirectoryOperations),
        ] + features(agreed, obstacle: obstacle, watchObstacle: watchObstacle).map(\.status)
    }
}
