/// An octal number written as a string, as modes are in the vectors.
public struct Octal: Codable, Sendable, Hashable {
    public var value: UInt16
    public init(_ value: UInt16) { self.value = value }
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let value = UInt16(text, radix: 8) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not an octal number: \(text)"))
        }
        self.value = value
    }
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let digits = String(value, radix: 8)
        try container.encode(String(repeating: "0", count: max(0, 4 - digits.count)) + digits)
    }
}

/// An entry; see `ace` in the schema of vectors.json.
public struct VectorEntry: Codable, Sendable, Hashable {
    public var who: String
    public var kind: String
    public var rights: [String]
    public var flags: [String]
    public init(who: String, kind: String, rights: [String], flags: [String] = []) {
        (self.who, self.kind, self.rights, self.flags) = (who, kind, rights, flags)
    }
}

public struct VectorNode: Codable, Sendable, Hashable {
    public var type: String
    public var owner: UInt32
    public var group: UInt32
    public var mode: Octal
    public var flags: [String]
    /// nil = no ACL.
    public var acl: [VectorEntry]?
    public init(
        type: String, owner: UInt32, group: UInt32, mode: UInt16, flags: [String] = [], acl: [VectorEntry]? = nil
    ) {
        (self.type, self.owner, self.group) = (type, owner, group)
        (self.mode, self.flags, self.acl) = (Octal(mode), flags, acl)
    }
}

public struct VectorCred: Codable, Sendable, Hashable {
    public var uid: UInt32
    public var gid: UInt32
    public var groups: [UInt32]
    public var ruid: UInt32?
    public var rgid: UInt32?
    public var directoryOptOut: Bool?
    /// Not in the files: the group list could not be learnt.
    public var groupsUnknown: Bool?
    public init(uid: UInt32, gid: UInt32, groups: [UInt32] = []) {
        (self.uid, self.gid, self.groups) = (uid, gid, groups)
    }
    enum CodingKeys: String, CodingKey {
        case uid, gid, groups, ruid, rgid
        case directoryOptOut = "directory_opt_out"
        case groupsUnknown = "groups_unknown"
    }
}

public struct VectorVolume: Codable, Sendable, Hashable {
    public var readOnly = false
    public var ignoreOwnership = false
    public var noExec = false
    public init() {}
    enum CodingKeys: String, CodingKey {
        case readOnly = "read_only"
        case ignoreOwnership = "ignore_ownership"
        case noExec = "no_exec"
    }
}

/// A call with its arguments: the members of `op` in the schema of vectors.json.
public struct VectorOp: Codable, Sendable, Hashable {
    public var call: String
    public var flags: [String]?
    /// `mode` of access and faccessat.
    public var accessMode: [String]?
    /// `mode` of every other call.
    public var mode: Octal?
    public var umask: Octal?
    public var type: String?
    public var name: String?
    public var uid: UInt32?
    public var gid: UInt32?
    public var times: String?
    public var eaccess: Bool?
    public var rights: [String]?
    public var initialACL: [VectorEntry]?
    public var initialACLFlags: [String]?
    public init(_ call: String) { self.call = call }

    enum CodingKeys: String, CodingKey {
        case call, flags, mode, umask, type, name, uid, gid, times, eaccess, rights
        case initialACL = "initial_acl"
        case initialACLFlags = "initial_acl_flags"
    }
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        call = try values.decode(String.self, forKey: .call)
        flags = try values.decodeIfPresent([String].self, forKey: .flags)
        if call == "access" || call == "faccessat" {
            accessMode = try values.decode([String].self, forKey: .mode)
        } else {
            mode = try values.decodeIfPresent(Octal.self, forKey: .mode)
        }
        umask = try values.decodeIfPresent(Octal.self, forKey: .umask)
        type = try values.decodeIfPresent(String.self, forKey: .type)
        name = try values.decodeIfPresent(String.self, forKey: .name)
        uid = try values.decodeIfPresent(UInt32.self, forKey: .uid)
        gid = try values.decodeIfPresent(UInt32.self, forKey: .gid)
        times = try values.decodeIfPresent(String.self, forKey: .times)
        eaccess = try values.decodeIfPresent(Bool.self, forKey: .eaccess)
        rights = try values.decodeIfPresent([String].self, forKey: .rights)
        initialACL = try values.decodeIfPresent([VectorEntry].self, forKey: .initialACL)
        initialACLFlags = try values.decodeIfPresent([String].self, forKey: .initialACLFlags)
    }
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(call, forKey: .call)
        try values.encodeIfPresent(flags, forKey: .flags)
        try values.encodeIfPresent(accessMode, forKey: .mode)
        try values.encodeIfPresent(mode, forKey: .mode)
        try values.encodeIfPresent(umask, forKey: .umask)
        try values.encodeIfPresent(type, forKey: .type)
        try values.encodeIfPresent(name, forKey: .name)
        try values.encodeIfPresent(uid, forKey: .uid)
        try values.encodeIfPresent(gid, forKey: .gid)
        try values.encodeIfPresent(times, forKey: .times)
        try values.encodeIfPresent(eaccess, forKey: .eaccess)
        try values.encodeIfPresent(rights, forKey: .rights)
        try values.encodeIfPresent(initialACL, forKey: .initialACL)
        try values.encodeIfPresent(initialACLFlags, forKey: .initialACLFlags)
    }
}

/// A list that is stated: there is none, or these entries.
public enum VectorACL: Sendable, Hashable {
    case absent
    case present([VectorEntry])
}

/// The state after success; nil = not stated.
public struct VectorEffects: Codable, Sendable, Hashable {
    public var owner: UInt32?
    public var group: UInt32?
    public var mode: Octal?
    public var flags: [String]?
    public var acl: VectorACL?

    public init() {}

    enum CodingKeys: String, CodingKey, CaseIterable { case owner, group, mode, flags, acl }
    /// Every key that a file may use: an effect unknown here is an error, not a gap in the comparison.
    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
    public init(from decoder: any Decoder) throws {
        let known = Set(CodingKeys.allCases.map(\.rawValue))
        for key in try decoder.container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue) {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "unknown effect \(key.stringValue)"))
        }
        let values = try decoder.container(keyedBy: CodingKeys.self)
        owner = try values.decodeIfPresent(UInt32.self, forKey: .owner)
        group = try values.decodeIfPresent(UInt32.self, forKey: .group)
        mode = try values.decodeIfPresent(Octal.self, forKey: .mode)
        flags = try values.decodeIfPresent([String].self, forKey: .flags)
        if values.contains(.acl) {
            let entries = try values.decodeIfPresent([VectorEntry].self, forKey: .acl)
            acl = entries.map { .present($0) } ?? .absent
        }
    }
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(owner, forKey: .owner)
        try values.encodeIfPresent(group, forKey: .group)
        try values.encodeIfPresent(mode, forKey: .mode)
        try values.encodeIfPresent(flags, forKey: .flags)
        switch acl {
        case .absent: try values.encodeNil(forKey: .acl)
        case .present(let entries): try values.encode(entries, forKey: .acl)
        case nil: break
        }
    }
}

public struct VectorExpect: Codable, Sendable, Hashable {
    public var result: String
    public var errno: String?
    public var stage: String
    public var effects: VectorEffects?
}

/// One case: of `StatedVectors`, from a file of Tests/Vectors, or made by a generator (then without `expect`).
public struct Vector: Codable, Sendable, Hashable {
    public var id: String
    public var title: String
    public var volume = VectorVolume()
    public var securelevel = 0
    public var sandboxDeny = false
    public var cred: VectorCred
    public var parent: VectorNode?
    public var object: VectorNode?
    public var targetParent: VectorNode?
    public var target: VectorNode?
    public var op: VectorOp
    public var expect: VectorExpect?

    public init(id: String, title: String, cred: VectorCred, op: VectorOp) {
        (self.id, self.title, self.cred, self.op) = (id, title, cred, op)
    }
    enum CodingKeys: String, CodingKey {
        case id, title, volume, securelevel, cred, parent, object, target, op, expect
        case sandboxDeny = "sandbox_deny"
        case targetParent = "target_parent"
    }
}

/// A group of the vectors' directory service, as `directory` of vectors.json describes it.
public struct VectorGroup: Codable, Sendable, Hashable {
    public var name: String
    public var users: Set<UInt32>
    public var groups: Set<UInt32>
}
