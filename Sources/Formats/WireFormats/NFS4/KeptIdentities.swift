import Authorization

/// Keeps the identities of entries that come back under another name for the same people.
///
/// Samba makes OWNER@ and GROUP@ of an entry for the user or the group to whom the object belongs, and the reverse of an inheritable one. Stored
/// so, the entry would follow the next chown or chgrp to others.
struct KeptIdentities {
    /// Which entries of a value get the identity of a stored one.
    enum Reach {
        /// Inherited entries with the same rights. In a value that a user made any other is meant as it is.
        case inherited
        /// Those with the same rights, then edited ones. What is inherited otherwise came from a directory, where it named a user or a group.
        case all
    }

    /// For the owner and for the group: the well-known identity, then the one that it stands for now.
    private let classes: [[GUID]]
    /// Stored entries that no entry of the value is yet, each with the forms in which a value may have it.
    private var left: [(stored: ACE, forms: [ACE])]

    /// - Parameter stored: entries of the object's list, each with the forms in which a value may have it.
    init(_ facts: ObjectFacts, _ stored: [(stored: ACE, forms: [ACE])]) {
        (classes, left) = ([facts.ownerIdentities, facts.groupIdentities], stored)
    }

    /// - Parameters:
    ///   - entries: of the value.
    ///   - others: entries that a value may have and that are not stored.
    /// - Returns: the entries with the identities that they had.
    func restored(_ entries: [ACE], besides others: [ACE] = [], _ reach: Reach) -> [ACE] {
        // Few lists name the owner or the group of their object.
        guard entries.contains(where: { people($0.guid) != nil }) else { return entries }
        var (kept, result, open) = (self, entries, [Int]())
        for (index, entry) in entries.enumerated() {
            if let place = kept.left.firstIndex(where: { $0.forms.contains(entry) }) {
                kept.left.remove(at: place)
            } else if people(entry.guid) != nil, !others.contains(entry), reach == .all || entry.flags.contains(.inherited) {
                open.append(index)
            }
        }
        for comparesRights in reach == .all ? [true, false] : [true] {
            open.removeAll { index in
                guard let identity = kept.takeIdentity(of: entries[index], comparesRights) else { return false }
                result[index].guid = identity
                return true
            }
        }
        if reach == .inherited { return result }
        for index in open where entries[index].isInheritedOnly {
            if let people = people(entries[index].guid) { result[index].guid = people[1] }
        }
        return result
    }

    private func people(_ identity: GUID) -> [GUID]? { classes.first { $0.contains(identity) } }

    /// The identity of a stored entry for the same people, which is taken.
    private mutating func takeIdentity(of entry: ACE, _ comparesRights: Bool) -> GUID? {
        guard let people = people(entry.guid) else { return nil }
        let place = left.firstIndex { known in
            people.contains(known.stored.guid)
                && known.forms.contains { $0.flagsWord == entry.flagsWord && (!comparesRights || $0.rights == entry.rights) }
        }
        return place.map { left.remove(at: $0).stored.guid }
    }
}

extension ACE {
    /// Whether it came from a directory and goes no further.
    fileprivate var isInheritedOnly: Bool { flags.contains(.inherited) && flags.isDisjoint(with: .inheritanceControl) }
}

extension ObjectFacts {
    var ownerIdentities: [GUID] { [.owner, ownerGUID ?? GUID(user: owner)] }
    var groupIdentities: [GUID] { [.owningGroup, groupGUID ?? GUID(group: group)] }
}
