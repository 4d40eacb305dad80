import Authorization
import Glibc
import TestSupport
import Testing

@testable import WireFormats

/// Entries and mode of a translation decide as POSIX.1e does, and lead back to the list (docs/reference/posix-acl.md).
@Suite struct PosixTranslationTests {
    static let isLong = getenv("ACLFS_TEST_LONG").map { String(cString: $0) == "1" } ?? false
    /// ACLFS_SEED repeats a run.
    static let seed = getenv("ACLFS_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0 ... .max)

    /// What a sample found.
    private struct Found {
        var compared = 0
        var refused: [PosixRefusal: Int] = [:]
        var wrong: [String] = []

        mutating func add(_ list: PosixList, _ use: PosixTranslation.Use) {
            do throws(PosixRefusal) {
                compared += 1
                let special: UInt16 = use == .directory(isSticky: true) ? 0o1000 : 0
                let object = try PosixWorld.object(list, use, special: special)
                if wrong.count < 5 {
                    if let difference = Self.difference(object, list, use) {
                        wrong.append("\(use) \(list): \(difference)\n\(object.acl?.entries ?? [])")
                    }
                    let back = PosixTranslation.list(of: object.acl?.entries ?? [], mode: object.mode, for: use)
                    if back != (list.isExtended ? list : nil) { wrong.append("\(use) \(list): comes back as \(String(describing: back))") }
                }
            } catch { refused[error, default: 0] += 1 }
        }

        mutating func add(_ other: Found) {
            compared += other.compared
            refused.merge(other.refused, uniquingKeysWith: +)
            wrong += other.wrong
        }

        /// The first decision that is not that of POSIX.1e.
        private static func difference(_ object: ObjectFacts, _ list: PosixList, _ use: PosixTranslation.Use) -> String? {
            for caller in PosixWorld.callers {
                for request in UInt16(1)...7 {
                    let right = PosixWorld.allows(request, list, caller)
                    func isWrong(_ operation: Operation) -> Bool { PosixWorld.allows(operation, caller, object) != right }
                    let wrong: Operation? =
                        if isWrong(.access(AccessMask(rawValue: UInt8(request)))) {
                            .access(AccessMask(rawValue: UInt8(request)))
                        } else if use == .file {
                            fileOperations(request).first(where: isWrong)
                        } else {
                            directoryOperations(request).first(where: isWrong)
                        }
                    if let wrong { return "\(caller) \(wrong): \(right) is right" }
                }
                if use != .file, let wrong = wrongName(object, list, caller) { return "\(caller) \(wrong)" }
                guard
                    caller.uid == PosixWorld.owner
                        || PosixWorld.allows(.setTimes(access: .now, modification: .now), caller, object)
                            == PosixWorld.allows(2, list, caller)
                else {
                    return "\(caller) sets times"
                }
                if !PosixWorld.allows(.stat, caller, object) { return "\(caller) stat" }
                if caller.uid == PosixWorld.owner, !PosixWorld.allows(.setTimes(access: .chosen, modification: .chosen), caller, object) {
                    return "the owner chooses times"
                }
                if caller.uid != PosixWorld.owner, PosixWorld.allows(.chmod([]), caller, object) { return "\(caller) chmod" }
            }
            return nil
        }

        private static func fileOperations(_ request: UInt16) -> [Operation] {
            switch request {
            case 4: [.open(.read), .getXattr]
            case 2: [.open(.write), .open([.write, .append]), .truncate, .setXattr(isProtected: false)]
            case 6: [.open([.read, .write]), .open([.read, .write, .append]), .open([.read, .truncate])]
            case 1: [.execute]
            default: []
            }
        }

        private static func directoryOperations(_ request: UInt16) -> [Operation] {
            switch request {
            case 4: [.list, .getXattr]
            case 2: [.setXattr(isProtected: false)]
            case 1: [.lookup]
            default: []
            }
        }

        /// Names below a directory: the kernel asks for write and search together, aclfs one after the other.
        private static func wrongName(_ object: ObjectFacts, _ list: PosixList, _ caller: KnownCredential) -> String? {
            let right = PosixWorld.allows(3, list, caller)
            let searches = PosixWorld.allows(.lookup, caller, object)
            for kind in [ObjectKind.file, .directory] {
                let request = CreationRequest(kind: kind, mode: FileMode(rawValue: 0o777), umask: 0)
                var inquiry = Inquiry(caller, on: VolumeState(), sandbox: Unconfined(), observer: NoObserver())
                let creates = inquiry.authorize(.create(request), FactsByRole(parent: object)).isAllowed
                if (searches && creates) != right { return "creates a \(kind): \(right) is right" }
            }
            for owner in [caller.uid, 999] {
                let child = ObjectFacts(kind: .file, owner: owner, group: 999, mode: [])
                let mayDelete = right && (!object.mode.contains(.sticky) || owner == caller.uid || caller.uid == PosixWorld.owner)
                if (searches && PosixWorld.allows(.unlink, caller, child, within: object)) != mayDelete {
                    return "deletes what \(owner) owns: \(mayDelete) is right"
                }
            }
            return nil
        }
    }

    static func random(_ random: inout SplitMix64) -> PosixList {
        func bits() -> UInt16 { UInt16(random.below(8)) }
        var users: [PosixList.Named] = []
        for uid in [PosixWorld.owner] + PosixWorld.users where random.chance(uid == PosixWorld.owner ? 10 : 60) {
            users.append(.init(uid, bits()))
        }
        var groups: [PosixList.Named] = []
        for gid in PosixWorld.groups where random.chance(60) { groups.append(.init(gid, bits())) }
        var list = PosixList(owner: bits(), users: users, group: bits(), groups: groups, other: bits())
        let needsMask = !users.isEmpty || !groups.isEmpty
        if needsMask || random.chance(50) { list.mask = random.chance(40) ? list.union : random.chance(30) ? 7 : bits() }
        return list
    }

    private static let uses: [PosixTranslation.Use] = [.file, .directory(isSticky: false), .directory(isSticky: true)]

    @Test(arguments: uses)
    func aSampleOfListsDecidesAsPOSIXDoes(_ use: PosixTranslation.Use) {
        print("PosixTranslationTests: ACLFS_SEED=\(Self.seed)")
        var random = SplitMix64(seed: Self.seed)
        var found = Found()
        for _ in 0..<(Self.isLong ? 20_000 : 250) { found.add(Self.random(&random), use) }
        report(found, use, "ACLFS_SEED=\(Self.seed)")
    }

    /// Every list for the groups: what a caller in several of them has.
    @Test(.enabled(if: isLong, "only in the long run"), arguments: zip([7, 7, 7, 0] as [UInt16], uses + [.file]))
    func allListsOfGroupsDecideAsPOSIXDoes(_ owner: UInt16, _ use: PosixTranslation.Use) async {
        await compareAll(use, 9 * 9 * 8 * 8 * 8) { number in
            var rest = number
            func next(_ count: Int) -> Int {
                defer { rest /= count }
                return rest % count
            }
            let named = Self.named(PosixWorld.groups, next(9), next(9))
            return PosixList(
                owner: owner, group: UInt16(next(8)), groups: named, mask: UInt16(next(8)), other: UInt16(next(8)))
        }
    }

    /// Every list for two users, beside a group.
    @Test(.enabled(if: isLong, "only in the long run"), arguments: zip([5, 5, 5, 0] as [UInt16], uses + [.file]))
    func allListsOfUsersDecideAsPOSIXDoes(_ permissions: UInt16, _ use: PosixTranslation.Use) async {
        await compareAll(use, 9 * 9 * 8 * 8 * 8) { number in
            var rest = number
            func next(_ count: Int) -> Int {
                defer { rest /= count }
                return rest % count
            }
            let named = Self.named(PosixWorld.users, next(9), next(9))
            return PosixList(
                owner: 7 - permissions, users: named, group: UInt16(next(8)), groups: [.init(PosixWorld.groups[0], permissions)],
                mask: UInt16(next(8)), other: UInt16(next(8)))
        }
    }

    private static func named(_ ids: [UInt32], _ first: Int, _ second: Int) -> [PosixList.Named] {
        zip(ids, [first, second]).filter { $0.1 < 8 }.map { PosixList.Named($0.0, UInt16($0.1)) }
    }

    private func compareAll(_ use: PosixTranslation.Use, _ count: Int, _ list: @escaping @Sendable (Int) -> PosixList) async {
        let parts = 8
        let found = await withTaskGroup(of: Found.self) { group in
            for part in 0..<parts {
                group.addTask {
                    var found = Found()
                    for number in stride(from: part, to: count, by: parts) { found.add(list(number), use) }
                    return found
                }
            }
            return await group.reduce(into: Found()) { $0.add($1) }
        }
        #expect(found.compared == count)
        report(found, use, "all")
    }

    private func report(_ found: Found, _ use: PosixTranslation.Use, _ which: String) {
        print("\(use): \(found.compared) lists, without entries that mean the same: \(found.refused)")
        #expect(found.wrong.isEmpty, "\(which): \(found.wrong.joined(separator: "\n"))")
        let expected: Set<PosixRefusal> =
            switch use {
            case .file: [.dividedGroups]
            case .directory(let isSticky): isSticky ? [.sticky, .dividedWrite, .dividedGroups] : [.dividedWrite, .dividedGroups]
            case .new: []
            }
        #expect(Set(found.refused.keys).isSubset(of: expected))
        #expect(found.refused.values.reduce(0, +) < found.compared)
    }

    // MARK: Examples

    private func entries(_ list: PosixList, _ use: PosixTranslation.Use = .file) throws -> [ACE] {
        try PosixTranslation(list, for: use).entries
    }

    private let read: Rights = [.read, .readExtendedAttributes]
    private let write: Rights = [.write, .append, .writeAttributes, .writeExtendedAttributes]

    /// `chmod 640 f; setfacl -m u:502:rw f`.
    @Test func aNamedUserIsOneEntry() throws {
        let list = PosixList(owner: 6, users: [.init(502, 6)], group: 4, mask: 6, other: 0)
        let translation = try PosixTranslation(list, for: .file)
        #expect(
            translation.entries == [ACE(GUID(user: 502), .allow, read.union(write)), ACE(.nobody, .allow, read.union(write))])
        #expect(translation.groupBits == 4 && list.classBits == 6)
    }

    /// What others have and a named user lacks is denied; the owner may be that user.
    @Test func lessThanOthersIsDenied() throws {
        let list = PosixList(owner: 6, users: [.init(502, 0)], group: 4, mask: 4, other: 4)
        #expect(
            try entries(list) == [
                ACE(.owner, .allow, read.union(write)), ACE(GUID(user: 502), .deny, read.union(write).union(.execute)),
                ACE(.nobody, .allow, read),
            ])
    }

    /// A mask that takes something away is said by entries that deny. Each mask has an entry for no caller, also one without bits.
    @Test func theMaskIsKept() throws {
        let list = PosixList(owner: 6, users: [.init(502, 6)], group: 4, mask: 5, other: 0)
        #expect(
            try entries(list).contains(ACE(GUID(user: 502), .deny, write))
                && entries(list).last == ACE(.nobody, .allow, read.union(.execute)))
        let alone = PosixList(owner: 6, group: 4, mask: 4, other: 0)
        #expect(try entries(alone) == [ACE(.nobody, .allow, read)])
        #expect(PosixTranslation.list(of: try entries(alone), mode: FileMode(rawValue: 0o640), for: .file) == alone)
        let empty = PosixList(owner: 6, users: [.init(502, 6)], group: 4, mask: 0, other: 0)
        let translation = try PosixTranslation(empty, for: .file)
        #expect(translation.entries.last == ACE(.nobody, .allow, []) && translation.groupBits == 0)
        #expect(PosixTranslation.list(of: translation.entries, mode: FileMode(rawValue: 0o600), for: .file)?.mask == 0)
    }

    /// A caller in both groups may read, or write, and not open for both.
    @Test func aRequestIsGrantedByOneGroup() throws {
        let list = PosixList(owner: 6, group: 0, groups: [.init(600, 4), .init(601, 2)], mask: 6, other: 0)
        let object = try PosixWorld.object(list, .file)
        let caller = KnownCredential(uid: 505, gid: 600, groups: [601])
        #expect(PosixWorld.allows(.open(.read), caller, object) && PosixWorld.allows(.open(.write), caller, object))
        #expect(!PosixWorld.allows(.open([.read, .write]), caller, object))
        #expect(!PosixWorld.allows(.open([.read, .write, .append]), caller, object))
    }

    @Test func whatHasNoEntriesIsRefused() {
        let three = PosixList(owner: 7, group: 6, groups: [.init(600, 5), .init(601, 3)], mask: 7, other: 0)
        #expect(throws: PosixRefusal.dividedGroups) { try PosixTranslation(three, for: .file) }
        let divided = PosixList(owner: 7, group: 5, groups: [.init(600, 2)], mask: 7, other: 0)
        #expect(throws: PosixRefusal.dividedWrite) { try PosixTranslation(divided, for: .directory(isSticky: false)) }
        #expect(throws: PosixRefusal.dividedWrite) { try PosixTranslation(divided, for: .new) }
        let sticky = PosixList(owner: 7, group: 7, groups: [.init(600, 7)], mask: 7, other: 0)
        #expect(throws: PosixRefusal.sticky) { try PosixTranslation(sticky, for: .directory(isSticky: true)) }
        #expect(throws: Never.self) { try PosixTranslation(sticky, for: .directory(isSticky: false)) }
        let many = PosixList(owner: 7, users: (0..<127).map { .init($0, 0) }, group: 7, mask: 7, other: 0)
        #expect(throws: PosixRefusal.tooMany(129)) { try PosixTranslation(many, for: .file) }
    }

    /// The entries that are inherited say owner, owning group and others as well.
    @Test func aDefaultListSaysAll() throws {
        var random = SplitMix64(seed: 3)
        var count = 0
        for _ in 0..<500 {
            let list = Self.random(&random)
            guard let translation = try? PosixTranslation(list, for: .new) else { continue }
            count += 1
            #expect(PosixTranslation.list(of: translation.entries, mode: [], for: .new) == list, "\(list)")
        }
        #expect(count > 300)
        #expect(
            try entries(PosixList(owner: 7, group: 5, other: 0), .new) == [
                ACE(.owner, .allow, read.union(write).union([.execute, .deleteChild])), ACE(.owningGroup, .allow, read.union(.execute)),
                ACE(.everyone, .allow, []), ACE(.nobody, .deny, []),
            ])
    }

    /// A list that a person made is shown as one only if it is the translation, entry by entry, but for the mask.
    @Test func otherListsHaveNoForm() {
        let mode = FileMode(rawValue: 0o640)
        let bob = GUID(user: 502)
        let none: [[ACE]] = [
            [], [ACE(bob, .allow, .read)], [ACE(bob, .deny, read)], [ACE(.everyone, .allow, read)], [ACE(.owningGroup, .allow, read)],
            [ACE(bob, .allow, read), ACE(bob, .allow, read)], [ACE(bob, .allow, read.union(.delete))], [ACE(.nobody, .deny, read)],
            [ACE(GUID(high: 1, low: 2), .allow, read)], [ACE(bob, .allow, read, flags: .inherited)],
            [ACE(guid: bob, flagsWord: 3, rights: read)],
        ]
        for entries in none { #expect(PosixTranslation.list(of: entries, mode: mode, for: .file) == nil, "\(entries)") }
        let right = PosixTranslation.list(of: [ACE(bob, .allow, read)], mode: mode, for: .file)
        #expect(right == PosixList(owner: 6, users: [.init(502, 4)], group: 4, mask: 4, other: 0))
        // Not with other bits of the group, where the mode would have to be denied.
        #expect(PosixTranslation.list(of: [ACE(bob, .allow, read)], mode: FileMode(rawValue: 0o660), for: .file) == nil)
    }
}
