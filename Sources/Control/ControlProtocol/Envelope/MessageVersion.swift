/// The version of the messages, which each of them names (docs/reference/control.md "Versions").
public enum MessageVersion {
    /// What this program speaks.
    public static let current: Int64 = 1
}

/// A message of another version than this program's. Nothing of it is done or believed.
public struct VersionMismatch: Error, Sendable, Hashable, CustomStringConvertible {
    /// One end of a conversation.
    public enum Side: Sendable, Hashable {
        case command
        case daemon
    }

    /// Who read the message.
    public var reader: Side
    /// What the reader speaks.
    public var spoken: Int64
    /// What the message names; nil if it names none.
    public var named: Int64?

    init(reader: Side, spoken: Int64, named: Int64?) { (self.reader, self.spoken, self.named) = (reader, spoken, named) }

    /// Both versions, which side is the older one, and what helps. A command's user reads it, whichever side wrote it.
    public var description: String {
        guard let named else {
            return switch reader {
            case .command: "the mount's daemon answers without a version of the control messages; this command speaks version \(spoken)"
            case .daemon: "a message without a version of the control messages; this daemon speaks version \(spoken) (\"v\":\(spoken))"
            }
        }
        let (command, daemon) = reader == .command ? (spoken, named) : (named, spoken)
        let remedy =
            command < daemon
            ? "the command is the older one: use the aclfs that mounted, or unmount and mount again with the command's"
            : "the daemon is the older one: unmount, and mount again with the command's aclfs"
        return "the mount's daemon speaks version \(daemon) of the control messages and the command version \(command); \(remedy)"
    }
}
