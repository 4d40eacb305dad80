import ACLFormats
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

    func ask(
        _ command: String, _ members: [JSON.Member] = [], with descriptors: [Int32] = [], mayTake: Bool = false
    ) throws(ControlError) -> (result: JSON, descriptors: [SharedDescriptor]) {
        // A daemon hears eight clients of a user at a time, and turns others away.
        for pause: UInt32 in [20, 50, 100, 200, 400, 800] {
            do throws(ControlError) {
                return try ControlClient(device: device, owner: owner, timeout: patience)
                    .askForDescriptors(command, members, with: descriptors, mayTake: mayTake)
            } catch {
                let mayHearLater = error.isReached && !error.isTimeout && (error.code == nil || error.code == Errno.again.name)
                guard mayHearLater else { throw error }
                SystemTime.sleep(milliseconds: pause)
            }
        }
        return try ControlClient(device: device, owner: owner, timeout: patience)
            .askForDescriptors(command, members, with: descriptors, mayTake: mayTake)
    }
}
