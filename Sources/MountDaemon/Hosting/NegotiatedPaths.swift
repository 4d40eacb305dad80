import ACLFormats
import FuseSession
import LinuxSystem
import MountOptions
import ToolSupport

/// What the kernel agreed to in FUSE_INIT.
final class NegotiatedPaths: Sendable {
    private let agreed = Lock<Negotiated?>(nil)
    private let masked: Set<String>
    private let isStrict: Bool
    private let passthrough: MountOptions.Passthrough

    init(_ options: MountOptions) {
        masked = Set(options.maskedKernelFeatures)
        passthrough = options.passthrough
        isStrict = options.cache == .strict || options.cache == .seconds(0)
    }

    private func paths(_ agreed: Negotiated, obstacle: String? = nil) -> [KernelPath] {
        KernelPath.all(agreed, masked: masked, isStrict: isStrict, passthrough: passthrough, obstacle: obstacle)
    }

    func set(_ negotiated: Negotiated) {
        agreed.withLock { $0 = negotiated }
        Journal.note(.info, "kernel paths: " + paths(negotiated).map(\.line).joined(separator: ", "))
    }

    /// Whether FUSE_INIT has been answered.
    var areKnown: Bool { agreed.withLock { $0 != nil } }

    /// The features in use, for `aclfs status`.
    /// - Parameter obstacle: why there is no passthrough although the kernel agreed to it.
    func members(obstacle: String?) -> [JSON.Member] {
        guard let agreed = agreed.withLock({ $0 }) else { return [] }
        return [
            .init("protocol", .string("\(agreed.kernelMajor).\(agreed.kernelMinor)")),
            .init("transport", .string(agreed.uring ? "uring" : "dev")),
            .init("max_write", .integer(Int64(agreed.maxWrite))),
            .init("parallel_directory_operations", .bool(agreed.parallelDirectoryOperations)),
        ] + paths(agreed, obstacle: obstacle).map(\.member)
    }
}
