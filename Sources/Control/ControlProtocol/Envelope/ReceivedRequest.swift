import ACLFormats

/// Why a message cannot be done as it stands.
public enum RequestProblem: Error, Sendable, Hashable {
    /// EINVAL, in the words for the client.
    case malformed(String)
    /// ENAMETOOLONG: a path, or a name in it.
    case pathTooLong
}

/// A message that a daemon has received, of its own version. The type of the command reads the
/// members, after the daemon has checked that the client may give the command.
public struct ReceivedRequest: Sendable {
    /// nil if there is none, or an unknown one.
    public let command: ControlCommand?
    let json: JSON

    /// - Parameter spoken: the version of the messages that the daemon speaks.
    /// - Throws: `malformed` for bytes that are no JSON object of this protocol, or of another version.
    public init(_ message: [UInt8], speaking spoken: Int64 = MessageVersion.current) throws(RequestProblem) {
        do { json = try JSONText.parse(message) } catch { throw .malformed(error.description) }
        let named = json[.messageVersion]?.integer
        guard named == spoken else {
            throw .malformed(VersionMismatch(reader: .daemon, spoken: spoken, named: named).description)
        }
        command = json[.command]?.string.flatMap { ControlCommand(rawValue: $0) }
    }

    /// The number that a descriptor of the mount's top has in the client's process; nil if there is none.
    public var top: Int64? { json[.top]?.integer }
}

/// The limits of a path in a message.
public enum ControlPath {
    /// Bytes: PATH_MAX.
    public static let longest = 4096
    public static let mostNames = 256
    /// Bytes of one name: NAME_MAX.
    static let longestName = 255
}

extension ReceivedRequest {
    /// Names from the mount's top.
    func names(_ name: MemberName = .path) throws(RequestProblem) -> [[UInt8]] {
        // Measure before splitting: that takes time in proportion to the slashes.
        guard (json.pathSize(name.rawValue) ?? 0) <= ControlPath.longest else { throw .pathTooLong }
        guard let bytes = json.path(name) else { throw .malformed("no \(name.rawValue)") }
        let names = bytes.pathNames
        guard bytes.count <= ControlPath.longest, names.count <= ControlPath.mostNames,
            names.allSatisfy({ $0.count <= ControlPath.longestName })
        else { throw .pathTooLong }
        guard names.allSatisfy({ $0 != [0x2E] && $0 != [0x2E, 0x2E] }) else { throw .malformed("a path may not contain . or ..") }
        return names
    }

    /// Whether a member is there and true; anything else counts as false.
    func isSet(_ name: MemberName) -> Bool { json[name]?.bool == true }
}
