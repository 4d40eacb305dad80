import LinuxSystem

/// How many descriptors the open handles of all mounts of this daemon may take: never those by which objects are
/// found and callers are known, and for one user never all of them. So whoever opens all that he may stops himself,
/// and nobody else (docs/security.md "Denial of service").
final class HandleQuota: Sendable {
    /// One descriptor of a handle; given back when the handle is.
    final class Charge: Sendable {
        private let quota: HandleQuota
        /// Who opened the handle.
        let uid: UInt32

        fileprivate init(_ quota: HandleQuota, _ uid: UInt32) { (self.quota, self.uid) = (quota, uid) }
        deinit { quota.release(uid) }

        /// One more for the same handle.
        func chargeAnother() throws(Errno) -> Charge { try quota.charge(uid) }
    }

    private struct Charged {
        var total = 0
        var byUser: [UInt32: Int] = [:]
    }

    let total: Int
    let forOneUser: Int
    private let charged = Lock(Charged())

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
    func charge(_ uid: UInt32) throws(Errno) -> Charge {
        let isGranted = charged.withLock { charged in
            let own = charged.byUser[uid, default: 0]
            guard uid == 0 || (charged.total < total && own < forOneUser) else { return false }
            charged.total += 1
            charged.byUser[uid] = own + 1
            return true
        }
        if !isGranted { throw .nfile }
        return Charge(self, uid)
    }

    private func release(_ uid: UInt32) {
        charged.withLock { charged in
            charged.total -= 1
            let left = charged.byUser[uid, default: 1] - 1
            charged.byUser[uid] = left > 0 ? left : nil
        }
    }
}
