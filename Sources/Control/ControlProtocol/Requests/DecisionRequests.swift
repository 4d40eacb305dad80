import ACLFormats

/// An operation, and how the user called it: a right may have two words.
public struct CalledOperation: Sendable, Hashable {
    public let operation: AskedOperation
    public let text: String

    /// nil if the word is no operation.
    public init?(_ text: String) {
        guard let operation = AskedOperation(word: text) else { return nil }
        (self.operation, self.text) = (operation, text)
    }
}

/// `explain`: what is decided about one operation, and why.
public struct ExplainMessage: ControlRequest {
    public typealias Answer = ExplainAnswer
    public static let command = ControlCommand.explain

    public var called: CalledOperation
    /// Names from the mount's top.
    public var path: [[UInt8]]
    /// For what takes two.
    public var secondPath: [[UInt8]]?
    /// The user that the question is about, with groups if they are given; nil for the client.
    public var subject: String?
    /// Whether the last step alone is wanted.
    public var isBrief: Bool

    public init(
        _ called: CalledOperation, path: [[UInt8]], secondPath: [[UInt8]]? = nil, subject: String? = nil, isBrief: Bool = false
    ) {
        (self.called, self.path, self.secondPath) = (called, path, secondPath)
        (self.subject, self.isBrief) = (subject, isBrief)
    }

    public init(reading message: ReceivedRequest) throws(RequestProblem) {
        guard let word = message.json[.operation]?.string else { throw .malformed("no operation") }
        guard let called = CalledOperation(word) else { throw .malformed(AskedOperation.unknown(word)) }
        self.called = called
        path = try message.names()
        secondPath = message.json.hasPath(.secondPath) ? try message.names(.secondPath) : nil
        (subject, isBrief) = (message.json[.subject]?.string, message.isSet(.brief))
    }

    public var members: [JSON.Member] {
        var members: [JSON.Member] = [.init(.operation, called.text), .init(.path, names: path)]
        if let secondPath { members.append(.init(.secondPath, names: secondPath)) }
        if let subject { members.append(.init(.subject, subject)) }
        if isBrief { members.append(.init(.brief, true)) }
        return members
    }
}

/// `effective`: every right on one object.
public struct EffectiveMessage: ControlRequest {
    public typealias Answer = EffectiveAnswer
    public static let command = ControlCommand.effective

    /// Names from the mount's top.
    public var path: [[UInt8]]
    /// The user that the question is about, with groups if they are given; nil for the client.
    public var subject: String?

    public init(path: [[UInt8]], subject: String? = nil) { (self.path, self.subject) = (path, subject) }

    public init(reading message: ReceivedRequest) throws(RequestProblem) {
        path = try message.names()
        subject = message.json[.subject]?.string
    }

    public var members: [JSON.Member] {
        [.init(.path, names: path)] + (subject.map { [.init(.subject, $0)] } ?? [])
    }
}

/// `last`: refusals that the daemon has kept.
public struct LastMessage: ControlRequest {
    public typealias Answer = LastAnswer
    public static let command = ControlCommand.last

    /// At most so many, above 0.
    public var count: Int64
    /// Those that were kept before the one of this number; nil for the last.
    public var before: Int64?

    public init(count: Int64, before: Int64? = nil) { (self.count, self.before) = (count, before) }

    public init(reading message: ReceivedRequest) throws(RequestProblem) {
        count = message.json[.count]?.integer ?? 20
        guard count > 0 else { throw .malformed("count must be a positive number") }
        before = message.json[.before]?.integer
    }

    public var members: [JSON.Member] {
        [.init(.count, count)] + (before.map { [.init(.before, $0)] } ?? [])
    }
}
