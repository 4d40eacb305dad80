import ACLFormats
import Authorization
import CFuseShim
import ControlProtocol
import FuseSession
import Glibc
import LinuxSystem
import WireFormats

@testable import ACLFileSystem

// Attributes of inodes.
extension FaultCase {
    private static let steps = Between.steps(
        "docs/reference/authorization.md 6.3: set-id bits go before the owner changes; each step leaves less access than both neighbours")

    private static func owned(_ guid: GUID?, _ group: GUID? = nil) -> MetadataRecord {
        MetadataRecord(ownerGUID: guid, groupGUID: group, acl: FaultScene.guarded.acl)
    }

    static let attributes: [FaultCase] = [
        FaultCase("setattr of the mode", "setattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", FaultScene.changes(.mode) { $0.mode = S_IFREG | 0o600 })
        },
        FaultCase("setattr of a directory's mode", "setattr", on: { try $0.directory().knows("directory") }) { (s) throws(Errno) in
            try s.set("directory", FaultScene.changes(.mode) { $0.mode = S_IFDIR | 0o700 })
        },
        FaultCase("setattr of the owner", "setattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", FaultScene.changes([.uid, .gid]) { ($0.uid, $0.gid) = (502, 502) }, FaultTree.root)
        },
        FaultCase(
            "setattr of the owner of a set-id program", "setattr", between: steps, on: { try $0.file(mode: 0o6755).knows("file") }
        ) { (s) throws(Errno) in try s.set("file", FaultScene.changes(.uid) { $0.uid = 502 }, FaultTree.root) },
        FaultCase(
            "setattr of an owner that is no user", "setattr", between: steps,
            on: { try $0.file(owned(GUID(group: 77), GUID(high: 1, low: 2))).knows("file") }
        ) { (s) throws(Errno) in
            try s.set("file", FaultScene.changes([.uid, .gid]) { ($0.uid, $0.gid) = (502, 502) }, FaultTree.root)
        },
        FaultCase("setattr of the size", "setattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", FaultScene.changes(.size) { $0.size = 4 })
        },
        FaultCase("setattr of a larger size", "setattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", FaultScene.changes(.size) { $0.size = 10_000 })
        },
        FaultCase(
            "setattr of the size of a set-id program", "setattr",
            between: .steps("docs/reference/authorization.md 6.7: set-id bits go before a truncation"),
            on: { try $0.file(mode: 0o6755).knows("file") }
        ) { (s) throws(Errno) in try s.set("file", FaultScene.changes(.size) { $0.size = 4 }) },
        FaultCase("setattr of the size through a handle", "setattr", on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            let handle = s.handle.rawValue
            try s.set("file", FaultScene.changes([.size, .handle]) { ($0.size, $0.handle) = (4, handle) })
        },
        FaultCase("setattr of times", "setattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", FaultScene.changes([.accessTime, .modificationTime]) { ($0.atime.seconds, $0.mtime.seconds) = (5, 6) })
        },
        FaultCase("setattr that only clears set-id bits", "setattr", on: { try $0.file(mode: 0o6755).open("file", O_RDWR) }) {
            (s) throws(Errno) in
            try s.set("file", FaultScene.changes([.killSetID]))
        },
        FaultCase("setattr of all at once", "setattr", between: steps, on: { try $0.file(mode: 0o6755).knows("file") }) {
            (s) throws(Errno) in
            try s.set(
                "file",
                FaultScene.changes([.mode, .uid, .gid, .size, .accessTime, .modificationTime]) {
                    ($0.mode, $0.uid, $0.gid, $0.size) = (S_IFREG | 0o600, 502, 502, 4)
                    ($0.atime.seconds, $0.mtime.seconds) = (5, 6)
                }, FaultTree.root)
        },
        FaultCase(
            "setattr of a FIFO's mode", "setattr",
            on: { scene in
                mkfifo(scene.path + "/fifo", 0o644)
                try scene.knows("fifo")
            }
        ) { (s) throws(Errno) in try s.set("fifo", FaultScene.changes(.mode) { $0.mode = S_IFIFO | 0o600 }, FaultTree.root) },
    ]
}

// Extended attributes.
extension FaultCase {
    private static let marks = Between.steps("docs/decisions/0011-one-mark-is-enough.md: excluded until the last mark is gone")
    private static let giving = Between.steps("docs/reference/identity.md: the object is nobody's until its record names the new owner")
    private static let posix = Between.steps("docs/reference/posix-acl.md: less access than before and after, until both are stored")
    /// Of a file of mode 0644: the user 502 may read and write.
    private static let posixList = PosixWire.bytes([
        PosixWireEntry(.owner, 6), .init(.user, 6, id: FaultTree.stranger.uid), .init(.owningGroup, 4), .init(.mask, 6), .init(.other, 4),
    ])
    /// The same, and the owning group as well: the mask that the file has already.
    private static let posixListOfGroup = PosixWire.bytes([
        PosixWireEntry(.owner, 6), .init(.user, 6, id: FaultTree.stranger.uid), .init(.owningGroup, 6), .init(.mask, 6), .init(.other, 4),
    ])
    private static let posixListThatDenies = PosixWire.bytes([
        PosixWireEntry(.owner, 6), .init(.user, 0, id: FaultTree.stranger.uid), .init(.user, 4, id: 503), .init(.owningGroup, 4),
        .init(.mask, 4), .init(.other, 4),
    ])
    private static var posixRecord: MetadataRecord {
        let list = PosixList(owner: 6, users: [.init(FaultTree.stranger.uid, 6)], group: 4, mask: 6, other: 4)
        return MetadataRecord(acl: (try? PosixTranslation(list, for: .file)).map { ACL($0.entries) })
    }
    private static let noDump = MetadataRecord(flags: .noDump, acl: FaultScene.guarded.acl)

    private static let listAndMode = Between.steps("docs/reference/nfs4.md: list and mode; meanwhile no more access than before or after")

    private struct NoAccounts: WireNames {
        func identity(named name: String, isGroup: Bool) -> GUID? { nil }
        func name(of identity: GUID) -> String? { nil }
    }

    /// Denies the stranger another right than before, and sets a mode.
    private static func nfs4(_ mode: UInt16, isDirectory: Bool = false) throws(Errno) -> [UInt8] {
        do throws(NFS4Error) {
            return try NFS4Value.write(
                ACL([ACE(GUID(user: FaultTree.stranger.uid), .deny, [.write])]), mode: FileMode(rawValue: mode), isDirectory: isDirectory,
                as: .named, names: NoAccounts())
        } catch { throw .inval }
    }

    /// The same in the form for Samba.
    private static func smb(_ mode: UInt16) throws(Errno) -> [UInt8] {
        let acl = ACL([ACE(GUID(user: FaultTree.stranger.uid), .deny, [.write])])
        let facts = ObjectFacts(
            kind: .file, owner: FaultTree.owner.uid, group: FaultTree.owner.gid, mode: FileMode(rawValue: mode), acl: acl)
        do throws(NFS4Error) { return try SMBValue(facts).bytes() } catch { throw .inval }
    }

    /// What the directory passes on, to a file; an error stands for the request of the one file that follows.
    private static func changeLists(_ s: FaultScene) throws(Errno) {
        var caller = FaultTree.owner
        // Of a thread in the daemon's mount namespace, in which nothing is mounted below.
        caller.tid = UInt32(getpid())
        let cache = s.fileSystem.kernel.cache
        cache.watchMountTable(MountTableChanges { false })
        cache.beginMountTableRead()
        cache.endMountTableRead()
        let request = ListsRequest(token: 7, change: .inherit, names: [Array("file".utf8)])
        try s.set("", ListsRequest.attribute, request.bytes, caller)
        let answer = ListsAnswer(reading: try s.fileSystem.operations.xattrs.getXattr(s[""], ListsRequest.attribute, caller))
        guard answer == ListsAnswer(token: 7, outcomes: [.changed]) else { throw .io }
    }

    static let extended: [FaultCase] = [
        FaultCase("lists of files in a directory", errors: [.opnotsupp], on: { try $0.file().knows("file") }, changeLists),
        FaultCase("lists of files that the kernel does not know", errors: [.opnotsupp], on: { try $0.file() }, changeLists),
        FaultCase("setxattr of a list that was read", "setxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            let change = ExchangeRequest.Change.list(from: FaultScene.guarded.acl, to: ACL([]))
            guard let bytes = try? ExchangeRequest(change).bytes() else { throw .inval }
            try s.set("file", ExchangeRequest.attribute, bytes)
        },
        FaultCase("setxattr of a list for copies", "setxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", "user.com.apple.acl.text", Array("!#acl 1\nuser:::502:deny:write\n".utf8))
        },
        FaultCase("removexattr of a list for copies", "removexattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["file"], "user.com.apple.acl.text", FaultTree.owner)
        },
        FaultCase("setxattr of a list in a form of NFSv4", "setxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", "system.nfs4_acl", nfs4(0o644))
        },
        FaultCase("setxattr of a list and a lower mode", "setxattr", between: listAndMode, on: { try $0.file().knows("file") }) {
            (s) throws(Errno) in
            try s.set("file", "system.nfs4_acl", nfs4(0o600))
        },
        FaultCase("setxattr of a list and a higher mode", "setxattr", between: listAndMode, on: { try $0.file().knows("file") }) {
            (s) throws(Errno) in
            try s.set("file", "system.nfs4_acl", nfs4(0o666))
        },
        FaultCase(
            "setxattr of a list and another mode", "setxattr", between: listAndMode, on: { try $0.file(mode: 0o640).knows("file") }
        ) { (s) throws(Errno) in try s.set("file", "system.nfs4_acl", nfs4(0o606)) },
        FaultCase(
            "setxattr of a directory's list and mode", "setxattr", between: listAndMode, on: { try $0.directory().knows("directory") }
        ) { (s) throws(Errno) in try s.set("directory", "system.nfs4_acl", nfs4(0o726, isDirectory: true)) },
        FaultCase("getxattr of a list in a form of NFSv4", "getxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.get("file", "system.nfs4_acl_xdr")
        },
        FaultCase("removexattr of a list in a form of NFSv4", "removexattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["file"], "system.nfs4_acl", FaultTree.owner)
        },
        FaultCase("setxattr of a list for Samba", "setxattr", between: listAndMode, on: { try $0.file().knows("file") }) {
            (s) throws(Errno) in
            try s.set("file", "system.nfs4_acl_smb", smb(0o666))
        },
        FaultCase("getxattr of a list for Samba", "getxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.get("file", "system.nfs4_acl_smb")
        },
        FaultCase("removexattr of a list for Samba", "removexattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["file"], "system.nfs4_acl_smb", FaultTree.owner)
        },
        FaultCase("setxattr of a list", "setxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", "system.aclfs.acl", Array("user:#502 deny read,write\n".utf8))
        },
        FaultCase("setxattr of a directory's list", "setxattr", on: { try $0.directory().knows("directory") }) { (s) throws(Errno) in
            try s.set("directory", "system.aclfs.acl", Array("user:#502 deny list,search\n".utf8))
        },
        FaultCase("setxattr of a POSIX ACL", "setxattr", between: posix, on: { try $0.file(MetadataRecord()).knows("file") }) {
            (s) throws(Errno) in try s.set("file", "system.posix_acl_access", posixList)
        },
        FaultCase(
            "setxattr of a POSIX ACL in place of the backing object's", "setxattr", between: posix,
            on: { scene in
                try scene.file(MetadataRecord()).knows("file")
                let own = [PosixWireEntry(.owner, 6), .init(.owningGroup, 6), .init(.group, 6, id: 600), .init(.mask, 6), .init(.other, 4)]
                let file = try Syscall.open(scene.path + "/file", OpenFlag.readOnly)
                try Syscall.setxattr(.open(file.rawValue), "system.posix_acl_access", PosixWire.bytes(own))
            }
        ) { (s) throws(Errno) in try s.set("file", "system.posix_acl_access", posixListOfGroup) },
        FaultCase(
            "setxattr of a POSIX ACL in place of one that denies", "setxattr", between: posix,
            on: { scene in
                try scene.file(MetadataRecord()).knows("file")
                let own = [
                    PosixWireEntry(.owner, 6), .init(.user, 0, id: FaultTree.stranger.uid), .init(.owningGroup, 4), .init(.mask, 4),
                    .init(.other, 4),
                ]
                let file = try Syscall.open(scene.path + "/file", OpenFlag.readOnly)
                try Syscall.setxattr(.open(file.rawValue), "system.posix_acl_access", PosixWire.bytes(own))
            }
        ) { (s) throws(Errno) in try s.set("file", "system.posix_acl_access", posixListThatDenies) },
        FaultCase(
            "setxattr of a default ACL", "setxattr", on: { try $0.directory("directory", MetadataRecord()).knows("directory") }
        ) { (s) throws(Errno) in try s.set("directory", "system.posix_acl_default", posixList) },
        FaultCase(
            "removexattr of a default ACL", "removexattr",
            on: { scene in
                try scene.directory().knows("directory")
                let directory = try Syscall.open(scene.path + "/directory", OpenFlag.readOnly)
                try Syscall.setxattr(.open(directory.rawValue), "system.posix_acl_default", posixList)
            }
        ) { (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["directory"], "system.posix_acl_default", FaultTree.owner)
        },
        FaultCase("getxattr of a POSIX ACL", "getxattr", on: { try $0.file(posixRecord).knows("file") }) { (s) throws(Errno) in
            try s.get("file", "system.posix_acl_access")
        },
        FaultCase("removexattr of a POSIX ACL", "removexattr", on: { try $0.file(posixRecord).knows("file") }) { (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["file"], "system.posix_acl_access", FaultTree.owner)
        },
        FaultCase("setattr of the mode of a POSIX ACL", "setattr", between: posix, on: { try $0.file(posixRecord).knows("file") }) {
            (s) throws(Errno) in try s.set("file", FaultScene.changes(.mode) { $0.mode = S_IFREG | 0o600 })
        },
        FaultCase("setxattr of flags", "setxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", "system.aclfs.flags", Array("uchg".utf8))
        },
        FaultCase(
            "setxattr of flags that clears marks", "setxattr", between: marks,
            on: {
                try $0.file(noDump).attribute("user.xdg.robots.backup", Array("false".utf8))
                    .attribute("user.com.apple.MobileBackup", [1]).knows("file")
            }
        ) { (s) throws(Errno) in try s.set("file", "system.aclfs.flags", Array("hidden".utf8)) },
        FaultCase("setxattr of the owner", "setxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", "system.aclfs.owner", Array(GUID(user: 502).uuidText.utf8), FaultTree.root)
        },
        FaultCase("setxattr of an owner that is no user", "setxattr", between: giving, on: { try $0.file(mode: 0o6755).knows("file") }) {
            (s) throws(Errno) in
            try s.set("file", "system.aclfs.owner", Array(GUID(group: 77).uuidText.utf8), FaultTree.root)
        },
        FaultCase("setxattr of the group", "setxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", "system.aclfs.group", Array(GUID(group: 502).uuidText.utf8), FaultTree.root)
        },
        FaultCase("setxattr of a group without a number", "setxattr", between: giving, on: { try $0.file().knows("file") }) {
            (s) throws(Errno) in
            try s.set("file", "system.aclfs.group", Array(GUID(high: 1, low: 2).uuidText.utf8), FaultTree.root)
        },
        FaultCase("setxattr of a mark", "setxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", "user.xdg.robots.backup", Array("false".utf8))
        },
        FaultCase(
            "setxattr that clears marks", "setxattr", between: marks,
            on: { try $0.file(noDump).attribute("user.com.apple.MobileBackup", [1]).knows("file") }
        ) { (s) throws(Errno) in try s.set("file", "user.xdg.robots.backup", Array("true".utf8)) },
        FaultCase("setxattr of a user's attribute", "setxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", "user.name", Array("value".utf8))
        },
        FaultCase("setxattr of a larger attribute", "setxattr", on: { try $0.file().attribute("user.name").knows("file") }) {
            (s) throws(Errno) in
            try s.set("file", "user.name", [UInt8](repeating: 1, count: 500))
        },
        FaultCase("setxattr of root's attribute", "setxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.set("file", "trusted.name", Array("value".utf8), FaultTree.root)
        },
        FaultCase("getxattr of a list", "getxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.get("file", "system.aclfs.acl")
        },
        FaultCase("getxattr of flags", "getxattr", on: { try $0.file().attribute("user.xdg.robots.backup").knows("file") }) {
            (s) throws(Errno) in
            try s.get("file", "system.aclfs.flags")
        },
        FaultCase("getxattr of the owner", "getxattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.get("file", "system.aclfs.owner")
        },
        FaultCase(
            "getxattr of the caller's rights", "getxattr",
            mayAnswerLess: "docs/reference/authorization.md Q22: a POSIX ACL that cannot be read names everybody but the owner",
            on: { try $0.file().knows("file") }
        ) { (s) throws(Errno) in try s.get("file", "system.aclfs.effective", FaultTree.stranger) },
        FaultCase("getxattr of a mark", "getxattr", on: { try $0.file(noDump).knows("file") }) { (s) throws(Errno) in
            try s.get("file", "user.xdg.robots.backup")
        },
        FaultCase("getxattr of a user's attribute", "getxattr", on: { try $0.file().attribute("user.name").knows("file") }) {
            (s) throws(Errno) in
            try s.get("file", "user.name")
        },
        FaultCase("getxattr of a label", "getxattr", on: { try $0.file().attribute("security.name").knows("file") }) { (s) throws(Errno) in
            try s.get("file", "security.name")
        },
        FaultCase("listxattr", "listxattr", on: { try $0.file().attribute("user.name").knows("file") }) { (s) throws(Errno) in
            s.say("\(try s.fileSystem.operations.xattrs.listXattr(s["file"], FaultTree.owner))")
        },
        FaultCase("removexattr of a list", "removexattr", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["file"], "system.aclfs.acl", FaultTree.owner)
        },
        FaultCase("removexattr of flags", "removexattr", on: { try $0.file(noDump).knows("file") }) { (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["file"], "system.aclfs.flags", FaultTree.owner)
        },
        FaultCase("removexattr of the owner", "removexattr", on: { try $0.file(owned(GUID(group: 77))).knows("file") }) {
            (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["file"], "system.aclfs.owner", FaultTree.root)
        },
        FaultCase("removexattr of the group", "removexattr", on: { try $0.file(owned(nil, GUID(high: 1, low: 2))).knows("file") }) {
            (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["file"], "system.aclfs.group", FaultTree.root)
        },
        FaultCase(
            "removexattr of a mark", "removexattr", between: marks,
            on: { try $0.file(noDump).attribute("user.com.apple.MobileBackup", [1]).knows("file") }
        ) { (s) throws(Errno) in try s.fileSystem.operations.xattrs.removeXattr(s["file"], "user.com.apple.MobileBackup", FaultTree.owner)
        },
        FaultCase("removexattr of a user's attribute", "removexattr", on: { try $0.file().attribute("user.name").knows("file") }) {
            (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["file"], "user.name", FaultTree.owner)
        },
        FaultCase("removexattr of root's attribute", "removexattr", on: { try $0.file().attribute("trusted.name").knows("file") }) {
            (s) throws(Errno) in
            try s.fileSystem.operations.xattrs.removeXattr(s["file"], "trusted.name", FaultTree.root)
        },
    ]
}
