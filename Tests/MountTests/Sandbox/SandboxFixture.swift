import Foundation
import Glibc
import TestSupport

/// A home with places of every kind, shown by a confined mount and, if asked for, by one that nothing confines. Everything
/// in it is Alice's and open to all, so that nothing but the sandbox refuses.
final class SandboxFixture {
    static let bundle = "org.example.App"
    /// A profile by which everything passes everywhere.
    static let everything = ["temporary-exception.files.absolute-path.read-write": "<array><string>/</string></array>"]
    static let key = "com.apple.security."

    let fixture: MountFixture
    /// Of the mount without a profile.
    let other: String
    let layout: String

    /// - Parameters:
    ///   - keys: of the profile without their common beginning, with their values as XML.
    ///   - unconfined: whether a second mount shows the same directory without a profile.
    init(
        _ keys: [String: String] = ["files.downloads.read-write": "<true/>", "assets.music.read-only": "<true/>"],
        layout: String = "macos", options: String = "", unconfined: Bool = false, within: [String] = []
    ) throws {
        fixture = try MountFixture(options: nil, within: within)
        self.layout = layout
        other = fixture.top + "/other"
        mkdir(other, 0o755)
        let profile = fixture.top + "/profile.entitlements"
        try Self.profile(keys).write(toFile: profile, atomically: false, encoding: .utf8)
        try build()
        if unconfined { try fixture.mount(options, at: other) }
        let words = ["sandbox=\(profile)", "bundle=\(Self.bundle)", "home=/Users/ann", "layout=\(layout)"]
        try fixture.mount((words + (options.isEmpty ? [] : [options])).joined(separator: ","))
    }

    static func profile(_ keys: [String: String]) -> String {
        let all = keys.map { "<key>\(key)\($0.key)</key>\($0.value)" }.sorted().joined()
        return """
            <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>
            <key>com.apple.security.app-sandbox</key><true/>\(all)</dict></plist>
            """
    }

    /// The container's data, from the mount's top.
    var data: String {
        layout == "ios"
            ? "Users/ann/Containers/Data/\(Self.bundle)" : "Users/ann/Library/Containers/\(Self.bundle)/Data"
    }

    func path(_ name: String) -> String { fixture.path(name) }
    func inside(_ name: String) -> String { fixture.path(data + "/" + name) }
    /// What is called so on the mount that nothing confines.
    func there(_ name: String) -> String { other + "/" + name }
    /// Behind every mount.
    func behind(_ name: String) -> String { fixture.backing + "/" + name }

    /// The directories that are there from the start; each holds what `fill` makes.
    var directories: [String] {
        let own = ["Documents", "Documents/Inbox", "Library", "Library/Caches", "Library/Preferences", "tmp"].map {
            data + "/" + $0
        }
        let places = [
            "Users/ann/Downloads", "Users/ann/Downloads/deep", "Users/ann/Music", "Users/ann/Documents",
            "Users/ann/Pictures",
            "Users/ann/Library/Containers/org.other.App/Data/Documents", "etc",
        ]
        if layout == "ios" { return places + own + ["Users/ann/Containers/Bundle/\(Self.bundle)/Tool.app"] }
        return places + own + [data + "/Own", data + "/Tool.app"]
    }

    private func build() throws {
        for directory in directories { try fill(directory) }
        if layout == "ios" { try fill(data + "/other") }
        let script = "chown -R 501:20 \(fixture.backing)/* && find \(fixture.backing) -type d -exec chmod 0777 {} +"
        let result = try Spawn.run(["sh", "-c", script])
        guard result.status == 0 else { throw FixtureError("\(result)") }
    }

    /// A file, a script, a directory with a file in it, a symlink; each for the operation that may take it away, too.
    func fill(_ directory: String) throws {
        let place = behind(directory)
        let script = """
            mkdir -p "$1" && cd "$1" && umask 0 && for f in file victim moving; do echo content >$f; done
            mkdir -p sub empty && echo content >sub/file && ln -s file symlink
            printf '#!/bin/sh\\n:\\n' >script && chmod 0777 script
            """
        let result = try Spawn.run(["sh", "-ec", script, "fill", place])
        guard result.status == 0 else { throw FixtureError("\(directory): \(result)") }
    }

    /// Everything outside the places that the application may write, with inode, mode, owner, links, size and time of change.
    func stateOutside(_ places: [String]) throws -> String {
        let result = try Spawn.run(
            ["find"] + places.map { behind($0) } + ["-printf", "%P %i %y %m %U %G %n %s %C@ %T@\n"])
        guard result.status == 0 else { throw FixtureError("\(result)") }
        return result.output
    }

    /// The newest refusals of the confined mount, as JSON.
    func denials(_ count: Int) throws -> String {
        try Spawn.run(
            fixture.within + [
                MountTesting.program("aclfs"), "explain", "--json", "--last", String(count), fixture.mountpoint,
            ]
        ).output
    }

    func explain(_ words: String...) throws -> CommandResult {
        try Spawn.run(fixture.within + [MountTesting.program("aclfs"), "explain"] + words)
    }

    /// Root grants the application a place or revokes the grant; the command has returned when this does.
    func grant(_ verb: String, _ words: String...) throws {
        let command = [MountTesting.program("aclfs"), "sandbox", "grant", verb, "--bundle", Self.bundle]
        let result = try Spawn.run(fixture.within + command + words)
        if result.status != 0 { throw FixtureError("grant \(verb) \(words): \(result)") }
    }
}
