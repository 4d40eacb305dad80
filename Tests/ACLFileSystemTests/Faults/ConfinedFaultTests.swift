import FuseSession
import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import ACLFileSystem

/// A place that cannot be found out lets nothing pass (docs/reference/sandbox-zones.md Z3).
@Suite struct ConfinedFaultTests {
    /// A file with two names is judged by the one that lets less pass, also while nobody can tell whether it still has that name.
    @Test func aNameThatCannotBeLookedAtCounts() throws {
        let tree = try ConfinedTree()
        #expect(tree.link("Users/ann/Downloads/sub/file", "Users/ann/Downloads/hard") == "ok")
        let node = try tree.node("Users/ann/Downloads/hard")
        #expect(try tree.node("Users/ann/Downloads/sub/file") == node)
        func opened(_ rule: Faults.Rule) -> (word: String, calls: [String], failures: Int) {
            // What was found out before does not count.
            tree.mounts.share.moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
            var word = ""
            let (_, faults) = Faults.with(rule) {
                word = tree.word { () throws(Errno) in
                    tree.confined.operations.gaps.release(
                        try tree.confined.operations.opens.open(node, flags: O_WRONLY, tree.caller).handle)
                }
            }
            return (word, faults.calls, faults.failures)
        }
        #expect(opened(.none).word == "ok")
        // One of the names is in a place now that may only be read.
        #expect(tree.rename("Users/ann/Downloads/sub", "Users/ann/Music/sub2", on: tree.free) == "ok")
        let refused = opened(.none)
        #expect(refused.word == "EPERM" && refused.calls.count > 4)
        for number in 1...refused.calls.count {
            for rule in [Faults.Rule.call(number, .io), .call(number, .mfile), .callsFrom(number, .io)] {
                let run = opened(rule)
                #expect(run.failures > 0 && run.word != "ok", "call \(number) (\(refused.calls[number - 1])): \(run.word)")
            }
        }
        #expect(opened(.none).word == "EPERM")
    }
}
