import Glibc
import LinuxSystem

/// Ctrl-Z, as far as init does it: everybody in its process namespace stands still before the caller's shell asks for the next
/// line. Their session is not the terminal's, so the kernel keeps none of them from reading that.
enum SandboxRunHalt {
    /// - Returns: when nobody reads any more.
    static func stop(_ command: Int32) {
        // First as a terminal would: an editor puts the screen in order before it stops.
        kill(-command, SIGTSTP)
        wait(milliseconds: 300) { () throws(Errno) in !(try ProcessState.isAwake(command)) }
        // Nobody can ignore this one, and it reaches everybody but init itself, whoever forks meanwhile.
        kill(-1, SIGSTOP)
        // Whoever is in the middle of a call stops at its end. One that the kernel lets nobody disturb reads no terminal.
        wait(milliseconds: 1000) { () throws(Errno) in !(try ProcessState.anyAwake(besides: getpid())) }
    }

    static func go() { kill(-1, SIGCONT) }

    private static func wait(milliseconds: UInt32, until isDone: () throws(Errno) -> Bool) {
        for _ in 0..<(milliseconds / 5) {
            do throws(Errno) { if try isDone() { return } } catch { return }
            SystemTime.sleep(milliseconds: 5)
        }
    }
}
