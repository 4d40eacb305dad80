import Authorization
import SandboxPolicy

/// A profile with the grants that count at one moment, compiled. Replaced as a whole, never changed: what was found out
/// with one of them is compared with nothing that was found out with another.
final class CompiledPolicy: Sendable {
    let table: ZoneTable
    /// Seconds since 1970 from which on a grant of it counts no more.
    let expires: Int64?
    /// Why nothing passes anywhere; nil where the profile could be compiled.
    let fault: EntitlementProblem?
    /// Whether a grant could let something pass.
    let takesGrants: Bool

    init(_ profile: SandboxProfile, _ grants: [Grant], at time: Int64) {
        // A profile that cannot be compiled was refused before the mount; one that its grants make too large lets nothing
        // pass.
        do throws(EntitlementProblem) {
            table = try profile.table(grants: grants, at: time)
            fault = nil
        } catch { (table, fault) = (.nothing, error) }
        takesGrants = profile.takesGrants
        expires = profile.nextExpiry(of: grants, after: time)
    }
}

/// Where an object stands: what its place lets pass on it.
struct EffectiveLocation: Sendable {
    var rights: Rights
    /// nil where no place could be established; then nothing passes.
    var zone: ZoneID?
    /// nil on a mount that nothing confines.
    var policy: CompiledPolicy?

    static var unconfined: EffectiveLocation { EffectiveLocation(rights: Confinement.everything, zone: .top, policy: nil) }

    private init(rights: Rights, zone: ZoneID?, policy: CompiledPolicy?) {
        (self.rights, self.zone, self.policy) = (rights, zone, policy)
    }

    init(_ zone: ZoneID?, _ policy: CompiledPolicy) {
        self.init(rights: zone.map { policy.table[$0].rights } ?? [], zone: zone, policy: policy)
    }

    /// Of what bears this name in a directory that stands here.
    func below(_ name: UnsafePointer<CChar>) -> EffectiveLocation {
        guard let policy else { return self }
        return EffectiveLocation(zone.map { policy.table.zone(of: name.bytes, below: $0) }, policy)
    }

    /// Of what has no name in such a directory.
    var unnamedBelow: EffectiveLocation {
        guard let policy else { return self }
        return EffectiveLocation(zone.map { policy.table.zone(ofUnnamedBelow: $0) }, policy)
    }

    /// A zone's top, or a directory on the way to one.
    var isFixed: Bool { zone.flatMap { zone in policy.map { $0.table[zone].isFixed } } ?? false }

    /// As the container's layout has it.
    var isExcludedFromBackup: Bool {
        guard let policy, let zone else { return false }
        return policy.table[zone].kind.isExcludedFromBackup
    }

    /// The key of the profile, or the place of the container, that lets most pass here.
    var rule: String {
        guard let policy, let zone else { return "its place is not known" }
        if let source = policy.table[zone].source { return source }
        if policy.table[zone].kind == .passage { return "only the way to other places" }
        return policy.takesGrants ? "no key reaches this place, and nothing here is granted" : "no key reaches this place"
    }
}

extension UnsafePointer<CChar> {
    /// The characters without their NUL.
    var bytes: UnsafeBufferPointer<UInt8> {
        var count = 0
        while self[count] != 0 { count += 1 }
        return UnsafeBufferPointer(start: UnsafeRawPointer(self).assumingMemoryBound(to: UInt8.self), count: count)
    }
}
