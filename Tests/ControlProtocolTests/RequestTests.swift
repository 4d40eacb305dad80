import ACLFormats
import ControlProtocol
import SandboxPolicy
import Testing

/// Requests as docs/reference/control.md has them, byte for byte, and what a daemon reads in them.
@Suite struct RequestTests {
    static let file = names("dir/file")

    static func names(_ path: String) -> [[UInt8]] { path.utf8.split(separator: 0x2F).map { Array($0) } }

    static let profile: SandboxProfile = {
        guard let entitlements = try? Entitlements(["com.apple.security.app-sandbox": .flag(true)]) else { fatalError("it is sound") }
        return SandboxProfile(name: "p", entitlements: entitlements, bundle: "a.b", home: names("Users/ann"))
    }()
    static let profileText =
        #"{"name":"p","layout":"macos","bundle":"a.b","home":"/Users/ann","entitlements":{"com.apple.security.app-sandbox":true}}"#

    static let places = SandboxPlaces(
        backing: [
            .init(device: 8 << 32 | 1, names: names("srv/share"), isSource: true, inode: 12),
            .init(device: 40, names: [], isSource: false),
        ],
        mounts: [.init(device: 52, isSame: true)],
        stores: [.init(device: 8 << 32 | 1, names: names("var/lib/aclfs/grants"), isSource: false)])
    static let placesMembers =
        #""backing":[{"device":"8:1","path":"/srv/share","source":true,"inode":"12"},{"device":"0:40","path":"/","source":false}],"#
        + #""stores":[{"device":"8:1","path":"/var/lib/aclfs/grants"}],"mounts":[{"device":"0:52","same":true}]"#

    private func sent(_ request: some ControlRequest, top: Int32? = nil) -> String {
        String(decoding: request.message(top: top), as: UTF8.self)
    }

    /// The message, after `v` and the command.
    private func expect(
        _ request: some ControlRequest, _ command: String, _ members: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let text = #"{"v":1,"command":"\#(command)"\#(members.isEmpty ? "" : ",")\#(members)}"#
        #expect(sent(request) == text, sourceLocation: location)
        #expect(try ReceivedRequest(request.message()).command?.rawValue == command, sourceLocation: location)
    }

    @Test func decisionsAreAskedFor() throws {
        let rename = try #require(CalledOperation("rename"))
        var explain = ExplainMessage(rename, path: Self.file, secondPath: [[0xFF]], subject: "bob")
        try expect(explain, "explain", #""operation":"rename","path":"dir/file","path2_b64":"/w==","as":"bob""#)
        let read = try ExplainMessage(reading: ReceivedRequest(explain.message()))
        #expect(read.called == rename && read.path == Self.file && read.secondPath == [[0xFF]] && read.subject == "bob" && !read.isBrief)
        explain = ExplainMessage(try #require(CalledOperation("list")), path: [], isBrief: true)
        try expect(explain, "explain", #""operation":"list","path":"","brief":true"#)
        let brief = try ExplainMessage(reading: ReceivedRequest(explain.message()))
        #expect(brief.isBrief && brief.path.isEmpty && brief.secondPath == nil && brief.subject == nil && brief.called.text == "list")

        try expect(EffectiveMessage(path: Self.file), "effective", #""path":"dir/file""#)
        let effective = EffectiveMessage(path: Self.file, subject: "bob:staff")
        try expect(effective, "effective", #""path":"dir/file","as":"bob:staff""#)
        #expect(try EffectiveMessage(reading: ReceivedRequest(effective.message())).subject == "bob:staff")

        try expect(LastMessage(count: 20), "last", #""count":20"#)
        try expect(LastMessage(count: 400, before: 7), "last", #""count":400,"before":7"#)
        let last = try LastMessage(reading: ReceivedRequest(LastMessage(count: 400, before: 7).message()))
        #expect(last.count == 400 && last.before == 7)
        let plain = try LastMessage(reading: ReceivedRequest(Array(#"{"v":1,"command":"last"}"#.utf8)))
        #expect(plain.count == 20 && plain.before == nil)
    }

    @Test func mountsAreAskedAndChanged() throws {
        try expect(VersionMessage(), "version", "")
        try expect(StatusMessage(), "status", "")
        try expect(RemountMessage(options: "ro,noexec"), "remount", #""options":"ro,noexec","check":false"#)
        let check = RemountMessage(options: "rw", isCheck: true)
        try expect(check, "remount", #""options":"rw","check":true"#)
        let read = try RemountMessage(reading: ReceivedRequest(check.message()))
        #expect(read.options == "rw" && read.isCheck)
    }

    @Test func grantsAreAskedFor() throws {
        let add = GrantAddMessage(bundle: "a.b", path: Self.file, access: .readOnly)
        try expect(add, "grant-add", #""bundle":"a.b","access":"read-only","path":"dir/file""#)
        let check = GrantAddMessage(bundle: "a.b", path: Self.file, access: .readWrite, expires: 100, isCheck: true)
        try expect(check, "grant-add", #""bundle":"a.b","access":"read-write","expires":100,"path":"dir/file","check":true"#)
        let read = try GrantAddMessage(reading: ReceivedRequest(check.message()), at: 99)
        #expect(read.bundle == "a.b" && read.path == Self.file && read.access == .readWrite && read.expires == 100 && read.isCheck)
        #expect(!read.follows)
        let follow = GrantAddMessage(bundle: "a.b", path: Self.file, access: .readOnly, follows: true)
        try expect(follow, "grant-add", #""bundle":"a.b","access":"read-only","path":"dir/file","follow":true"#)
        #expect(try GrantAddMessage(reading: ReceivedRequest(follow.message()), at: 99).follows)

        let remove = GrantRemoveMessage(bundle: "a.b", path: Self.file, isBelow: true)
        try expect(remove, "grant-remove", #""bundle":"a.b","path":"dir/file","below":true"#)
        let removed = try GrantRemoveMessage(reading: ReceivedRequest(remove.message()))
        #expect(removed.bundle == "a.b" && removed.path == Self.file && removed.isBelow)

        try expect(GrantListMessage(from: 0), "grant-list", #""from":0"#)
        let list = GrantListMessage(bundle: "a.b", from: 3)
        try expect(list, "grant-list", #""from":3,"bundle":"a.b""#)
        let listed = try GrantListMessage(reading: ReceivedRequest(list.message()))
        #expect(listed.bundle == "a.b" && listed.from == 3)
    }

    @Test func sandboxesAreAskedFor() throws {
        try expect(PlacesMessage(), "places", "")
        // Who may send no descriptor says its number, at the end.
        #expect(sent(PlacesMessage(), top: 5) == #"{"v":1,"command":"places","top":5}"#)
        #expect(try ReceivedRequest(PlacesMessage().message(top: 5)).top == 5)
        #expect(try ReceivedRequest(PlacesMessage().message()).top == nil)

        let shows = ShowsMessage(places: Self.places)
        try expect(shows, "shows", #""places":{\#(Self.placesMembers)}"#)
        #expect(sent(shows, top: 5) == #"{"v":1,"command":"shows","places":{\#(Self.placesMembers)},"top":5}"#)
        #expect(try ShowsMessage(reading: ReceivedRequest(shows.message())).places == Self.places)

        try expect(ViewMessage(ProfileForm(Self.profile)), "view", #""profile":\#(Self.profileText)"#)
        let own = ViewMessage(ProfileForm(Self.profile), device: "0:60")
        try expect(own, "view", #""profile":\#(Self.profileText),"device":"0:60""#)
        let read = try ViewMessage(reading: ReceivedRequest(own.message()))
        #expect(try read.profile.profile() == Self.profile)
        #expect(read.device == "0:60")
    }

    @Test func mountsAreHandedOver() throws {
        try expect(ServesMessage(ancestors: ["1:2", "1:1"]), "serves", #""ancestors":["1:2","1:1"]"#)
        #expect(try ServesMessage(reading: ReceivedRequest(ServesMessage(ancestors: ["1:2"]).message())).ancestors == ["1:2"])
        var serve = ServeMessage(
            source: "/srv", name: "srv", mountpoint: "/mnt", device: "0:52", metadata: "trusted.aclfs", options: ["ro", "cache=2"],
            profile: nil)
        let members =
            #""source":"/srv","name":"srv","mountpoint":"/mnt","device":"0:52","metadata":"trusted.aclfs","options":["ro","cache=2"]"#
        try expect(serve, "serve", members)
        #expect(try ServeMessage(reading: ReceivedRequest(serve.message())).profile == nil)
        serve.profile = ProfileForm(Self.profile)
        try expect(serve, "serve", members + #","profile":\#(Self.profileText)"#)
        let read = try ServeMessage(reading: ReceivedRequest(serve.message()))
        #expect(read.source == "/srv" && read.name == "srv" && read.mountpoint == "/mnt" && read.device == "0:52")
        #expect(read.metadata == "trusted.aclfs" && read.options == ["ro", "cache=2"])
        #expect(try read.profile?.profile() == Self.profile)
    }
}
