import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import MountOptions
import SandboxPolicy

/// What confines a mount: its profile with the grants, and the locations of its nodes. A mount without a profile has none.
final class ViewPolicy: Sendable {
    let profile: SandboxProfile

    private struct State {
        var grants: [Grant] = []
        /// The grants at the places where their objects are.
        var placed: [Grant] = []
        /// The places by which the kernel's entries were invalidated last.
        var told: [Grant] = []
        /// The moves that `placed` takes into account, and until when it counts: monotonic nanoseconds.
        var moves: UInt64 = 0
        var lookedUntil: UInt64 = 0
        var policy: CompiledPolicy
        /// A grant has ended or has followed its object, and the entries that the kernel got meanwhile are not invalidated yet.
        var hasExpired = false

        /// Whether any of the grants follows its object.
        var follows = false
    }

    private let state: Lock<State>
    private let tree: BackingTree
    private let followed: FollowedObjects
    let locations = Lock<[NodeID: NodeLocation]>([:])
    /// Held while a node is chosen for a name of a file, so that a file has one node for each zone.
    let choosing = Lock(())
    /// Nanoseconds for which a zone counts, because other programs may change the backing directory.
    let lifetime: UInt64

    init(_ profile: SandboxProfile, _ cache: MountOptions.CacheMode, _ tree: BackingTree, _ followed: FollowedObjects) {
        (self.profile, self.tree, self.followed) = (profile, tree, followed)
        state = Lock(State(policy: CompiledPolicy(profile, [], at: SystemTime.now().sec)))
        lifetime =
            switch cache {
            case .strict, .seconds(0): 0
            // Short, because it adds to the timeout of the kernel.
            case .auto, .seconds: 50_000_000
            case .exclusive: .max
            }
    }

    /// The policy in force. A grant that has ended does not count, even if the clock thread has not seen its end. A grant that follows its
    /// object counts where that is.
    var policy: CompiledPolicy {
        state.withLock { state in
            lookUp(&state)
            if let end = state.policy.expires {
                let now = SystemTime.now().sec
                if now >= end {
                    state.policy = CompiledPolicy(profile, state.placed, at: now)
                    state.hasExpired = true
                }
            }
            return state.policy
        }
    }

    /// Looks up where the followed objects are, if one may have moved.
    private func lookUp(_ state: inout State) {
        guard state.follows else { return }
        // Read before the look: a later move is then seen by the next one.
        let moves = followed.changes
        let now = SystemTime.monotonic()
        guard moves != state.moves || lifetime != .max && now >= state.lookedUntil else { return }
        (state.moves, state.lookedUntil) = (moves, lifetime == .max ? .max : now + lifetime)
        let placed = placed(state.grants)
        guard placed != state.placed else { return }
        state.placed = placed
        state.policy = CompiledPolicy(profile, placed, at: SystemTime.now().sec)
        state.hasExpired = true
    }

    private func placed(_ grants: [Grant]) -> [Grant] {
        grants.compactMap { grant in
            guard let object = grant.object else { return grant }
            guard case .at(let path) = followed.place(of: object, lastAt: grant.path, in: tree) else { return nil }
            var there = grant
            there.path = path
            return there
        }
    }

    func setGrants(_ grants: [Grant]) {
        state.withLock { state in
            state.moves = followed.changes
            state.lookedUntil = lifetime == .max ? .max : SystemTime.monotonic() + lifetime
            state.grants = grants
            state.follows = grants.contains { $0.object != nil }
            state.placed = placed(grants)
            state.told = state.placed
            state.policy = CompiledPolicy(profile, state.placed, at: SystemTime.now().sec)
        }
    }

    /// Whether a grant has followed its object since the last call. The caller invalidates what the kernel holds.
    func takeMovedGrants() -> Bool {
        guard state.withLock({ $0.follows }) else { return false }
        _ = policy
        return state.withLock { state in
            defer { state.told = state.placed }
            return state.told != state.placed
        }
    }

    func forget(_ node: NodeID) { locations.withLock { _ = $0.removeValue(forKey: node) } }

    var grants: [Grant] { state.withLock { $0.grants } }

    /// Returns whether a grant has ended since the last call.
    func takeExpiry() -> Bool {
        _ = policy
        return state.withLock { state in
            defer { state.hasExpired = false }
            return state.hasExpired
        }
    }

    /// Notes that the entries of a grant that ended could not be invalidated. `takeExpiry` then returns true again.
    func restoreExpiry() { state.withLock { $0.hasExpired = true } }

    /// Monotonic nanoseconds at which to call `takeExpiry` again. At most a second ahead, because the time of day may be set.
    var nextExpiry: UInt64? {
        state.withLock { state in
            if state.hasExpired { return SystemTime.monotonic() + 1_000_000_000 }
            // What moves without a request is seen within a second.
            guard let end = state.policy.expires else { return state.follows ? SystemTime.monotonic() + 1_000_000_000 : nil }
            let now = SystemTime.now()
            let wait = end <= now.sec ? 0 : end > now.sec + 1 ? 1_000_000_000 : 1_000_000_000 - UInt64(now.nsec)
            return SystemTime.monotonic() + wait
        }
    }
}
