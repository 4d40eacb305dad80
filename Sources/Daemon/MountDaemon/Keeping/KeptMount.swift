import ACLFormats
import ControlProtocol
import LinuxSystem

/// What a daemon has to know of a mount to serve it in place of one that died.
struct KeptMount: Sendable {
    /// As one that is handed over.
    var message: ServeMessage
    /// Descriptors that outlive the daemon: the backing directory, and the directory of the file of `identities=`.
    var directory: Int32
    var identities: Int32?
    /// What remounts have made of the volume.
    var isReadOnly: Bool
    var forbidsExecution: Bool
    var securelevel: Int

    var descriptors: [Int32] { [directory] + (identities.map { [$0] } ?? []) }
}

extension KeptMount {
    private enum Name {
        static let directory = "directory"
        static let identities = "identities"
        static let readOnly = "ro"
        static let noExecution = "noexec"
        static let securelevel = "securelevel"
    }

    /// Two lines of JSON: what is only said here, and the message.
    var text: [UInt8] {
        var members: [JSON.Member] = [
            .init(Name.directory, .integer(Int64(directory))), .init(Name.readOnly, .bool(isReadOnly)),
            .init(Name.noExecution, .bool(forbidsExecution)), .init(Name.securelevel, .integer(Int64(securelevel))),
        ]
        if let identities { members.append(.init(Name.identities, .integer(Int64(identities)))) }
        return JSONText.write(.object(members)) + [0x0A] + message.message() + [0x0A]
    }

    /// - Throws: what the lines lack; also of a message of another version.
    init(_ own: [UInt8], _ message: [UInt8]) throws(KeptProblem) {
        do {
            let json = try JSONText.parse(own)
            guard let directory = json[Name.directory]?.integer.flatMap({ Int32(exactly: $0) }),
                let isReadOnly = json[Name.readOnly]?.bool, let forbidsExecution = json[Name.noExecution]?.bool,
                let securelevel = json[Name.securelevel]?.integer.flatMap({ Int(exactly: $0) }), 0...2 ~= securelevel
            else { throw KeptProblem("a mount's line lacks a member") }
            (self.directory, self.isReadOnly) = (directory, isReadOnly)
            (self.forbidsExecution, self.securelevel) = (forbidsExecution, securelevel)
            identities = json[Name.identities]?.integer.flatMap { Int32(exactly: $0) }
            self.message = try ServeMessage(reading: ReceivedRequest(message))
        } catch let problem as KeptProblem {
            throw problem
        } catch { throw KeptProblem("\(error)") }
    }
}

/// Why a state that a daemon left cannot be used, for people.
struct KeptProblem: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
