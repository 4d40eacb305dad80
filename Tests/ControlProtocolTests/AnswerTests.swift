import ACLFormats
import ControlProtocol
import SandboxPolicy
import Testing

/// Answers as docs/reference/control.md has them, byte for byte, and what a command reads in them.
@Suite struct AnswerTests {
    /// As the daemon sends it, without what every answer begins with; and as a command reads it.
    private func sent<Answer: ControlAnswer>(_ answer: Answer) throws -> (text: String, read: Answer) {
        let message = ControlReply.answer(answer).message()
        let text = String(decoding: message, as: UTF8.self)
        let start = #"{"v":1,"ok":true,"result":"#
        #expect(text.hasPrefix(start) && text.hasSuffix("}"))
        guard case .result(let result) = try ReceivedReply(message) else { throw RequestProblem.malformed("a refusal") }
        return (String(text.dropFirst(start.count).dropLast()), Answer(reading: result))
    }

    private func read<Answer: ControlAnswer>(_ type: Answer.Type, _ result: String) throws -> Answer {
        Answer(reading: try JSONText.parse(Array(result.utf8)))
    }

    @Test func refusals() throws {
        let message = ControlReply.refusal(error: "ENOENT", message: "No such file or directory").message()
        #expect(String(decoding: message, as: UTF8.self) == #"{"v":1,"ok":false,"error":"ENOENT","message":"No such file or directory"}"#)
        #expect(try ReceivedReply(message) == .refusal(error: "ENOENT", message: "No such file or directory"))
        // Without a result nothing was answered.
        for odd in [#"{"v":1,"ok":true}"#, #"{"v":1,"ok":1,"result":{}}"#, #"{"v":1}"#, #"{"v":1,"ok":false,"error":7,"message":[]}"#] {
            #expect(try ReceivedReply(Array(odd.utf8)) == .refusal(error: nil, message: nil), "\(odd)")
        }
        #expect(throws: ReceivedReply.Problem.unreadable) { try ReceivedReply(Array("no".utf8)) }
    }

    @Test func versionsAndChanges() throws {
        let version = try sent(VersionAnswer(program: "0.1.0"))
        #expect(version.text == #"{"version":"0.1.0","messages":1}"#)
        #expect(version.read.program == "0.1.0" && version.read.messages == 1)
        #expect(try sent(DoneAnswer()).text == "{}")
        for (wasReadOnly, text) in [(true, #"{"was":"ro"}"#), (false, #"{"was":"rw"}"#)] {
            let remount = try sent(RemountAnswer(wasReadOnly: wasReadOnly))
            #expect(remount.text == text && remount.read.wasReadOnly == wasReadOnly)
        }
    }

    @Test func explanations() throws {
        var explanation = Explanation()
        explanation.steps = [
            .init(place: .init(depth: 0), words: ["search"], isAllowed: true, stage: "posix:other:object"),
            .init(
                place: .init(isSecondPath: true, depth: 2), words: ["read"], isAllowed: false, stage: "acl:object[0]",
                entry: "user:bob deny read"),
        ]
        explanation.considered = [.init(place: .init(depth: 1), index: 0, entry: "user:bob deny read", effect: "denies read")]
        explanation.notes = ["a note"]
        explanation.denial = "EACCES"
        let text: String =
            #"{"allowed":false,"errno":"EACCES","steps":[{"second":false,"depth":0,"rights":["search"],"allowed":true,"#
            + #""stage":"posix:other:object","entry":null},{"second":true,"depth":2,"rights":["read"],"allowed":false,"#
            + #""stage":"acl:object[0]","entry":"user:bob deny read"}],"considered":[{"second":false,"depth":1,"index":0,"#
            + #""entry":"user:bob deny read","effect":"denies read"}],"notes":["a note"]}"#
        let explain = try sent(ExplainAnswer(explanation))
        #expect(explain.text == text && explain.read.explanation == explanation)
        let effective = try sent(EffectiveAnswer([explanation, Explanation()]))
        #expect(effective.text == #"[\#(text),{"allowed":true,"errno":null,"steps":[],"considered":[],"notes":[]}]"#)
        #expect(effective.read.explanations == [explanation, Explanation()])
        // As `--json` prints it.
        let shown = explanation.json { Array(($0.depth == 0 ? "/m" : "/m/file").utf8) }
        #expect(
            String(decoding: JSONText.write(shown), as: UTF8.self)
                == text.replacing(#""second":false,"depth":0"#, with: #""path":"/m""#)
                .replacing(#""second":true,"depth":2"#, with: #""path":"/m/file""#)
                .replacing(#""second":false,"depth":1"#, with: #""path":"/m/file""#))

        let wrongs: [String] = [
            "{}", "7", text.replacing(#""allowed":false,"errno""#, with: #""allowed":true,"errno""#),
            text.replacing(#""depth":2"#, with: #""depth":-1"#),
        ]
        for wrong in wrongs {
            #expect(try read(ExplainAnswer.self, wrong).explanation == nil, "\(wrong)")
        }
        #expect(try read(EffectiveAnswer.self, "[{},\(text)]").explanations == [explanation])
        #expect(try read(EffectiveAnswer.self, "{}").explanations.isEmpty)
    }

    @Test func denials() throws {
        func denial(_ inode: UInt64?, _ rule: String?, _ location: DenialForm.Location) -> DenialForm {
            DenialForm(
                number: 7, time: 1_700_000_000, uid: 501, operation: "open-read", inode: inode, errno: "EACCES", stage: "acl:object[0]",
                rule: rule, location: location)
        }
        let start = #"{"number":7,"time":1700000000,"uid":501,"operation":"open-read","inode":"#
        let end = #""errno":"EACCES","stage":"acl:object[0]""#
        let last = try sent(
            LastAnswer([
                denial(18_446_744_073_709_551_615, nil, .path(RequestTests.file)), denial(nil, "a rule", .gone), denial(2, nil, .unknown),
                denial(3, nil, .path([[0x1B]])),
            ]))
        let rows: [String] = [
            #"\#(start)"18446744073709551615",\#(end),"path":"dir/file"}"#, #"\#(start)null,\#(end),"rule":"a rule","gone":true}"#,
            #"\#(start)"2",\#(end)}"#, #"\#(start)"3",\#(end),"path_b64":"Gw=="}"#,
        ]
        #expect(last.text == "[\(rows.joined(separator: ","))]")
        let read = last.read.denials
        #expect(read.map(\.path) == [Array("dir/file".utf8), nil, nil, [0x1B]] && read.map(\.isGone) == [false, true, false, false])
        let first = try #require(read.first)
        #expect(first.number == 7 && first.time == 1_700_000_000 && first.uid == 501 && first.operation == "open-read")
        #expect(first.errno == "EACCES" && first.stage == "acl:object[0]" && read[1].rule == "a rule" && read[2].inode == "2")
        let called = JSONText.write(read[3].called(Array("/m/x".utf8)).json)
        #expect(String(decoding: called, as: UTF8.self) == #"\#(start)"3",\#(end),"path":"/m/x"}"#)
        // What a later version tells besides is printed.
        let later = try #require(try self.read(LastAnswer.self, #"[{"path":"a","more":1}]"#).denials.first)
        #expect(JSONText.write(later.called([0x62]).json) == Array(#"{"more":1,"path":"b"}"#.utf8))
    }

    @Test func grants() throws {
        #expect(try sent(GrantAddAnswer(notes: nil)).text == "{}")
        let add = try sent(GrantAddAnswer(notes: ["one", "two"]))
        #expect(add.text == #"{"notes":["one","two"]}"# && add.read.notes == ["one", "two"])
        #expect(!add.read.follows, "an older daemon does not say so")
        let follows = try sent(GrantAddAnswer(notes: [], follows: true))
        #expect(follows.text == #"{"notes":[],"follows":true}"# && follows.read.follows)
        let remove = try sent(GrantRemoveAnswer(removed: 2))
        #expect(remove.text == #"{"removed":2}"# && remove.read.removed == 2)
        let kept = KeptGrant(
            Grant(bundle: "a.b", path: RequestTests.file, isDirectory: true, access: .readOnly, expires: 100), given: 5, by: 501)
        let row = #"{"bundle":"a.b","path":"dir/file","directory":true,"access":"read-only","expires":100,"given":5,"by":501,"counts":true"#
        let list = try sent(
            GrantListAnswer(
                tree: "1-2.grants", total: 9,
                grants: [ListedGrant(kept, counts: true, isWider: false), ListedGrant(kept, counts: true, isWider: true)], problems: ["one"]
            ))
        #expect(list.text == #"{"tree":"1-2.grants","total":9,"grants":[\#(row)},\#(row),"wider":true}],"problems":["one"]}"#)
        #expect(list.read.tree == "1-2.grants" && list.read.total == 9 && list.read.problems == ["one"])
        let grant = try #require(list.read.grants?.last)
        #expect(grant.kept == kept && grant.counts == true)
        let called = String(decoding: JSONText.write(grant.json(called: Array("/m/x".utf8))), as: UTF8.self)
        #expect(
            called
                == #"{"path":"/m/x","bundle":"a.b","directory":true,"access":"read-only","expires":100,"given":5,"by":501,"counts":true,"wider":true}"#
        )
        // The handle of a followed object is told to no client.
        var following = kept
        following.grant.object = FollowedObject(handle: .init(type: 1, bytes: [2]), inode: 3, parent: nil)
        let lost = try sent(
            GrantListAnswer(
                tree: "1", total: 1, grants: [ListedGrant(following, counts: false, isWider: false, isFound: false)], problems: []))
        let lostRow = row.dropLast(4) + #"false,"follows":true,"found":false"#
        #expect(lost.text == #"{"tree":"1","total":1,"grants":[\#(lostRow)}],"problems":[]}"#)
        let lostGrant = try #require(lost.read.grants?.first)
        #expect(lostGrant.follows && !lostGrant.isFound && grant.isFound && !grant.follows)
        for wrong in ["{}", #"{"grants":[{}],"total":1}"#, #"{"grants":[\#(row)},7],"total":2}"#] {
            #expect(try read(GrantListAnswer.self, wrong).grants == nil, "\(wrong)")
        }
        #expect(try read(GrantListAnswer.self, #"{"grants":[],"total":"1"}"#).total == nil)
    }

    @Test func places() throws {
        let places = try sent(PlacesAnswer(RequestTests.places, isConfined: true))
        #expect(places.text == #"{"confined":true,\#(RequestTests.placesMembers)}"#)
        #expect(places.read.places == RequestTests.places && places.read.isConfined && places.read.placesWithStores != nil)
        let view = try sent(ViewAnswer(RequestTests.places, device: "0:60"))
        #expect(view.text == #"{"places":{\#(RequestTests.placesMembers)},"device":"0:60"}"#)
        #expect(view.read.places?.places == RequestTests.places && view.read.device == "0:60")
        #expect(try read(ViewAnswer.self, "{}").places == nil)
        let shows = try sent(ShowsAnswer(shows: true, stores: false, controls: true))
        #expect(shows.text == #"{"shows":true,"stores":false,"controls":true}"#)
        #expect(shows.read == ShowsAnswer(shows: true, stores: false, controls: true))
        let earlier = try read(ShowsAnswer.self, #"{"shows":false}"#)
        #expect(earlier.shows == false && earlier.stores == nil && earlier.controls == nil)
        #expect(try sent(ServesAnswer(serves: true)).text == #"{"serves":true}"#)
        #expect(try read(ServesAnswer.self, #"{"serves":1}"#).serves == false)

        let mounts = #""mounts":[{"device":"0:1","same":true}]"#
        let good = #"{"backing":[{"device":"0:1","path":"/","source":true}],\#(mounts)}"#
        #expect(try read(PlacesAnswer.self, good).places != nil && read(PlacesAnswer.self, good).placesWithStores == nil)
        let wrongs: [String] = [
            "{}", "7", good.replacing("true}],\"m", with: "false}],\"m"), good.replacing(mounts, with: #""mounts":[]"#),
            good.replacing(#""device":"0:1","path""#, with: #""device":1,"path""#), good.replacing(#""path":"/","#, with: ""),
            good.replacing(#""same":true"#, with: #""same":1"#), good.replacing("{\"b", with: "{\"stores\":[{}],\"b"),
        ]
        for wrong in wrongs { #expect(try read(PlacesAnswer.self, wrong).places == nil, "\(wrong)") }
    }
}
