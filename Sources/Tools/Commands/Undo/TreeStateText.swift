import ACLFormats
import Authorization
import WireFormats

// States as JSON. Text in an undo file may be any text.

extension TreeState {
    var json: JSON {
        var members: [JSON.Member] = [.init("mode", .string(String(mode, radix: 8)))]
        if let owners { members += owners.members }
        if let flags { members.append(.init("flags", .string(FileFlagsText.attribute(flags)))) }
        switch store {
        case .list(let list): members.append(.init("list_b64", Self.bytes(of: list)))
        case .backing(let attributes): members += attributes.members
        }
        return .object(members)
    }

    /// - Throws: a value that no command stores.
    init(reading json: JSON) throws(UndoProblem) {
        let owners = try Owners(reading: json)
        let store: Store
        if let text = json["list_b64"] {
            store = .list(try Self.list(text))
        } else {
            store = .backing(try BackingAttributes(reading: json))
        }
        self.init(mode: 0, owners: owners, store: store)
        if let member = json["flags"] {
            guard case .list = store, let text = member.string, let flags = try? FileFlagsText.parseAttribute(text.utf8) else {
                throw UndoProblem("no flags")
            }
            self.flags = flags
        }
        guard let mode = json["mode"]?.string.flatMap({ UInt16($0, radix: 8) }), mode & ~modeBits == 0 else {
            throw UndoProblem("no mode from 0 to \(String(modeBits, radix: 8))")
        }
        self.mode = mode
    }

    /// As a record that has nothing else: a list as text may be longer than a line may be.
    private static func bytes(of list: ACL?) -> JSON {
        guard let list, let bytes = try? MetadataRecord(acl: list).encoded() else { return .null }
        return .string(Base64.encode(bytes))
    }

    private static func list(_ json: JSON) throws(UndoProblem) -> ACL? {
        if case .null = json { return nil }
        guard let bytes = json.string.flatMap({ Base64.decode($0.utf8) }) else { throw UndoProblem("list_b64 is not in base64") }
        do { return try MetadataRecord(decoding: bytes).acl } catch { throw UndoProblem("the list is malformed: \(error.message)") }
    }
}

extension Owners {
    fileprivate var members: [JSON.Member] {
        func identity(_ name: String, _ guid: GUID?) -> [JSON.Member] { guid.map { [.init(name, .string($0.uuidText))] } ?? [] }
        return [.init("uid", .integer(Int64(uid))), .init("gid", .integer(Int64(gid)))] + identity("owner", owner)
            + identity("group", group)
    }

    fileprivate init?(reading json: JSON) throws(UndoProblem) {
        if json["uid"] == nil, json["gid"] == nil { return nil }
        guard let uid = json["uid"]?.integer.flatMap({ UInt32(exactly: $0) }),
            let gid = json["gid"]?.integer.flatMap({ UInt32(exactly: $0) }),
            uid != .max, gid != .max
        else { throw UndoProblem("no uid and gid") }
        func identity(_ name: String) throws(UndoProblem) -> GUID? {
            guard let member = json[name] else { return nil }
            guard let guid = member.string.flatMap({ GUID(uuidText: $0) }) else { throw UndoProblem("\(name) is not a UUID") }
            return guid
        }
        self.init(uid: uid, gid: gid, owner: try identity("owner"), group: try identity("group"))
    }
}

extension BackingAttributes {
    fileprivate var members: [JSON.Member] {
        func text(_ value: [UInt8]?) -> JSON { value.map { .string(Base64.encode($0)) } ?? .null }
        return [.init("record_b64", text(record)), .init("posix_b64", text(access)), .init("posix_default_b64", text(standard))]
    }

    fileprivate init(reading json: JSON) throws(UndoProblem) {
        self.init(
            record: try Self.value("record_b64", in: json), access: try Self.value("posix_b64", in: json),
            standard: try Self.value("posix_default_b64", in: json))
        do { _ = try metadata() } catch { throw UndoProblem(error.message) }
        for value in [access, standard] {
            guard let value else { continue }
            do throws(PosixWireError) { _ = try PosixList(PosixWire.entries(value.span.bytes)) } catch {
                throw UndoProblem("the POSIX ACL is malformed: \(error.message)")
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
