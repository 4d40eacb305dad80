import FuseSession
import MountOptions
import Mounting
import ToolSupport

/// `transport=`: how requests travel.
enum TransportChoice {
    /// Refuses `transport=uring` before the mount if it cannot work.
    static func check(_ options: MountOptions) throws(MountFailure) {
        guard options.transport == .uring else { return }
        if options.maskedKernelFeatures.contains("uring") { throw refusal("kernel_features hides it") }
        if let obstacle = RingObstacle.present() { throw refusal(obstacle.description) }
    }

    /// - Returns: the failure of a mount with `transport=uring`.
    static func refusal(_ reason: String) -> MountFailure {
        MountFailure(
            status: MountExit.failed,
            message: "transport=uring: \(reason); with transport=auto requests would come through /dev/fuse instead")
    }
}

extension MountOptions {
    var sessionTransport: FuseSession.Transport {
        switch transport {
        case .auto: .automatic
        case .uring: .uring
        case .dev: .device
        }
    }
}
