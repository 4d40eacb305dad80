import ACLFormats
import Conformance
import TestSupport
import Testing

/// What a run prints, and what subjects are told.
struct ReportTests {
    private func result(_ outcome: CaseResult.Outcome) throws -> CaseResult {
        let item = try #require(CaseList.all(Numbers(first: Numbers.usual)).first { $0.vector == "V003" })
        return CaseResult(number: 12, played: item, outcome: outcome)
    }

    @Test func linesHaveRuleAndSource() throws {
        let name =
            "12 - S18 S19 S53 V003 group member is refused by 0604 although other bits would allow"
            + " [docs/reference/authorization.md 3.10, 1.4]"
        #expect(try TAP.lines(result(.ok)) == ["ok \(name)"])
        #expect(try TAP.lines(result(.notOK(["a", "b"]))) == ["not ok \(name)", "#   a", "#   b"])
        #expect(try TAP.lines(result(.skipped("no # here"))) == ["ok \(name) # SKIP no \\# here"])
        #expect(TAP.plan(3) == "1..3")
    }

    @Test func jsonCounts() throws {
        let results = [try result(.ok), try result(.notOK(["a"])), try result(.skipped("why"))]
        let json = ConformanceJSON.report(Array("/mnt".utf8), results)
        #expect(json["ok"]?.integer == 1 && json["not_ok"]?.integer == 1 && json["skipped"]?.integer == 1)
        let cases = try #require(json["cases"]?.array)
        #expect(cases.map { $0["result"]?.string } == ["ok", "not ok", "skipped"])
        #expect(cases[0]["vector"]?.string == "V003" && cases[0]["source"]?.string == "docs/reference/authorization.md 3.10, 1.4")
        #expect(cases[1]["differences"]?.array == [.string("a")] && cases[2]["reason"]?.string == "why")
    }

    @Test(arguments: 0..<200) func lineOfACallComesBack(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        let words = (0...Int.random(in: 0...4, using: &random)).map { _ in
            (0..<Int.random(in: 0...12, using: &random)).map { _ in
                // Backslashes, tabs and ends of lines often.
                [0x5C, 0x78, 0x09, 0x0A, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random)!
            }
        }
        let line = CallLine.write(words)
        #expect(line.last == 0x0A && !line.dropLast().contains(0x0A))
        #expect(CallLine.words(line.dropLast()) == words)
    }

    @Test func expectations() {
        #expect(Expected.word("EACCES").difference(from: CallAnswer("EACCES")) == nil)
        #expect(Expected.word("ok", orErrno: "ENODATA").difference(from: CallAnswer("ENODATA")) == nil)
        #expect(Expected.ok.difference(from: CallAnswer("EPERM")) == "expected ok, got EPERM")
        #expect(Expected.refused.difference(from: CallAnswer("ok")) != nil)
        #expect(Expected.text("a").difference(from: CallAnswer("ok", [0x62])) == "expected a, got b")
        let list = Expected.list("user:#60001 allow read")
        #expect(list.difference(from: CallAnswer("ok", Array("FFFFEEEE-DDDD-CCCC-BBBB-AAAA0000EA61 allow read\n".utf8))) == nil)
        #expect(list.difference(from: CallAnswer("ok", Array("user:#60001 allow write\n".utf8))) != nil)
        #expect(list.difference(from: CallAnswer("ok", Array("no list".utf8))) != nil)
    }
}
