import ACLFileSystem
import BackingStore
import ControlProtocol
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import SandboxPolicy
import Synchronization
import ToolSupport

/// Answers a command that wants to hand its mount over (docs/internals/coherence.md R14).
extension MountHost {
    /// - Parameter descriptors: of the message, from the daemon's own user.
    func answer(_ request: ReceivedRequest, _ descriptors: [SharedDescriptor]) -> ControlServer.MountFacts.DaemonAnswer {
        switch request.command {
        case .serves: return .done(ServesAnswer(serves: isRelated(ServesMessage(reading: request).ancestors)))
        case .serve:
            do throws(MountFailure) {
                try takeOver(request, descriptors)
                return .done(DoneAnswer())
            } catch {
                let isLeaving = isEnding || upgrading.load(ordering: .sequentiallyConsistent)
                return .failed(isLeaving ? .again : .inval, error.message)
            }
        case .upgrade: return .failed(.busy, upgrade())
        default: return .notMine
        }
    }

    /// Whether a served directory is one of these, lies in the first, or contains it.
    private func isRelated(_ ancestors: [String]) -> Bool {
        guard let asked = ancestors.first else { return false }
        return trees.contains { entry in
            let root = "\(entry.tree.root.key.device):\(entry.tree.root.key.inode)"
            if ancestors.contains(root) { return true }
            guard let descriptor = try? entry.tree.descriptor(of: entry.tree.root) else { return false }
            return ServedDirectory.ancestors(descriptor.rawValue).contains(asked)
        }
    }

    private func takeOver(_ request: ReceivedRequest, _ descriptors: [SharedDescriptor]) throws(MountFailure) {
        guard let message = try? ServeMessage(reading: request), descriptors.count >= 2 else {
            throw MountFailure(status: MountExit.systemError, message: ServeMessage.incomplete)
        }
        try takeOver(message, descriptors)
    }

    /// Serves a mount that exists, and returns when it answers.
    /// - Parameters:
    ///   - descriptors: of /dev/fuse, of the backing directory, and of the directory of the file of `identities=` if there is one.
    ///   - healing: set if a dead mount stands on it.
    ///   - tables: set if another process has served its connection.
    ///   - death: set if that process died.
    /// - Throws: it is not served.
    func takeOver(
        _ message: ServeMessage, _ descriptors: [SharedDescriptor], _ healing: DeadMount.Healing? = nil,
        resuming tables: SavedTables? = nil,
        after death: LeftByDeath? = nil
    ) throws(MountFailure) {
        func wrong(_ what: String) -> MountFailure { MountFailure(status: MountExit.systemError, message: what) }
        var options = MountOptions()
        for text in message.options {
            do { try options.apply(text) } catch { throw wrong(error.description) }
        }
        options.allowOther = options.allowOther || geteuid() == 0
        // The third is the directory of the file, which this process might not find by its path.
        guard descriptors.count == (options.identities == nil ? 2 : 3) else { throw wrong(ServeMessage.incomplete) }
        let profile = try Self.profile(message.profile, options)
        let tree: BackingTree
        let descriptor: Int32
        do throws(Errno) {
            tree = try self.tree(of: descriptors[1], message.metadata, followsMounts: options.crossMounts)
            descriptor = try Syscall.dup(descriptors[0].rawValue).release()
        } catch { throw wrong("\(message.source): \(error)") }
        let identities = options.identities.map { IdentityFile($0, in: descriptors[2]) }
        let mount = AttachedMount(
            source: message.source, name: message.name, mountpoint: message.mountpoint, device: message.device, options: options,
            profile: profile, identities: identities, optionTexts: message.options, descriptor: descriptor, healing: healing
        )
        let isServing = WorkQueue<Bool>(capacity: 2)
        do throws(MountFailure) {
            try serve(mount, tree: tree, resuming: tables, after: death) { isServing.add($0) }
        } catch {
            if healing != nil { mount.detach() }
            throw error
        }
        guard isServing.next() == true else { throw wrong("the new mount ended before the kernel sent its first request (FUSE_INIT)") }
        mount.finishHealing()
    }

    /// - Returns: the profile of the message; nil for a mount without one.
    /// - Throws: the options name a profile that the message lacks. Such a mount is never served without it.
    private static func profile(_ told: ProfileForm?, _ options: MountOptions) throws(MountFailure) -> SandboxProfile? {
        func wrong(_ what: String) -> MountFailure { MountFailure(status: MountExit.systemError, message: what) }
        guard let told else {
            guard options.sandbox.profile == nil else { throw wrong(ServeMessage.withoutProfile) }
            return nil
        }
        let profile: SandboxProfile
        do { profile = try told.profile() } catch { throw wrong("profile: \(error)") }
        guard profile.name == options.sandbox.profile, profile.bundle == options.sandbox.bundle else {
            throw wrong("the profile is not the one that the options name")
        }
        return profile
    }

    /// All mounts of a directory share one tree.
    private func tree(
        of directory: SharedDescriptor, _ metadata: String, followsMounts: Bool
    ) throws(Errno) -> BackingTree {
        let status = try Syscall.statx(directory.rawValue)
        let same = trees.first { entry in
            entry.tree.root.key.device == status.device && entry.tree.root.key.inode == status.inode
                && entry.tree.metadataName == metadata && entry.followsMounts == followsMounts
        }
        if let same { return same.tree }
        return try BackingTree(
            directory: try Syscall.dup(directory.rawValue), metadataName: metadata, descriptorBudget: 1024,
            followsMounts: followsMounts, report: { Journal.note(.warning, $0) })
    }
}
