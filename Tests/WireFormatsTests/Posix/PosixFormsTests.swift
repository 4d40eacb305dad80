import Authorization
import Testing
import WireFormats

/// docs/reference/posix-acl.md "Setting" and "chmod": what stays of a list, and what is refused.
@Suite struct PosixFormsTests {
    private let forms = PosixForms(isOn: true)
    private let deny = ACE(GUID(user: 7), .deny, [.read], flags: [.inherited])
    private let list = PosixList(owner: 6, users: [.init(501, 4)], group: 4, mask: 4, other: 0)

    private func file(_ entries: [ACE], mode: UInt16 = 0o640) -> ObjectFacts {
        ObjectFacts(kind: .file, owner: 1, group: 2, mode: FileMode(rawValue: mode), acl: entries.isEmpty ? nil : ACL(entries))
    }

    private func directory(_ entries: [ACE], mode: UInt16 = 0o755) -> ObjectFacts {
        ObjectFacts(kind: .directory, owner: 1, group: 2, mode: FileMode(rawValue: mode), acl: entries.isEmpty ? nil : ACL(entries))
    }

    private func applied(_ change: PosixChange, to facts: ObjectFacts) -> ObjectFacts {
        var after = facts
        (after.acl, after.mode) = (change.acl, change.mode)
        return after
    }

    @Test func inheritedEntriesStay() throws {
        let new = file([deny])
        let set = applied(try forms.setting(access: list, on: new), to: new)
        #expect(set.acl?.entries.last == deny && set.acl?.entries.count == 3)
        #expect(forms.access(set) == nil)
        // The same again, and one that names more.
        #expect(try forms.setting(access: list, on: set).acl == set.acl)
        var more = list
        more.users.append(.init(502, 0))
        #expect(try forms.setting(access: more, on: set).acl?.entries.last == deny)
        // getfacl shows what was set, so another list replaces it.
        #expect(forms.shown(set) == list && forms.shownMode(set).rawValue == 0o640)
        let other = PosixList(owner: 6, users: [.init(502, 4)], group: 4, mask: 4, other: 0)
        let replaced = applied(try forms.setting(access: other, on: set), to: set)
        #expect(forms.shown(replaced) == other && replaced.acl?.entries.last == deny)
        // It changes the mask, and leaves the inherited entry.
        let closed = applied(try #require(try forms.changingMode(of: set, to: FileMode(rawValue: 0o600))), to: set)
        #expect(forms.shown(closed)?.mask == 0 && forms.shownMode(closed).rawValue == 0o600 && closed.acl?.entries.contains(deny) == true)
        // Without its entry for the mask it was not set, and would be lost.
        var unset = set
        unset.acl?.entries.removeAll { Principal($0.guid) == .nobody }
        #expect(forms.shown(unset) == nil)
        #expect(throws: PosixRefusal.otherEntries) { try forms.setting(access: other, on: unset) }
        // What means a chmod removes what was set.
        let plain = PosixList(owner: 6, group: 4, other: 0)
        #expect(try forms.setting(access: plain, on: set).acl == ACL([deny]))
        #expect(try forms.removingAccess(on: set)?.acl == ACL([deny]))
    }

    @Test func explicitEntriesAreNotLost() throws {
        let own = ACE(GUID(user: 7), .deny, [.read])
        #expect(throws: PosixRefusal.otherEntries) { try forms.setting(access: list, on: file([own])) }
        #expect(throws: PosixRefusal.otherEntries) { try forms.setting(access: list, on: file([own, deny])) }
        // Those that getfacl shows are replaced.
        let shown = file([ACE(GUID(user: 502), .allow, [.read, .readExtendedAttributes])])
        #expect(forms.access(shown) != nil)
        #expect(try forms.setting(access: list, on: shown).acl?.entries.contains { $0.guid == GUID(user: 502) } == false)
    }

    @Test func inheritableEntriesAreNotLost() throws {
        let inheritable = ACE(GUID(user: 7), .deny, [.read], flags: [.fileInherit, .directoryInherit])
        for flags: ACEFlags in [[], .inherited] {
            var entry = inheritable
            entry.flags.formUnion(flags)
            #expect(throws: PosixRefusal.otherInheritableEntries) { try forms.setting(new: list, on: directory([entry])) }
        }
        let standard = PosixList(owner: 7, users: [.init(501, 5)], group: 5, mask: 5, other: 0)
        let first = directory([])
        let set = applied(try forms.setting(new: standard, on: first), to: first)
        #expect(try forms.setting(new: list, on: set).acl?.entries.isEmpty == false)
    }

    /// docs/guide/copies.md: what POSIX ACLs say is not said again, and not removed with the rest.
    @Test func whatNoPosixACLSays() throws {
        let (own, plain) = (ACE(GUID(user: 7), .deny, [.read]), file([]))
        var set = applied(try forms.setting(access: list, on: plain), to: plain)
        #expect(forms.sayAll(of: plain) && forms.sayAll(of: set) && forms.withoutWhatNoneSays(set) == set.acl)
        // Nor beside inherited entries; but no other entry, and not with POSIX ACLs off.
        let beside = applied(try forms.setting(access: list, on: file([deny])), to: file([deny]))
        #expect(forms.sayAll(of: beside) && forms.withoutWhatNoneSays(beside) == beside.acl)
        #expect(!forms.sayAll(of: file([own])) && forms.withoutWhatNoneSays(file([own, deny])) == ACL([deny]))
        #expect(!PosixForms(isOn: false).sayAll(of: set) && PosixForms(isOn: false).withoutWhatNoneSays(set) == nil)
        // The mark goes alone.
        set.acl?.listFlags = ACL.noInherit
        #expect(!forms.sayAll(of: set) && forms.withoutWhatNoneSays(set) == ACL(set.acl?.entries ?? []))
        // A list that getfacl shows without that it was set counts as set afterwards.
        var unset = applied(try forms.setting(access: list, on: plain), to: plain)
        let whole = unset.acl
        unset.acl?.entries.removeLast()
        #expect(forms.access(unset) == list && !forms.sayAll(of: unset) && forms.withoutWhatNoneSays(unset) == whole)
        // The default ACL for itself.
        let standard = PosixList(owner: 7, users: [.init(501, 5)], group: 5, mask: 5, other: 0)
        let folder = directory([])
        let both = applied(try forms.setting(new: standard, on: folder), to: folder)
        #expect(forms.sayAll(of: both))
        var mixed = both
        mixed.acl?.entries.insert(own, at: 0)
        #expect(!forms.sayAll(of: mixed) && forms.withoutWhatNoneSays(mixed) == both.acl)
        unset = both
        unset.acl?.entries.removeAll { Principal($0.guid) == .nobody }
        #expect(!forms.sayAll(of: unset) && forms.withoutWhatNoneSays(unset) == both.acl)
        #expect(forms.sayAll(of: directory([deny])))
        // No new object inherits it, and no default ACL has it.
        #expect(!forms.sayAll(of: directory([ACE(GUID(user: 7), .allow, [.read], flags: .onlyInherit)])))
    }

    /// A directory keeps inherited entries as they are: in force, and for what is made in it.
    @Test func anInheritedEntryOfADirectoryIsNotDivided() throws {
        let both = ACE(GUID(user: 7), .deny, [.read], flags: [.inherited, .fileInherit, .directoryInherit])
        let set = try forms.setting(access: PosixList(owner: 7, users: [.init(501, 5)], group: 5, mask: 5, other: 0), on: directory([both]))
        #expect(set.acl?.entries.last == both && set.acl?.entries.filter { $0.guid == GUID(user: 7) }.count == 1)
    }

    /// Each entry that the mask cuts needs a second one.
    @Test func aChmodClosesAnObjectWithManyEntries() throws {
        let users = (0..<120).map { PosixList.Named(1000 + $0, 6) }
        let first = file([], mode: 0o660)
        let set = applied(
            try forms.setting(access: PosixList(owner: 6, users: users, group: 6, mask: 6, other: 0), on: first), to: first)
        for mode: UInt16 in [0o600, 0o640, 0o400, 0] {
            let change = try #require(try forms.changingMode(of: set, to: FileMode(rawValue: mode)))
            let after = applied(change, to: set)
            let shown = try #require(forms.access(after))
            #expect(shown.classBits == mode >> 3 & 7)
            #expect(shown.users.allSatisfy { $0.permissions & shown.classBits == mode >> 3 & 7 })
            #expect(forms.shownMode(after).rawValue == mode)
        }
    }

    @Test func aDefaultACLIsOneThatDirectoriesCanHave() throws {
        let users = (0..<60).map { PosixList.Named(1000 + $0, 4) }
        #expect(throws: PosixRefusal.self) {
            try forms.setting(new: PosixList(owner: 7, users: users, group: 5, mask: 5, other: 5), on: directory([]))
        }
        let fewer = PosixList(owner: 7, users: Array(users.prefix(20)), group: 5, mask: 7, other: 5)
        let parent = directory([])
        let set = applied(try forms.setting(new: fewer, on: parent), to: parent)
        let inherited = try #require(forms.inherited(set))
        for mode: UInt16 in 0...0o777 { _ = try forms.inheriting(inherited, by: directory([], mode: mode)) }
    }

    /// A chmod leaves an explicit entry explicit.
    @Test func aChmodMarksNothingAsInherited() throws {
        let first = file([])
        var set = applied(try forms.setting(access: list, on: first), to: first)
        set.acl?.entries[0].flags = .inherited
        let change = try #require(try forms.changingMode(of: set, to: FileMode(rawValue: 0o600)))
        #expect(change.acl?.entries.allSatisfy { $0.flags == [] } == true)
    }
}
