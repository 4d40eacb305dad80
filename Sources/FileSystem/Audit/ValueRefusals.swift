import FuseSession
import LinuxSystem

/// Writes a line for each value of an attribute that was refused because it cannot be read, written or stored. A caller who repeats a call cannot
/// fill the log: in one second it gets a limited number of lines, one user has a part of them, and a count follows for the others.
final class ValueRefusals: Sendable {
    /// Chooses the refusals of one second that become lines.
    struct Limiter {
        static let ofUser = 10
        static let all = 100

        private var second: UInt64 = 0
        private var written = 0
        private var byUser: [UInt32: Int] = [:]
        private var omitted = 0

        /// - Returns: nil if the refusal becomes no line; else the number of those that became none before it.
        mutating func admit(_ user: UInt32, at second: UInt64) -> Int? {
            if second != self.second { (self.second, written, byUser) = (second, 0, [:]) }
            guard written < Self.all, byUser[user, default: 0] < Self.ofUser else {
                omitted += 1
                return nil
            }
            written += 1
            byUser[user, default: 0] += 1
            defer { omitted = 0 }
            return omitted
        }
    }

    private let limiter = Lock(Limiter())
    private let report: @Sendable (String) -> Void

    /// - Parameter report: writes a line for the administrator.
    init(report: @escaping @Sendable (String) -> Void) { self.report = report }

    /// - Parameters:
    ///   - action: what was refused, such as "setting system.nfs4_acl".
    ///   - reason: what is wrong with the value.
    ///   - caller: who set the value.
    ///   - descriptor: of the object, any.
    ///   - error: what the caller gets.
    func note(_ action: String, _ reason: String, by caller: Caller, on descriptor: Int32?, with error: StaticString = "EINVAL") {
        guard let omitted = limiter.withLock({ $0.admit(caller.payer, at: SystemTime.monotonic() / 1_000_000_000) }) else { return }
        let others = omitted == 0 ? "" : "; \(omitted) more such refusals before this line"
        report("\(Self.path(of: descriptor)): \(action) by uid \(caller.uid) was refused (\(error)): \(reason)\(others)")
    }

    private static func path(of descriptor: Int32?) -> String {
        // With an absolute path the directory is ignored.
        guard let descriptor, let path = try? Syscall.readlinkat(descriptor, "/proc/self/fd/\(descriptor)") else { return "an object" }
        return String(decoding: path, as: UTF8.self)
    }
}
