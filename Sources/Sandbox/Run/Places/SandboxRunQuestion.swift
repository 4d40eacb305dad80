import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// Questions to a daemon of the caller or of root. Each has a connection of its own: a daemon closes one that is silent for a second.
struct SandboxRunQuestion {
    /// `MAJOR:MINOR` of one of its mounts.
    var device: String
    /// The user who mounted.
    var owner: UInt32
    /// Of one attempt, in milliseconds.
    var timeout: UInt32 = 30_000

    /// Asks, and again for a while if the daemon is busy.
    /// - Parameters:
    ///   - descriptors: sent along, two at most.
    ///   - mayTake: whether the answer may carry descriptors.
    func ask<Request: ControlRequest>(
        _ request: Request, with descriptors: [Int32] = [], mayTake: Bool = false
    ) throws(ControlError) -> (answer: Request.Answer, descriptors: [SharedDescriptor]) {
        // A daemon serves eight clients of a user at a time, and refuses others.
        for pause: UInt32 in [20, 50, 100, 200, 400, 800] {
            do throws(ControlError) {
                return try ControlClient(device: device, owner: owner, timeout: timeout)
                    .askForDescriptors(request, with: descriptors, mayTake: mayTake)
            } catch {
                let mayAnswerLater = error.isReached && !error.isTimeout && (error.code == nil || error.code == Errno.again.name)
                guard mayAnswerLater else { throw error }
                SystemTime.sleep(milliseconds: pause)
            }
        }
        return try ControlClient(device: device, owner: owner, timeout: timeout)
            .askForDescriptors(request, with: descriptors, mayTake: mayTake)
    }
}
