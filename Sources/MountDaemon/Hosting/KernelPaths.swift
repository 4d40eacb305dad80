import ControlProtocol
import FuseSession
import Glibc
import MountOptions

/// A feature of the kernel for requests, data or revocations, and why it is used or not.
struct KernelPath {
    var name: String
    var isUsed: Bool
    var reason: String

    /// - Parameters:
    ///   - agreed: what the kernel agreed to.
    ///   - masked: features that `kernel_features` hides.
    ///   - isStrict: whether the kernel may cache nothing.
    ///   - passthrough: the option.
    ///   - obstacle: why data goes through the daemon although the kernel agreed to passthrough.
    static func all(
        _ agreed: Negotiated, masked: Set<String>, isStrict: Bool, passthrough: MountOptions.Passthrough, obstacle: String?
    ) -> [KernelPath] {
        func path(_ name: String, used: Bool, _ why: String, _ whyNot: String) -> KernelPath {
            if masked.contains(name) {
                return KernelPath(name: name, isUsed: false, reason: "hidden by kernel_features")
            }
            return KernelPath(name: name, isUsed: used, reason: used ? why : whyNot)
        }
        let version = "\(agreed.kernelMajor).\(agreed.kernelMinor)"
        let idle = "with cache=strict nothing has to be invalidated"
        return [
            path(
                "epoch", used: agreed.epoch && !isStrict, "all entries are invalidated at once",
                agreed.epoch ? idle : "the kernel has none (Linux 6.16 brought it): cache=auto exposes no entries"),
            path(
                "passthrough", used: agreed.passthrough && obstacle == nil, "data goes past the daemon",
                obstacle ?? whyNoPassthrough(passthrough)),
            path(
                "uring", used: agreed.uring, "requests come over io_uring, on the processor of the caller",
                "requests come through /dev/fuse: \(agreed.ringObstacle?.description ?? "transport=dev")"),
            path(
                "statx", used: agreed.statx, "birth times are served", "protocol \(version) has none (7.39 brought it)"),
            path(
                "killpriv2", used: agreed.killPriv2, "set-id bits are cleared by the request that writes",
                "the kernel does not offer it; the daemon clears them"),
            path(
                "expire", used: agreed.expire && !isStrict, "entries below which something is mounted are invalidated one by one",
                agreed.expire ? idle : "the kernel does not offer it (Linux 6.2 brought it)"),
        ]
    }

    private static func whyNoPassthrough(_ option: MountOptions.Passthrough) -> String {
        if option == .off { return "passthrough=off: data goes through the daemon" }
        if geteuid() != 0 { return "the kernel lets root only use it: data goes through the daemon" }
        return "the kernel has none (Linux 6.9 brought it): data goes through the daemon"
    }

    var line: String { "\(name) \(isUsed ? "on" : "off") (\(reason))" }

    var status: StatusAnswer.Way { .init(name: name, isUsed: isUsed, reason: reason) }
}
