import Authorization
import FuseSession
import Glibc
import LinuxSystem
import Testing

@testable import ACLFileSystem

/// A remount of the kernel alone counts where it decides, before the daemon's own copy has followed it.
@Suite struct KernelFlagsTests {
    @Test func theKernelsStateDecidesAndNotTheCopy() throws {
        let tree = try ConfinedTree()
        tree.free.changeVolume { $0.isReadOnly = true }
        tree.free.followKernel { _ in }
        func make(_ name: String) -> String {
            do throws(Errno) {
                let made = try tree.free.operations.names.make(.file, name, in: .root, mode: 0o600, tree.caller)
                tree.free.operations.lookups.forgetLookups(of: made.node, 1)
                return "ok"
            } catch { return error.name }
        }
        #expect(make("a") == "EROFS", "what the kernel has not changed stays as it was said")
        tree.free.followKernel { $0.isReadOnly = false }
        #expect(make("a") == "ok" && tree.free.judge.volume.isReadOnly, "the copy is changed by the watcher alone")
    }

    /// What was said once is one call away, however often it was asked.
    @Test func theKernelIsAskedTheThousandthTimeAsTheFirst() throws {
        let tree = try ConfinedTree()
        let depths = Lock([Int]())
        tree.free.followKernel { _ in
            var here = 0
            withUnsafeMutablePointer(to: &here) { place in depths.withLock { $0.append(Int(bitPattern: place)) } }
        }
        for _ in 0..<1000 { _ = tree.free.judge.presentSettings }
        let (first, last) = depths.withLock { (abs($0[0] - $0[1]), abs($0[1] - $0[999])) }
        #expect(last <= first + 256, "\(last) bytes of the stack more than at the first time")
    }
}
