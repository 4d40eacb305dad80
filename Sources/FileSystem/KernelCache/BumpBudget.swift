import BackingStore
import Identity

/// What one user's changes may cost all others: a bump makes the kernel look up every entry of the mount anew.
///
/// A revocation always takes effect at once. But entries are not exposed below directories of a user whose revocations needed too many
/// bumps, so that the next ones need none.
struct BumpBudget: Sendable {
    /// Who pays: the person behind the owner, or for objects of root that others may change, the object alone.
    enum Account: Hashable, Sendable {
        case user(UInt32)
        case object(ObjectKey)

        init(_ object: BackingObject, owner: UInt32, persons: PersonBehind = .system) {
            self = owner == 0 ? .object(object.key) : .user(persons.payer(of: owner, tid: 0))
        }
    }

    /// Bumps at once.
    static let burst: UInt64 = 16
    /// Nanoseconds that pay for one: the mean over a long time.
    static let interval: UInt64 = 4_000_000_000
    private static let capacity = 4096

    /// Until when each account has paid, in monotonic nanoseconds.
    private var paid: [Account: UInt64] = [:]
    /// Until when any account may be over its budget.
    private var anyOverUntil: UInt64 = 0

    /// Notes a bump.
    mutating func charge(_ account: Account, _ now: UInt64) {
        if paid.count >= Self.capacity, paid[account] == nil {
            paid = paid.filter { $0.value > now }
            // So many have just revoked rights that all share what is left.
            if paid.count >= Self.capacity { paid.removeAll() }
        }
        let until = max(paid[account] ?? 0, now) + Self.interval
        paid[account] = until
        anyOverUntil = max(anyOverUntil, Self.overUntil(until))
    }

    /// Whether no account can be over its budget. Needs no clock.
    var isUnused: Bool { anyOverUntil == 0 }

    /// Lets `isUnused` become true again.
    mutating func forgetPaid(_ now: UInt64) { if anyOverUntil <= now { anyOverUntil = 0 } }

    func isOver(_ account: Account, _ now: UInt64) -> Bool {
        paid[account].map { Self.overUntil($0) > now } ?? false
    }

    private static func overUntil(_ paid: UInt64) -> UInt64 { paid > (burst - 1) * interval ? paid - (burst - 1) * interval : 0 }
}
