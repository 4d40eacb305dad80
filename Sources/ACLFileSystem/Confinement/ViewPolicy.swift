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
        var policy: CompiledPolicy
        /// A grant has ended, and the entries that the kernel got meanwhile are not invalidated yet.
        var hasExpired = false
    }

    private let state: Lock<State>
    let locations = Lock<[NodeID: NodeLocation]>([:])
    /// Held while a node is chosen for a name of a file, so that a file has one node for each zone.
    let choosing = Lock(())
    /// Nanoseconds for which a zone counts, because other programs may change the backing directory.
    let lifetime: UInt64

    init(_ profile: SandboxProfile, _ cache: MountOptions.CacheMode) {
        self.profile = profile
        state = Lock(State(policy: CompiledPolicy(profile, [], at: SystemTime.now().sec)))
        lifetime =
            switch cache {
            case .strict, .seconds(0): 0
            // Short, because it adds to the timeout of the kernel.
            case .auto, .seconds: 50_000_000
            case .exclusive: .max
            }
    }

    /// The policy in force. A grant that has ended does not count, even if the clock thread has not seen its end.
    var policy: CompiledPolicy {
        state.withLock { state in
            if let end = state.policy.expires {
                let now = SystemTime.now().sec
                if now >= end {
                    state.policy = CompiledPolicy(profile, state.grants, at: now)
                    state.hasExpired = true
                }
            }
            return state.policy
        }
    }

    func setGrants(_ grants: [Grant]) {
        state.withLock { state in
            state.grants = grants
            state.policy = CompiledPolicy(profile, grants, at: SystemTime.now().sec)
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
            guard let end = state.policy.expires else { return nil }
            let now = SystemTime.now()
            let seconds = end - now.sec
            let wait = seconds <= 0 ? 0 : seconds > 1 ? 1_000_000_000 : 1_000_000_000 - UInt64(now.nsec)
            return SystemTime.monotonic() + wait
        }
    }
}
