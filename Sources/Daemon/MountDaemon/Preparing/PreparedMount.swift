import Authorization
import BackingStore
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import SandboxPolicy
import ToolSupport

/// A mount that has passed every check that is possible before mount(2).
///
/// Its extensions have what it warns of, each file one subject.
struct PreparedMount {
    let source: String
    let mountpoint: String
    let tree: BackingTree
    /// The profile that confines the mount.
    let profile: SandboxProfile?
    /// What translates identities from elsewhere; nil: nothing does. It could be read.
    let identities: IdentityFile?
    /// A dead mount on the mount point. The new mount replaces it.
    let dead: DeadMount?
    /// Warnings for the log.
    let remarks: [String]

    /// Checks a request. Nothing is changed, except that a dead mount is unmounted if the new one cannot go beneath it.
    /// - Parameters:
    ///   - request: what is asked for.
    ///   - reader: of the profile that `sandbox=` names; nil without it.
    /// - Throws: the mount is refused.
    init(_ request: MountRequest, _ reader: ProfileReader?) throws(MountFailure) {
        try Privileges.check(request.options)
        mountpoint = try MountPath.resolved(request.mountpoint, role: "mount point")
        var remarks: [String] = []
        var dead =
            request.fake
            ? nil
            : DeadMount.at(
                mountpoint, isMasked: request.options.maskedKernelFeatures.contains("beneath"))
        // Mounted over itself, a dead mount hides the source too.
        let hidden = try dead?.openSource(request.source) { remarks.append($0) }
        for remark in remarks { printError("aclfs: \(remark)") }
        if dead != nil, hidden == nil {
            try Unmounting.healDead(mountpoint)
            dead = nil
        }
        (self.dead, self.remarks) = (dead, remarks)
        if let hidden { source = hidden.path } else { source = try MountPath.resolved(request.source, role: "source") }
        let directory = try Self.checkedSource(source, hidden?.directory, mountpoint, replacesMount: dead != nil)
        try Privileges.checkDevice()
        try TransportChoice.check(request.options)
        profile = try MountProfile.read(request, mountpoint: mountpoint, by: reader)
        for warning in profile.map({ MountProfile.warnings(of: $0) }) ?? [] { printError("aclfs: warning: \(warning)") }
        identities = try Self.identities(request.options, source, mountpoint)
        let name = try Self.metadataName(request.options, directory.rawValue, source)
        try Self.checkReach(
            SourceReach(source: source, mountpoint: mountpoint), source,
            refuse: request.options.requirePrivateSource)
        do {
            tree = try BackingTree(
                directory: directory, metadataName: name, descriptorBudget: Self.descriptorBudget(),
                followsMounts: request.options.crossMounts, report: { Journal.note(.warning, $0) })
        } catch { throw MountFailure(status: MountExit.systemError, message: "\(source): \(error)") }
        try Self.refuseExclusive(request.options, tree, source)
        if let profile, let said = request.options.sandbox.home,
            let problem = ProfileHome.problem("home=\(said)", profile.home, in: tree, mountpoint: mountpoint)
        {
            throw MountFailure(status: MountExit.failed, message: problem)
        }
    }

    /// Opens the source, after the checks of both places.
    /// - Parameters:
    ///   - opened: the source if a mount hides it.
    ///   - replacesMount: whether a dead mount on the mount point will be replaced.
    private static func checkedSource(
        _ source: String, _ opened: SharedDescriptor?, _ mountpoint: String, replacesMount: Bool
    ) throws(MountFailure) -> OwnedDescriptor {
        do throws(PlaceObstacle) {
            if !replacesMount { try MountPlace.refuseDead(mountpoint) }
            _ = try MountPlace.open(mountpoint, .mountpoint)
            let directory = try Self.directory(source, opened)
            try MountPlace.refuseNesting(directory.rawValue, source)
            if !replacesMount { try MountPlace.refuseUsed(mountpoint) }
            return directory
        } catch { throw error.failure }
    }

    private static func directory(_ source: String, _ opened: SharedDescriptor?) throws(PlaceObstacle) -> OwnedDescriptor {
        guard let opened else { return try MountPlace.open(source, .source) }
        do throws(Errno) { return try Syscall.dup(opened.rawValue) } catch {
            throw PlaceObstacle(.source, source, ": \(error)", status: MountExit.systemError)
        }
    }

    private static func identities(
        _ options: MountOptions, _ source: String, _ mountpoint: String
    ) throws(MountFailure) -> IdentityFile? {
        guard let path = options.identities else { return nil }
        do throws(IdentityFile.Problem) {
            let file = try IdentityFile(path, source: source, mountpoint: mountpoint)
            _ = try file.read()
            return file
        } catch { throw IdentityFile.failure(error, of: path) }
    }

    private static func metadataName(
        _ options: MountOptions, _ directory: Int32, _ source: String
    ) throws(MountFailure) -> String {
        let isRoot = geteuid() == 0
        func refuse(_ message: String) -> MountFailure { MountFailure(status: MountExit.failed, message: message) }
        if options.metadata != .user, isRoot, BackingTree.supportsMetadata("trusted.aclfs", on: directory) {
            return "trusted.aclfs"
        }
        if options.metadata == .trusted {
            throw refuse(
                "\(source): its file system has no trusted.* attributes, or none that root of a user namespace may use; use metadata=user"
            )
        }
        guard BackingTree.supportsMetadata("user.aclfs", on: directory) else {
            // Entries that could not be read would be none, and a mode that could not be stored would decide in their place.
            guard options.volume.ignoresACLs, options.volume.ignoresOwnership, options.metadata == .auto else {
                throw refuse(
                    "\(source): its file system has no extended attributes, in which aclfs stores ACLs and flags; with noacl,noowners it "
                        + "is served without these (docs/reference/mounting.md)")
            }
            printError(
                "aclfs: \(source): its file system has no extended attributes: no entries and no flags are stored"
                    + (FormatBits.areKept(by: directory) ? " except uchg and hidden, as its read-only and hidden bits" : "")
                    + ", and every user may do what the file system can")
            return "user.aclfs"
        }
        printError(
            "aclfs: \(source): metadata is kept in user.aclfs\(isRoot && options.metadata == .auto ? ", because this root may not write trusted.aclfs there" : ""), which only files and directories can hold: links and "
                + "special files have no entries and no flags there")
        return "user.aclfs"
    }

    /// Warns or refuses if other users can reach the source directly, where aclfs does not judge them.
    private static func checkReach(_ reach: SourceReach, _ source: String, refuse: Bool) throws(MountFailure) {
        guard reach.isOpenToOthers else { return }
        let message =
            "source \(source) can be reached directly by \(reach.description), without a decision of aclfs; "
            + "keep it in a directory of mode 0700 (install -d -m 0700) or mount over it"
        if refuse { throw MountFailure(status: MountExit.failed, message: message) }
        printError("aclfs: warning: \(message)")
    }

    private static func descriptorBudget() -> Int {
        do {
            let limit = try Syscall.descriptorLimit()
            try? Syscall.setDescriptorLimit(soft: limit.hard, hard: limit.hard)
            return BackingTree.descriptorBudget(of: limit.hard)
        } catch { return 256 }
    }
}
