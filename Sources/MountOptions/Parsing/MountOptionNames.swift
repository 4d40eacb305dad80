import ACLFormats

/// The words of `-o` (docs/mounting.md) and what a word that is none of them is answered.
extension MountOptions {
    static let flags = [
        "ro", "rw", "owners", "noowners", "acl", "noacl", "grpid", "nogrpid", "bsdgroups", "sysvgroups", "suiddir",
        "nosuiddir", "unknown99", "crossmounts", "nocrossmounts", "allow_other", "suid", "nosuid", "dev", "nodev",
        "exec", "noexec", "sync", "async", "dirsync", "atime", "noatime", "diratime", "nodiratime", "relatime", "norelatime",
        "strictatime", "nostrictatime", "symfollow", "nosymfollow", "remount",
    ]
    static let withValue = [
        "securelevel", "groups", "groups_cache", "metadata", "xattr_names", "special", "fsname", "source_mode",
        "cache", "kernel_features", "passthrough", "transport", "zerofill", "zerofill_max", "zerofill_budget", "sandbox", "bundle", "home",
        "layout", "audit", "audit_log", "audit_limit", "audit_user_limit",
    ]
    /// SELinux's, which the kernel understands or refuses.
    static let contextNames: Set<String> = ["context", "fscontext", "defcontext", "rootcontext"]

    /// Words of mount(8), systemd and libfuse that say nothing to us.
    static let ignored: Set<String> = [
        "defaults", "nofail", "user", "users", "nouser", "group", "owner", "auto", "noauto", "_netdev", "comment",
        "loud", "silent", "lazytime", "nolazytime", "iversion",
        "noiversion", "mand", "nomand", "user_id", "group_id", "rootmode", "blksize", "nonempty", "use_ino",
    ]

    /// Options that are to come, each with the one value that says what happens until then; "" if there is none.
    static let later: [String: String] = [
        "export": "", "identities": "", "rootsquash": "", "posixacl": "off",
    ]

    func unavailable(_ word: String, of name: String? = nil) -> MountOptionError {
        let present = MountOptions.later[name ?? word] ?? ""
        let remedy =
            present.isEmpty
            ? "leave it out" : "leave it out, or say \(name ?? word)=\(present), which is what happens now"
        return MountOptionError(description: "option '\(word)' is not available yet; \(remedy)")
    }

    func unknown(_ name: String) -> MountOptionError {
        let candidates =
            MountOptions.flags + MountOptions.withValue + MountOptions.ignored.sorted()
            + MountOptions.later.keys.sorted()
        // The opposite of a word is only two letters away.
        let negatives = name.hasPrefix("no") ? candidates.filter { $0.hasPrefix("no") } : []
        let near = nearestWord(to: name.utf8, in: negatives) ?? nearestWord(to: name.utf8, in: candidates)
        let hint = near.map { "; did you mean '\($0)'?" } ?? ""
        return MountOptionError(description: "unknown option '\(escapedName(name.utf8))'\(hint)")
    }
}
