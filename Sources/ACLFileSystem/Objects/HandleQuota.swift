import LinuxSystem

/// How many descriptors the open handles of all mounts of this daemon may take: never those by which objects are
/// found and callers are known, and for one user never all of them. So whoever opens all that he may stops himself,
/// and nobody else (docs/security.md "Denial of service").
final class HandleQuota: Sendable {
    /// One descriptor of a handle; given back when the handle is.
    final class Portion: Sendable {
        private let allowance: HandleQuota
        /// Who opened the handle.
        let uid: UInt32

        fileprivate init(_ allowance: HandleQuota, _ uid: UInt32) { (self.allowance, self.uid) = (allowance, uid) }
        deinit { allowance.giveBack(uid) }

        /// One more for the same handle.
        func another() throws(Errno) -> Portion { try allowance.take(uid) }
    }

    private struct Taken {
        var total = 0
        var byUser: [UInt32: Int] = [:]
    }

    let total: Int
    let forOneUser: Int
    private let taken = Lock(Taken())

    /// - Parameters:
    ///   - limit: descriptors that the process may hold.
    ///   - budget: of these, what the tree's cache may hold.
    init(limit: Int, budget: Int) {
        // For requests under way, the account databases, control clients and mounts that come later.
        let reserve = max(24, min(limit / 8, 1024))
        total = max(limit - budget - reserve, 4)
        forOneUser = total - total / 4
    }

    /// By the limit that is in force.
    convenience init() {
        let limit = (try? Syscall.descriptorLimit().soft) ?? 1024
        self.init(limit: Int(clamping: limit), budget: Int(clamping: min(limit / 2, 8192)))
    }

    /// Errors: nfile, as when a system has no more open files to give. Root is bound by the process' limit alone.
    func take(_ uid: UInt32) throws(Errno) -> Portion {
        let isGranted = taken.withLock { taken in
            let his = taken.byUser[uid, default: 0]
            guard uid == 0 || (taken.total < total && his < forOneUser) else { return false }
            taken.total += 1
            taken.byUser[uid] = his + 1
            return true
        }
        if !isGranted { throw .nfile }
        return Portion(self, uid)
    }

    /// How many are taken.
    var count: Int { taken.withLock { $0.total } }

    private func giveBack(_ uid: UInt32) {
        taken.withLock { taken in
            taken.total -= 1
            let left = taken.byUser[uid, default: 1] - 1
            taken.byUser[uid] = left > 0 ? left : nil
        }
    }
}
