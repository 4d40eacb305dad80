import ACLFormats
import Authorization
import TestSupport
import WireFormats

/// Accounts of the tests, some with awkward names.
struct ExampleAccounts: WireNames {
    static let users: [(String, UInt32)] = [
        ("root", 0), ("alice", 501), ("bob", 502), ("mary jones", 511), ("7000", 512), ("a:b", 515), ("a,b", 516), ("#hash", 517),
        ("bob@corp.example", 5002), ("M\u{FC}ller", 514), ("OWNER@", 518), ("everyone", 519),
        (String(repeating: "n", count: 300), 520), ("FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5", 521),
        // Two names of one account: the second leads to it, and the first is shown.
        ("twin", 522), ("other-twin", 522),
    ]
    static let groups: [(String, UInt32)] = [("wheel", 0), ("staff", 20), ("man", 12), ("bob", 30), ("GROUP@", 31)]
    private static let usersByName = Dictionary(users, uniquingKeysWith: { first, _ in first })
    private static let groupsByName = Dictionary(groups, uniquingKeysWith: { first, _ in first })
    private static let userNames = Dictionary(users.map { ($0.1, $0.0) }, uniquingKeysWith: { first, _ in first })
    private static let groupNames = Dictionary(groups.map { ($0.1, $0.0) }, uniquingKeysWith: { first, _ in first })

    /// Names about which the databases do not answer.
    var unanswered: Set<String> = []

    func identity(named name: String, isGroup: Bool) throws(NameUnanswered) -> GUID? {
        if unanswered.contains(name) { throw NameUnanswered() }
        if isGroup, name == "everyone" { return .everyone }
        return isGroup ? Self.groupsByName[name].map { GUID(group: $0) } : Self.usersByName[name].map { GUID(user: $0) }
    }

    func name(of identity: GUID) -> String? {
        switch Principal(identity) {
        case .user(let uid): Self.userNames[uid]
        case .group(let gid): Self.groupNames[gid]
        case .everyone, .owner, .owningGroup, .nobody, .other: nil
        }
    }
}

/// Bytes of a value, word by word.
func words(_ words: UInt32...) -> [UInt8] { words.flatMap(bytes) }

func bytes(_ word: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> ($0 as UInt32)) } }

/// The bytes of an entry of `system.nfs4_acl`.
func entry(_ type: UInt32, _ flags: UInt32, _ mask: UInt32, _ who: String) -> [UInt8] {
    let name = Array(who.utf8)
    return words(type, flags, mask, UInt32(name.count)) + name + [UInt8](repeating: 0, count: (4 - name.count % 4) % 4)
}

func value(_ entries: [UInt8]...) -> [UInt8] { words(UInt32(entries.count)) + entries.flatMap { $0 } }

extension SplitMix64 {
    mutating func identity(hasNumber: Bool) -> GUID {
        switch next() % (hasNumber ? 6 : 8) {
        case 0: pick([GUID.everyone, .owner, .owningGroup])
        case 1: GUID(user: pick(ExampleAccounts.users).1)
        case 2: GUID(group: pick(ExampleAccounts.groups).1)
        case 3: GUID(user: pick([0, 99, .max - 1, UInt32(truncatingIfNeeded: next()) & 0x7FFF_FFFF]))
        case 4: GUID(group: pick([10, 12, 16, 0xFFFF_FFFE, UInt32(truncatingIfNeeded: next()) & 0x7FFF_FFFF]))
        case 5: ModeEntries.entries(for: mode(), isDirectory: chance(50))[below(3)].guid
        case 6:
            pick([
                GUID.nobody, GUID(user: .max), GUID(group: .max),
                // A group that has another, canonical identity.
                GUID(high: 0xACF5_ACF5_ACF5_4CF5, low: 0x8CF5_ACF5_0000_0014),
            ])
        default: GUID(high: next(), low: next())
        }
    }

    mutating func mode() -> FileMode { FileMode(rawValue: UInt16(truncatingIfNeeded: next()) & 0o7777) }

    /// An entry with every right and flag that both sides know.
    mutating func entry(hasNumber: Bool) -> ACE {
        ACE(
            identity(hasNumber: hasNumber), chance(50) ? .allow : .deny, Rights(rawValue: UInt32(truncatingIfNeeded: next()) & 0x10_3FFE),
            flags: ACEFlags(rawValue: UInt32(truncatingIfNeeded: next()) & 0x1F0))
    }

    /// Mostly short lists. Some end with entries that stand for a mode, or with a part of them.
    mutating func list(hasNumber: Bool) -> [ACE] {
        let most = chance(1) ? ACL.maximumEntryCount : 4
        var entries = (0..<below(most + 1)).map { _ in entry(hasNumber: hasNumber) }
        if chance(30) {
            let ofMode = ModeEntries.entries(for: mode(), isDirectory: chance(50))
            entries += ofMode.dropFirst(chance(50) ? 0 : below(ofMode.count)).dropLast(chance(50) ? 0 : below(ofMode.count))
        }
        return Array(entries.prefix(ACL.maximumEntryCount))
    }
}
