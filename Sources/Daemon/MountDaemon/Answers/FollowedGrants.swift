import ACLFileSystem
import BackingStore
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// Keeps the files of grants up to date with the objects that grants follow. The views look for themselves where an object is; what is
/// stored lets a later daemon find it.
extension MountHost {
    /// Revokes grants whose object was removed, stores where the others are, and has their moves reported. Call with the grants locked.
    func updateFollowedGrants() {
        var files = store.files { _ in }
        // Most directories have none, and then nothing is written.
        guard files.contains(where: \.follows) else { return follow(files) }
        let scopes = trees.compactMap { try? GrantScope($0.tree, followed) }
        var removed: [(scope: GrantScope, grant: Grant)] = []
        do throws(GrantProblem) {
            files = try store.change { (files, _) throws(GrantProblem) in
                for index in files.indices where files[index].follows {
                    for scope in scopes { scope.update(&files[index]) { removed.append((scope, $0)) } }
                }
                return files
            }
        } catch { Journal.note(.warning, "cannot store where the objects of grants are: \(error.message)") }
        for (scope, grant) in removed {
            Journal.record(.info, "revoked \(grant.bundle)'s grant at \(scope.logged(grant.path)): its object was removed")
        }
        follow(files)
    }

    private func follow(_ files: [GrantFile]) {
        var names: [ObjectKey: LastName?] = [:]
        for (tree, _) in trees {
            guard let scope = try? GrantScope(tree, followed) else { continue }
            for grant in files.flatMap({ scope.following($0) }) {
                guard let object = grant.object, let key = tree.key(of: object) else { continue }
                names.updateValue(object.lastName(grant.path), forKey: key)
            }
        }
        if !names.isEmpty { startUpdating() }
        followed.follow(names) { [updates] in updates.add(()) }
    }

    /// Starts the thread that updates the files after moves, once.
    private func startUpdating() {
        guard
            isUpdating.withLock({ isUpdating in
                defer { isUpdating = true }
                return !isUpdating
            })
        else { return }
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs-followed") { [self] in
                while updates.next() != nil { withGrantsLocked { updateFollowedGrants() } }
            }
        } catch {
            isUpdating.withLock { $0 = false }
            Journal.note(.warning, "cannot start the thread that stores where the objects of grants are: \(error)")
        }
    }
}

extension GrantFile {
    /// Whether any of its grants follows its object.
    var follows: Bool { grants.contains { $0.grant.object != nil } }
}
