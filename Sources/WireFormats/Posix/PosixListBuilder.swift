import Authorization

/// Builds the entries of one list. docs/posix-acl.md "What is stored" has the order and the reasons.
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
        for order in orders() {
            let steps = steps(order, needsBit: needsBit)
            guard isExact(steps) else { continue }
            for step in steps {
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

    /// Whether the steps decide each request as the groups do, whichever of them a caller is in. Groups with the same permissions count as
    /// one; the owning group has a number of its own, because the mode knows it.
    private func isExact(_ steps: [Step]) -> Bool {
        var values: [UInt16] = []
        for member in members.dropFirst() where !values.contains(member.effective) { values.append(member.effective) }
        func bit(_ member: Int) -> Int {
            member == 0 ? 1 : 1 << ((values.firstIndex(of: members[member].effective) ?? 0) + 1)
        }
        var numbered: [(Step, Int)] = []
        for step in steps {
            let number = bit(step.member)
            // Groups with the same permissions have the same steps, one after the other.
            if let (last, before) = numbered.last, before == number, last.isAllow == step.isAllow, last.bits == step.bits { continue }
            numbered.append((step, number))
        }
        for caller in 1..<(1 << (values.count + 1)) {
            let own = (caller & 1 != 0 ? [effectiveGroup] : []) + values.indices.filter { caller & 2 << $0 != 0 }.map { values[$0] }
            for request in UInt16(1)...7 {
                let right = own.contains { $0 & request == request }
                if decides(numbered, caller, request) != right { return false }
            }
        }
        return true
    }

    /// The scan of docs/authorization.md 3.7, and the mode for what it leaves open.
    private func decides(_ steps: [(Step, Int)], _ caller: Int, _ request: UInt16) -> Bool {
        var open = request
        for (step, bit) in steps where caller & bit != 0 {
            if step.isAllow {
                open &= ~step.bits
                if open == 0 { return true }
            } else if step.bits & request != 0 {
                return false
            }
        }
        return open & ~(saysAll ? list.other : caller & 1 != 0 ? groupBits : list.other) == 0
    }
}
