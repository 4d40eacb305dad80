import Authorization
import ControlProtocol
import Testing

/// The attribute with which a command changes the lists of many files (docs/reference/control.md "Lists of many files").
@Suite struct ListsRequestTests {
    private let head: [UInt8] = [1, 3, 8, 7, 6, 5, 4, 3, 2, 1]
    private func reads(_ bytes: [UInt8]) -> ListsRequest? { ListsRequest(reading: bytes) }

    @Test func theBytesAreThoseOfTheDocument() {
        let request = ListsRequest(token: 0x0102_0304_0506_0708, change: .removeInherited, names: [[0x61], [0xFF, 0x0A]])
        #expect(request.bytes == head + [0x61, 0, 0xFF, 0x0A, 0])
        #expect(reads(request.bytes) == request)
        let answer = ListsAnswer(token: 0x0102_0304_0506_0708, outcomes: [.same, .changed, .left])
        #expect(answer.bytes == [8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2])
        #expect(ListsAnswer(reading: answer.bytes) == answer)
    }

    @Test func nothingElseIsRead() {
        #expect(reads(head)?.names == [])
        for change: UInt8 in [0, 5, 255] { #expect(reads([1, change] + head[2...]) == nil) }
        for version: UInt8 in [0, 2] { #expect(reads([version] + head[1...]) == nil) }
        for length in 0..<10 { #expect(reads(Array(head.prefix(length))) == nil) }
        for name in ["", ".", "..", "a/b", "/", String(repeating: "n", count: 256)] {
            #expect(reads(head + Array(name.utf8) + [0]) == nil, "\(name)")
        }
        #expect(reads(head + [0x61]) == nil, "no NUL")
        let most: [UInt8] = (0..<64).flatMap { Array("n\($0)".utf8) + [0] }
        #expect(reads(head + most)?.names.count == 64)
        #expect(reads(head + most + [0x61, 0]) == nil, "too many")
        #expect(ListsAnswer(reading: [UInt8]()) == nil)
        #expect(ListsAnswer(reading: [UInt8](1...7)) == nil)
        #expect(ListsAnswer(reading: [1, 2, 3, 4, 5, 6, 7, 8, 3] as [UInt8]) == nil)
        #expect(ListsAnswer(reading: [UInt8](repeating: 0, count: 8 + 65)) == nil)
    }
}
