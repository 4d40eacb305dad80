import Authorization
import Foundation
import TestSupport
import Testing
import WireFormats

/// `._` files and `com.apple.system.Security` (docs/guide/export.md "From a Mac").
@Suite struct AppleDoubleTests {
    private static func corpus(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: Repository.top.appendingPathComponent("Tests/FuzzTests/Corpus/apple-double/\(name)")))
    }

    private static let list = ACL([
        ACE(GUID(user: 501), .allow, .read), ACE(.everyone, .deny, .delete, flags: .inherited),
    ])

    @Test func theListOfAFileIsRead() throws {
        let file = try Self.corpus("security")
        let parts = try AppleDouble(file, size: UInt64(file.count))
        #expect(parts.security == FileSecurity(acl: Self.list) && parts.listText == nil && parts.otherAttributes.isEmpty)
        let several = try Self.corpus("several")
        let others = try AppleDouble(several, size: UInt64(several.count))
        #expect(others.security == nil && others.listText?.starts(with: "!#acl 1\nuser:".utf8) == true)
        #expect(others.otherAttributes == [Array("com.apple.quarantine".utf8)])
    }

    @Test func securityIsReadBack() throws {
        for security in [
            FileSecurity(acl: nil), FileSecurity(acl: ACL([])),
            FileSecurity(owner: GUID(user: 5), group: GUID(high: 1, low: 2), acl: Self.list),
            FileSecurity(acl: ACL(Array(repeating: ACE(.owner, .allow, .read), count: ACL.maximumEntryCount), listFlags: ACL.noInherit)),
        ] { #expect(try FileSecurity(security.bytes) == security) }
        // The example of docs/reference/authorization.md 1.3 has 44 bytes and 24 for each entry.
        #expect(FileSecurity(acl: Self.list).bytes.count == 92 && FileSecurity(acl: nil).bytes.count == 44)
    }

    /// No damaged value counts as "no list".
    @Test func damagedSecurityIsAnError() {
        let bytes = FileSecurity(acl: Self.list).bytes
        for count in 0..<bytes.count {
            #expect(throws: FileSecurityError.self, "\(count)") { try FileSecurity(Array(bytes.prefix(count))) }
        }
        #expect(throws: FileSecurityError.self) { try FileSecurity(bytes + [0]) }
        var changed = bytes
        changed[0] = 2
        #expect(throws: FileSecurityError.badMagic(0x022C_C16D)) { try FileSecurity(changed) }
        changed = bytes
        changed[39] = 129
        #expect(throws: FileSecurityError.tooManyEntries(129)) { try FileSecurity(changed) }
    }

    /// Every length is checked: a file that is cut anywhere within its attributes is an error.
    @Test func aCutFileIsAnError() throws {
        let file = try Self.corpus("security")
        for count in 0..<file.count {
            #expect(throws: AppleDoubleError.self, "\(count)") { try AppleDouble(Array(file.prefix(count)), size: UInt64(count)) }
        }
    }

    @Test(arguments: [0, 4, 25, 34, 84, 92, 119, 123, 127, 130, 140, 160])
    func aChangedFileIsAnErrorOrAnother(_ place: Int) throws {
        var file = try Self.corpus("security")
        file[place] ^= 0x7F
        #expect(throws: AppleDoubleError.self, "\(place)") {
            let parts = try AppleDouble(file, size: UInt64(file.count))
            // The name became another one, or the Finder info has no attributes.
            if parts.security == nil { throw AppleDoubleError.badAttributeName }
        }
    }
}
