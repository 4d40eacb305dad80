import Authorization
import SandboxPolicy
import Testing

/// The file that grants are kept in: what was written is read, and anything else counts for nothing.
@Suite struct GrantFileTests {
    private func names(_ path: String) -> [[UInt8]] { path.utf8.split(separator: 0x2F).map { Array($0) } }

    private func grant(
        _ path: String, isDirectory: Bool = true, access: EntitledAccess = .readOnly, expires: Int64? = nil
    ) -> Grant {
        Grant(bundle: "org.example.App", path: names(path), isDirectory: isDirectory, access: access, expires: expires)
    }

    private func example() -> GrantFile {
        var file = GrantFile(root: GrantRoot(inode: 1234, born: "1700000000.5", path: Array("/srv/share".utf8)))
        file.grants = [
            KeptGrant(grant("Users/ann/Letters"), given: 1_700_000_100, by: 501),
            KeptGrant(grant("x", isDirectory: false, access: .readWrite, expires: 1_800_000_000), given: 5, by: 0),
        ]
        // Bytes that are no text, and a line's end.
        file.grants.append(
            KeptGrant(
                Grant(bundle: "a", path: [[0xFF, 0x0A, 0x22]], isDirectory: true, access: .readOnly), given: 1, by: .max))
        return file
    }

    @Test func roundTrip() throws {
        #expect(try GrantFile(example().bytes) == example())
        let empty = GrantFile(root: GrantRoot(inode: 1, born: nil, path: [0x2F]))
        #expect(try GrantFile(empty.bytes) == empty)
    }

    @Test func aFollowedObject() throws {
        var file = example()
        #expect(String(decoding: file.bytes.prefix(6), as: UTF8.self) == "{\"v\":1", "an older program knows all of it")
        let handle = FollowedObject.Handle(type: 129, bytes: [0, 0x1F, 0xFF, 7])
        #expect(handle.text == "129:001fff07")
        file.grants[0].grant.object = FollowedObject(handle: handle, inode: .max, parent: nil)
        file.grants[1].grant.object = FollowedObject(handle: handle, inode: 5, parent: .init(type: -1, bytes: [1]))
        #expect(String(decoding: file.bytes.prefix(6), as: UTF8.self) == "{\"v\":2", "an older program must not take it for a place")
        #expect(try GrantFile(file.bytes) == file)
        let long = "1:" + String(repeating: "00", count: 129)
        for text in ["", ":", "1:", ":00", "1:0", "1:0g", "1:0G", "1:00:00", "x:00", long, "4294967296:00"] {
            #expect(FollowedObject.Handle(text: text) == nil, "\(text)")
        }
        #expect(FollowedObject.Handle(text: handle.text) == handle)
    }

    @Test func everyDamageIsSeen() {
        var whole = example()
        whole.grants[0].grant.object = FollowedObject(
            handle: .init(type: 1, bytes: [1, 2, 3]), inode: 7, parent: .init(type: 1, bytes: [9]))
        everyDamageIsSeen(of: example().bytes)
        everyDamageIsSeen(of: whole.bytes)
    }

    private func everyDamageIsSeen(of whole: [UInt8]) {
        for place in whole.indices {
            for value in [whole[place] ^ 1, whole[place] ^ 0x20, 0x0A] where value != whole[place] {
                var damaged = whole
                damaged[place] = value
                #expect(throws: GrantFile.Problem.self, "byte \(place) as \(value)") { try GrantFile(damaged) }
            }
            #expect(throws: GrantFile.Problem.self, "cut at \(place)") { try GrantFile(Array(whole.prefix(place))) }
        }
        #expect(throws: GrantFile.Problem.self) { try GrantFile(whole + whole) }
    }

    @Test func aLaterVersionIsLeftAlone() throws {
        let later = Array("{\"v\":3,\"whatever\":true}\nsomething else\n".utf8)
        let problem = #expect(throws: GrantFile.Problem.self) { try GrantFile(later) }
        #expect(problem?.description == "it is of version 3, and this aclfs knows 2")
    }

    @Test func fromADirectoryInside() {
        let inner = names("Users/ann")
        #expect(grant("Users/ann/Letters").below(inner)?.path == names("Letters"))
        #expect(grant("Users/ann").below(inner)?.path == [])
        #expect(grant("Users").below(inner)?.path == [], "it reaches everything in there")
        #expect(grant("Users", isDirectory: false).below(inner) == nil)
        #expect(grant("Users/bob").below(inner) == nil)
        #expect(grant("Users/ann/Letters").above(names("srv")).path == names("srv/Users/ann/Letters"))
    }

    @Test func aRootIsKnownByMoreThanItsNumber() {
        let root = GrantRoot(inode: 2, born: "5.5", path: Array("/a".utf8))
        #expect(root.isSame(as: GrantRoot(inode: 2, born: "5.5", path: Array("/b".utf8))), "wherever it is mounted")
        #expect(!root.isSame(as: GrantRoot(inode: 2, born: "5.6", path: Array("/a".utf8))), "another file system's")
        let unborn = GrantRoot(inode: 2, born: nil, path: Array("/a".utf8))
        #expect(!unborn.isSame(as: GrantRoot(inode: 2, born: nil, path: Array("/b".utf8))))
    }

    @Test func aClosedPlaceStaysClosed() throws {
        var profile = SandboxProfile(
            name: "wide",
            entitlements: try Entitlements([
                "com.apple.security.app-sandbox": .flag(true),
                "com.apple.security.files.user-selected.read-write": .flag(true),
                "com.apple.security.temporary-exception.files.absolute-path.read-write": .list([.text("/"), .text("/state/grants/x")]),
            ]), bundle: "org.example.App", home: names("state/grants"))
        profile.closed = [names("state/grants")]
        let all = [grant("state/grants", access: .readWrite), grant("state", access: .readWrite)]
        let table = try profile.table(grants: all, at: 1)
        #expect(table[table.zone(of: names("state/other"))].rights.contains(.write))
        for path in ["state/grants", "state/grants/x", "state/grants/Library/Containers/org.example.App/Data/Documents"] {
            #expect(table[table.zone(of: names(path))].rights.isEmpty, "\(path)")
        }
        #expect(table[table.zone(of: names("state/grants"))].isFixed && table[table.zone(of: names("state"))].isFixed)
    }
}
