import Authorization

/// A word of a vector that the core has no value for.
public struct UnknownWord: Error, CustomStringConvertible {
    public var word: String
    public init(word: String) { self.word = word }
    public var description: String { "unknown word \(word)" }
}

extension Rights {
    public init(vectorWords words: [String]) throws {
        self = []
        for word in words {
            guard let right = Rights.vectorWords[word] else { throw UnknownWord(word: word) }
            formUnion(right)
        }
    }
    static let vectorWords: [String: Rights] = [
        "read": .read, "list": .list, "write": .write, "add_file": .addFile, "execute": .execute,
        "search": .search, "delete": .delete, "append": .append, "add_subdirectory": .addSubdirectory,
        "delete_child": .deleteChild, "readattr": .readAttributes, "writeattr": .writeAttributes,
        "readextattr": .readExtendedAttributes, "writeextattr": .writeExtendedAttributes,
        "readsecurity": .readSecurity, "writesecurity": .writeSecurity, "chown": .changeOwner,
        "synchronize": .synchronize, "generic_all": .genericAll, "generic_read": .genericRead,
        "generic_write": .genericWrite, "generic_execute": .genericExecute, "link_target": .linkTarget,
        "check_immutable": .checkImmutable,
    ]
}

extension FileFlags {
    public init(vectorWords words: [String]) throws {
        self = []
        for word in words {
            guard let flag = FileFlags.vectorWords[word] else { throw UnknownWord(word: word) }
            formUnion(flag)
        }
    }
    static let vectorWords: [String: FileFlags] = [
        "nodump": .noDump, "uchg": .userImmutable, "uappnd": .userAppend, "opaque": .opaque,
        "compressed": .compressed, "hidden": .hidden, "arch": .archived, "schg": .systemImmutable,
        "sappnd": .systemAppend, "sunlnk": .noUnlink, "restricted": .restricted, "datavault": .dataVault,
    ]
}

extension ObjectKind {
    public init(vectorWord word: String) throws {
        switch word {
        case "file": self = .file
        case "dir": self = .directory
        case "symlink": self = .symlink
        case "fifo": self = .fifo
        case "socket": self = .socket
        case "chr": self = .characterDevice
        case "blk": self = .blockDevice
        default: throw UnknownWord(word: word)
        }
    }
}

extension GUID {
    public init(vectorWord word: String) throws {
        switch word {
        case "everyone": self = .everyone
        case "nobody": self = .nobody
        case "owner": self = .owner
        case "group": self = .owningGroup
        default:
            if word.hasPrefix("user:"), let uid = UInt32(word.dropFirst(5)) {
                self = GUID(user: uid)
            } else if word.hasPrefix("group:"), let gid = UInt32(word.dropFirst(6)) {
                self = GUID(group: gid)
            } else if word.hasPrefix("uuid:") {
                let digits = word.dropFirst(5).filter { $0 != "-" }
                guard digits.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
                    let low = UInt64(digits.suffix(16), radix: 16)
                else { throw UnknownWord(word: word) }
                self.init(high: high, low: low)
            } else {
                throw UnknownWord(word: word)
            }
        }
    }
}

extension VectorEntry {
    public func core() throws -> ACE {
        var word: UInt32
        switch kind {
        case "allow": word = 1
        case "deny": word = 2
        case "audit": word = 3
        case "alarm": word = 4
        default: throw UnknownWord(word: kind)
        }
        for flag in flags {
            switch flag {
            case "inherited": word |= ACEFlags.inherited.rawValue
            case "file_inherit": word |= ACEFlags.fileInherit.rawValue
            case "directory_inherit": word |= ACEFlags.directoryInherit.rawValue
            case "limit_inherit": word |= ACEFlags.limitInherit.rawValue
            case "only_inherit": word |= ACEFlags.onlyInherit.rawValue
            default: throw UnknownWord(word: flag)
            }
        }
        return ACE(guid: try GUID(vectorWord: who), flagsWord: word, rights: try Rights(vectorWords: rights))
    }
}

extension ACL {
    /// `listFlags`: "no_inherit" or nothing.
    public init(vector entries: [VectorEntry], listFlags words: [String] = []) throws {
        var listFlags: UInt32 = 0
        for word in words {
            guard word == "no_inherit" else { throw UnknownWord(word: word) }
            listFlags |= ACL.noInherit
        }
        self.init(try entries.map { try $0.core() }, listFlags: listFlags)
    }
}

extension VectorNode {
    public func core() throws -> ObjectFacts {
        ObjectFacts(
            kind: try ObjectKind(vectorWord: type), owner: owner, group: group, mode: FileMode(rawValue: mode.value),
            flags: try FileFlags(vectorWords: flags), acl: try acl.map { try ACL(vector: $0) })
    }
}

extension VectorOp {
    /// The list supplied at creation, nil = none.
    public func initialCoreACL() throws -> ACL? {
        try initialACL.map { try ACL(vector: $0, listFlags: initialACLFlags ?? []) }
    }
}

extension Vector {
    /// The caller as the core sees it: with real ids for access(2) (docs/reference/authorization.md 2.2, 9a.2).
    public func credential(_ groups: [UInt32: VectorGroup]) -> VectorCredential {
        let usesReal = (op.call == "access" || op.call == "faccessat") && op.eaccess != true
        return VectorCredential(cred, groups: groups, usesRealIDs: usesReal)
    }
}

/// The core's credential over the vectors' directory service.
public struct VectorCredential: Credential, Sendable {
    public var uid: UInt32
    public var gid: UInt32
    public var effectiveGroup: UInt32? { gid }
    var supplementary: [UInt32]
    var optsOut: Bool
    var isUnknown: Bool
    var directory: [UInt32: VectorGroup]
    public var capabilities: Capabilities

    public init(_ cred: VectorCred, groups: [UInt32: VectorGroup], usesRealIDs: Bool = false) {
        uid = usesRealIDs ? cred.ruid ?? cred.uid : cred.uid
        gid = usesRealIDs ? cred.rgid ?? cred.gid : cred.gid
        supplementary = cred.groups
        optsOut = cred.directoryOptOut ?? false
        isUnknown = cred.groupsUnknown ?? false
        directory = groups
        capabilities = uid == 0 ? .all : []
    }

    public func capabilities(over object: ObjectFacts?) -> Capabilities { capabilities }

    public func membership(inGroup group: UInt32) -> Membership {
        if group == gid || supplementary.contains(group) || (!optsOut && isListed(in: group)) { return .member }
        return isUnknown ? .unknown : .notMember
    }

    /// Walks down from the group, so that a cycle of groups ends.
    private func isListed(in group: UInt32) -> Bool {
        var pending = [group]
        var seen: Set<UInt32> = []
        while let next = pending.popLast() {
            guard seen.insert(next).inserted, let record = directory[next] else { continue }
            if record.users.contains(uid) { return true }
            pending.append(contentsOf: record.groups)
        }
        return false
    }
}
