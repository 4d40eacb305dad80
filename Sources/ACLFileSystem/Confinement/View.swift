import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import MountOptions
import SandboxPolicy

/// What confines a mount: the profile with its grants, and where the objects that the kernel knows stand. A mount without
/// one has nothing of this, and asks for it once for each object that it loads.
final class View: Sendable {
    let profile: SandboxProfile

    private struct State {
        var grants: [Grant] = []
        var policy: CompiledPolicy
        /// A grant ended, and what the kernel was told meanwhile has not been taken back.
        var hasExpired = false
    }

    private let state: Lock<State>
    let locations = Lock<[NodeID: NodeLocation]>([:])
    /// Held while a node is chosen for a name of a file, so that one zone has one.
    let choosing = Lock(())
    /// Nanoseconds after which a place is looked at anew, because others may change the backing directory.
    let lifetime: UInt64

    init(_ profile: SandboxProfile, _ cache: MountOptions.CacheMode) {
        self.profile = profile
        state = Lock(State(policy: CompiledPolicy(profile, [], at: SystemTime.now().sec)))
        lifetime =
            switch cache {
            case .strict, .seconds(0): 0
            // It comes on top of what the kernel keeps: little.
            case .auto, .seconds: 50_000_000
            case .exclusive: .max
            }
    }

    /// In force at this moment; a grant that has ended counts no more, whether the clock thread has seen it or not.
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

    /// Whether a grant has ended since this was asked last.
    func takeExpiry() -> Bool {
        _ = policy
        return state.withLock { state in
            defer { state.hasExpired = false }
            return state.hasExpired
        }
    }

    /// What a grant that ended left with the kernel could not be taken back.
    func restoreExpiry() { state.withLock { $0.hasExpired = true } }

    /// Monotonic nanoseconds at which to ask `takeExpiry` again; within a second, because the time of day may be set.
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
