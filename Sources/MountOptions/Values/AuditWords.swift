/// What `-o` says about the log of decisions.
public struct AuditWords: Sendable, Hashable {
    public enum Mode: String, Sendable, CaseIterable { case off, denied, all }

    public var mode = Mode.off
    /// An absolute path.
    public var log: String?
    /// Lines in a second.
    public var limit: UInt32 = 1000
    /// Lines about one user in a second.
    public var userLimit: UInt32 = 10

    var words: [String] {
        guard mode != .off else { return [] }
        return ["audit=\(mode.rawValue)", "audit_log=\(log ?? "")", "audit_limit=\(limit)", "audit_user_limit=\(userLimit)"]
    }
}

extension MountOptions {
    mutating func applyAudit(_ name: String, _ value: String) throws(MountOptionError) {
        switch name {
        case "audit": audit.mode = try word(name, value)
        case "audit_log":
            guard value.hasPrefix("/"), !value.hasSuffix("/"), !value.utf8.contains(0) else {
                throw wrongValue(name, value, ["a file's absolute path"])
            }
            audit.log = value
        default:
            guard let limit = UInt32(value), (1...1_000_000).contains(limit) else {
                throw wrongValue(name, value, ["a number of lines in a second from 1 to 1000000"])
            }
            if name == "audit_limit" { audit.limit = limit } else { audit.userLimit = limit }
        }
    }

    func checkAudit() throws(MountOptionError) {
        if audit.mode != .off, audit.log == nil {
            throw MountOptionError(description: "option 'audit=\(audit.mode.rawValue)' needs a file: add audit_log=PATH")
        }
        let dependent = ["audit_log=", "audit_limit=", "audit_user_limit="]
        if audit.mode == .off, given.contains(where: { word in dependent.contains { word.hasPrefix($0) } }) {
            throw MountOptionError(
                description: "audit_log=, audit_limit= and audit_user_limit= say nothing by themselves: add audit=denied or audit=all, or "
                    + "leave them out")
        }
    }
}
