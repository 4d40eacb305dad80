import ACLFileSystem
import ACLFormats
import BackingStore
import ControlProtocol
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// Answers requests about grants, for all mounts of the daemon. A change is in force when the client gets the answer.
extension MountHost {
    func answer(_ order: GrantOrder, on tree: BackingTree, by user: UInt32) -> ControlServer.MountFacts.DaemonAnswer {
        do throws(GrantProblem) {
            let scope: GrantScope
            do throws(Errno) { scope = try GrantScope(tree, followed) } catch {
                throw GrantProblem(errno: error, message: "the path of the directory that this mount serves cannot be read: \(error.text)")
            }
            switch order {
            case .add(let grant): return .done(try add(grant, scope, by: user))
            case .remove(let bundle, let path, let below):
                return .done(try remove(bundle, path, below: below, scope, by: user))
            case .list(let bundle, let from): return .done(list(bundle, from: from, scope))
            }
        } catch { return .failed(error.errno, error.message) }
    }

    // MARK: Orders

    private func add(_ grant: Grant, _ scope: GrantScope, by user: UInt32) throws(GrantProblem) -> GrantAddAnswer {
        let now = SystemTime.now().sec
        let changed = try withGrantsLocked { () throws(GrantProblem) in
            let files = try store.change { (files, damaged) throws(GrantProblem) -> [GrantFile] in
                if let damage = damaged.first(where: { $0.contains("/\(scope.root.fileName) ") }) {
                    throw GrantProblem(errno: .io, message: "\(damage); move the file away and grant again")
                }
                // A path has one grant. The new one replaces an earlier one, given through any mount.
                for place in files.indices {
                    let same = scope.seen(files[place]).filter { seen in
                        seen.kept.grant.bundle == grant.bundle && seen.kept.grant.path == grant.path && !seen.isWider
                    }
                    files[place].removeGrants(at: same.map(\.index))
                }
                let place = files.firstIndex { $0.root.isSame(as: scope.root) } ?? files.endIndex
                if place == files.endIndex { files.append(GrantFile(root: scope.root)) }
                files[place].root.path = scope.root.path
                files[place].grants.removeAll { !$0.grant.isValid(at: now) }
                if grant.object != nil, files[place].grants.count(where: { $0.grant.object != nil }) >= GrantFile.mostFollowed {
                    throw GrantProblem(
                        errno: .nospc,
                        message: "\(GrantFile.mostFollowed) grants that follow their objects, the most possible, are stored for this "
                            + "directory; remove some")
                }
                guard files[place].grants.count < GrantFile.most else {
                    throw GrantProblem(
                        errno: .nospc, message: "\(GrantFile.most) grants, the most possible, are stored for this directory; remove some")
                }
                files[place].grants.append(KeptGrant(grant, given: now, by: user))
                return files
            }
            if files.contains(where: \.follows) { updateFollowedGrants() }
            return apply(files, of: grant.bundle)
        }
        let late = invalidate(on: changed).map { [$0.message] } ?? []
        Journal.record(
            .info,
            "user \(user) granted \(grant.bundle) \(grant.access.word) at \(scope.logged(grant.path))\(grant.object == nil ? "" : ", following it")"
                + (grant.expires.map { " until \(GrantTime.text($0))" } ?? ""))
        return GrantAddAnswer(notes: notes(on: grant) + late, follows: grant.object != nil)
    }

    private func remove(
        _ bundle: String, _ path: [[UInt8]], below: Bool, _ scope: GrantScope, by user: UInt32
    ) throws(GrantProblem) -> GrantRemoveAnswer {
        var count = 0
        var unkept: GrantProblem?
        let changed = try withGrantsLocked { () throws(GrantProblem) in
            var left: [GrantFile] = []
            do throws(GrantProblem) {
                try store.change { (files, damaged) throws(GrantProblem) in
                    var wider: [UInt8]?
                    for place in files.indices {
                        let meant = scope.seen(files[place]).filter { seen in
                            let grant = seen.kept.grant
                            return grant.bundle == bundle && (grant.path == path || below && grant.path.starts(with: path))
                        }
                        if meant.contains(where: \.isWider) { wider = files[place].root.path }
                        let removed = meant.filter { !$0.isWider }.map(\.index)
                        files[place].removeGrants(at: removed)
                        count += removed.count
                    }
                    if count == 0 {
                        if let wider {
                            throw GrantProblem(
                                errno: .inval,
                                message: "the grant includes directories outside of this mount; remove it through a mount of "
                                    + escapedName(wider))
                        }
                        throw GrantProblem(errno: .noent, message: damaged.first ?? "nothing is granted to \(bundle) there")
                    }
                    left = files
                }
            } catch {
                guard count > 0 else { throw error }
                unkept = GrantProblem(
                    errno: error.errno,
                    message:
                        "\(error.message); the grant has ended on the present mounts, but is still stored and is in force again after "
                        + "the next mount or change of grants"
                )
            }
            // The grant ends on the mounts even if the file could not be changed.
            return apply(left, of: bundle)
        }
        // Without the lock of the store, since a mount may be slow.
        let late = invalidate(on: changed)
        if var unkept {
            if let late { unkept.message += "; " + late.message }
            throw unkept
        }
        Journal.record(.info, "user \(user) revoked \(count) of \(bundle)'s grants at \(scope.logged(path))")
        if let late { throw late }
        return GrantRemoveAnswer(removed: count)
    }

    private func list(_ bundle: String?, from: Int, _ scope: GrantScope) -> GrantListAnswer {
        let now = SystemTime.now().sec
        var problems: [String] = []
        withGrantsLocked { updateFollowedGrants() }
        let seen = store.files { problems.append($0) }.flatMap { scope.seen($0) }
            .filter { bundle == nil || $0.kept.grant.bundle == bundle }
            .sorted { ($0.kept.grant.bundle, $0.kept.grant.text) < ($1.kept.grant.bundle, $1.kept.grant.text) }
        var rows: [ListedGrant] = []
        var size = 0
        for item in seen.dropFirst(max(0, from)) {
            let row = ListedGrant(
                item.kept, counts: item.isFound && item.kept.grant.isValid(at: now), isWider: item.isWider, isFound: item.isFound)
            size += JSONText.write(row.json).count
            // The answer has to fit into one message.
            if size > 16 << 10, !rows.isEmpty { break }
            rows.append(row)
        }
        return GrantListAnswer(tree: scope.root.fileName, total: seen.count, grants: rows, problems: problems)
    }

    /// - Returns: for each mount of the application, why the grant has no or less effect there.
    private func notes(on grant: Grant) -> [String] {
        confined.filter { $0.profile.bundle == grant.bundle }.compactMap { served in
            let which =
                served.mountpoint == AttachedMount.nowhere ? "a command under aclfs sandbox run" : "the mount on \(served.mountpoint)"
            if let reason = served.fileSystem.closedBecause { return "\(which): \(reason)" }
            let mount = "\(which) has profile \(served.profile.name), which allows"
            guard let most = served.profile.entitlements.userSelected else {
                return "\(mount) no grants: it has no key com.apple.security.files.user-selected.…"
            }
            return most < grant.access ? "\(mount) grants for reading only" : nil
        }
    }
}

extension GrantFile {
    fileprivate mutating func removeGrants(at indices: [Int]) {
        let gone = Set(indices)
        grants = grants.enumerated().filter { !gone.contains($0.offset) }.map(\.element)
    }
}

extension Grant {
    /// The key to sort by.
    fileprivate var text: String { String(decoding: Array(path.joined(separator: [0x2F])), as: UTF8.self) }
}
