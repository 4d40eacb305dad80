import ACLFormats
import Authorization

/// The names of docs/reference/authorization.md 7.7, and some that are awkward.
struct ExampleNames: IdentityNames {
    static let users: [(String, UInt32)] = [
        ("root", 0), ("alice", 501), ("bob", 502), ("carol", 503), ("admin", 510), ("mary jones", 511),
        ("7000", 512), ("\u{202E}evil", 513), ("M\u{FC}ller", 514), ("a:b", 515),
    ]
    static let groups: [(String, UInt32)] = [
        ("wheel", 0), ("everyone", 999), ("staff", 20), ("admin", 80), ("eng", 30), ("man", 12),
    ]
    func identity(named name: String, kind: IdentityKind?) -> GUID? {
        if kind != .group, let user = Self.users.first(where: { $0.0 == name }) { return GUID(user: user.1) }
        if kind != .user, let group = Self.groups.first(where: { $0.0 == name }) { return GUID(group: group.1) }
        return nil
    }
    func name(of identity: GUID) -> IdentityName? {
        switch Principal(identity) {
        case .user(let uid): Self.users.first { $0.1 == uid }.map { IdentityName(.user, $0.0) }
        case .group(let gid): Self.groups.first { $0.1 == gid }.map { IdentityName(.group, $0.0) }
        default: nil
        }
    }
}

/// A small generator with a printed seed, so that a failure can be run again.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
    mutating func bits32() -> UInt32 { UInt32(truncatingIfNeeded: next()) }

    mutating func guid() -> GUID {
        switch next() % 8 {
        case 0: .everyone
        case 1: [GUID.owner, .owningGroup, .nobody][Int(next() % 3)]
        case 2: GUID(user: ExampleNames.users.randomElement(using: &self)?.1 ?? 0)
        case 3: GUID(group: ExampleNames.groups.randomElement(using: &self)?.1 ?? 0)
        case 4: GUID(user: [0, 10, 99, .max, bits32()][Int(next() % 5)])
        case 5: GUID(group: [10, 12, 16, 0xFFFF_FFFE, .max, bits32()][Int(next() % 6)])
        // A gid in the namespace for clashing ones that is not among them: no second spelling of the same.
        case 6: GUID(high: 0xACF5_ACF5_ACF5_4CF5, low: 0x8CF5_ACF5_0000_0000 | next() % 64)
        default: GUID(high: next(), low: next())
        }
    }
    mutating func entry() -> ACE {
        let wild = next() % 3 == 0
        return ACE(
            guid: guid(), flagsWord: wild ? bits32() & bits32() : UInt32(1 + next() % 2) | bits32() & 0x1F0,
            rights: Rights(rawValue: wild ? bits32() & bits32() : bits32() & 0x3FFE))
    }
    mutating func acl(maximum: UInt64 = 12) -> ACL {
        let count = next() % (maximum + 1)
        return ACL((0..<count).map { _ in entry() }, listFlags: next() % 3 == 0 ? bits32() & bits32() : 0)
    }
    mutating func record() -> MetadataRecord {
        MetadataRecord(
            flags: FileFlags(rawValue: bits32() & bits32()), ownerGUID: Bool.random(using: &self) ? guid() : nil,
            groupGUID: Bool.random(using: &self) ? guid() : nil, acl: next() % 4 == 0 ? nil : acl(),
            volume: next() % 4 == 0 ? VolumeSettings(rawValue: bits32()) : nil)
    }
}
