import SandboxPolicy
import Testing

/// docs/guide/backup.md "Layouts": what the layout of a directory leaves out of backups.
@Suite struct DeclaredLayoutTests {
    private func names(_ path: String) -> [[UInt8]] { path.split(separator: "/").map { Array($0.utf8) } }

    @Test func onIOS() {
        for path in [
            "tmp", "tmp/a/b", "Library/Caches", "Library/Caches/org.example/x", "Tool.app", "Tool.app/exec", "Own", "Own/file", "TMP",
            "iTunesMetadata.plist",
        ] { #expect(DeclaredLayout.ios.leavesOut(names(path)), "\(path)") }
        for path in [
            "", "Documents", "Documents/Inbox/mail", "Documents/tmp", "Documents/Tool.app/exec", "Library", "Library/Preferences/x",
            "Library/Own/Caches",
            "Library/caches",
        ] { #expect(!DeclaredLayout.ios.leavesOut(names(path)), "\(path)") }
    }

    @Test func onMacOS() {
        for path in ["tmp", "tmp/a/b", "Library/Caches", "Library/Caches/x", "Tool.app", "Tool.app/exec", ".app"] {
            #expect(DeclaredLayout.container.leavesOut(names(path)), "\(path)")
        }
        for path in [
            "", "Documents", "Documents/Tool.app", "Library", "Library/Application Support/tmp", "Own", "Own/tmp", "Tool.application",
            "Own/Tool.app",
        ] {
            #expect(!DeclaredLayout.container.leavesOut(names(path)), "\(path)")
        }
    }

    /// A confined mount and a declared layout answer by one rule: on every path the kind of the container's zone decides.
    @Test(arguments: ["macos", "ios"]) func aContainerIsLeftOutAlike(_ word: String) throws {
        let container = try #require(ContainerLayout(rawValue: word))
        let profile = SandboxProfile(
            name: "test", entitlements: try Entitlements(["com.apple.security.app-sandbox": .flag(true)]), bundle: "org.example.App",
            home: [], layout: container)
        let table = try profile.table()
        let data = container.container(bundle: "org.example.App", home: [])
        let declared: DeclaredLayout = container == .ios ? .ios : .container
        let words = ["Documents", "Inbox", "Library", "Caches", "tmp", "Tool.app", "Own", "Preferences"]
        for first in words {
            for path in [[first]] + words.map({ [first, $0] }) + words.map({ [first, $0, "file"] }) {
                let below = path.map { Array($0.utf8) }
                #expect(table[table.zone(of: data + below)].kind.isExcludedFromBackup == declared.leavesOut(below), "\(word) \(path)")
            }
        }
    }

    @Test func onlyExactWordsAreLayouts() {
        for word in ["", "iOS", "ios ", "ios\n", "none", "macos", "container\0"] { #expect(DeclaredLayout(value: Array(word.utf8)) == nil) }
        for layout in DeclaredLayout.allCases { #expect(DeclaredLayout(value: Array(layout.rawValue.utf8)) == layout) }
        #expect(DeclaredLayout.purgeablePlaces == [names("Library/Caches"), names("tmp")])
    }
}
