import BackingStore
import LinuxSystem

/// Bounds the descriptors of open handles, for all mounts of this daemon and for each user (docs/reference/security.md "Denial of service").
/// Descriptors that find objects and identify callers are never part of it. So a user who opens files without end delays no other
/// user.
final class HandleQuota: Sendable {
    /// One descriptor of a handle, charged to a user until the charge is released.
    final class Charge: Sendable {
        private let quota: HandleQuota
        /// The uid that opened the handle.
        let uid: UInt32
        /// The user who acts under it.
        let payer: UInt32

        fileprivate init(_ quota: HandleQuota, _ uid: UInt32, _ payer: UInt32) { (self.quota, self.uid, self.payer) = (quota, uid, payer) }
        deinit { quota.release(payer) }

        /// Charges another descriptor of the same handle.
        /// - Throws: `nfile` as `charge`.
        func chargeAnother() throws(Errno) -> Charge { try quota.charge(uid, to: payer) }
    }

    private struct Charged {
        var total = 0
        var byUser: [UInt32: Int] = [:]
    }

    let total: Int
    let forOneUser: Int
    /// Descriptors only for users who have few, so that all others together leave something to a user who has none.
    let reserve: Int
    let few: Int
    private let charged = Lock(Charged())

    /// - Parameters:
    ///   - limit: the descriptors that the process may hold.
    ///   - budget: how many of these the tree's cache may hold.
    init(limit: Int, budget: Int) {
        // For what the daemon itself holds, requests in flight, account databases, control clients and further mounts.
        let reserve = max(32, min(limit / 8, 1024))
        total = max(limit - budget - reserve, 4)
        forOneUser = total - total / 4
        self.reserve = total / 8
        few = max(2, min(16, total / 32))
    }

    /// Uses the limit that is in force.
    convenience init() {
        let limit = (try? Syscall.descriptorLimit().soft) ?? 1024
        self.init(limit: Int(clamping: limit), budget: BackingTree.descriptorBudget(of: limit))
    }

    /// Charges one descriptor to a user. The quota does not bind root.
    /// - Parameters:
    ///   - uid: that opens the handle.
    ///   - payer: the user who acts under this uid.
    /// - Throws: `nfile` if the user or all users have used their quota.
    func charge(_ uid: UInt32, to payer: UInt32) throws(Errno) -> Charge {
        let isGranted = charged.withLock { charged in
            let own = charged.byUser[payer, default: 0]
            let room = own < few ? total : total - reserve
            guard payer == 0 || (charged.total < room && own < forOneUser) else { return false }
            charged.total += 1
            charged.byUser[payer] = own + 1
            return true
        }
        if !isGranted { throw .nfile }
        return Charge(self, uid, payer)
    }

    /// Charges a descriptor that is open already, whatever the quota.
    func chargeOpen(_ uid: UInt32, to payer: UInt32) -> Charge {
        charged.withLock { charged in
            charged.total += 1
            charged.byUser[payer, default: 0] += 1
        }
        return Charge(self, uid, payer)
    }

    /// The number of descriptors that are charged.
    var count: Int { charged.withLock { $0.total } }

    private func release(_ payer: UInt32) {
        charged.withLock { charged in
            charged.total -= 1
            let left = charged.byUser[payer, default: 1] - 1
            charged.byUser[payer] = left > 0 ? left : nil
        }
    }
}
