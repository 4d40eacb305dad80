import Authorization
import Testing

/// docs/reference/authorization.md 4: the table, as a function of the two lists, w on the directory, and sticky.
@Suite struct DeleteRuleTests {
    enum Says: CaseIterable { case nothing, allow, deny }

    private func entry(_ says: Says, _ right: Rights) -> ACL? {
        switch says {
        case .nothing: nil
        case .allow: ACL([ACE(.everyone, .allow, right)])
        case .deny: ACL([ACE(.everyone, .deny, right)])
        }
    }

    @Test(arguments: Says.allCases, Says.allCases)
    func followsTheTable(item: Says, parent: Says) {
        for (mode, writes) in [(UInt16(0o070), false), (0o007, true), (0o1007, true), (0o1070, false)] {
            for ownsItem in [false, true] {
                for ownsParent in [false, true] {
                    var object = file(0, owner: ownsItem ? 502 : 501)
                    object.acl = entry(item, .delete)
                    var holder = directory(ownsParent ? (mode & 0o1000) | (writes ? 0o700 : 0) : mode)
                    holder.owner = ownsParent ? 502 : 501
                    holder.acl = entry(parent, .deleteChild)
                    let sticky = mode & 0o1000 != 0 && !ownsItem && !ownsParent
                    let decision = decide(.unlink, object, in: holder, by: stranger)
                    let posix = Stage.mode(ownsParent ? .owner : .other, .parent)
                    let expected: Decision =
                        switch (item, parent) {
                        case (.deny, _): .deny(.EACCES, .entry(.object, 0))
                        case (.allow, _): .allow(.entry(.object, 0))
                        case (.nothing, .deny): .deny(.EACCES, .entry(.parent, 0))
                        case (.nothing, .allow): .allow(.entry(.parent, 0))
                        case (.nothing, .nothing):
                            !writes ? .deny(.EACCES, posix) : sticky ? .deny(.EACCES, .sticky) : .allow(posix)
                        }
                    #expect(decision == expected, "mode \(String(mode, radix: 8)), \(ownsItem), \(ownsParent)")
                }
            }
        }
    }

    @Test func flagsOfBothRefuseAlsoWhatAnEntryAllows() {
        let allowed = ACE(.everyone, .allow, .delete)
        for flag in [FileFlags.userImmutable, .userAppend, .systemImmutable, .systemAppend, .noUnlink] {
            let item = file(0, flags: flag, allowed)
            #expect(decide(.unlink, item, in: directory(0o777), by: stranger) == .deny(.EPERM, .flags(.object)))
            #expect(decide(.unlink, item, in: directory(0o777), by: root) == .deny(.EPERM, .flags(.object)))
        }
        for flag in [FileFlags.userImmutable, .userAppend, .systemImmutable, .systemAppend] {
            let holder = directory(0o777, flags: flag)
            #expect(decide(.unlink, file(0, allowed), in: holder, by: stranger) == .deny(.EPERM, .flags(.parent)))
            #expect(decide(.unlink, file(0, allowed), in: holder, by: root) == .deny(.EPERM, .flags(.parent)))
        }
        // SF_NOUNLINK protects the directory itself, not what it holds (Q12).
        #expect(decide(.unlink, file(), in: directory(0o777, flags: .noUnlink), by: stranger).isAllowed)
    }

    /// The item's own mode and owner are no reason.
    @Test func owningTheItemDoesNotReplaceWriteOnTheDirectory() {
        #expect(!decide(.unlink, file(0o777, owner: 502), in: directory(0o755), by: stranger).isAllowed)
    }
}
