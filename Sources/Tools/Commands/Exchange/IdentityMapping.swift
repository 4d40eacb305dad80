import ACLFormats
import Authorization

/// How the users and groups of an export become those of this host.
package struct IdentityMapping {
    /// What happens with a name that has no account here.
    package enum Unknown: String {
        case refuse, keep
    }

    /// Why an identity has no counterpart here.
    package enum Refusal: Error, Hashable {
        case noAccount(ExportedName)
        /// The export does not state an identity for the name, so there is nothing to keep.
        case noIdentity(ExportedName)
        /// An identity that stands for a name, without the name.
        case unnamed(GUID)

        package var message: String {
            switch self {
            case .noAccount(let name): "\(Self.missing(name)), and --unknown keep keeps the identity of the export"
            case .noIdentity(let name): Self.missing(name)
            case .unnamed(let identity): "\(identity.uuidText) stands for a name that the export does not state"
            }
        }

        private static func missing(_ name: ExportedName) -> String {
            let shown = escapedName(name.name.utf8)
            let kind = name.kind?.rawValue
            return "no \(kind ?? "user or group") '\(shown)' here; --map-\(kind ?? "user") \(shown)=NEW maps it to another"
        }
    }

    private var byName: [ExportedName: GUID] = [:]
    private var byIdentity: [GUID: GUID] = [:]
    let unknown: Unknown
    /// Whether identities count, and names do not.
    let isNumeric: Bool

    package init(unknown: Unknown = .refuse, isNumeric: Bool = false) { (self.unknown, self.isNumeric) = (unknown, isNumeric) }

    /// Adds `OLD=NEW`. OLD is a name, a number or a UUID of the export, NEW a name, a number or a UUID of this host.
    /// - Throws: what is wrong.
    package mutating func add(_ word: String, kind: IdentityKind, host: some IdentityNames) throws(CommandFailure) {
        guard let equals = word.firstIndex(of: "="), equals != word.startIndex, word.index(after: equals) != word.endIndex else {
            throw CommandFailure("'\(escapedName(word.utf8))' is not of the form OLD=NEW")
        }
        let (old, new) = (String(word[..<equals]), String(word[word.index(after: equals)...]))
        guard let target = Self.identity(new, kind, host) else {
            throw CommandFailure("no \(kind.rawValue) '\(escapedName(new.utf8))', to whom \(escapedName(old.utf8)) should be mapped")
        }
        let isNew: Bool
        if let identity = Self.identity(old, kind, NoNames()) {
            isNew = byIdentity.updateValue(target, forKey: identity) == nil
        } else {
            isNew = byName.updateValue(target, forKey: ExportedName(kind, old)) == nil
        }
        guard isNew else { throw CommandFailure("the \(kind.rawValue) '\(escapedName(old.utf8))' is mapped twice") }
    }

    /// Adds the lines of a file: `user:OLD=NEW` and `group:OLD=NEW`. Empty lines and those that begin with `#` are skipped.
    package mutating func add(lines text: [UInt8], host: some IdentityNames) throws(CommandFailure) {
        for (index, bytes) in text.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            if bytes.isEmpty || bytes.first == UInt8(ascii: "#") { continue }
            func wrong(_ reason: String) -> CommandFailure { CommandFailure("line \(index + 1): \(reason)") }
            guard let line = String(validating: bytes, as: UTF8.self) else { throw wrong("not UTF-8 text") }
            guard let kind = [IdentityKind.user, .group].first(where: { line.hasPrefix("\($0.rawValue):") }) else {
                throw wrong("'\(escapedName(bytes.prefix(200)))' begins with neither 'user:' nor 'group:'")
            }
            do { try add(String(line.dropFirst(kind.rawValue.count + 1)), kind: kind, host: host) } catch { throw wrong(error.message) }
        }
    }

    /// - Parameters:
    ///   - identity: of the export.
    ///   - name: by which the export knows it.
    ///   - host: the accounts of this host.
    /// - Returns: the identity to store.
    package func target(of identity: GUID, named name: ExportedName?, host: some IdentityNames) throws(Refusal) -> GUID {
        switch Principal(identity) {
        case .everyone, .owner, .owningGroup, .nobody: return identity
        case .user, .group, .other: break
        }
        if let mapped = byIdentity[identity] { return mapped }
        let isProvisional = ExportIdentities.isProvisional(identity)
        guard let name else {
            if isProvisional { throw .unnamed(identity) }
            return identity
        }
        let kinds = name.kind.map { [$0] } ?? [.user, .group]
        for kind in kinds { if let mapped = byName[ExportedName(kind, name.name)] { return mapped } }
        if isNumeric, !isProvisional { return identity }
        if let known = host.identity(named: name.name, kind: name.kind) { return known }
        if isProvisional { throw .noIdentity(name) }
        if unknown == .refuse { throw .noAccount(name) }
        return identity
    }

    /// A name, `#` and a number, a number, or a UUID.
    static func identity(_ word: String, _ kind: IdentityKind, _ host: some IdentityNames) -> GUID? {
        if let identity = GUID(uuidText: word) { return identity }
        func number(_ text: some StringProtocol) -> GUID? {
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let id = UInt32(text), id != .max else { return nil }
            return kind == .user ? GUID(user: id) : GUID(group: id)
        }
        if word.hasPrefix("#") { return number(word.dropFirst()) }
        return host.identity(named: word, kind: kind) ?? number(word)
    }
}
