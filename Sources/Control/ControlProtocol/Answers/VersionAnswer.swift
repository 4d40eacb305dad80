import ACLFormats

/// The answer to `version`, the only answer across user namespaces.
public struct VersionAnswer: ControlAnswer {
    /// Of the program.
    public var program: String?
    /// Of the messages.
    public var messages: Int64?

    public init(program: String, messages: Int64 = MessageVersion.current) { (self.program, self.messages) = (program, messages) }

    public init(reading result: JSON) {
        (program, messages) = (result[.version]?.string, result[.messages]?.integer)
    }

    public var json: JSON {
        .object([.init(.version, program.map { .string($0) } ?? .null), .init(.messages, messages.map { .integer($0) } ?? .null)])
    }
}

/// The answer to `remount`.
public struct RemountAnswer: ControlAnswer {
    /// Before the change.
    public var wasReadOnly: Bool

    private static let (readOnly, readWrite) = ("ro", "rw")

    public init(wasReadOnly: Bool) { self.wasReadOnly = wasReadOnly }

    public init(reading result: JSON) { wasReadOnly = result[.was]?.string == Self.readOnly }

    public var json: JSON { .object([.init(.was, wasReadOnly ? Self.readOnly : Self.readWrite)]) }
}
