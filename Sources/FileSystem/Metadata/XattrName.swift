import ACLFormats
import MountOptions
import WireFormats

/// What the name in an xattr request means, after conversion to its stored form (docs/reference/authorization.md 2.5).
///
/// Names are bytes. Protected names match in any letter case.
enum XattrName: Hashable {
    /// `system.aclfs.acl`: the list as text.
    case acl
    /// `system.posix_acl_access` and `system.posix_acl_default`.
    case posixACL(isDefault: Bool)
    /// `trusted.SGI_ACL_FILE` and `trusted.SGI_ACL_DEFAULT`: the same in XFS' own form. XFS lists them to root, and would set them past the list.
    case xfsACL(isDefault: Bool)
    /// `system.aclfs.flags`
    case flags
    /// `system.aclfs.owner`, `system.aclfs.group`
    case ownerGUID, groupGUID
    /// `system.aclfs.effective`: the caller's own rights, read only.
    case effective
    /// `system.aclfs.lists`, of a directory: changes the lists of files in it.
    case lists
    /// `system.aclfs.exchange`: changes a list if it is the one that was read, or single flags.
    case exchange
    /// `system.nfs4_acl`, `system.nfs4_acl_xdr`: list and mode in a form of NFSv4.
    case nfs4(NFS4Form)
    /// `system.nfs4_acl_smb`: list and mode for Samba.
    case smbACL
    /// `com.apple.acl.text`: the list for copies and backups.
    case portableACL
    /// The record itself and `com.apple.system.*`: refused, never listed.
    case protected
    /// One of the attributes that mean "exclude from backup".
    case backup(BackupMark)
    /// `user.*` on the backing object; the bytes are the stored name without the final NUL.
    case user([UInt8])
    case security([UInt8])
    case trusted([UInt8])
    /// Other names of `system.*`, and `os2.*`, `osx.*`.
    case unsupported
    /// Too long once it is prefixed with `user.`.
    case tooLong

    static let posixAccess: StaticString = "system.posix_acl_access"
    static let posixDefault: StaticString = "system.posix_acl_default"

    init(_ name: [UInt8]) {
        if Self.hidden(name) {
            self = .protected
        } else if name.begins(with: "system.") {
            self =
                if name.isExactly("system.aclfs.acl") {
                    .acl
                } else if name.isExactly("system.aclfs.flags") {
                    .flags
                } else if name.isExactly("system.aclfs.owner") {
                    .ownerGUID
                } else if name.isExactly("system.aclfs.group") {
                    .groupGUID
                } else if name.isExactly("system.aclfs.effective") {
                    .effective
                } else if name.isExactly("system.aclfs.lists") {
                    .lists
                } else if name.isExactly("system.aclfs.exchange") {
                    .exchange
                } else if name.isExactly(Self.posixAccess) {
                    .posixACL(isDefault: false)
                } else if name.isExactly(Self.posixDefault) {
                    .posixACL(isDefault: true)
                } else if name.isExactly("system.nfs4_acl") {
                    .nfs4(.named)
                } else if name.isExactly("system.nfs4_acl_xdr") {
                    .nfs4(.numbered)
                } else if name.isExactly("system.nfs4_acl_smb") {
                    .smbACL
                } else {
                    .unsupported
                }
        } else if name.begins(with: "os2.") || name.begins(with: "osx.") {
            self = .unsupported
        } else if name.begins(with: "security.") {
            self = .security(name)
        } else if name.begins(with: "trusted.") {
            self =
                if name.isExactly("trusted.SGI_ACL_FILE") {
                    .xfsACL(isDefault: false)
                } else if name.isExactly("trusted.SGI_ACL_DEFAULT") {
                    .xfsACL(isDefault: true)
                } else {
                    .trusted(name)
                }
        } else {
            let stored = name.begins(with: "user.") ? name : Array("user.".utf8) + name
            if stored.count > 255 {
                self = .tooLong
            } else if stored.isExactly("user.com.apple.acl.text") {
                self = .portableACL
            } else {
                self = BackupMark(storedName: stored).map { .backup($0) } ?? .user(stored)
            }
        }
    }

    private static func hidden(_ name: [UInt8]) -> Bool {
        name.isOrBelow("trusted.aclfs") || name.isOrBelow("user.aclfs") || name.isOrBelow("aclfs")
            || name.isOrBelow("com.apple.system") || name.isOrBelow("user.com.apple.system")
    }
}

// Without an array for each word: every request for an attribute is compared with all of them.
extension [UInt8] {
    fileprivate func begins(with word: StaticString) -> Bool {
        let length = word.utf8CodeUnitCount
        guard count >= length else { return false }
        for index in 0..<length where self[index] != word.utf8Start[index] { return false }
        return true
    }

    fileprivate func isExactly(_ word: StaticString) -> Bool { count == word.utf8CodeUnitCount && begins(with: word) }

    /// The word itself, in any letter case, or a name below it.
    fileprivate func isOrBelow(_ word: StaticString) -> Bool {
        let length = word.utf8CodeUnitCount
        guard count == length || count > length && self[length] == 0x2E else { return false }
        for index in 0..<length {
            let found = self[index]
            guard word.utf8Start[index] == (found >= 0x41 && found <= 0x5A ? found | 0x20 : found) else { return false }
        }
        return true
    }
}

extension MountOptions.XattrSpelling {
    /// The names that `listxattr` lists for one stored name.
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
