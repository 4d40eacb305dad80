import Authorization
import SandboxPolicy

/// Everything that `-o` can say (docs/reference/mounting.md "Options"), with what holds if nothing is said.
public struct MountOptions: Sendable {
    public var volume = VolumeState()
    public var metadata = MetadataPlace.auto
    /// Further entries of each list for which other attributes leave room.
    public var listRoom = 32
    public var xattrSpelling = XattrSpelling.linux
    public var posixACL = PosixACLs.translate
    public var portableACL = PortableACL.on
    public var groupSource = GroupSource.process
    /// How long the groups of a thread or user may be kept, milliseconds.
    public var groupsCache: UInt32 = 100
    /// The file that translates identities from elsewhere, an absolute path; nil: nothing does.
    public var identities: String?
    /// The uid that stands for root as a caller; nil: root is root.
    public var rootSquash: UInt32?
    public var special = SpecialFiles.gate
    public var cache = CacheMode.auto
    public var transport = Transport.auto
    public var crossMounts = true
    public var passthrough = Passthrough.auto
    public var zeroFill = ZeroFill.write
    /// Larger gaps are reserved and not written, bytes.
    public var zeroFillMax: UInt64 = 1 << 30
    /// Bytes of zeros that each user's gaps may cost in a minute; nil: any number.
    public var zeroFillBudget: UInt64? = 1 << 30
    /// How often in a minute a daemon that dies is replaced; 0: never.
    public var restarts = 5
    public var sandboxing = Sandboxing.caps
    public var allowOther = false
    public var fsname: String?
    public var requirePrivateSource = false
    public var sandbox = SandboxWords()
    public var audit = AuditWords()
    /// Kernel features to pretend away, for tests.
    public var maskedKernelFeatures: [String] = []

    public var noSuid = true
    public var noDev = true
    public var synchronous = false
    public var dirSync = false
    public var accessTimes = AccessTimeRule()
    public var noSymFollow = false
    /// SELinux `*context=` options, handed to the kernel as they are.
    public var contexts: [String] = []
    public var isRemount = false
    /// `nofail`: a source that does not exist is not a failure for mount(8)'s helper.
    public var toleratesMissingSource = false
    /// What was said explicitly, in its order, less what is ignored: a remount changes only that.
    public internal(set) var given: [String] = []

    public init() {}
}

extension MountOptions {
    /// The attribute that holds the records of the backing objects.
    public enum MetadataPlace: String, Sendable, CaseIterable { case auto, trusted, user }
    /// How listxattr(2) names attributes.
    public enum XattrSpelling: String, Sendable, CaseIterable { case linux, mac, both }
    /// What becomes of `system.posix_acl_*` (docs/reference/posix-acl.md).
    public enum PosixACLs: String, Sendable, CaseIterable { case translate, off }
    /// Whether lists are listed as an attribute that programs copy (docs/guide/copies.md).
    public enum PortableACL: String, Sendable, CaseIterable { case on, off }
    /// Who says what groups a caller is in.
    public enum GroupSource: String, Sendable, CaseIterable { case process, directory }
    /// Whether special files are found only by those who may open them.
    public enum SpecialFiles: String, Sendable, CaseIterable { case gate, open }
    public enum Passthrough: String, Sendable, CaseIterable { case auto, off }
    /// How requests travel (docs/internals/transport.md).
    public enum Transport: String, Sendable, CaseIterable { case auto, uring, dev }
    /// What becomes of gaps that a program leaves (docs/internals/zerofill.md).
    public enum ZeroFill: String, Sendable, CaseIterable { case write, allocate, off }

    /// What a daemon of root may not do.
    public enum Sandboxing: String, Sendable, CaseIterable { case none, caps }

    /// The uid and gid that network file systems give to root: those of no person.
    public static let unprivilegedID: UInt32 = 65534

    /// What `kernel_features` can hide, each with a minus before it.
    static let kernelFeatures = ["epoch", "passthrough", "uring", "statx", "killpriv2", "expire", "beneath", "fanotify", "resend"]
}

/// What `-o` says of a sandbox. The command that mounts reads the profile; the daemon gets it compiled.
public struct SandboxWords: Sendable, Hashable {
    /// An installed name, or with a slash a path.
    public var profile: String?
    public var bundle: String?
    /// As it was said: names from the mount's top, or a path through the mount point.
    public var home: String?
    public var layout: ContainerLayout?

    public init(profile: String? = nil, bundle: String? = nil, home: String? = nil, layout: ContainerLayout? = nil) {
        (self.profile, self.bundle, self.home, self.layout) = (profile, bundle, home, layout)
    }
}

extension ValueForm<String> {
    static var profile: ValueForm {
        .text("an installed profile's name (aclfs sandbox list), or a path with a slash") { !$0.isEmpty }
    }

    static var bundleIdentifier: ValueForm {
        .text("a bundle identifier such as org.example.App") { ContainerLayout.isIdentifier($0) }
    }

    static var home: ValueForm {
        .text("a directory's path from the mount's top, without . and ..") { text in
            let names = text.split(separator: "/")
            return !text.isEmpty && !names.contains(".") && !names.contains("..") && !text.utf8.contains(0)
        }
    }
}

/// What `-o` says about the log of decisions (docs/reference/audit.md).
public struct AuditWords: Sendable, Hashable {
    public enum Mode: String, Sendable, CaseIterable { case off, denied, all }

    public var mode = Mode.off
    /// An absolute path.
    public var log: String?
    /// Lines in a second.
    public var limit: UInt32 = 1000
    /// Lines about one user in a second.
    public var userLimit: UInt32 = 10
}

extension ValueForm<UInt32> {
    static var linesInASecond: ValueForm { .number(1...1_000_000, called: "a number of lines in a second") }
}

extension MountOptions {
    /// How long the kernel may answer by itself (docs/internals/coherence.md).
    public enum CacheMode: Sendable, Hashable {
        case auto
        case strict
        case exclusive
        case seconds(UInt32)
    }
}

extension ValueForm<MountOptions.CacheMode> {
    static var cacheMode: ValueForm {
        let named: KeyValuePairs<String, MountOptions.CacheMode> = ["auto": .auto, "strict": .strict, "exclusive": .exclusive]
        let names = Array(named)
        return ValueForm(
            words: names.map(\.key), other: "a number of seconds up to 3600",
            read: { text in
                if let name = names.first(where: { $0.key == text }) { return name.value }
                guard let seconds = UInt32(text), seconds <= 3600 else { return nil }
                return .seconds(seconds)
            },
            write: { mode in
                if case .seconds(let seconds) = mode { return String(seconds) }
                return names.first { $0.value == mode }?.key
            })
    }
}
