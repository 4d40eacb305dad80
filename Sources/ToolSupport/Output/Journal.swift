import ACLFormats
import Glibc
import LinuxSystem

/// What is to be known of a running mount, one line each: on standard error in the foreground, in syslog from
/// the daemon, whose standard error ends with its readiness.
package enum Journal {
    private static let usesSyslog = Lock(false)

    /// To be called in the daemon.
    package static func useSyslog() {
        usesSyslog.withLock { isOpen in
            // syslog keeps the pointer.
            if !isOpen { openlog(strdup("aclfs"), LOG_PID, LOG_DAEMON) }
            isOpen = true
        }
    }

    /// For the log alone: whoever typed the command has been told.
    package static func record(_ text: String) {
        if usesSyslog.withLock({ $0 }) { note(text) }
    }

    /// Bytes that could act on a terminal are escaped: names stand in these lines.
    package static func note(_ text: String) {
        let line = escapedName(text.utf8)
        guard usesSyslog.withLock({ $0 }) else {
            printError("aclfs: \(line)")
            return
        }
        withVaList([]) {
            vsyslog(LOG_INFO, line.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%%"), $0)
        }
    }
}
