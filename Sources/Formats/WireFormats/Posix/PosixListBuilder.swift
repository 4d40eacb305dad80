import Authorization

/// Builds the entries of one list. docs/reference/posix-acl.md "What is stored" has the order and the reasons.
struct PosixListBuilder {
    /// The owning group or a named group, in the order of the list.
    private struct Member {
        let guid: GUID
        let isOwningGroup: Bool
        /// As the list has it.
        let said: UInt16
        /// With the mask.
        let effective: UInt16
    }

    private let list: PosixList
    private let use: PosixTranslation.Use
    private let isDirectory: Bool
    private let isSticky: Bool
    private let saysAll: Bool
    private let mask: UInt16
    private let members: [Member]
    /// What the owning group has.
    private let effectiveGroup: UInt16

    private(set) var entries: [ACE] = []
    private(set) var groupBits: UInt16

    init(_ list: PosixList, _ use: PosixTranslation.Use) {
        (self.list, self.use) = (list, use)
        (isDirectory, isSticky, saysAll) =
            switch use {
            case .file: (false, false, false)
            case .directory(let isSticky): (true, isSticky, false)
            case .new: (true, false, true)
            }
        let mask = list.mask ?? 7
        self.mask = mask
        effectiveGroup = list.group & mask
        groupBits = effectiveGroup
        members =
            [Member(guid: .owningGroup, isOwningGroup: true, said: list.group, effective: effectiveGroup)]
            + list.groups.map {
                Member(guid: GUID(group: $0.id), isOwningGroup: false, said: $0.permissions, effective: $0.permissions & mask)
            }
    }

    mutating func build() throws(PosixRefusal) {
        if !list.isExtended, !saysAll { return }
        try refuseDividedWrite()
        try refuseStickyDifferences()
        addUsers()
        try addGroups()
        if saysAll { add(.everyone, .allow, rights(list.other)) }
        addMask()
        addOwner()
        if entries.count > ACL.maximumEntryCount { throw .tooMany(entries.count) }
    }

    private mutating func add(_ guid: GUID, _ kind: ACE.Kind, _ rights: Rights) { entries.append(ACE(guid, kind, rights)) }

    private func rights(_ bits: UInt16) -> Rights { PosixRights.rights(bits, ofDirectory: isDirectory) }

    /// What an entry grants. In a sticky directory none grants delete_child, which would be stronger than the sticky bit.
    private func granted(_ bits: UInt16) -> Rights { isSticky ? rights(bits).subtracting(.deleteChild) : rights(bits) }
}

// The mask.
extension PosixListBuilder {
    /// An entry that applies to no caller. It keeps the mask, and says that the list was set as a POSIX ACL: one without a mask says so by
    /// an entry that denies nothing.
    private mutating func addMask() {
        if let mask = list.mask { add(.nobody, .allow, rights(mask)) } else { add(.nobody, .deny, []) }
    }
}

// What has no entries.
extension PosixListBuilder {
    private func refuseDividedWrite() throws(PosixRefusal) {
        guard isDirectory else { return }
        func has(_ bit: UInt16, without other: UInt16) -> Bool { members.contains { $0.effective & (bit | other) == bit } }
        if has(PosixRights.write, without: PosixRights.execute), has(PosixRights.execute, without: PosixRights.write) {
            throw .dividedWrite
        }
    }

    /// Who may delete must be said by the mode, or denied by an entry that concerns no caller who may.
    private func refuseStickyDifferences() throws(PosixRefusal) {
        guard isSticky else { return }
        let write = PosixRights.write
        let named = members.dropFirst()
        let writers = list.users.contains { $0.permissions & mask & write != 0 } || named.contains { $0.effective & write != 0 }
        if writers {
            guard list.other & write != 0, members.allSatisfy({ $0.effective & write != 0 }) else { throw .sticky }
        } else if !named.isEmpty, effectiveGroup & write != 0 {
            throw .sticky
        }
    }
}

// Users and the owner.
extension PosixListBuilder {
    /// What a named user lacks is denied where a later entry or the mode has it.
    private mutating func addUsers() {
        let others = members.reduce(list.other) { $0 | $1.effective }
        for user in list.users {
            let guid = GUID(user: user.id)
            let lacking = user.permissions == 0 ? 7 : user.permissions & ~mask | others & ~user.permissions
            if lacking != 0 { add(guid, .deny, rights(lacking)) }
            if user.permissions != 0 { add(guid, .allow, granted(user.permissions)) }
        }
    }

    /// The owner is judged by the mode, so the entries must neither refuse nor grant the owner anything. They stand first.
    private mutating func addOwner() {
        var (denied, allowed): (Rights, Rights) = ([], [])
        for entry in entries where Principal(entry.guid) != .nobody {
            if entry.kind == .deny { denied.formUnion(entry.rights) } else { allowed.formUnion(entry.rights) }
        }
        var lacking: Rights = []
        for bit in PosixRights.all where list.owner & bit == 0 && !allowed.isDisjoint(with: rights(bit)) { lacking.formUnion(rights(bit)) }
        // An owner may always set times.
        lacking.remove(.writeAttributes)
        let own = rights(list.owner).union(.writeAttributes)
        let isRefused = !denied.isDisjoint(with: own)
        var first: [ACE] = []
        if isRefused || saysAll { first.append(ACE(.owner, .allow, isRefused ? own : rights(list.owner))) }
        if !lacking.isEmpty { first.append(ACE(.owner, .deny, lacking)) }
        entries.insert(contentsOf: first, at: 0)
    }
}

// Groups: each caller has what one of its groups has, and all of a request from the same one.
extension PosixListBuilder {
    private mutating func addGroups() throws(PosixRefusal) {
        // The kernel executes no file without an x in its mode. The bit stands for the owning group, which is denied it.
        let needsBit = use == .file && mask & 1 != 0 && (list.owner | effectiveGroup | list.other) & 1 == 0
        if needsBit { groupBits |= 1 }
        if isChain {
            for member in members where !member.isOwningGroup || saysAll || needsBit || member.said != member.effective {
                addMember(member)
            }
            if needsBit { add(.owningGroup, .deny, rights(1)) }
            return
        }
        let check = OrderCheck(
            owningGroup: effectiveGroup, named: members.dropFirst().map(\.effective), other: list.other, saysAll: saysAll,
            needsBit: needsBit,
            rest: (owningGroup: saysAll ? list.other : groupBits, others: list.other))
        for order in orders() where check.isExact(order) {
            for step in steps(order, needsBit: needsBit) {
                let member = members[step.member]
                if step.isAllow { addMember(member) } else { add(member.guid, .deny, rights(step.bits)) }
            }
            return
        }
        throw .dividedGroups
    }

    /// Each group has all that a smaller one has, and none less than others: then entries that allow are enough.
    private var isChain: Bool {
        for (index, one) in members.enumerated() {
            if !one.isOwningGroup || saysAll, list.other & ~one.effective != 0 { return false }
            for other in members[(index + 1)...] {
                if one.effective & ~other.effective != 0, other.effective & ~one.effective != 0 { return false }
            }
        }
        return true
    }

    /// What a group is allowed, without the mask, and before it what the mask takes away. That no entry and no mode bit gives these rights is
    /// certain, so of a directory add_subdirectory is left out unless others have it: a deny would also refuse the rename of the directory.
    private mutating func addMember(_ member: Member) {
        let masked = member.said & ~mask
        var (denied, allowed) = (rights(masked), granted(member.said))
        if isDirectory, masked & PosixRights.write != 0, list.other & PosixRights.write == 0 {
            denied.remove(.addSubdirectory)
            allowed.remove(.addSubdirectory)
        }
        if masked != 0 { add(member.guid, .deny, denied) }
        add(member.guid, .allow, allowed)
    }

    private struct Step {
        var member: Int
        var isAllow: Bool
        var bits: UInt16
    }

    /// The larger groups first. Of groups with the same number of permissions each order may be the one.
    private func orders() -> [[UInt16]] {
        let values = Array(Set(members.map(\.effective)))
        var orders: [[UInt16]] = [[]]
        for count in [3, 2, 1, 0] {
            let same = values.filter { $0.nonzeroBitCount == count }.sorted(by: >)
            orders = orders.flatMap { start in permutations(same).map { start + $0 } }
        }
        return orders
    }

    private func permutations(_ values: [UInt16]) -> [[UInt16]] {
        if values.count < 2 { return [values] }
        return values.indices.flatMap { index in
            var rest = values
            let first = rest.remove(at: index)
            return permutations(rest).map { [first] + $0 }
        }
    }

    /// After the groups with some permissions have allowed, they deny those that a later group lacks: a request that is granted in part must
    /// not be completed by that one. In the end they deny what others have and they lack.
    private func steps(_ order: [UInt16], needsBit: Bool) -> [Step] {
        var steps: [Step] = []
        for (place, value) in order.enumerated() {
            let same = members.indices.filter { members[$0].effective == value }
            for index in same { steps.append(Step(member: index, isAllow: true, bits: value)) }
            let refused = order[(place + 1)...].filter { $0 & ~value != 0 }.reduce(0) { $0 | value & ~$1 }
            if refused != 0 { for index in same { steps.append(Step(member: index, isAllow: false, bits: refused)) } }
        }
        for (index, member) in members.enumerated() where !member.isOwningGroup || saysAll {
            let lacking = list.other & ~member.effective
            if lacking != 0 { steps.append(Step(member: index, isAllow: false, bits: lacking)) }
        }
        if needsBit { steps.append(Step(member: 0, isAllow: false, bits: 1)) }
        return steps
    }
}

/// Whether the steps in some order decide each request as the groups do, whichever of them a caller is in.
///
/// Groups with the same permissions have the same steps and count as one; the owning group has a number of its own, because the mode knows it.
/// A caller may ask for any list, so this must be quick: all seven requests are decided at once, each in three bits of a word, and pairs of groups
/// come first, where a wrong order fails as a rule.
private struct OrderCheck {
    let owningGroup: UInt16
    let other: UInt16
    let saysAll: Bool
    let needsBit: Bool
    /// What is left open at the end for a caller in the owning group, and for others.
    let rest: (owningGroup: UInt16, others: UInt16)
    /// Of named groups, each once.
    private let values: [UInt16]
    /// By permissions: the set of groups that have them. The owning group is 1.
    private let sets: [UInt16]

    init(
        owningGroup: UInt16, named: [UInt16], other: UInt16, saysAll: Bool, needsBit: Bool, rest: (owningGroup: UInt16, others: UInt16)
    ) {
        (self.owningGroup, self.other, self.saysAll, self.needsBit, self.rest) = (owningGroup, other, saysAll, needsBit, rest)
        var values: [UInt16] = []
        var sets = [UInt16](repeating: 0, count: 8)
        for value in named where sets[Int(value)] == 0 {
            values.append(value)
            sets[Int(value)] = 1 << UInt16(values.count)
        }
        sets[Int(owningGroup)] |= 1
        (self.values, self.sets) = (values, sets)
    }

    private struct Step {
        /// The groups that it is for, as a set of one.
        var group: UInt16
        var isAllow: Bool
        var bits: UInt16
    }

    /// The steps of `steps`, those of each group once.
    private func steps(_ order: [UInt16]) -> [Step] {
        var steps: [Step] = []
        func add(_ groups: UInt16, _ isAllow: Bool, _ bits: UInt16) {
            for number in 0..<9 where groups & 1 << UInt16(number) != 0 {
                steps.append(Step(group: 1 << UInt16(number), isAllow: isAllow, bits: bits))
            }
        }
        for (place, value) in order.enumerated() {
            add(sets[Int(value)], true, value)
            let refused = order[(place + 1)...].reduce(0) { $1 & ~value != 0 ? $0 | value & ~$1 : $0 }
            if refused != 0 { add(sets[Int(value)], false, refused) }
        }
        if saysAll, other & ~owningGroup != 0 { add(1, false, other & ~owningGroup) }
        for value in values where other & ~value != 0 { add(sets[Int(value)] & ~1, false, other & ~value) }
        if needsBit { add(1, false, 1) }
        return steps
    }

    /// - Parameter order: of the permissions.
    func isExact(_ order: [UInt16]) -> Bool {
        let steps = steps(order)
        let callers = 1..<(UInt16(1) << UInt16(values.count + 1))
        for caller in callers where caller.nonzeroBitCount <= 2 && !isExact(steps, caller) { return false }
        for caller in callers where caller.nonzeroBitCount > 2 && !isExact(steps, caller) { return false }
        return true
    }

    // The requests 0 to 7, each with its own three bits.
    private static let one: UInt32 = 0o1111_1111
    private static let requests: UInt32 = 0o7654_3210
    private static func all(_ bits: UInt16) -> UInt32 { one &* UInt32(bits) }
    /// All three bits of those that have any bit.
    private static func whole(_ lanes: UInt32) -> UInt32 { ((lanes | lanes >> 1 | lanes >> 2) & one) &* 7 }

    /// The scan of docs/reference/authorization.md 3.7, and the mode for what it leaves open.
    private func isExact(_ steps: [Step], _ caller: UInt16) -> Bool {
        // What is open of each request, and which are not refused.
        var open = Self.requests
        var notRefused = ~UInt32(0)
        for step in steps where caller & step.group != 0 {
            if step.isAllow {
                open &= ~Self.all(step.bits)
            } else {
                // A request that is granted already stays so.
                notRefused &= ~(Self.whole(Self.requests & Self.all(step.bits)) & Self.whole(open))
            }
        }
        open &= ~Self.all(caller & 1 != 0 ? rest.owningGroup : rest.others)
        let granted = ~Self.whole(open) & notRefused
        var right: UInt32 = caller & 1 != 0 ? ~Self.whole(Self.requests & ~Self.all(owningGroup)) : 0
        for (index, value) in values.enumerated() where caller & 2 << UInt16(index) != 0 {
            right |= ~Self.whole(Self.requests & ~Self.all(value))
        }
        // Without the request for nothing.
        return (granted ^ right) & 0o7777_7770 == 0
    }
}
