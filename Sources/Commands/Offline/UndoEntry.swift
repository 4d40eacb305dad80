import ACLFormats
import LinuxSystem
import WireFormats

/// Why an undo file is not used.
struct UndoProblem: Error {
    var message: String
    init(_ message: String) { self.message = message }
}

/// The first line of an undo file (docs/posix-acl.md "Undo files").
struct UndoHeader: Hashable {
    static let kind = "undo"
    static let version: Int64 = 1

    /// The real path of the backing directory.
    var source: [UInt8]
    var identity: OfflineIdentity
    /// The attribute of records.
    var recordName: String
    /// The command that made the changes, for people.
    var command: String

    var json: JSON {
        .object(
            [.init("aclfs", .string(Self.kind)), .init("version", .integer(Self.version)), .init("command", .string(command))]
                + [JSON.path(source, name: "source")] + identity.members + [.init("record_name", .string(recordName))])
    }

    init(source: [UInt8], identity: OfflineIdentity, recordName: String, command: String) {
        (self.source, self.identity, self.recordName, self.command) = (source, identity, recordName, command)
    }

    /// - Throws: it is no header, or one of a later version.
    init(reading json: JSON) throws(UndoProblem) {
        guard json["aclfs"]?.string == Self.kind, let version = json["version"]?.integer else { throw UndoProblem("no undo file of aclfs") }
        guard version == Self.version else {
            throw UndoProblem("an undo file of version \(version); this aclfs reads version \(Self.version)")
        }
        guard let source = json.path("source"), source.first == UInt8(ascii: "/"), let identity = OfflineIdentity(reading: json),
            let name = json["record_name"]?.string, ["trusted.aclfs", "user.aclfs"].contains(name),
            let command = json["command"]?.string
        else { throw UndoProblem("the header is incomplete") }
        self.init(source: source, identity: identity, recordName: name, command: command)
    }
}

/// One object of an undo file: what it was before a change, and what the change made of it.
struct UndoEntry: Hashable {
    /// Below the top, without `..`; `.` for the top itself.
    var path: [UInt8]
    var identity: OfflineIdentity
    /// The number of names that it had.
    var links: UInt32
    var before: OfflineState
    var after: OfflineState

    /// Of an object's path, in bytes. A line holds it and both states.
    static let longestPath = 16_384

    var json: JSON {
        .object(
            [JSON.path(path)] + identity.members + [
                .init("links", .integer(Int64(links))), .init("before", before.json), .init("after", after.json),
            ])
    }

    init(path: [UInt8], identity: OfflineIdentity, links: UInt32, before: OfflineState, after: OfflineState) {
        (self.path, self.identity, self.links, self.before, self.after) = (path, identity, links, before, after)
    }

    /// - Throws: what is wrong with the line, which may be any text.
    init(reading json: JSON) throws(UndoProblem) {
        guard let path = json.path() else { throw UndoProblem("no path") }
        guard path.count <= Self.longestPath, Self.staysBelow(path) else {
            throw UndoProblem("the path '\(escapedName(path))' does not stay below the directory")
        }
        guard let identity = OfflineIdentity(reading: json), let links = json["links"]?.integer, let count = UInt32(exactly: links) else {
            throw UndoProblem("no identity of the object")
        }
        guard let before = json["before"], let after = json["after"] else { throw UndoProblem("no state of the object") }
        self.init(
            path: path, identity: identity, links: count, before: try OfflineState(reading: before),
            after: try OfflineState(reading: after))
    }

    /// The names of a path; none for the top.
    var names: [[UInt8]] {
        path == OfflineWalk.topName ? [] : path.split(separator: UInt8(ascii: "/")).map { Array($0) }
    }

    private static func staysBelow(_ path: [UInt8]) -> Bool {
        if path == OfflineWalk.topName { return true }
        let dot = UInt8(ascii: ".")
        return path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
            !$0.isEmpty && $0 != [dot] && $0 != [dot, dot]
        }
    }
}

extension OfflineIdentity {
    var members: [JSON.Member] {
        [.init("inode", .string(String(inode)))] + (born.map { [.init("born", .string("\($0.sec).\($0.nsec)"))] } ?? [])
    }

    init?(reading json: JSON) {
        guard let inode = json["inode"]?.string.flatMap({ UInt64($0) }) else { return nil }
        self.init(inode: inode, born: nil)
        guard let text = json["born"] else { return }
        let parts = text.string?.split(separator: ".") ?? []
        guard parts.count == 2, let seconds = Int64(parts[0]), let nanoseconds = UInt32(parts[1]) else { return nil }
        born = Timespec(sec: seconds, nsec: nanoseconds)
    }
}

extension OfflineState {
    var json: JSON {
        func text(_ value: [UInt8]?) -> JSON { value.map { .string(Base64.encode($0)) } ?? .null }
        return .object([
            .init("mode", .string(String(mode, radix: 8))), .init("record_b64", text(record)), .init("posix_b64", text(access)),
            .init("posix_default_b64", text(standard)),
        ])
    }

    /// - Throws: a value that no import stores.
    init(reading json: JSON) throws(UndoProblem) {
        guard let mode = json["mode"]?.string.flatMap({ UInt16($0, radix: 8) }), mode & ~Self.modeBits == 0 else {
            throw UndoProblem("no mode from 0 to 777")
        }
        self.init(
            mode: mode, record: try Self.value("record_b64", in: json), access: try Self.value("posix_b64", in: json),
            standard: try Self.value("posix_default_b64", in: json))
        if let record {
            do throws(MetadataRecordError) { _ = try MetadataRecord(decoding: record) } catch {
                throw UndoProblem("the record is none: \(error.message)")
            }
        }
        for value in [access, standard] {
            guard let value else { continue }
            do throws(PosixWireError) { _ = try PosixList(PosixWire.entries(value.span.bytes)) } catch {
                throw UndoProblem("the POSIX ACL is none: \(error.message)")
            }
        }
    }

    private static func value(_ name: String, in json: JSON) throws(UndoProblem) -> [UInt8]? {
        guard let member = json[name] else { throw UndoProblem("no member \(name)") }
        if case .null = member { return nil }
        guard let bytes = member.string.flatMap({ Base64.decode($0.utf8) }), !bytes.isEmpty else {
            throw UndoProblem("\(name) is not in base64")
        }
        return bytes
    }
}
