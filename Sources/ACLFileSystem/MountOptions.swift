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
    public var crossMounts = true
    public var allowOther = false
    public var fsname: String?
    public var requirePrivateSource = false
    /// Kernel features to pretend away, for tests.
    public var maskedKernelFeatures: [String] = []

    public var noSuid = true
    public var noDev = true
    public var noExec = false
    public var synchronous = false
    public var dirSync = false
    public var noAtime = false
    public var noDirAtime = false
    public var noSymFollow = false
    /// SELinux `*context=` options, handed to the kernel as they are.
    public var contexts: [String] = []
    public var isRemount = false

    public init() {}

    /// Parses one comma-separated list; later words win over earlier ones.
    /// - Throws: `MountOptionError` naming the word and its nearest right spelling.
    public mutating func apply(_ text: String) throws(MountOptionError) {
        for word in try MountOptions.split(text) where !word.isEmpty { try applyWord(word) }
    }

    /// Splits at commas outside double quotes; a backslash takes the next character literally.
    static func split(_ text: String) throws(MountOptionError) -> [String] {
        var words: [String] = []
        var word = ""
        var quoted = false
        var escaped = false
        for character in text {
            if escaped {
                word.append(character)
                escaped = false
            } else if character == "\\" {
                escaped = true
            } else if character == "\"" {
                quoted.toggle()
            } else if character == ",", !quoted {
                words.append(word)
                word = ""
            } else {
                word.append(character)
            }
        }
        if quoted { throw MountOptionError(description: "unbalanced quote in options '\(text)'") }
        if escaped { throw MountOptionError(description: "options '\(text)' end in a lone backslash") }
        words.append(word)
        return words
    }

    private mutating func applyWord(_ word: String) throws(MountOptionError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let value = parts.count == 2 ? String(parts[1]) : nil
        if MountOptions.ignored.contains(name) || name.hasPrefix("x-") || name.hasPrefix("X-") { return }
        if name.hasSuffix("context"), value != nil {
            contexts.append(word)
            return
        }
        if let value { try applyValue(name, value) } else { try applyFlag(name) }
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
        case "suiddir": volume.ownerFromSetUserDirectory = true
        case "nosuiddir": volume.ownerFromSetUserDirectory = false
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
        case "atime": noAtime = false
        case "noatime": noAtime = true
        case "diratime": noDirAtime = false
        case "nodiratime": noDirAtime = true
        case "nosymfollow": noSymFollow = true
        case "remount": isRemount = true
        case "default_permissions":
            throw MountOptionError(
                description: "default_permissions is refused: the kernel would AND the mode bits into every "
                    + "decision, so that no entry could grant anything; leave it out")
        case _ where MountOptions.withValue.contains(name):
            throw MountOptionError(description: "option '\(name)' needs a value: \(name)=…")
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
        case "fsname": fsname = value
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
                let known = ["-epoch", "-passthrough", "-uring", "-statx", "-killpriv2", "-expire"]
                guard known.contains(String(feature)) else { throw wrongValue(name, String(feature), known) }
                maskedKernelFeatures.append(String(feature.dropFirst()))
            }
        case _ where MountOptions.flags.contains(name):
            throw MountOptionError(description: "option '\(name)' takes no value, but '\(value)' was given")
        default: throw unknown(name)
        }
    }

    private func number(_ name: String, _ value: String, _ range: ClosedRange<Int>) throws(MountOptionError) -> Int {
        guard let number = Int(value), range.contains(number) else {
            throw MountOptionError(
                description: "option '\(name)=\(value)': expected a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, _ value: String
    ) throws(MountOptionError) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: value) else {
            throw wrongValue(name, value, Word.allCases.map { $0.rawValue })
        }
        return word
    }

    private func wrongValue(_ name: String, _ value: String, _ right: [String]) -> MountOptionError {
        MountOptionError(description: "option '\(name)=\(value)': expected \(right.joined(separator: ", "))")
    }

    private func unknown(_ name: String) -> MountOptionError {
        let candidates = MountOptions.flags + MountOptions.withValue
        let nearest = candidates.min { distance($0, name) < distance($1, name) }
        let hint = nearest.map { distance($0, name) <= 3 ? "; did you mean '\($0)'?" : "" } ?? ""
        return MountOptionError(description: "unknown option '\(name)'\(hint)")
    }

    static let flags = [
        "ro", "rw", "owners", "noowners", "acl", "noacl", "grpid", "nogrpid", "bsdgroups", "sysvgroups", "suiddir",
        "nosuiddir", "unknown99", "crossmounts", "nocrossmounts", "allow_other", "suid", "nosuid", "dev", "nodev",
        "exec", "noexec", "sync", "async", "dirsync", "atime", "noatime", "diratime", "nodiratime", "nosymfollow",
        "remount",
    ]
    static let withValue = [
        "securelevel", "groups", "groups_cache", "metadata", "xattr_names", "special", "fsname", "source_mode",
        "cache", "kernel_features",
    ]
    /// Words of mount(8), systemd and libfuse that say nothing to us.
    static let ignored: Set<String> = [
        "defaults", "nofail", "user", "users", "nouser", "group", "owner", "auto", "noauto", "_netdev", "comment",
        "loud", "silent", "relatime", "norelatime", "strictatime", "lazytime", "nolazytime", "iversion",
        "noiversion", "mand", "nomand", "user_id", "group_id", "rootmode", "blksize", "nonempty", "use_ino",
    ]
}

/// The number of single-character edits between two words.
func distance(_ a: String, _ b: String) -> Int {
    let (a, b) = (Array(a.utf8), Array(b.utf8))
    var row = Array(0...b.count)
    for i in 0..<a.count {
        var diagonal = row[0]
        row[0] = i + 1
        for j in 0..<b.count {
            let cost = diagonal + (a[i] == b[j] ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(cost, row[j] + 1, row[j + 1] + 1)
        }
    }
    return row[b.count]
}
