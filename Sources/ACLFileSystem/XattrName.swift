import ACLFormats

/// What a name in an xattr request speaks of, after it has been brought to its stored form
/// (docs/interfaces.md, attributes). Names are bytes; matching of protected names ignores letter case.
enum XattrName: Hashable {
    /// `system.aclfs.acl`: the list as text.
    case acl
    /// `system.aclfs.flags`
    case flags
    /// `system.aclfs.owner`, `system.aclfs.group`
    case ownerGUID, groupGUID
    /// `system.aclfs.effective`: the caller's own rights, read only.
    case effective
    /// The store itself and `com.apple.system.*`: refused, never listed.
    case protected
    /// One of the attributes that mean "exclude from backup".
    case backup(BackupMark)
    /// `user.*` on the backing object; the bytes are the stored name without the final NUL.
    case user([UInt8])
    case security([UInt8])
    case trusted([UInt8])
    /// `system.*`, `os2.*`, `osx.*` that nobody serves.
    case unsupported
    /// Longer than a name may be once `user.` stands before it.
    case tooLong

    init(_ name: [UInt8]) {
        func has(_ prefix: String) -> Bool { name.starts(with: prefix.utf8) }
        func isOrBelow(_ word: String) -> Bool {
            var count = 0
            for byte in word.utf8 {
                guard count < name.count else { return false }
                let found = name[count]
                guard byte == (found >= 0x41 && found <= 0x5A ? found | 0x20 : found) else { return false }
                count += 1
            }
            return count == name.count || name[count] == 0x2E
        }
        func isExactly(_ word: String) -> Bool { name.elementsEqual(word.utf8) }
        for hidden in ["trusted.aclfs", "user.aclfs", "aclfs", "com.apple.system", "user.com.apple.system"]
        where isOrBelow(hidden) {
            self = .protected
            return
        }
        if has("system.") {
            self =
                if isExactly("system.aclfs.acl") {
                    .acl
                } else if isExactly("system.aclfs.flags") {
                    .flags
                } else if isExactly("system.aclfs.owner") {
                    .ownerGUID
                } else if isExactly("system.aclfs.group") {
                    .groupGUID
                } else if isExactly("system.aclfs.effective") {
                    .effective
                } else {
                    .unsupported
                }
        } else if has("os2.") || has("osx.") {
            self = .unsupported
        } else if has("security.") {
            self = .security(name)
        } else if has("trusted.") {
            self = .trusted(name)
        } else {
            let stored = has("user.") ? name : Array("user.".utf8) + name
            if stored.count > 255 {
                self = .tooLong
            } else {
                self = BackupMark(storedName: stored).map { .backup($0) } ?? .user(stored)
            }
        }
    }
}

extension MountOptions.XattrSpelling {
    /// The names under which `listxattr` shows one stored name; empty = not shown.
    func listed(_ stored: [UInt8]) -> [[UInt8]] {
        let apple = Array("user.com.apple.".utf8)
        guard stored.starts(with: apple) else { return [stored] }
        let plain = Array(stored.dropFirst("user.".utf8.count))
        switch self {
        case .linux: return [stored]
        case .mac: return [plain]
        case .both: return [stored, plain]
        }
    }
}
