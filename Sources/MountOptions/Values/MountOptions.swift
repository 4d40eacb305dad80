import Authorization

/// What a wrong `-o` option is answered with; the text names the option and what would be right.
public struct MountOptionError: Error, Sendable, CustomStringConvertible {
    public let description: String
}

/// Everything that `-o` can say (docs/mounting.md), parsed and checked before anything is mounted.
public struct MountOptions: Sendable {
    public enum MetadataPlace: String, Sendable, CaseIterable { case auto, trusted, user }
    public enum XattrSpelling: String, Sendable, CaseIterable { case linux, mac, both }
    public enum GroupSource: String, Sendable, CaseIterable { case process, directory }
    public enum SpecialFiles: String, Sendable, CaseIterable { case gate, open }
    public enum Passthrough: String, Sendable, CaseIterable { case auto, off }
    public enum Transport: String, Sendable, CaseIterable { case auto, uring, dev }
    public enum ZeroFill: String, Sendable, CaseIterable { case write, allocate, off }
    public enum CacheMode: Sendable, Hashable {
        case auto, strict, exclusive
        case seconds(UInt32)
    }

    public var volume = VolumeState()
    public var metadata = MetadataPlace.auto
    public var xattrSpelling = XattrSpelling.linux
    public var groupSource = GroupSource.process
    /// How long the groups of a thread or user may be kept, milliseconds.
    public var groupsCache: UInt32 = 100
    public var special = SpecialFiles.gate
    public var cache = CacheMode.auto
    public var transport = Transport.auto
    public var crossMounts = true
    public var passthrough = Passthrough.auto
    public var zeroFill = ZeroFill.write
    /// Larger gaps are reserved and not written.
    public var zeroFillMax: UInt64 = 1 << 30
    /// Bytes of zeros that each user's gaps may cost in a minute; nil: any number.
    public var zeroFillBudget: UInt64? = 1 << 30
    public var allowOther = false
    public var fsname: String?
    public var requirePrivateSource = false
    public var sandbox = SandboxWords()
    public var audit = AuditWords()
    /// Kernel features to pretend away, for tests.
    public var maskedKernelFeatures: [String] = []

    public var noSuid = true
    public var noDev = true
    public var noExec = false
    public var synchronous = false
    public var dirSync = false
    public var accessTimes = AccessTimeRule()
    public var noSymFollow = false
    /// SELinux `*context=` options, handed to the kernel as they are.
    public var contexts: [String] = []
    public var isRemount = false
    /// `nofail`: a source that does not exist is no failure of mount(8)'s helper.
    public var toleratesMissingSource = false
    /// What was said explicitly, in its order, less what is ignored: a remount changes only that.
    public private(set) var given: [String] = []

    public init() {}

    /// Parses one comma-separated list; later words win over earlier ones.
    /// - Throws: `MountOptionError` naming the word and its nearest right spelling.
    public mutating func apply(_ text: String) throws(MountOptionError) {
        for word in try MountOptionText.split(text) where !word.isEmpty { try applyWord(word) }
    }

    private mutating func applyWord(_ word: String) throws(MountOptionError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let value = parts.count == 2 ? String(parts[1]) : nil
        if name == "nofail" { toleratesMissingSource = true }
        if MountOptions.ignored.contains(name) || name.hasPrefix("x-") || name.hasPrefix("X-") { return }
        if let value {
            if MountOptions.contextNames.contains(name) {
                contexts.append(word)
            } else {
                try applyValue(name, value)
            }
        } else {
            try applyFlag(name)
        }
        given.append(word)
    }

    private mutating func applyFlag(_ name: String) throws(MountOptionError) {
        switch name {
        case "ro": volume.isReadOnly = true
        case "rw": volume.isReadOnly = false
        case "owners": volume.ignoresOwnership = false
        case "noowners": volume.ignoresOwnership = true
        case "acl": volume.ignoresACLs = false
        case "noacl": volume.ignoresACLs = true
        case "grpid", "bsdgroups": volume.groupFromDirectory = true
        case "nogrpid", "sysvgroups": volume.groupFromDirectory = false
        case "suiddir": volume.ownerFromSetUserDirectory = .unlessRoot
        case "nosuiddir": volume.ownerFromSetUserDirectory = .never
        case "unknown99": volume.unknown99 = true
        case "crossmounts": crossMounts = true
        case "nocrossmounts": crossMounts = false
        case "allow_other": allowOther = true
        case "suid": noSuid = false
        case "nosuid": noSuid = true
        case "dev": noDev = false
        case "nodev": noDev = true
        case "exec": (noExec, volume.forbidsExecution) = (false, false)
        case "noexec": (noExec, volume.forbidsExecution) = (true, true)
        case "sync": synchronous = true
        case "async": synchronous = false
        case "dirsync": dirSync = true
        case "atime", "norelatime", "nostrictatime": accessTimes.files = .asBelow
        case "noatime": accessTimes.files = .never
        case "relatime": accessTimes.files = .relative
        case "strictatime": accessTimes.files = .strict
        case "diratime": accessTimes.leavesDirectories = false
        case "nodiratime": accessTimes.leavesDirectories = true
        case "symfollow": noSymFollow = false
        case "nosymfollow": noSymFollow = true
        case "remount": isRemount = true
        case "default_permissions":
            throw MountOptionError(
                description: "default_permissions is refused: the kernel would AND the mode bits into every "
                    + "decision, so that no entry could grant anything; leave it out")
        case _ where MountOptions.later[name] != nil: throw unavailable(name)
        case _ where MountOptions.withValue.contains(name) || MountOptions.contextNames.contains(name):
            throw MountOptionError(description: "option '\(name)' needs a value: \(name)=…")
        // `kernel_features=-epoch,-statx`: its commas are ours.
        case _ where name.hasPrefix("-") && !maskedKernelFeatures.isEmpty: try applyValue("kernel_features", name)
        default: throw unknown(name)
        }
    }

    private mutating func applyValue(_ name: String, _ value: String) throws(MountOptionError) {
        switch name {
        case "securelevel": volume.securelevel = Int(try number(name, value, 0...2))
        case "groups_cache": groupsCache = UInt32(try number(name, value, 0...60_000))
        case "groups": groupSource = try word(name, value)
        case "metadata": metadata = try word(name, value)
        case "xattr_names": xattrSpelling = try word(name, value)
        case "special": special = try word(name, value)
        case "passthrough": passthrough = try word(name, value)
        case "transport": transport = try word(name, value)
        case "zerofill": zeroFill = try word(name, value)
        case "suiddir": try applySetUserDirectories(value)
        case "zerofill_max":
            guard let size = MountOptionText.size(value) else {
                throw wrongValue(name, value, ["a size such as 1048576, 64M or 1G"])
            }
            zeroFillMax = size
        case "zerofill_budget":
            let size = MountOptionText.size(value)
            guard size != nil || value == "off" else {
                throw wrongValue(name, value, ["off", "a size such as 1048576, 64M or 1G"])
            }
            zeroFillBudget = size
        case "fsname":
            guard !value.isEmpty else { throw wrongValue(name, value, ["a name"]) }
            fsname = value
        case "source_mode":
            guard value == "require-private" else { throw wrongValue(name, value, ["require-private"]) }
            requirePrivateSource = true
        case "cache":
            switch value {
            case "auto": cache = .auto
            case "strict": cache = .strict
            case "exclusive": cache = .exclusive
            default:
                guard let seconds = UInt32(value), seconds <= 3600 else {
                    throw wrongValue(name, value, ["auto", "strict", "exclusive", "a number of seconds up to 3600"])
                }
                cache = .seconds(seconds)
            }
        case "kernel_features":
            for feature in value.split(whereSeparator: { $0 == "," || $0 == ":" }) {
                let known = ["-epoch", "-passthrough", "-uring", "-statx", "-killpriv2", "-expire", "-beneath"]
                guard known.contains(String(feature)) else { throw wrongValue(name, String(feature), known) }
                maskedKernelFeatures.append(String(feature.dropFirst()))
            }
        case "sandbox", "bundle", "home", "layout": try applySandbox(name, value)
        case "audit", "audit_log", "audit_limit", "audit_user_limit": try applyAudit(name, value)
        case _ where MountOptions.later[name] != nil:
            guard MountOptions.later[name] == value else { throw unavailable("\(name)=\(value)", of: name) }
        case _ where MountOptions.flags.contains(name) || name == "default_permissions":
            throw MountOptionError(description: "option '\(name)' takes no value, but '\(value)' was given")
        default: throw unknown(name)
        }
    }

    private func number(_ name: String, _ value: String, _ range: ClosedRange<Int>) throws(MountOptionError) -> Int {
        guard let number = Int(value), range.contains(number) else {
            throw MountOptionError(
                description:
                    "option '\(name)=\(value)': expected a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, _ value: String
    ) throws(MountOptionError) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: value) else {
            throw wrongValue(name, value, Word.allCases.map { $0.rawValue })
        }
        return word
    }

    func wrongValue(_ name: String, _ value: String, _ right: [String]) -> MountOptionError {
        MountOptionError(description: "option '\(name)=\(value)': expected \(right.joined(separator: ", "))")
    }
}
