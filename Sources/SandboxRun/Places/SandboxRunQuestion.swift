import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// Questions to one daemon of the caller's or root's, a connection for each: a daemon ends one that is silent for a second.
struct SandboxRunQuestion {
    /// Of one of its mounts.
    var device: String
    /// Who mounted.
    var owner: UInt32
    /// Milliseconds.
    var patience: UInt32 = 30_000

    func ask<Request: ControlRequest>(
        _ request: Request, with descriptors: [Int32] = [], mayTake: Bool = false
    ) throws(ControlError) -> (answer: Request.Answer, descriptors: [SharedDescriptor]) {
        // A daemon hears eight clients of a user at a time, and turns others away.
        for pause: UInt32 in [20, 50, 100, 200, 400, 800] {
            do throws(ControlError) {
                return try ControlClient(device: device, owner: owner, patience: patience)
                    .askForDescriptors(request, with: descriptors, mayTake: mayTake)
            } catch {
                let mayHearLater = error.isHeard && !error.isLate && (error.code == nil || error.code == Errno.again.name)
                guard mayHearLater else { throw error }
                SystemTime.sleep(milliseconds: pause)
            }
        }
        return try ControlClient(device: device, owner: owner, patience: patience)
            .askForDescriptors(request, with: descriptors, mayTake: mayTake)
    }
}
