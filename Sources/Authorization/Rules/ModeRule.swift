/// The permission bits for rights that the entries leave undecided (docs/reference/authorization.md 3.9); read, write, execute = 4, 2, 1.
/// `delete` is decided with the directory, `changeOwner` and `writeSecurity` have no bit, and reading attributes needs none.
func modeBits(for rights: Rights) -> UInt16 {
    var bits: UInt16 = 0
    if !rights.isDisjoint(with: [.read, .readExtendedAttributes]) { bits |= 4 }
    if !rights.isDisjoint(with: [.write, .append, .deleteChild, .writeExtendedAttributes, .writeAttributes]) {
        bits |= 2
    }
    if rights.contains(.execute) { bits |= 1 }
    return bits
}

extension FileMode {
    @inline(__always)
    func grants(_ bits: UInt16, to modeClass: ModeClass) -> Bool {
        let shift: UInt16 =
            switch modeClass {
            case .owner: 6
            case .group: 3
            case .other: 0
            }
        return rawValue >> shift & bits == bits
    }
}

extension Inquiry {
    /// Exactly one class decides, without fall-through (3.10). If the class is unknown, every possible class must grant the bits.
    mutating func modeDecision(
        _ bits: UInt16, _ object: ObjectFacts, as role: ObjectRole, owner: Membership
    ) -> Decision {
        if let list = object.posixACL { return posixDecision(bits, object, list, as: role, owner: owner) }
        if owner == .member { return verdict(bits, object, role, .owner) }
        if owner == .unknown { return undecidedClass(bits, object, role, mayBeOwner: true) }
        let group = object.mode.grants(bits, to: .group)
        let other = object.mode.grants(bits, to: .other)
        // Both grant, so no membership needs to be looked up. A refusal is kept and logged with its class: it pays for the look-up.
        if group, other, !O.wantsExactStages { return .allow(.mode(.other, role)) }
        switch groupMembership(of: object) {
        case .member: return group ? .allow(.mode(.group, role)) : .deny(.EACCES, .mode(.group, role))
        case .notMember: return other ? .allow(.mode(.other, role)) : .deny(.EACCES, .mode(.other, role))
        case .unknown: return undecidedClass(bits, object, role, mayBeOwner: false)
        }
    }

    private func verdict(
        _ bits: UInt16, _ object: ObjectFacts, _ role: ObjectRole, _ modeClass: ModeClass
    ) -> Decision {
        object.mode.grants(bits, to: modeClass)
            ? .allow(.mode(modeClass, role)) : .deny(.EACCES, .mode(modeClass, role))
    }

    private func undecidedClass(
        _ bits: UInt16, _ object: ObjectFacts, _ role: ObjectRole, mayBeOwner: Bool
    ) -> Decision {
        if mayBeOwner, !object.mode.grants(bits, to: .owner) { return .deny(.EACCES, .mode(.owner, role)) }
        if !object.mode.grants(bits, to: .group) { return .deny(.EACCES, .mode(.group, role)) }
        return verdict(bits, object, role, .other)
    }
}
