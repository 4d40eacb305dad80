import LinuxSystem

/// Bounds the memory of cookies that stand for positions of a backing directory (`NumberedCookies`), for each user and for all.
final class CookieRoom: Sendable {
    /// The positions that are charged at a time: 32 KiB.
    static let step = 4096
    private let total: Int
    private let forOneUser: Int

    private struct Charged {
        var total = 0
        var byUser: [UInt32: Int] = [:]
    }
    private let charged = Lock(Charged())

    /// - Parameters:
    ///   - total: steps; 64 MiB.
    ///   - forOneUser: steps; two million names in all open directories of a user.
    init(total: Int = 2048, forOneUser: Int = 512) { (self.total, self.forOneUser) = (total, forOneUser) }

    /// What one open directory uses, until it is closed. Its owner changes it in one thread at a time.
    final class Charge: Sendable {
        private let room: CookieRoom
        private let payer: UInt32
        private nonisolated(unsafe) var steps = 0

        /// - Parameter payer: the user who opened the directory.
        init(_ room: CookieRoom, payer: UInt32) { (self.room, self.payer) = (room, payer) }
        deinit { if steps > 0 { room.release(steps, payer) } }

        /// - Returns: whether there is room for another step.
        func add() -> Bool {
            guard room.charge(payer) else { return false }
            steps += 1
            return true
        }
    }

    private func charge(_ payer: UInt32) -> Bool {
        charged.withLock { charged in
            guard charged.total < total, charged.byUser[payer, default: 0] < forOneUser else { return false }
            charged.total += 1
            charged.byUser[payer, default: 0] += 1
            return true
        }
    }

    private func release(_ steps: Int, _ payer: UInt32) {
        charged.withLock { charged in
            charged.total -= steps
            let left = charged.byUser[payer, default: 0] - steps
            charged.byUser[payer] = left > 0 ? left : nil
        }
    }
}
