import ControlProtocol
import Glibc
import LinuxSystem
import ProfileFiles
import SandboxProfiles
import ToolSupport

/// Reads a property list for `aclfsd`, which starts this process and writes the bytes of the file to its standard input.
enum EntitlementsCommand {
    static func run() -> Int32 {
        do throws(Errno) {
            dropRights()
            let list = try Syscall.readAll(STDIN_FILENO, limit: ProfileFile.longest + 1)
            let entitlements = Result { () throws(ProfileProblem) in try EntitlementsFile.entitlements(list) }
            let answer = EntitlementsAnswer(
                program: ProgramVersion.text, entitlements.mapError { EntitlementsAnswer.Problem(message: $0.description) })
            StandardOutput.write(answer.bytes)
            return 0
        } catch {
            printError("aclfs: \(EntitlementsAnswer.word): \(error)")
            return 2
        }
    }

    /// Somebody else made the list, and what reads it needs no right at all.
    private static func dropRights() {
        guard geteuid() == 0 else { return }
        let nobody: UInt32 = 65534
        do throws(Errno) {
            try Syscall.become(uid: nobody, gid: nobody, realUID: nobody, realGID: nobody, groups: [])
        } catch {
            // Root of a user namespace in which nobody has no id.
            try? Syscall.giveUpPrivileges()
        }
    }
}
