import ACLFormats

/// A denial that the daemon keeps, in the form of a message. Members that a later version adds are kept and printed.
public struct DenialForm: Sendable, Hashable {
    /// The present location of the object.
    public enum Location: Sendable, Hashable {
        /// Names from the mount's root.
        case path([[UInt8]])
        /// The object was removed.
        case gone
        case unknown
    }

    public let json: JSON

    /// - Parameters:
    ///   - number: names the denial; a later `last` with this number gets older ones.
    ///   - time: seconds since 1970.
    ///   - errno: the name of the errno.
    ///   - stage: as docs/reference/authorization.md 3.11 spells it.
    ///   - rule: of the sandbox, if the sandbox denied.
    public init(
        number: UInt64, time: Int64, uid: UInt32, operation: String, inode: UInt64?, errno: String, stage: String, rule: String?,
        location: Location
    ) {
        var members: [JSON.Member] = [
            .init(.number, number), .init(.time, time), .init(.uid, uid), .init(.operation, operation),
            // A string: readers of JSON disagree beyond 53 bits, and inode numbers may have 64.
            .init(.inode, inode.map { .string(String($0)) } ?? .null), .init(.errno, errno), .init(.stage, stage),
        ]
        if let rule { members.append(.init(.rule, rule)) }
        switch location {
        case .path(let names): members.append(.init(.path, names: names))
        case .gone: members.append(.init(.gone, true))
        case .unknown: break
        }
        json = .object(members)
    }

    init(reading json: JSON) { self.json = json }

    public var number: Int64? { json[.number]?.integer }
    public var time: Int64? { json[.time]?.integer }
    public var uid: Int64? { json[.uid]?.integer }
    public var operation: String? { json[.operation]?.string }
    public var inode: String? { json[.inode]?.string }
    public var errno: String? { json[.errno]?.string }
    public var stage: String? { json[.stage]?.string }
    public var rule: String? { json[.rule]?.string }
    public var path: [UInt8]? { json.path(.path) }
    public var isGone: Bool { json[.gone]?.bool == true }

    /// The same denial with another path, which becomes the last member.
    public func called(_ path: [UInt8]) -> DenialForm {
        guard case .object(let members) = json else { return self }
        return DenialForm(reading: .object(members.withoutPath + [.init(.path, path: path)]))
    }
}

extension [JSON.Member] {
    /// Without the path in either spelling.
    var withoutPath: [JSON.Member] { filter { !$0.name.hasPrefix(MemberName.path.rawValue) } }
}

/// The answer to `last`: the newest first, as many as one message holds.
public struct LastAnswer: ControlAnswer {
    public var denials: [DenialForm]

    public init(_ denials: [DenialForm]) { self.denials = denials }

    public init(reading result: JSON) { denials = (result.array ?? []).map { DenialForm(reading: $0) } }

    public var json: JSON { .array(denials.map(\.json)) }
}
