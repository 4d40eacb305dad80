import ACLFormats
import SandboxPolicy

/// The answer to `grant-add`.
public struct GrantAddAnswer: ControlAnswer {
    /// What the mounts of the application make of the grant, for people; nil where it was only looked whether it can be given.
    public var notes: [String]?
    /// Whether the grant follows its object. A daemon that does not know such grants does not say so.
    public var follows: Bool

    public init(notes: [String]?, follows: Bool = false) { (self.notes, self.follows) = (notes, follows) }

    public init(reading result: JSON) {
        notes = result[.notes]?.array?.map { $0.string ?? "" }
        follows = result[.follows]?.bool ?? false
    }

    public var json: JSON {
        .object((notes.map { [.init(.notes, .texts($0))] } ?? []) + (follows ? [.init(.follows, true)] : []))
    }
}

/// The answer to `grant-remove`.
public struct GrantRemoveAnswer: ControlAnswer {
    /// How many.
    public var removed: Int64?

    public init(removed: Int) { self.removed = Int64(removed) }

    public init(reading result: JSON) { removed = result[.removed]?.integer }

    public var json: JSON { .object([.init(.removed, removed.map { .integer($0) } ?? .null)]) }
}

/// A grant as it is listed. Members that a later version adds are kept and printed.
public struct ListedGrant: Sendable, Hashable {
    public let kept: KeptGrant
    public let json: JSON

    /// - Parameters:
    ///   - counts: whether it does now, or has expired.
    ///   - isWider: whether it reaches further than the mount that was asked.
    ///   - isFound: whether the object that it follows is found. If not, its path says where that was last.
    public init(_ kept: KeptGrant, counts: Bool, isWider: Bool, isFound: Bool = true) {
        self.kept = kept
        var members: [JSON.Member] = kept.members + [.init(.counts, counts)]
        if isWider { members.append(.init(.wider, true)) }
        if kept.grant.object != nil { members += [.init(.follows, true), .init(.found, isFound)] }
        json = .object(members)
    }

    /// nil unless every member of the grant is as it was written.
    init?(reading json: JSON) {
        guard let kept = KeptGrant(json) else { return nil }
        (self.kept, self.json) = (kept, json)
    }

    /// nil if the daemon does not say.
    public var counts: Bool? { json[.counts]?.bool }

    /// Whether it follows its object.
    public var follows: Bool { json[.follows]?.bool ?? false }

    /// Whether the object that it follows is found; true for a grant of a place.
    public var isFound: Bool { json[.found]?.bool ?? true }

    /// With another path, which stands first then.
    public func json(called path: [UInt8]) -> JSON {
        guard case .object(let members) = json else { return json }
        return .object([.init(.path, path: path)] + members.withoutPath)
    }
}

/// The answer to `grant-list`: as many as one message holds.
public struct GrantListAnswer: ControlAnswer {
    /// The directory that they are kept for, as a name that no other has.
    public var tree: String?
    /// How many there are, with those of other messages; nil if that is not understood.
    public var total: Int64?
    /// nil if one of them is not understood.
    public var grants: [ListedGrant]?
    /// Files of grants that cannot be read.
    public var problems: [String]

    public init(tree: String, total: Int, grants: [ListedGrant], problems: [String]) {
        (self.tree, self.total, self.grants, self.problems) = (tree, Int64(total), grants, problems)
    }

    public init(reading result: JSON) {
        (tree, total) = (result[.tree]?.string, result[.total]?.integer)
        if let listed = result[.grants]?.array {
            let read = listed.compactMap { ListedGrant(reading: $0) }
            if read.count == listed.count { grants = read }
        }
        problems = (result[.problems]?.array ?? []).compactMap(\.string)
    }

    public var json: JSON {
        .object([
            .init(.tree, tree.map { .string($0) } ?? .null), .init(.total, total.map { .integer($0) } ?? .null),
            .init(.grants, grants.map { .array($0.map(\.json)) } ?? .null), .init(.problems, .texts(problems)),
        ])
    }
}
