import Authorization
import Foundation
import TestSupport
import Testing
import WireFormats

/// What is read and written back is the same: list, mode and bytes.
@Suite struct NFS4RoundTripTests {
    private static let seed = ProcessInfo.processInfo.environment["ACLFS_SEED"].flatMap { UInt64($0) } ?? 20_261_126

    @Test(arguments: NFS4Form.allCases) func getSetGetIsTheIdentity(_ form: NFS4Form) throws {
        var random = SplitMix64(seed: Self.seed)
        let names = ExampleAccounts()
        for number in 0..<100_000 {
            let isDirectory = random.chance(50)
            let acl = ACL(
                random.list(hasNumber: form == .numbered), listFlags: form == .numbered && random.chance(10) ? ACL.noInherit : 0)
            let mode = random.mode()
            let got = try NFS4Value.write(acl, mode: mode, isDirectory: isDirectory, as: form, names: names)
            let set = try NFS4Value(got, as: form, names: names).divided(isDirectory: isDirectory)
            guard set.acl == acl, set.permissions == mode.rawValue & 0o777 else {
                Issue.record("seed \(Self.seed), list \(number): \(acl) with \(mode) became \(set)")
                return
            }
        }
    }

    /// A value that does not end with a mode is stored whole, and the next reading adds the mode.
    @Test(arguments: NFS4Form.allCases) func whatIsSetIsRead(_ form: NFS4Form) throws {
        var random = SplitMix64(seed: Self.seed &+ 1)
        let names = ExampleAccounts()
        for number in 0..<10_000 {
            let isDirectory = random.chance(50)
            let (stored, _) = ModeEntries.split(random.list(hasNumber: form == .numbered), isDirectory: isDirectory)
            let mode = random.mode()
            let got = try NFS4Value.write(ACL(stored), mode: mode, isDirectory: isDirectory, as: form, names: names)
            let again = try NFS4Value(got, as: form, names: names).divided(isDirectory: isDirectory)
            #expect(again.acl.entries == stored && again.permissions == mode.rawValue & 0o777, "seed \(Self.seed), list \(number)")
        }
    }

    /// Any bytes give a value or an error. What is accepted has an equal value when it is written.
    @Test(arguments: NFS4Form.allCases) func brokenValuesAreRefused(_ form: NFS4Form) throws {
        var random = SplitMix64(seed: Self.seed &+ 2)
        let names = ExampleAccounts()
        var (accepted, refused) = (0, 0)
        for number in 0..<20_000 {
            let isDirectory = random.chance(50)
            let acl = ACL(Array(random.list(hasNumber: form == .numbered).prefix(3)))
            var value = try NFS4Value.write(acl, mode: random.mode(), isDirectory: isDirectory, as: form, names: names)
            for _ in 0...random.below(3) { random.breakSomething(&value) }
            do {
                let read = try NFS4Value(value, as: form, names: names)
                let (list, permissions) = try read.divided(isDirectory: isDirectory)
                accepted += 1
                let mode = FileMode(rawValue: permissions ?? 0o640)
                let written = try NFS4Value.write(list, mode: mode, isDirectory: isDirectory, as: form, names: names)
                let again = try NFS4Value(written, as: form, names: names).divided(isDirectory: isDirectory)
                #expect(
                    again.acl == list && again.permissions == mode.rawValue, "seed \(Self.seed), value \(number): \(value)")
            } catch {
                refused += 1
                #expect(!error.message.isEmpty && error.message.utf8.count < 1500)
            }
        }
        // A test that only sees one kind of answer tests nothing.
        #expect(accepted > 200 && refused > 5000, "\(accepted) accepted, \(refused) refused")
    }
}

extension SplitMix64 {
    fileprivate mutating func breakSomething(_ value: inout [UInt8]) {
        switch next() % 6 {
        case 0: value.removeLast(Swift.min(value.count, 1 + below(8)))
        case 1: value += (0..<1 + below(8)).map { _ in UInt8(truncatingIfNeeded: next()) }
        case 2 where !value.isEmpty: value[below(value.count)] ^= 1 << UInt8(below(8))
        case 3 where value.count >= 4:
            // A word that is a count, a length, a flag or a part of a name.
            let place = below(value.count / 4) * 4
            value.replaceSubrange(place..<place + 4, with: bytes(pick([0, 1, 2, 0x40, 0x7FFF_FFFF, 0x8000_0000, .max, .max - 3])))
        case 4 where value.count >= 8:
            let place = below(value.count / 4) * 4
            value.removeSubrange(place..<place + 4)
        default: if !value.isEmpty { value[below(value.count)] = UInt8(truncatingIfNeeded: next()) }
        }
    }
}
