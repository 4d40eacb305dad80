import Conformance
import Testing

/// The vectors in the program, and what a run makes of them.
struct StatedVectorTests {
    @Test func theyAreAllThere() {
        #expect(StatedVectors.all.map(\.id) == (1...84).map { "V" + String(1000 + $0).dropFirst() })
    }

    /// No step of a run names an id but root's and those of its own numbers.
    @Test func noAccountIsTouched() throws {
        let numbers = Numbers(first: 700_001)
        let own = numbers.first..<numbers.first + Numbers.count
        for item in CaseList.all(numbers) {
            for step in item.setup + item.steps {
                let subject = step.subject
                for id in [subject.uid, subject.gid] + subject.groups + [subject.realUID, subject.realGID].compactMap({ $0 }) {
                    #expect(id == 0 || own.contains(id), "\(item.name): \(step.shown)")
                }
                let words = step.words.map { String(decoding: $0, as: UTF8.self) }
                if words[0] == "chown" {
                    for word in words.dropFirst(2) {
                        let id = UInt32(word) ?? .max
                        #expect(id == 0 || id == .max || own.contains(id), "\(item.name): \(step.shown)")
                    }
                }
                // The list that "setacl" sets is for a number of the vectors, and is refused.
                if item.vector == "V080" { continue }
                for text in words { for id in ids(in: text) { #expect(own.contains(id), "\(item.name): \(step.shown)") } }
            }
        }
    }

    /// The numbers behind `user:#` and `group:#`.
    private func ids(in text: String) -> [UInt32] {
        text.split(separator: "#").dropFirst().compactMap { UInt32($0.prefix { $0.isNumber }) }
    }

    /// At a securelevel above 0 no case sets a flag that root could not clear.
    @Test func systemFlagsAreLeftOut() {
        let cases = CaseList.all(Numbers(first: Numbers.usual), keepsSystemFlags: "reason")
        let skipped = cases.filter { $0.skipped == "reason" }.compactMap(\.vector)
        #expect(skipped == ["V074", "V066"])
        for item in cases where item.skipped == nil {
            for step in item.setup where step.words.count > 3 && step.words[2].elementsEqual("system.aclfs.flags".utf8) {
                #expect(step.words[3].first != UInt8(ascii: "s"), "\(item.name)")
            }
        }
    }
}
