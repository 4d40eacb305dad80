import ACLFormats
import Authorization
import Testing

@Suite("editing a list (docs/reference/authorization.md 7.4, 7.5)")
struct ACLEditTests {
    func entry(_ text: String) throws -> ACE { try ACLTextParser.parse(text, names: ExampleNames())[0] }
    func list(_ texts: String...) throws -> ACL { ACL(try texts.map(entry)) }

    @Test("canonical: explicit deny, explicit allow, inherited deny, inherited allow")
    func canonical() throws {
        let whole = try list("bob deny read", "bob allow read", "bob deny read,inherited", "bob allow read,inherited")
            .entries
        #expect(CanonicalOrder.isCanonical(whole))
        for (index, entry) in whole.enumerated() {
            #expect(CanonicalOrder.position(for: entry, in: whole) == index)
            for other in whole.indices where other > index {
                #expect(!CanonicalOrder.isCanonical([whole[other], entry]))
            }
        }
    }

    @Test("rights merge into the last entry that differs in nothing else")
    func merge() throws {
        let acl = try list("bob allow read", "bob allow execute", "eng allow read", "bob allow write,file_inherit")
        let edited = ACLEdit.add([try entry("bob allow delete")]).applied(to: acl)
        #expect(
            edited.acl
                == (try list(
                    "bob allow read", "bob allow execute,delete", "eng allow read", "bob allow write,file_inherit")))
    }

    @Test("an exact duplicate changes nothing, even where another entry could merge it")
    func duplicate() throws {
        let acl = try list("bob allow read", "bob allow execute")
        #expect(ACLEdit.add([try entry("bob allow read")]).applied(to: acl).acl == acl)
    }

    @Test("without a list, -a, -a#, -i and -I say so and leave none")
    func noList() throws {
        for edit in [
            ACLEdit.subtract([try entry("bob allow read")]), .remove(at: 0), .clearInherited, .removeInherited,
        ] {
            #expect(edit.applied(to: nil) == ACLEditResult(acl: nil, diagnostics: [ACLDiagnostic(.noACL)]))
        }
        #expect(ACLEdit.checkCanonical.applied(to: nil).isCanonical == true)
        #expect(ACLEdit.checkCanonical.applied(to: nil).diagnostics.map(\.code) == [.noACL])
        #expect(ACLEdit.removeList.applied(to: nil) == ACLEditResult(acl: nil))
    }

    @Test("the last entry gone leaves an empty list, not none")
    func lastEntry() throws {
        let acl = try list("bob allow read")
        #expect(ACLEdit.remove(at: 0).applied(to: acl).acl == ACL([]))
        #expect(ACLEdit.subtract(acl.entries).applied(to: acl).acl == ACL([]))
        #expect(ACLEdit.removeInherited.applied(to: try list("bob allow read,inherited")).acl == ACL([]))
        #expect(ACLEdit.removeList.applied(to: acl).acl == nil)
        #expect(ACLEdit.replaceAll([]).applied(to: acl).acl == ACL([]))
    }

    @Test("-a takes rights from every entry of the identity, and deletes what it cannot name")
    func subtract() throws {
        var hidden = try entry("bob allow write,file_inherit")
        hidden.rights.insert(.synchronize)
        let acl = ACL([hidden, try entry("bob allow read,write,inherited"), try entry("bob deny write")])
        let edited = ACLEdit.subtract([try entry("bob allow write")]).applied(to: acl)
        #expect(edited.acl == (try list("bob allow read,inherited", "bob deny write")))
        #expect(edited.diagnostics.isEmpty)
    }

    @Test("=a# and -a# beyond the list")
    func beyond() throws {
        let acl = try list("bob allow read")
        let replaced = ACLEdit.replace(try entry("eng deny read"), at: 1).applied(to: acl)
        #expect(replaced.acl == acl && replaced.diagnostics.map(\.code.rawValue) == ["E_NO_ENTRY"])
        #expect(replaced.diagnostics.allSatisfy { $0.isFatal })
        #expect(ACLEdit.remove(at: 1).applied(to: acl).diagnostics.map(\.code.rawValue) == ["W_NO_ENTRY"])
        #expect(ACLEdit.replace(try entry("eng deny read"), at: 0).applied(to: nil).acl == (try list("eng deny read")))
        #expect(ACLEdit.replace(try entry("eng deny read"), at: 0).applied(to: acl).acl == (try list("eng deny read")))
    }

    @Test("-i keeps the order, -I takes inherited entries out")
    func inherited() throws {
        let acl = try list("bob allow read", "eng deny write,inherited", "eng allow read,inherited,file_inherit")
        #expect(
            ACLEdit.clearInherited.applied(to: acl).acl
                == (try list("bob allow read", "eng deny write", "eng allow read,file_inherit")))
        #expect(ACLEdit.removeInherited.applied(to: acl).acl == (try list("bob allow read")))
    }

    @Test("a list never grows beyond 128 entries")
    func full() throws {
        let acl = ACL((0..<128).map { ACE(GUID(user: $0), .allow, .read) })
        for edit in [ACLEdit.add([try entry("eng allow read")]), .insert([try entry("eng allow read")], at: 3)] {
            let result = edit.applied(to: acl)
            #expect(result.acl == acl && result.diagnostics.map(\.code) == [.tooMany])
        }
    }

    @Test("list flags survive an edit")
    func listFlags() throws {
        let acl = ACL([try entry("bob allow read")], listFlags: 5)
        #expect(ACLEdit.add([try entry("eng deny read")]).applied(to: acl).acl?.listFlags == 5)
        #expect(ACLEdit.clearInherited.applied(to: acl).acl?.listFlags == 5)
    }
}
