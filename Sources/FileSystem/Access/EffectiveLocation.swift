import Authorization
import SandboxPolicy

/// A compiled profile with the grants that count at one moment. It is replaced as a whole and never changed. Zones of different
/// policies are not comparable.
final class CompiledPolicy: Sendable {
    let table: ZoneTable
    /// The time at which the next of its grants ends, in seconds since 1970; nil: never.
    let expires: Int64?
    /// Why the policy denies everything; nil if the profile was compiled.
    let fault: EntitlementProblem?
    /// Whether grants can add rights to the profile.
    let takesGrants: Bool

    init(_ profile: SandboxProfile, _ grants: [Grant], at time: Int64) {
        // The mount command refuses a profile that cannot be compiled. If grants make a profile too large, the policy denies
        // everything.
        do throws(EntitlementProblem) {
            table = try profile.table(grants: grants, at: time)
            fault = nil
        } catch { (table, fault) = (.nothing, error) }
        takesGrants = profile.takesGrants
        expires = profile.nextExpiry(of: grants, after: time)
    }
}

/// The effective location of an object: where a confined mount judges it, and the rights that its zone leaves.
struct EffectiveLocation: Sendable {
    var rights: Rights
    /// nil if the location is unknown; then everything is denied.
    var zone: ZoneID?
    /// nil on a mount without a profile.
    var policy: CompiledPolicy?

    static var unconfined: EffectiveLocation { EffectiveLocation(rights: Confinement.everything, zone: .top, policy: nil) }

    private init(rights: Rights, zone: ZoneID?, policy: CompiledPolicy?) {
        (self.rights, self.zone, self.policy) = (rights, zone, policy)
    }

    init(_ zone: ZoneID?, _ policy: CompiledPolicy) {
        self.init(rights: zone.map { policy.table[$0].rights } ?? [], zone: zone, policy: policy)
    }

    /// The effective location of an object by its name, in a directory at this location.
    func below(_ name: UnsafePointer<CChar>) -> EffectiveLocation {
        guard let policy else { return self }
        return EffectiveLocation(zone.map { policy.table.zone(of: name.bytes, below: $0) }, policy)
    }

    /// The effective location of an object without a name, made in a directory at this location.
    var unnamedBelow: EffectiveLocation {
        guard let policy else { return self }
        return EffectiveLocation(zone.map { policy.table.zone(ofUnnamedBelow: $0) }, policy)
    }

    /// Whether the object is the top of a zone, or a directory above one.
    var isFixed: Bool { zone.flatMap { zone in policy.map { $0.table[zone].isFixed } } ?? false }

    /// Whether the container's layout excludes this location from backups.
    var isExcludedFromBackup: Bool {
        guard let policy, let zone else { return false }
        return policy.table[zone].kind.isExcludedFromBackup
    }

    /// The key of the profile, or the location in the container, that leaves the most rights here.
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

    /// A copy with its NUL.
    var copied: [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }
}
