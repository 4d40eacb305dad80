import ACLFormats

/// An octal number written as a string, as modes are in the vectors.
public struct Octal: JSONValue, Hashable {
    public var value: UInt16
    public init(_ value: UInt16) { self.value = value }
    public init(json: JSON) throws(JSONError) {
        guard let value = json.string.flatMap({ UInt16($0, radix: 8) }) else { throw JSONError("not an octal number") }
        self.value = value
    }
    public var json: JSON {
        let digits = String(value, radix: 8)
        return .string(String(repeating: "0", count: max(0, 4 - digits.count)) + digits)
    }
}

/// An entry; see `ace` in the schema of vectors.json.
public struct VectorEntry: JSONObject, Hashable {
    public var who = ""
    public var kind = ""
    public var rights: [String] = []
    public var flags: [String] = []

    public init() {}
    public init(who: String, kind: String, rights: [String], flags: [String] = []) {
        (self.who, self.kind, self.rights, self.flags) = (who, kind, rights, flags)
    }
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("who", &who)
        try members.required("kind", &kind)
        try members.required("rights", &rights)
        try members.required("flags", &flags)
    }
}

public struct VectorNode: JSONObject, Hashable {
    public var type = "file"
    public var owner: UInt32 = 0
    public var group: UInt32 = 0
    public var mode = Octal(0)
    public var flags: [String] = []
    /// nil = no ACL.
    public var acl: [VectorEntry]?

    public init() {}
    public init(
        type: String, owner: UInt32, group: UInt32, mode: UInt16, flags: [String] = [], acl: [VectorEntry]? = nil
    ) {
        (self.type, self.owner, self.group) = (type, owner, group)
        (self.mode, self.flags, self.acl) = (Octal(mode), flags, acl)
    }
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("type", &type)
        try members.required("owner", &owner)
        try members.required("group", &group)
        try members.required("mode", &mode)
        try members.required("flags", &flags)
        try members.optional("acl", &acl)
    }
}

public struct VectorCred: JSONObject, Hashable {
    public var uid: UInt32 = 0
    public var gid: UInt32 = 0
    public var groups: [UInt32] = []
    public var ruid: UInt32?
    public var rgid: UInt32?
    public var directoryOptOut: Bool?
    /// Not in the files: the group list could not be learnt.
    public var groupsUnknown: Bool?

    public init() {}
    public init(uid: UInt32, gid: UInt32, groups: [UInt32] = []) {
        (self.uid, self.gid, self.groups) = (uid, gid, groups)
    }
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("uid", &uid)
        try members.required("gid", &gid)
        try members.required("groups", &groups)
        try members.optional("ruid", &ruid)
        try members.optional("rgid", &rgid)
        try members.optional("directory_opt_out", &directoryOptOut)
        try members.optional("groups_unknown", &groupsUnknown)
    }
}

public struct VectorVolume: JSONObject, Hashable {
    public var readOnly = false
    public var ignoreOwnership = false
    public var noExec = false

    public init() {}
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("read_only", &readOnly)
        try members.required("ignore_ownership", &ignoreOwnership)
        try members.required("no_exec", &noExec)
    }
}

/// A call with its arguments: the members of `op` in the schema of vectors.json.
public struct VectorOp: JSONObject, Hashable {
    public var call = ""
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

    public init() {}
    public init(_ call: String) { self.call = call }
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("call", &call)
        try members.optional("flags", &flags)
        if call == "access" || call == "faccessat" {
            try members.optional("mode", &accessMode)
        } else {
            try members.optional("mode", &mode)
        }
        try members.optional("umask", &umask)
        try members.optional("type", &type)
        try members.optional("name", &name)
        try members.optional("uid", &uid)
        try members.optional("gid", &gid)
        try members.optional("times", &times)
        try members.optional("eaccess", &eaccess)
        try members.optional("rights", &rights)
        try members.optional("initial_acl", &initialACL)
        try members.optional("initial_acl_flags", &initialACLFlags)
    }
}

/// A list that is stated: there is none, or these entries.
public enum VectorACL: JSONValue, Hashable {
    case absent
    case present([VectorEntry])

    public init(json: JSON) throws(JSONError) { self = json == .null ? .absent : .present(try [VectorEntry](json: json)) }
    public var json: JSON {
        switch self {
        case .absent: .null
        case .present(let entries): entries.json
        }
    }
}

/// The state after success; nil = not stated.
public struct VectorEffects: JSONObject, Hashable {
    public var owner: UInt32?
    public var group: UInt32?
    public var mode: Octal?
    public var flags: [String]?
    public var acl: VectorACL?

    public init() {}
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.optional("owner", &owner)
        try members.optional("group", &group)
        try members.optional("mode", &mode)
        try members.optional("flags", &flags)
        try members.stated("acl", &acl)
    }
}

public struct VectorExpect: JSONObject, Hashable {
    public var result = ""
    public var errno: String?
    public var stage = ""
    public var effects: VectorEffects?

    public init() {}
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("result", &result)
        try members.optional("errno", &errno)
        try members.required("stage", &stage)
        try members.optional("effects", &effects)
    }
}

/// One case: from a file of Tests/Vectors, or made by a generator (then without `expect`).
public struct Vector: JSONObject, Hashable {
    public var id = ""
    public var title = ""
    public var volume = VectorVolume()
    public var securelevel = 0
    public var sandboxDeny = false
    public var cred = VectorCred()
    public var parent: VectorNode?
    public var object: VectorNode?
    public var targetParent: VectorNode?
    public var target: VectorNode?
    public var op = VectorOp()
    public var expect: VectorExpect?

    public init() {}
    public init(id: String, title: String, cred: VectorCred, op: VectorOp) {
        (self.id, self.title, self.cred, self.op) = (id, title, cred, op)
    }
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("id", &id)
        try members.required("title", &title)
        try members.required("volume", &volume)
        try members.required("securelevel", &securelevel)
        try members.required("sandbox_deny", &sandboxDeny)
        try members.required("cred", &cred)
        try members.optional("parent", &parent)
        try members.optional("object", &object)
        try members.optional("target_parent", &targetParent)
        try members.optional("target", &target)
        try members.required("op", &op)
        try members.optional("expect", &expect)
        // Where a case comes from.
        members.ignore("basis", "xnu", "differs")
    }
}

/// A group of the vectors' directory service, as `directory` of vectors.json describes it.
public struct VectorGroup: JSONObject, Hashable {
    public var name = ""
    public var users: Set<UInt32> = []
    public var groups: Set<UInt32> = []

    public init() {}
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("name", &name)
        try members.required("users", &users)
        try members.required("groups", &groups)
    }
}
