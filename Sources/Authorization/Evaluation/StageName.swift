extension ObjectRole {
    /// The word for this role in explanations and in test vectors.
    public var name: String {
        switch self {
        case .object: "object"
        case .parent: "parent"
        case .target: "target"
        case .targetParent: "target_parent"
        }
    }
}

extension Precondition {
    /// The condition's name, as docs/reference/authorization.md 3.11 spells it.
    public var name: String {
        switch self {
        case .readOnly: "read_only"
        case .noExecution: "no_exec"
        case .isDirectory: "is_directory"
        case .notDirectory: "not_directory"
        case .notRegular: "not_regular"
        case .noExecuteBit: "no_x_bit"
        case .notALink: "not_a_link"
        case .handleMode: "handle_mode"
        case .protectedAttribute: "protected_xattr"
        case .superuser: "superuser"
        case .unmapped: "unmapped"
        case .unreadable: "unreadable"
        case .protectedLink: "protected_link"
        }
    }
}

extension Stage {
    /// The stage's name as docs/reference/authorization.md 3.11 spells it, e.g. `acl:object[2]`, `posix:group:parent`.
    public var name: String {
        switch self {
        case .precondition(let what): "precondition:\(what.name)"
        case .sandbox: "sandbox"
        case .attributePolicy: "attr_policy"
        case .ownershipIgnored: "ownership_ignored"
        case .root: "root"
        case .rootNoExecuteBit: "root:no_x_bit"
        case .ownerRight: "owner_right"
        case .capability(let capability): "capability:\(capability.names.joined(separator: "+"))"
        case .entry(let role, let index): "acl:\(role.name)[\(index)]"
        case .flags(let role): "flags:\(role.name)"
        case .mode(let modeClass, let role): "posix:\(modeClass):\(role.name)"
        case .sticky: "sticky"
        case .noEquivalent: "no_bsd_equivalent"
        case .implicit: "implicit"
        case .special: "special"
        }
    }
}
