import ACLFormats
import LinuxSystem

/// Why an undo file is not used.
package struct UndoProblem: Error {
    package var message: String
    init(_ message: String) { self.message = message }
}

/// The first line of an undo file (docs/guide/administration.md "Undo files").
struct UndoHeader: Hashable {
    /// Where the changed objects are.
    enum Place: Hashable {
        /// A backing directory, with the attribute of its records.
        case backing(recordName: String)
        /// A mount, with the source that the kernel shows for it.
        case mount(source: String)
    }
    static let kind = "undo"
    static let version: Int64 = 1

    /// The real path of what the command named.
    var source: [UInt8]
    var identity: TreeIdentity
    var place: Place
    /// The command that made the changes, for people.
    var command: String

    var json: JSON {
        let place: JSON.Member =
            switch place {
            case .backing(let name): .init("record_name", .string(name))
            case .mount(let source): .init("mount_source", .string(source))
            }
        return .object(
            [.init("aclfs", .string(Self.kind)), .init("version", .integer(Self.version)), .init("command", .string(command))]
                + [JSON.path(source, name: "source")] + identity.members + [place])
    }

    init(source: [UInt8], identity: TreeIdentity, place: Place, command: String) {
        (self.source, self.identity, self.place, self.command) = (source, identity, place, command)
    }

    /// - Throws: it is no header, or one of a later version.
    init(reading json: JSON) throws(UndoProblem) {
        guard json["aclfs"]?.string == Self.kind, let version = json["version"]?.integer else { throw Self.missing }
        guard version == Self.version else {
            throw UndoProblem("an undo file of version \(version); this aclfs reads version \(Self.version)")
        }
        guard let source = json.path("source"), source.first == UInt8(ascii: "/"), let identity = TreeIdentity(reading: json),
            let command = json["command"]?.string, let place = Place(reading: json)
        else { throw UndoProblem("the header is incomplete") }
        self.init(source: source, identity: identity, place: place, command: command)
    }
}

extension UndoHeader.Place {
    fileprivate init?(reading json: JSON) {
        switch (json["record_name"]?.string, json["mount_source"]?.string) {
        case (let name?, nil) where ["trusted.aclfs", "user.aclfs"].contains(name): self = .backing(recordName: name)
        case (nil, let source?): self = .mount(source: source)
        default: return nil
        }
    }
}
