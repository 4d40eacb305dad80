import ACLFormats

/// What a command sends. Each request has also a way to be read, `init(reading:)`, which a daemon calls once it knows that the client
/// may ask it.
public protocol ControlRequest: Sendable {
    associatedtype Answer: ControlAnswer
    static var command: ControlCommand { get }
    /// What follows the version and the command, in the order in which it is sent.
    var members: [JSON.Member] { get }
}

extension ControlRequest {
    /// The message as it is sent.
    /// - Parameters:
    ///   - top: the number that a descriptor of the mount's top has in this process, where none may be sent.
    ///   - version: of the messages.
    public func message(top: Int32? = nil, version: Int64 = MessageVersion.current) -> [UInt8] {
        var all: [JSON.Member] = [.init(.messageVersion, version), .init(.command, Self.command.rawValue)]
        all += members
        if let top { all.append(.init(.top, top)) }
        return JSONText.write(.object(all))
    }
}

/// What a daemon answers to one kind of request.
///
/// Reading never fails as a whole: a daemon of another build may tell less, or more, within one version of the messages. What a command
/// cannot do without is `nil` where it is missing or malformed.
public protocol ControlAnswer: Sendable {
    init(reading result: JSON)
    /// The `result` of the message.
    var json: JSON { get }
}

/// Where there is nothing to tell but that it is done.
public struct DoneAnswer: ControlAnswer {
    public init() {}
    public init(reading result: JSON) {}
    public var json: JSON { .object([]) }
}
