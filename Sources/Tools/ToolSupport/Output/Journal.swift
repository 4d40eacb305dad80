import ACLFormats
import Glibc
import LinuxSystem

/// The log of a running mount, one line for each event. It is standard error in the foreground, and syslog in the daemon, whose standard
/// error ends when it is ready.
package enum Journal {
    /// How syslog classifies a line.
    package enum Level: Sendable {
        /// An administrator should see it: something fails, is refused or protects less than was asked for.
        case warning
        /// All else.
        case info

        package var priority: Int32 {
            switch self {
            case .warning: LOG_WARNING
            case .info: LOG_INFO
            }
        }
    }

    private static let usesSyslog = Lock(false)

    /// Sends all later lines to syslog. Call in the daemon.
    package static func useSyslog() {
        usesSyslog.withLock { isOpen in
            // openlog(3) keeps the pointer.
            if !isOpen { openlog(strdup("aclfs"), LOG_PID, LOG_DAEMON) }
            isOpen = true
        }
    }

    /// Writes a line to syslog only. The command has printed it already.
    package static func record(_ level: Level, _ text: String) {
        if usesSyslog.withLock({ $0 }) { note(level, text) }
    }

    /// Writes a line. Bytes of names that could act on a terminal are escaped.
    package static func note(_ level: Level, _ text: String) {
        guard usesSyslog.withLock({ $0 }) else {
            printError("aclfs: \(escapedName(text.utf8))")
            return
        }
        withVaList([]) { vsyslog(level.priority, format(text), $0) }
    }

    /// - Returns: a format of vsyslog(3) that prints the escaped text.
    package static func format(_ text: String) -> String {
        escapedName(text.utf8).split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%%")
    }
}
