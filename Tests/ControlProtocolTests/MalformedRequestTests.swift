import ControlProtocol
import Testing

/// What a daemon answers to messages that no command sends.
@Suite struct MalformedRequestTests {
    private func received(_ command: String, _ members: String) throws -> ReceivedRequest {
        try ReceivedRequest(Array((#"{"v":1,"command":"\#(command)""# + (members.isEmpty ? "" : "," + members) + "}").utf8))
    }

    /// nil where nothing is wrong.
    private func problem(_ command: String, _ members: String) throws -> String? {
        let request = try received(command, members)
        do throws(RequestProblem) {
            switch request.command {
            case .explain: _ = try ExplainMessage(reading: request)
            case .effective: _ = try EffectiveMessage(reading: request)
            case .last: _ = try LastMessage(reading: request)
            case .remount: _ = try RemountMessage(reading: request)
            case .grantAdd: _ = try GrantAddMessage(reading: request, at: 1000)
            case .grantRemove: _ = try GrantRemoveMessage(reading: request)
            case .grantList: _ = try GrantListMessage(reading: request)
            case .shows: _ = try ShowsMessage(reading: request)
            case .view: _ = try ViewMessage(reading: request)
            case .serve: _ = try ServeMessage(reading: request)
            case .version, .status, .places, .serves, .upgrade, nil: Issue.record("\(command) has nothing to read")
            }
            return nil
        } catch {
            switch error {
            case .malformed(let message): return message
            case .pathTooLong: return "ENAMETOOLONG"
            }
        }
    }

    private static let explain = #""operation":"stat","path":"a""#
    private static let grant = #""access":"read-only","path":"file""#
    private static let noBundle = "no bundle, or not an identifier such as org.example.App"
    private static let serve = #""source":"/s","name":"s","mountpoint":"/m","device":"0:1","metadata":"m","options":[]"#

    private static let malformed: [(String, String, String)] = [
        ("explain", "", "no operation"), ("explain", #""operation":7"#, "no operation"),
        ("explain", #""operation":"open-reed""#, "unknown operation 'open-reed', did you mean 'open-read'?"),
        ("explain", #""operation":"stat""#, "no path"), ("explain", #""operation":"stat","path":7"#, "no path"),
        ("explain", #""operation":"stat","path":"a","path_b64":"YQ==""#, "no path"),
        ("explain", #""operation":"stat","path_b64":"!!!!""#, "no path"), ("explain", #""operation":"stat","path":"a\u0000b""#, "no path"),
        ("explain", #""operation":"stat","path":"../a""#, "a path may not contain . or .."),
        ("explain", #"\#(explain),"path2":7"#, "no path2"), ("explain", #"\#(explain),"path2_b64":7"#, "no path2"),
        ("explain", #"\#(explain),"path2":"./b""#, "a path may not contain . or .."),
        ("effective", "", "no path"), ("effective", #""path":"a/..""#, "a path may not contain . or .."),
        ("last", #""count":0"#, "count must be a positive number"),
        ("last", #""count":-9223372036854775808"#, "count must be a positive number"),
        ("remount", "", "no options"), ("remount", #""options":["ro"]"#, "no options"),
        ("grant-add", "", "access must be read-only or read-write"),
        ("grant-add", #""access":"write""#, "access must be read-only or read-write"),
        ("grant-add", #""access":"read-only""#, "no path"), ("grant-add", grant, noBundle),
        ("grant-add", #"\#(grant),"bundle":"../a""#, noBundle), ("grant-add", #"\#(grant),"bundle":7"#, noBundle),
        ("grant-add", #"\#(grant),"expires":"soon""#, "expires must be seconds since 1970"),
        ("grant-add", #"\#(grant),"expires":null"#, "expires must be seconds since 1970"),
        ("grant-add", #"\#(grant),"expires":1000"#, "the time at which it expires has passed"),
        ("grant-remove", #""path":"a""#, noBundle), ("grant-remove", #""bundle":"a.b""#, "no path"),
        ("grant-list", #""bundle":7"#, noBundle), ("shows", "", "no places"), ("shows", #""places":{}"#, "no places"),
        ("shows", #""places":{"backing":[],"mounts":[{"device":"0:1","same":true}]}"#, "no places"),
        ("view", "", "an incomplete message: profile and a descriptor of the mount's top"),
        ("serve", "", "an incomplete message"),
    ]

    @Test(arguments: malformed)
    func isRefused(_ command: String, _ members: String, _ message: String) throws {
        #expect(try problem(command, members) == message)
    }

    /// A number where a text belongs makes `serve` incomplete, whichever member it is.
    @Test(arguments: ["source", "name", "mountpoint", "device", "metadata", "options"])
    func aMountIsHandedOverWhole(_ name: String) throws {
        #expect(try problem("serve", Self.serve) == nil)
        #expect(try problem("serve", Self.serve.replacing("\"\(name)\":", with: "\"other\":")) == "an incomplete message")
    }

    @Test func pathsHaveABound() throws {
        func path(_ text: String) throws -> String? { try problem("effective", "\"path\":\"\(text)\"") }
        let name = String(repeating: "x", count: 255)
        #expect(try path(name) == nil)
        #expect(try path(name + "x") == "ENAMETOOLONG")
        #expect(try path(Array(repeating: "x", count: 256).joined(separator: "/")) == nil)
        #expect(try path(Array(repeating: "x", count: 257).joined(separator: "/")) == "ENAMETOOLONG")
        #expect(try path(String(repeating: "/", count: 4096)) == nil)
        #expect(try path(String(repeating: "/", count: 4097)) == "ENAMETOOLONG")
    }

    /// Whatever is not asked for is as if it were not there.
    @Test func whatMayBeMissingMayBeAnything() throws {
        let explain = try ExplainMessage(reading: received("explain", Self.explain + #","as":7,"brief":1"#))
        #expect(explain.subject == nil && !explain.isBrief)
        let last = try LastMessage(reading: received("last", #""count":"many","before":"then""#))
        #expect(last.count == 20 && last.before == nil)
        #expect(try GrantListMessage(reading: received("grant-list", #""from":"x""#)).from == 0)
        #expect(try ServesMessage(reading: received("serves", #""ancestors":["1:1",2]"#)).ancestors == ["1:1"])
        #expect(try ServeMessage(reading: received("serve", Self.serve.replacing("[]", with: "[7]"))).options == [""])
    }

    @Test(arguments: [#""command":7"#, #""command":"nothing""#, #""other":1"#]) func aCommandMayBeUnknown(_ member: String) throws {
        #expect(try ReceivedRequest(Array("{\"v\":1,\(member)}".utf8)).command == nil)
    }

    @Test func whatIsNoJSONIsSaidToBe() {
        #expect(throws: RequestProblem.malformed("not understood at byte 1: expected the name of a member")) { try ReceivedRequest([0x7B]) }
    }
}
