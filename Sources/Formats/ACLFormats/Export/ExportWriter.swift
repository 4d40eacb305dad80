import Authorization

/// The two forms of an export.
public enum ExportForm: String, Sendable, CaseIterable {
    /// Blocks of lines, as getfacl(1) writes them.
    case text
    /// A JSON value in each line.
    case json
}

/// Writes an export, element by element (docs/guide/export.md "The text form" and "Lines of JSON").
///
/// The identity of each name stands before its first use. At the end stands the number of objects, so that a file that was cut is noticed.
public struct ExportWriter<Names: IdentityNames> {
    private let form: ExportForm
    private let names: Names
    private var stated: Set<GUID> = []
    private var count = 0

    /// - Parameter names: gives names to identities.
    public init(_ form: ExportForm, names: Names) { (self.form, self.names) = (form, names) }

    // MARK: Elements

    public func header(_ header: ExportHeader) -> [UInt8] {
        switch form {
        case .text:
            var lines = [field(.aclfs, "\(ExportWord.export) \(ExportHeader.version)")]
            if let source = header.source { lines.append(field(.source, ExportPath.text(source))) }
            if header.isOrdered { lines.append(field(.order, ExportWord.bytes)) }
            if header.isAsShown { lines.append(field(.entries, ExportWord.shown)) }
            return joined(lines)
        case .json:
            var members = [member(.aclfs, ExportWord.export), JSON.Member(ExportWord.version.rawValue, .integer(ExportHeader.version))]
            if let source = header.source { members.append(JSON.path(source, name: ExportWord.source.rawValue)) }
            if header.isOrdered { members.append(member(.order, ExportWord.bytes)) }
            if header.isAsShown { members.append(member(.entries, ExportWord.shown)) }
            return line(members)
        }
    }

    public mutating func item(_ item: ExportItem) -> [UInt8] {
        switch item {
        case .object(let object): self.object(object)
        case .unread(let path, let reason): unread(path, reason)
        }
    }

    public mutating func object(_ object: ExportedObject) -> [UInt8] {
        let before = statements(object)
        count += 1
        return before + (form == .text ? [0x0A] + joined(lines(of: object)) : line(members(of: object)))
    }

    public mutating func unread(_ path: [UInt8], _ reason: String) -> [UInt8] {
        let reason = escapedText(reason)
        count += 1
        guard form == .text else {
            return line([JSON.path(path, name: ExportWord.unread.rawValue), member(.reason, reason)])
        }
        return [0x0A] + joined([field(.unread, ExportPath.text(path)), field(.reason, reason)])
    }

    public func end() -> [UInt8] {
        form == .text ? [0x0A] + joined([field(.end, String(count))]) : line([JSON.Member(ExportWord.end.rawValue, .integer(Int64(count)))])
    }

    // MARK: Identities

    private mutating func statements(_ object: ExportedObject) -> [UInt8] {
        var out: [UInt8] = []
        for identity in object.identities where !stated.contains(identity) {
            stated.insert(identity)
            switch Principal(identity) {
            case .everyone, .owner, .owningGroup, .nobody: continue
            case .user, .group, .other: break
            }
            guard let known = names.name(of: identity), !known.name.isEmpty, known.name.utf8.count <= ExportIdentities.longestName,
                known != IdentityName(.group, "everyone")
            else { continue }
            let name = "\(known.kind.rawValue):\(escapedName(known.name.utf8))"
            if form == .text {
                // A blank line, so that the statement does not look like a part of the object before.
                if out.isEmpty { out.append(0x0A) }
                out += joined([field(.name, "\(name) \(identity.uuidText)")])
            } else {
                out += line([member(.name, name), member(.uuid, identity.uuidText)])
            }
        }
        return out
    }

    // MARK: Objects

    /// The lines of an object in the text form.
    public func lines(of object: ExportedObject) -> [[UInt8]] {
        var lines = [field(.file, ExportPath.text(object.path)), field(.kind, object.kind.exportWord)]
        if let owner = object.owner { lines.append(field(.owner, ExportValue.identity(owner, kind: .user, names: names))) }
        if let group = object.group { lines.append(field(.group, ExportValue.identity(group, kind: .group, names: names))) }
        if let mode = object.mode { lines.append(field(.mode, ExportValue.mode(mode))) }
        if let flags = object.flags { lines.append(field(.flags, FileFlagsText.attribute(flags))) }
        if let isExcluded = object.isExcluded { lines.append(field(.backup, ExportValue.backup(isExcluded))) }
        switch object.list {
        case nil: break
        case .some(.none): lines.append(field(.acl, ExportWord.none))
        case .entries(let acl):
            if acl.entries.isEmpty { lines.append(field(.acl, ExportWord.empty)) }
            lines += ExportValue.entries(acl, isDirectory: object.isDirectory, names: names)
        }
        return lines
    }

    /// The members of an object in a line of JSON.
    public func members(of object: ExportedObject) -> [JSON.Member] {
        var members = [JSON.path(object.path, name: ExportWord.path.rawValue), member(.kind, object.kind.exportWord)]
        if let owner = object.owner { members.append(member(.owner, ExportValue.identity(owner, kind: .user, names: names))) }
        if let group = object.group { members.append(member(.group, ExportValue.identity(group, kind: .group, names: names))) }
        if let mode = object.mode { members.append(member(.mode, ExportValue.mode(mode))) }
        if let flags = object.flags { members.append(member(.flags, FileFlagsText.attribute(flags))) }
        if let isExcluded = object.isExcluded { members.append(member(.backup, ExportValue.backup(isExcluded))) }
        switch object.list {
        case nil: break
        case .some(.none): members.append(.init(ExportWord.acl.rawValue, .null))
        case .entries(let acl):
            let lines = ExportValue.entries(acl, isDirectory: object.isDirectory, names: names)
            members.append(.init(ExportWord.acl.rawValue, .array(lines.map { .string(String(decoding: $0, as: UTF8.self)) })))
        }
        return members
    }

    private func field(_ word: ExportWord, _ value: String) -> [UInt8] { Array("# \(word.rawValue): \(value)".utf8) }
    private func joined(_ lines: [[UInt8]]) -> [UInt8] { lines.flatMap { $0 + [0x0A] } }
    private func member(_ word: ExportWord, _ value: String) -> JSON.Member { .init(word.rawValue, .string(value)) }
    private func line(_ members: [JSON.Member]) -> [UInt8] { JSONText.write(.object(members)) + [0x0A] }
}
