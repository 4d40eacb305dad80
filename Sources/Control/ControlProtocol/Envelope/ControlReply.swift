import ACLFormats

/// What a daemon sends back.
public enum ControlReply: Sendable {
    case answer(any ControlAnswer)
    /// - Parameter error: the errno's name.
    case refusal(error: String, message: String)

    /// The message as it is sent.
    /// - Parameter version: of the messages.
    public func message(version: Int64 = MessageVersion.current) -> [UInt8] {
        var members: [JSON.Member] = [.init(.messageVersion, version)]
        switch self {
        case .answer(let answer): members += [.init(.succeeded, true), .init(.result, answer.json)]
        case .refusal(let error, let message):
            members += [.init(.succeeded, false), .init(.error, error), .init(.message, message)]
        }
        return JSONText.write(.object(members))
    }
}

/// What a command has received, of its own version.
public enum ReceivedReply: Sendable, Hashable {
    case result(JSON)
    /// The errno's name and the reason, as far as the daemon sends them. The daemon chose the words: they are escaped before they are printed.
    case refusal(error: String?, message: String?)

    /// Why a reply is not believed.
    public enum Problem: Error, Sendable, Hashable {
        /// No JSON object of this protocol.
        case unreadable
        case otherVersion(VersionMismatch)
    }

    /// - Parameter spoken: the version of the messages that the command speaks.
    public init(_ message: [UInt8], speaking spoken: Int64 = MessageVersion.current) throws(Problem) {
        let json: JSON
        do { json = try JSONText.parse(message) } catch { throw .unreadable }
        let named = json[.messageVersion]?.integer
        guard named == spoken else { throw .otherVersion(VersionMismatch(reader: .command, spoken: spoken, named: named)) }
        if json[.succeeded]?.bool == true, let result = json[.result] {
            self = .result(result)
        } else {
            self = .refusal(error: json[.error]?.string, message: json[.message]?.string)
        }
    }
}
