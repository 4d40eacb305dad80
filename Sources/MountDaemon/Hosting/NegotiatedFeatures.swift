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

    init(_ options: MountOptions) {
        masked = Set(options.maskedKernelFeatures)
        passthrough = options.passthrough
        isStrict = options.cache == .strict || options.cache == .seconds(0)
    }

    private func features(_ agreed: Negotiated, obstacle: String? = nil) -> [NegotiatedFeature] {
        NegotiatedFeature.all(agreed, masked: masked, isStrict: isStrict, passthrough: passthrough, obstacle: obstacle)
    }

    func set(_ negotiated: Negotiated) {
        agreed.withLock { $0 = negotiated }
        Journal.note(.info, "kernel paths: " + features(negotiated).map(\.line).joined(separator: ", "))
    }

    /// Whether FUSE_INIT has been answered.
    var areKnown: Bool { agreed.withLock { $0 != nil } }

    /// The features in use, for `aclfs status`.
    /// - Parameter obstacle: why there is no passthrough although the kernel agreed to it.
    func status(obstacle: String?) -> StatusAnswer.Paths? {
        guard let agreed = agreed.withLock({ $0 }) else { return nil }
        return StatusAnswer.Paths(
            protocolVersion: "\(agreed.kernelMajor).\(agreed.kernelMinor)", transport: agreed.uring ? "uring" : "dev",
            maxWrite: UInt64(agreed.maxWrite), hasParallelDirectoryOperations: agreed.parallelDirectoryOperations,
            ways: features(agreed, obstacle: obstacle).map(\.status))
    }
}
