import Glibc
import LinuxSystem

/// Handles Ctrl-Z, as far as init can: every process of the namespace stops before the caller's shell reads its next line. Their
/// session has no controlling terminal, so the kernel would stop none of them when it reads from the caller's terminal.
enum SandboxRunJobControl {
    /// Stops all processes but this one. Returns when none of them runs, or after 1.3 seconds.
    /// - Parameter command: the process group of the command.
    static func stop(_ command: Int32) {
        // SIGTSTP first, as a terminal sends it: an editor restores the screen before it stops.
        kill(-command, SIGTSTP)
        wait(milliseconds: 300) { () throws(Errno) in !(try ProcessState.isAwake(command)) }
        // SIGSTOP cannot be ignored, and reaches every process but init, forked ones included.
        kill(-1, SIGSTOP)
        // A process in a system call stops at its end. An uninterruptible one reads no terminal.
        wait(milliseconds: 1000) { () throws(Errno) in !(try ProcessState.anyAwake(besides: getpid())) }
    }

    static func resume() { kill(-1, SIGCONT) }

    private static func wait(milliseconds: UInt32, until isDone: () throws(Errno) -> Bool) {
        for _ in 0..<(milliseconds / 5) {
            do throws(Errno) { if try isDone() { return } } catch { return }
            SystemTime.sleep(milliseconds: 5)
        }
    }
}
