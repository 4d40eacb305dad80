import Authorization

extension MountOptions {
    /// The options in force, in the words of `-o`; the kernel's own are asked of the kernel.
    public func words(volume: VolumeState) -> [String] {
        [volume.isReadOnly ? "ro" : "rw", "securelevel=\(volume.securelevel)"] + fixedWords
            + (volume.forbidsExecution ? ["noexec"] : [])
    }

    /// Those that stay as they are until unmount.
    public var fixedWords: [String] {
        var words = [
            volume.ignoresOwnership ? "noowners" : "owners", volume.ignoresACLs ? "noacl" : "acl",
            volume.groupFromDirectory ? "grpid" : "nogrpid", volume.ownerFromSetUserDirectory.word,
            "groups=\(groupSource.rawValue)", "groups_cache=\(groupsCache)", "metadata=\(metadata.rawValue)",
            "cache=\(cache.word)", crossMounts ? "crossmounts" : "nocrossmounts",
            "xattr_names=\(xattrSpelling.rawValue)", "special=\(special.rawValue)",
            "passthrough=\(passthrough.rawValue)", "transport=\(transport.rawValue)", "zerofill=\(zeroFill.rawValue)",
            "zerofill_max=\(MountOptionText.text(ofSize: zeroFillMax))",
            "zerofill_budget=\(zeroFillBudget.map { MountOptionText.text(ofSize: $0) } ?? "off")",
        ]
        if volume.unknown99 { words.append("unknown99") }
        if allowOther { words.append("allow_other") }
        if requirePrivateSource { words.append("source_mode=require-private") }
        if let fsname { words.append("fsname=\(fsname)") }
        words += sandbox.words + audit.words
        let masked = Set(maskedKernelFeatures).sorted().map { "-\($0)" }
        if !masked.isEmpty { words.append("kernel_features=\(masked.joined(separator: ":"))") }
        return words
    }
}

extension MountOptions.CacheMode {
    var word: String {
        switch self {
        case .auto: "auto"
        case .strict: "strict"
        case .exclusive: "exclusive"
        case .seconds(let seconds): String(seconds)
        }
    }
}
