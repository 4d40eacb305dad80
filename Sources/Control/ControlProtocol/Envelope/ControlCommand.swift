/// What a client asks of a daemon (docs/reference/control.md). The raw value is the word in the message.
public enum ControlCommand: String, Sendable, CaseIterable {
    case version
    case status
    case explain
    case effective
    case last
    case remount
    case upgrade
    case grantAdd = "grant-add"
    case grantRemove = "grant-remove"
    case grantList = "grant-list"
    case places
    case shows
    case view
    /// Between processes of one user, of which one hands its mount to the other's daemon.
    case serves
    case serve
}
