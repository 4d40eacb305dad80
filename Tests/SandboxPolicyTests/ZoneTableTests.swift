import Authorization
import SandboxPolicy
import Testing

/// docs/reference/sandbox-zones.md "Zones" and the guide's Table 1-1: what a profile lets pass where.
@Suite struct ZoneTableTests {
    private let sandboxed: [String: EntitlementValue] = ["com.apple.security.app-sandbox": .flag(true)]

    private func names(_ path: String) -> [[UInt8]] { path.utf8.split(separator: 0x2F).map { Array($0) } }

    private func table(
        _ more: [String: EntitlementValue] = [:], bundle: String? = "org.example.App", home: String = "Users/ann",
        layout: ContainerLayout = .macos, grants: [Grant] = []
    ) throws -> ZoneTable {
        let entitlements = try Entitlements(sandboxed.merging(more) { $1 })
        return try SandboxProfile(
            name: "test", entitlements: entitlements, bundle: bundle, home: names(home), layout: layout
        ).table(grants: grants, at: 100)
    }

    private func zone(_ path: String, in table: ZoneTable) -> ZoneTable.Zone {
        table[names(path).reduce(ZoneID.top) { table.zone(of: $1, below: $0) }]
    }

    private let container = "Users/ann/Library/Containers/org.example.App/Data"

    @Test func nothingOutsidePasses() throws {
        let table = try table()
        #expect(zone("etc", in: table).rights.isEmpty)
        #expect(zone("etc/passwd", in: table).rights.isEmpty)
        #expect(zone("Users/ann/Documents/letter", in: table).rights.isEmpty)
        #expect(zone("Users/ann/Library/Containers/org.other.App/Data/Documents/x", in: table).rights.isEmpty)
    }

    @Test func aProfileThatReachesNothing() throws {
        let table = try table(bundle: nil)
        #expect(zone("", in: table).rights.contains([.search, .readAttributes]) && !zone("", in: table).rights.contains(.list))
        #expect(zone("etc", in: table).rights.isEmpty && zone("etc/passwd", in: table).rights.isEmpty)
    }

    @Test func theWayInIsFoundAndNoMore() throws {
        let table = try table()
        for path in ["", "Users", "Users/ann", "Users/ann/Library/Containers/org.example.App"] {
            let zone = zone(path, in: table)
            #expect(zone.rights.contains([.search, .readAttributes]))
            #expect(zone.rights.isDisjoint(with: [.list, .addFile, .addSubdirectory, .delete, .deleteChild]))
            #expect(zone.isFixed)
        }
    }

    @Test(arguments: [
        ("Documents/letter", true, true), ("Documents/Inbox/letter", true, false), ("Library/Caches/a/b", true, true),
        ("Library/Preferences/x.plist", true, true), ("tmp/x", true, true), ("Own/deep/er", true, true),
        ("Tool.app", true, false), ("Tool.app/Contents/MacOS/tool", true, false),
    ])
    func theContainer(_ path: String, _ reads: Bool, _ writes: Bool) throws {
        for (layout, top) in [(ContainerLayout.macos, container)] {
            let zone = zone(top + "/" + path, in: try table(layout: layout))
            #expect(zone.rights.contains(.read) == reads)
            #expect(zone.rights.contains(.write) == writes)
            #expect(zone.rights.contains(.append) == writes)
        }
    }

    /// Inside a container only its layout counts: no key and no grant that names something there makes it wider or narrower.
    @Test(arguments: [
        "Tool.app", "Tool.app/Contents/exec", "Documents", "Documents/letter", "Documents/Inbox/letter", "Own/a/b", "tmp/x",
        "Tool.app/x.app",
    ])
    func whatIsNamedInsideAContainerStaysAsItIs(_ named: String) throws {
        let path = container + "/" + named
        let key = "com.apple.security.temporary-exception.files.absolute-path."
        let tables = try [
            table([key + "read-only": .list([.text("/" + path + "/")])]), table([key + "read-write": .list([.text("/" + path)])]),
            table(
                ["com.apple.security.files.user-selected.read-write": .flag(true)],
                grants: [
                    Grant(bundle: "org.example.App", path: names(path), isDirectory: true, access: .readWrite, expires: nil)
                ]),
        ]
        for seen in [named, named + "/below", "Tool.app", "Tool.app/Contents", "Tool.app/Contents/exec", "Other.app/x", "Documents/y"] {
            let (plain, others) = (zone(container + "/" + seen, in: try table()), tables.map { zone(container + "/" + seen, in: $0) })
            for other in others {
                #expect(other.rights == plain.rights && other.kind == plain.kind && other.source == plain.source, "\(seen)")
                #expect(other.isFixed == plain.isFixed, "\(seen)")
            }
        }
    }

    @Test func theInboxIsReadAndEmptied() throws {
        let table = try table()
        let inbox = zone(container + "/Documents/Inbox", in: table)
        #expect(inbox.rights.contains([.list, .search, .deleteChild]))
        #expect(inbox.rights.isDisjoint(with: [.addFile, .addSubdirectory, .writeExtendedAttributes, .writeSecurity]))
        let letter = zone(container + "/Documents/Inbox/letter", in: table)
        #expect(letter.rights.contains([.read, .delete]) && !letter.rights.contains(.write))
    }

    @Test func movesOnlyLoseRights() throws {
        let table = try table(["com.apple.security.files.downloads.read-only": .flag(true)])
        func id(_ path: String) -> ZoneID { names(path).reduce(ZoneID.top) { table.zone(of: $1, below: $0) } }
        let (inbox, documents) = (id(container + "/Documents/Inbox/x"), id(container + "/Documents/x"))
        #expect(table.permitsMove(from: inbox, to: documents), "the guide asks applications to do so")
        #expect(!table.permitsMove(from: inbox, to: id(container + "/tmp/x")))
        #expect(!table.permitsMove(from: id("Users/ann/Downloads/x"), to: documents))
        #expect(table.permitsMove(from: documents, to: id(container + "/tmp/x")))
    }

    @Test func iosKeepsItsTopAsItIs() throws {
        let table = try table(layout: .ios)
        let top = zone("Users/ann/Containers/Data/org.example.App", in: table)
        #expect(top.rights.contains([.list, .search]) && top.rights.isDisjoint(with: [.addFile, .addSubdirectory, .deleteChild]))
        #expect(zone("Users/ann/Containers/Data/org.example.App/New", in: table).rights.isEmpty)
        #expect(zone("Users/ann/Containers/Data/org.example.App/Documents/x", in: table).rights.contains(.write))
        let bundle = zone("Users/ann/Containers/Bundle/org.example.App/App.app/exec", in: table)
        #expect(bundle.rights.contains([.read, .execute]) && !bundle.rights.contains(.write))
        for path in ["Library/Caches/x", "tmp/x"] {
            #expect(zone("Users/ann/Containers/Data/org.example.App/" + path, in: table).kind.isExcludedFromBackup)
        }
        #expect(!zone("Users/ann/Containers/Data/org.example.App/Library/x", in: table).kind.isExcludedFromBackup)
    }

    @Test func keysNameTheirPlaces() throws {
        let table = try table([
            "com.apple.security.files.downloads.read-write": .flag(true),
            "com.apple.security.assets.music.read-only": .flag(true),
            "com.apple.security.application-groups": .list([.text("group.one")]),
            "com.apple.developer.ubiquity-container-identifiers": .list([.text("iCloud.org.example.App")]),
            "com.apple.security.temporary-exception.files.absolute-path.read-only": .list([.text("/opt/data/")]),
            "com.apple.security.temporary-exception.files.home-relative-path.read-write": .list([.text("/notes.txt")]),
        ])
        #expect(zone("Users/ann/Downloads/x", in: table).rights.contains(.write))
        let song = zone("Users/ann/Music/a/song", in: table)
        #expect(song.rights.contains(.read) && !song.rights.contains(.write))
        #expect(song.source == "com.apple.security.assets.music.read-only")
        #expect(zone("Users/ann/Library/Group Containers/group.one/x", in: table).rights.contains(.write))
        let cloud = zone("Users/ann/Library/Mobile Documents/iCloud.org.example.App/Documents/x", in: table)
        #expect(cloud.rights.contains(.write) && cloud.source == "com.apple.developer.ubiquity-container-identifiers")
        #expect(zone("Users/ann/Library/Mobile Documents/iCloud.org.example.Other/x", in: table).rights.isEmpty)
        #expect(zone("opt/data/deep/x", in: table).rights.contains(.read))
        #expect(zone("opt/other", in: table).rights.isEmpty)
        #expect(zone("Users/ann/notes.txt", in: table).rights.contains(.write))
        #expect(zone("Users/ann/notes.txt/below", in: table).rights.isEmpty)
    }

    @Test func whatCannotBeUnderstoodIsRefused() {
        let wrong: [[String: EntitlementValue]] = [
            ["com.apple.security.app-sandbox": .flag(false)], ["com.apple.security.app-sandbox": .text("yes")],
            sandboxed.merging(["com.apple.security.files.downloads.read-write": .text("true")]) { $1 },
            sandboxed.merging(["com.apple.security.application-groups": .text("group")]) { $1 },
            sandboxed.merging(["com.apple.security.application-groups": .list([.text("../..")])]) { $1 },
            sandboxed.merging(["com.apple.developer.ubiquity-container-identifiers": .text("iCloud")]) { $1 },
            sandboxed.merging(["com.apple.developer.ubiquity-container-identifiers": .list([.text("a/b")])]) { $1 },
            sandboxed.merging([
                "com.apple.security.temporary-exception.files.absolute-path.read-write": .list([.text("etc/")])
            ]) { $1 },
            sandboxed.merging([
                "com.apple.security.temporary-exception.files.home-relative-path.read-only": .list([.text("/a/../../b/")])
            ]) { $1 },
        ]
        for values in wrong { #expect(throws: EntitlementProblem.self) { try Entitlements(values) } }
        for bundle in ["", "..", "a/b"] {
            #expect(throws: EntitlementProblem.self) { try table(bundle: bundle) }
        }
    }

    @Test func unknownKeysAreWarnedOf() throws {
        let entitlements = try Entitlements(
            sandboxed.merging(["com.apple.security.files.all": .flag(true), "org.example.key": .text("x")]) { $1 })
        #expect(entitlements.warnings.map { $0.key } == ["com.apple.security.files.all", "org.example.key"])
    }

    @Test func grantsGoAsFarAsTheUserSelectedKey() throws {
        let key = "com.apple.security.files.user-selected.read-only"
        let path = names("Users/ann/Documents/letters")
        func grant(_ bundle: String = "org.example.App", expires: Int64? = nil) -> Grant {
            Grant(bundle: bundle, path: path, isDirectory: true, access: .readWrite, expires: expires)
        }
        func rights(_ more: [String: EntitlementValue], _ grant: Grant) throws -> Rights {
            zone("Users/ann/Documents/letters/one", in: try table(more, grants: [grant])).rights
        }
        #expect(try rights([:], grant()).isEmpty, "without the key the user cannot be asked")
        #expect(try rights([key: .flag(true)], grant()).contains(.read))
        #expect(try !rights([key: .flag(true)], grant()).contains(.write))
        #expect(try rights([key: .flag(true)], grant("org.other.App")).isEmpty)
        #expect(try rights([key: .flag(true)], grant(expires: 100)).isEmpty)
        #expect(try rights([key: .flag(true)], grant(expires: 101)).contains(.read))
    }

    /// What explain names stands in the profile.
    @Test func aGrantIsExplainedByTheKeyOfTheProfile() throws {
        let stem = "com.apple.security.files.user-selected."
        let path = names("Users/ann/letters")
        func source(_ key: String, _ access: EntitledAccess) throws -> String? {
            let grant = Grant(bundle: "org.example.App", path: path, isDirectory: true, access: access, expires: nil)
            return zone("Users/ann/letters/one", in: try table([stem + key: .flag(true)], grants: [grant])).source
        }
        #expect(try source("read-only", .readWrite) == stem + "read-only (granted)")
        #expect(try source("read-write", .readWrite) == stem + "read-write (granted)")
        #expect(try source("read-write", .readOnly) == stem + "read-write (granted read-only)")
    }
}
