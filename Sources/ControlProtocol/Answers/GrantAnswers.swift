import ACLFormats
import SandboxPolicy

/// The answer to `grant-add`.
public struct GrantAddAnswer: ControlAnswer {
    /// What the mounts of the application make of the grant, for people; nil where it was only looked whether it can be given.
    public var notes: [String]?

    public init(notes: [String]?) { self.notes = notes }

    public init(reading result: JSON) { notes = result[.notes]?.array?.map { $0.string ?? "" } }

    public var json: JSON { .object(notes.map { [.init(.notes, .texts($0))] } ?? []) }
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
    public init(_ kept: KeptGrant, counts: Bool, isWider: Bool) {
        self.kept = kept
        var members: [JSON.Member] = kept.members + [.init(.counts, counts)]
        if isWider { members.append(.init(.wider, true)) }
        json = .object(members)
    }

    /// nil unless every member of the grant is as it was written.
    init?(reading json: JSON) {
        guard let kept = KeptGrant(json) else { return nil }
        (self.kept, self.json) = (kept, json)
    }

    /// nil if the daemon does not say.
    public var counts: Bool? { json[.counts]?.bool }

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
