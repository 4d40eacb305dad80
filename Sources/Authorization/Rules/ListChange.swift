/// An operation on the lists of existing objects (docs/reference/authorization.md 5.6).
public enum ListChange: UInt8, Sendable, CaseIterable {
    /// The explicit entries, and those that the directory passes on.
    case inherit = 1
    /// No entry is marked inherited any more.
    case makeExplicit = 2
    case removeInherited = 3
    case removeAll = 4

    /// - Parameters:
    ///   - kind: of the object.
    ///   - parent: the list of its directory; `inherit` alone needs it.
    ///   - old: the object's list.
    /// - Returns: the new list; nil = none.
    /// - Throws: `TooManyEntries` if it would be too long.
    public func list(of kind: ObjectKind, under parent: ACL?, over old: ACL?) throws(TooManyEntries) -> ACL? {
        switch self {
        case .inherit: try propagatedACL(from: parent, to: kind, over: old)
        case .makeExplicit: old.map { $0.withoutInheritedMarks }
        case .removeInherited: old.map { $0.withoutInheritedEntries }
        case .removeAll: nil
        }
    }
}

extension ACL {
    /// No entry is marked inherited.
    public var withoutInheritedMarks: ACL {
        var list = self
        for index in list.entries.indices { list.entries[index].flags.subtract(.inherited) }
        return list
    }

    /// The explicit entries.
    public var withoutInheritedEntries: ACL {
        var list = self
        list.entries.removeAll { $0.flags.contains(.inherited) }
        return list
    }
}
