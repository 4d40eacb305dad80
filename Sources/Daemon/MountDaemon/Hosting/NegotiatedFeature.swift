import ACLFormats
import ControlProtocol
import FuseSession
import Glibc
import LinuxSystem
import MountOptions

/// A feature of the kernel for requests, data or revocations, and why it is used or not.
struct NegotiatedFeature {
    var name: String
    var isUsed: Bool
    var reason: String

    /// - Parameters:
    ///   - agreed: what the kernel agreed to.
    ///   - masked: features that `kernel_features` hides.
    ///   - isStrict: whether the kernel may cache nothing.
    ///   - passthrough: the option.
    ///   - server: as of `NegotiatedFeatures`.
    ///   - obstacle: why data goes through the daemon although the kernel agreed to passthrough.
    ///   - watchObstacle: why changes of the backing directory are not watched for; nil if they are.
    static func all(
        _ agreed: Negotiated, masked: Set<String>, isStrict: Bool, passthrough: MountOptions.Passthrough,
        server: SharedFileSystem?, obstacle: String?, watchObstacle: String?
    ) -> [NegotiatedFeature] {
        func feature(_ name: String, used: Bool, _ why: String, _ whyNot: String) -> NegotiatedFeature {
            if masked.contains(name) {
                return NegotiatedFeature(name: name, isUsed: false, reason: "hidden by kernel_features")
            }
            return NegotiatedFeature(name: name, isUsed: used, reason: used ? why : whyNot)
        }
        let version = "\(agreed.kernelMajor).\(agreed.kernelMinor)"
        let idle = "not needed: with cache=strict the kernel caches no names and no attributes"
        return [
            feature(
                "epoch", used: agreed.epoch && !isStrict, "all entries are invalidated at once",
                agreed.epoch ? idle : "not in this kernel (Linux 6.16 has it): with cache=auto the kernel caches no names"),
            feature(
                "passthrough", used: agreed.passthrough && obstacle == nil, "the kernel reads and writes backing files without the daemon",
                obstacle ?? whyNoPassthrough(passthrough, server)),
            feature(
                "uring", used: agreed.uring, "requests come over io_uring, on the processor of the caller",
                "requests come through /dev/fuse: \(agreed.ringObstacle?.description ?? "transport=dev")"),
            feature(
                "statx", used: agreed.statx, "birth times are served",
                "not in protocol \(version) (7.39 has it): birth times are not served"),
            feature(
                "killpriv2", used: agreed.killPriv2, "set-id bits are cleared by the request that writes",
                "not in this kernel: the daemon clears set-id bits"),
            feature(
                "expire", used: agreed.expire && !isStrict, "entries below which something is mounted are invalidated one by one",
                agreed.expire ? idle : "not in this kernel (Linux 6.2 has it)"),
            feature(
                "fanotify", used: watchObstacle == nil, "the kernel reports changes of objects at rest",
                "attributes are kept for the time of the option: \(watchObstacle ?? "")"),
        ]
    }

    private static func whyNoPassthrough(_ option: MountOptions.Passthrough, _ server: SharedFileSystem?) -> String {
        if option == .off { return "passthrough=off: data goes through the daemon" }
        if geteuid() != 0 { return "only root may use it: data goes through the daemon" }
        if let server, server.opensAsCaller {
            return "the server of SOURCE (\(server.name)) learns which user opens a file, and may refuse: data goes through the daemon"
        }
        return "not in this kernel (Linux 6.9 has it): data goes through the daemon"
    }

    var line: String { "\(name) \(isUsed ? "on" : "off") (\(reason))" }

    var status: JSON.Member { .init(name, .object([.init(.used, isUsed), .init(.why, reason)])) }
}
