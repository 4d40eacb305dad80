import Foundation
import FuzzTargets
import TestSupport
import Testing

/// Each parser of bytes from outside with a kept corpus, and with changes of it. `make fuzz` goes on with libFuzzer, guided by coverage.
@Suite struct FuzzTests {
    private static let isLong = ProcessInfo.processInfo.environment["ACLFS_TEST_LONG"] == "1"
    private static let corpus = Repository.top.appendingPathComponent("Tests/FuzzTests/Corpus")

    private static func inputs(of target: FuzzTarget) throws -> [[UInt8]] {
        let directory = corpus.appendingPathComponent(target.rawValue)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        return try names.map { Array(try Data(contentsOf: directory.appendingPathComponent($0))) }
    }

    /// Changes some bytes: flips, values at the limits, gaps, repetitions, parts of another input.
    private static func changed(_ input: [UInt8], with other: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var bytes = input
        for _ in 0...(random.next() % 4) {
            let place = bytes.isEmpty ? 0 : Int(random.next() % UInt64(bytes.count))
            switch random.next() % 6 {
            case 0 where !bytes.isEmpty: bytes[place] ^= 1 << UInt8(random.next() % 8)
            case 1 where !bytes.isEmpty: bytes[place] = [0, 0x7F, 0x80, 0xFF, 0x20, 0x2C, 0x0A][Int(random.next() % 7)]
            case 2 where !bytes.isEmpty: bytes.removeSubrange(place..<min(bytes.count, place + 1 + Int(random.next() % 8)))
            case 3: bytes.insert(contentsOf: bytes[place...].prefix(Int(random.next() % 32)), at: place)
            case 4 where !other.isEmpty: bytes.insert(contentsOf: other.suffix(Int(random.next() % 64)), at: place)
            default: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
            }
        }
        return bytes
    }

    @Test(arguments: FuzzTarget.allCases)
    func noInputStopsAParser(_ target: FuzzTarget) throws {
        let inputs = try Self.inputs(of: target)
        #expect(inputs.count >= 3, "no corpus for \(target.rawValue)")
        for input in inputs { target.run(input) }
        let seed = UInt64(ProcessInfo.processInfo.environment["ACLFS_SEED"] ?? "") ?? UInt64.random(in: 0...UInt64(UInt32.max))
        print("fuzz: \(target.rawValue) with ACLFS_SEED=\(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<(Self.isLong ? 3000 : 1000) {
            guard let input = inputs.randomElement(using: &random), let other = inputs.randomElement(using: &random) else { return }
            target.run(Self.changed(input, with: other, &random))
        }
    }

    /// A directory of the corpus that belongs to no target is never run.
    @Test func theCorpusIsOfTheTargets() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
        #expect(Set(names) == Set(FuzzTarget.allCases.map(\.rawValue)))
    }
}
