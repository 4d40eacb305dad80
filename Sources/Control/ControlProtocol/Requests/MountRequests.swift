import ACLFormats

/// `version`: of the daemon's program and of its messages.
public struct VersionMessage: ControlRequest {
    public typealias Answer = VersionAnswer
    public static let command = ControlCommand.version
    public init() {}
    public var members: [JSON.Member] { [] }
}

/// `status`: what a mount does, and how.
public struct StatusMessage: ControlRequest {
    public typealias Answer = StatusAnswer
    public static let command = ControlCommand.status
    public init() {}
    public var members: [JSON.Member] { [] }
}

/// `upgrade`: the daemon is to leave its mount to the program as it is now. If it does, it ends without an answer.
public struct UpgradeMessage: ControlRequest {
    public typealias Answer = DoneAnswer
    public static let command = ControlCommand.upgrade
    public init() {}
    public var members: [JSON.Member] { [] }
}

/// `remount`: options that may change while mounted.
public struct RemountMessage: ControlRequest {
    public typealias Answer = RemountAnswer
    public static let command = ControlCommand.remount

    /// As after `-o`.
    public var options: String
    /// Whether it is only looked whether they may.
    public var isCheck: Bool

    public init(options: String, isCheck: Bool = false) { (self.options, self.isCheck) = (options, isCheck) }

    public init(reading message: ReceivedRequest) throws(RequestProblem) {
        guard let options = message.json[.options]?.string else { throw .malformed("no options") }
        (self.options, isCheck) = (options, message.isSet(.check))
    }

    public var members: [JSON.Member] { [.init(.options, options), .init(.check, isCheck)] }
}
