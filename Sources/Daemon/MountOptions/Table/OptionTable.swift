import Authorization
import LinuxSystem

/// Every word of `-o`. The order of the rows is the order in which `aclfs status` lists the words in force.
///
/// The parser, suggestions, remounts and the kernel's flags go by this table, and `OptionDocumentTests` hold the documents to it.
package enum OptionTable {
    package static let rows: [OptionRow] = ofVolume + ofTree + ofWays + ofPlace + ofSandbox + ofAudit + ofKernel + ofHelper

    private static let ofVolume: [OptionRow] = [
        .choice(
            ["ro": true, "rw": false], \.volume.isReadOnly, subject: .kernel, kernel: (MountFlag.readOnly, true), remount: .kernelAndDaemon,
            "whether the mount can be written to"),
        .value(
            "securelevel", \.volume.securelevel, .number(0...2), remount: .daemon,
            "from 1 on system flags cannot be cleared, not even by root"),
        .choice(["owners": false, "noowners": true], \.volume.ignoresOwnership, "whether owner and group of an object count in decisions"),
        .choice(["acl": false, "noacl": true], \.volume.ignoresACLs, "whether ACLs are evaluated and inherited"),
        .choice(
            ["grpid": true, "nogrpid": false, "bsdgroups": true, "sysvgroups": false], \.volume.groupFromDirectory,
            "group of a new object: its directory's, or the caller's unless the directory is set-gid"),
        .choice(
            ["suiddir": .unlessRoot, "nosuiddir": .never, "suiddir=all": .always], \.volume.ownerFromSetUserDirectory,
            "whether new objects in a set-uid directory get its owner: for all creators but root, for none, or for all"),
    ]

    private static let ofTree: [OptionRow] = [
        .value(
            "groups", \.groupSource, .enumeration, "group membership is that of the calling thread, or that of the directory service"),
        .value("groups_cache", \.groupsCache, .number(0...60_000), "for how many milliseconds the groups of a thread may be cached"),
        .optional(
            "identities", \.identities, .absoluteFile, "the file that maps identities from elsewhere to users and groups"),
        .optional(
            "rootsquash", \.rootSquash, .number(1...(.max - 1), called: "a uid"), alone: MountOptions.unprivilegedID,
            "root as a caller is treated as this unprivileged user"),
        .value("metadata", \.metadata, .enumeration, "the extended attribute that stores ACLs and flags: trusted.aclfs, or user.aclfs"),
        .value("list_room", \.listRoom, .number(0...128), "how many more ACL entries still fit beside an object's other attributes"),
        .value("cache", \.cache, .cacheMode, "how long the kernel may answer from its caches"),
        .choice(
            ["crossmounts": true, "nocrossmounts": false], \.crossMounts,
            "whether file systems mounted below SOURCE are part of the tree"),
        .value("xattr_names", \.xattrSpelling, .enumeration, "how the names of user.com.apple.* attributes are listed"),
        .value("posixacl", \.posixACL, .enumeration, "whether POSIX ACLs are translated to entries, or refused"),
        .value("portable_acl", \.portableACL, .enumeration, "whether ACLs are listed as an attribute that programs copy"),
        .value(
            "special", \.special, .enumeration,
            "whether FIFOs, sockets and (with dev) devices are found only by callers who may open them"),
    ]

    private static let ofWays: [OptionRow] = [
        .value(
            "passthrough", \.passthrough, .enumeration,
            "data goes directly between the kernel and the backing file where possible, or always through the daemon"),
        .value(
            "transport", \.transport, .enumeration,
            "how requests reach the daemon: over io_uring if possible, over io_uring only, or through /dev/fuse"),
        .value(
            "zerofill", \.zeroFill, .enumeration,
            "gaps that a program leaves are filled on close with zeros, with reserved space, or not"),
        .value("zerofill_max", \.zeroFillMax, .size, "in larger gaps space is reserved and no zeros are written"),
        .optional(
            "zerofill_budget", \.zeroFillBudget, .size, absent: "off",
            "the most bytes of zeros that the daemon writes in a minute for one user"),
        .value(
            "restarts", \.restarts, .number(0...99), shown: .unlessDefault,
            "how often in a minute a daemon that dies is replaced by a new one"),
        .value(
            "sandboxing", \.sandboxing, .enumeration, shown: .unlessDefault,
            "what root's daemon gives up: nothing, or each capability it does not need"),
    ]

    private static let ofPlace: [OptionRow] = [
        .choice(["unknown99": true], \.volume.unknown99, "uid and gid 99 stand for the caller"),
        .choice(["allow_other": true], \.allowOther, "other users may use the mount; implied for root"),
        .choice(["source_mode=require-private": true], \.requirePrivateSource, "refuse a source that other users can reach directly"),
        .optional("fsname", \.fsname, .text("a name") { !$0.isEmpty }, "what /proc/mounts shows as source"),
    ]

    private static let ofSandbox: [OptionRow] = [
        .optional(
            "sandbox", \.sandbox.profile, .profile, subject: .sandbox, "the profile that confines all callers of the mount"),
        .optional("bundle", \.sandbox.bundle, .bundleIdentifier, subject: .sandbox, "the application"),
        .optional("home", \.sandbox.home, .home, subject: .sandbox, "the home folder"),
        .optional("layout", \.sandbox.layout, .enumeration, subject: .sandbox, "how the container is divided"),
    ]

    private static let ofAudit: [OptionRow] = [
        .value("audit", \.audit.mode, .enumeration, subject: .audit, shown: .unlessDefault, "which decisions are logged"),
        .optional("audit_log", \.audit.log, .absoluteFile, subject: .audit, when: isAudited, "the file of the log"),
        .value("audit_limit", \.audit.limit, .linesInASecond, subject: .audit, when: isAudited, "lines in a second"),
        .value(
            "audit_user_limit", \.audit.userLimit, .linesInASecond, subject: .audit, when: isAudited, "lines in a second about one user"),
    ]

    private static let ofKernel: [OptionRow] = [
        .kernelFeatures("pretend that the kernel lacks a feature, for tests"),
        .choice(
            ["suid": false, "nosuid": true], \.noSuid, subject: .kernel, kernel: (MountFlag.noSetID, true), remount: .kernelAndDaemon,
            shown: .kernel, "whether set-id bits count when a program starts"),
        .choice(
            ["dev": false, "nodev": true], \.noDev, subject: .kernel, kernel: (MountFlag.noDevices, true), remount: .kernelSetsOnly,
            shown: .kernel, "whether devices can be opened"),
        .choice(
            ["exec": false, "noexec": true], \.volume.forbidsExecution, subject: .kernel, kernel: (MountFlag.noExec, true),
            remount: .kernelAndDaemon, shown: .unlessDefault, "whether programs can be started"),
        .choice(
            ["sync": true, "async": false], \.synchronous, subject: .kernel, kernel: (MountFlag.synchronous, true), remount: .kernel,
            shown: .kernelWhenSet, "whether each write waits for the disk"),
        .choice(
            ["dirsync": true], \.dirSync, subject: .kernel, kernel: (MountFlag.synchronousDirectories, true), shown: .kernelWhenSet,
            "changes of directories wait for the disk"),
        .choice(
            ["atime": .asBelow, "noatime": .never], \.accessTimes.files, subject: .kernel, kernel: (MountFlag.noAccessTime, .never),
            remount: .kernel, shown: .kernelWhenSet, "whether reading updates access times"),
        .choice(
            ["diratime": false, "nodiratime": true], \.accessTimes.leavesDirectories, subject: .kernel,
            kernel: (MountFlag.noDirectoryAccessTime, true), remount: .kernel, shown: .kernelWhenSet,
            "whether listing updates access times of directories"),
        // This is what every kernel does.
        .choice(
            ["relatime": .relative, "norelatime": .asBelow], \.accessTimes.files, subject: .kernel,
            kernel: (MountFlag.relativeAccessTime, .relative), remount: .kernel, shown: .never,
            "whether access times are updated only if they are older than the last change, or than a day"),
        .choice(
            ["symfollow": false, "nosymfollow": true], \.noSymFollow, subject: .kernel, kernel: (MountFlag.noSymlinkFollow, true),
            remount: .kernel, shown: .kernelWhenSet, "whether symbolic links are followed"),
        .choice(
            ["strictatime": .strict, "nostrictatime": .asBelow], \.accessTimes.files, subject: .kernel,
            kernel: (MountFlag.strictAccessTime, .strict), remount: .kernel, shown: .kernelWhenSet,
            "whether each read updates access times"),
        .securityContext("context", "SELinux: the label of all objects"),
        .securityContext("fscontext", "SELinux: the label of the file system itself"),
        .securityContext("defcontext", "SELinux: the label of objects that have none"),
        .securityContext("rootcontext", "SELinux: the label of the mount's top"),
    ]

    private static let ofHelper: [OptionRow] = [
        .choice(["remount": true], \.isRemount, remount: .nothing, shown: .never, "change the existing mount"),
        .ignored(["nofail"], "a source that does not exist is not a failure for mount(8)'s helper") { $0.toleratesMissingSource = true },
        .ignored(
            ["defaults", "user", "users", "nouser", "group", "owner", "auto", "noauto", "_netdev", "comment=", "x-*", "X-*"],
            "what fstab tells mount(8) and systemd"),
        .ignored(
            ["loud", "silent", "lazytime", "nolazytime", "iversion", "noiversion", "mand", "nomand"], "what other file systems understand"),
        .ignored(["user_id=", "group_id=", "rootmode=", "blksize=", "nonempty", "use_ino"], "what libfuse tells the kernel"),
        .unavailable("export", "file handles that outlive a mount, for NFS servers"),
        .refused(
            "default_permissions",
            because: "the kernel would AND the mode bits into every decision, so that no entry could grant anything",
            "the kernel would AND the mode bits into every decision"),
    ]

    private static let isAudited: @Sendable (MountOptions) -> Bool = { $0.audit.mode != .off }
}

extension OptionTable {
    /// A setting's word that stands alone.
    static func alone(_ name: String) -> OptionWord? { word(name) { $0 == .alone } }

    /// A setting's word that a value follows.
    static func valued(_ name: String) -> OptionWord? {
        word(name) { form in if case .valued = form { true } else { false } }
    }

    private static func word(_ name: String, _ isMeant: (OptionWord.Form) -> Bool) -> OptionWord? {
        for row in rows where row.kind == .setting {
            if let word = row.words.first(where: { $0.name == name && isMeant($0.form) }) { return word }
        }
        return nil
    }

    /// What a name stands for that is no setting's.
    static func other(_ name: String) -> (kind: OptionRow.Kind, word: OptionWord)? {
        for row in rows where row.kind != .setting {
            for word in row.words where word.name == name || word.form == .prefix && name.hasPrefix(word.name) { return (row.kind, word) }
        }
        return nil
    }

    /// What a remount may do with a word.
    /// - Parameter word: as it was said, with its value.
    package static func remountRule(of word: String) -> OptionRow.RemountRule {
        let name = word.prefix { $0 != "=" }
        // What continues a list has no row.
        return rows.first { row in row.words.contains { $0.name == name } }?.remount ?? .fixed
    }
}
