import ACLFormats
import Authorization

/// The identities of two sources, made comparable, and their names.
final class DifferenceNames {
    enum Side { case before, after }

    private let before: ExportIdentities?
    private let after: ExportIdentities?
    /// Names that are no account here, which both sides may use.
    private let common = ExportIdentities()
    private let host = SystemNames()
    private let comparesNames: Bool

    /// - Parameter comparesNames: whether identities of the same name are the same.
    init(_ before: ExportIdentities?, _ after: ExportIdentities?, comparesNames: Bool) {
        (self.before, self.after, self.comparesNames) = (before, after, comparesNames)
    }

    /// An object with the identities by which it is compared.
    func comparable(_ object: ExportedObject, _ side: Side) -> ExportedObject {
        let identities = side == .before ? before : after
        var object = object
        object.owner = object.owner.map { comparable($0, identities) }
        object.group = object.group.map { comparable($0, identities) }
        if case .entries(var acl)? = object.list {
            for index in acl.entries.indices { acl.entries[index].guid = comparable(acl.entries[index].guid, identities) }
            object.list = .entries(acl)
        }
        return object
    }

    private func comparable(_ identity: GUID, _ identities: ExportIdentities?) -> GUID {
        var name = identities?.exportedName(of: identity)
        if comparesNames, name == nil { name = host.name(of: identity).map { ExportedName($0.kind, $0.name) } }
        guard let name, comparesNames || ExportIdentities.isProvisional(identity) else { return identity }
        if !comparesNames, let known = host.identity(named: name.name, kind: name.kind) { return known }
        return common.identity(named: name.name, kind: name.kind) ?? identity
    }

    /// The names to show on one side.
    func on(_ side: Side) -> ShownNames {
        let own = side == .before ? before : after
        return ShownNames { [common, host] identity in
            // Each table counts its own: only the common one knows this.
            if ExportIdentities.isProvisional(identity) { return common.name(of: identity) }
            return own?.name(of: identity) ?? common.name(of: identity) ?? host.name(of: identity)
        }
    }
}

/// Names for output only: each is taken for the identity that it was given for.
final class ShownNames: IdentityNames {
    private let find: (GUID) -> IdentityName?
    private var last: (IdentityName, GUID)?

    init(_ find: @escaping (GUID) -> IdentityName?) { self.find = find }

    func name(of identity: GUID) -> IdentityName? {
        let name = find(identity)
        last = name.map { ($0, identity) }
        return name
    }

    func identity(named name: String, kind: IdentityKind?) -> GUID? {
        guard let last, last.0.name == name, last.0.kind == kind else { return nil }
        return last.1
    }
}
