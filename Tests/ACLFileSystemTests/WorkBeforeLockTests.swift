import Authorization
import BackingStore
import CFuseShim
import FuseSession
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import ACLFileSystem

/// Work whose size a caller chooses is done before the metadata lock is taken, and for no caller who is refused anyway (docs/reference/security.md "Denial of
/// service").
@Suite(.enabled(if: getuid() == 0, "needs root"))
struct WorkBeforeLockTests {
    private func file(below names: [String]) throws -> (tree: FaultTree, scene: FaultScene, name: String) {
        let tree = try FaultTree()
        let scene = try tree.scene()
        var path = ""
        for name in names {
            path += path.isEmpty ? name : "/" + name
            try scene.directory(path)
        }
        path += path.isEmpty ? "file" : "/file"
        try scene.file(path).knows(path)
        return (tree, scene, path)
    }

    /// The calls that one change of flags makes, and what it is answered.
    private func callsForFlags(_ caller: Caller, below names: [String]) throws -> (calls: Int, error: Errno?) {
        let (tree, scene, name) = try file(below: names)
        // Without the second flag it would depend on these directories whether anything changes, and so whether a right is needed.
        let value = Array("uchg,nodump".utf8)
        // What is assumed of a new object is read again a second later, so it is read now.
        try tree.share.lock.withReadLock { () throws(Errno) in
            let object = try tree.fileSystem.loader.load(scene[name])
            try Syscall.fchmod(object.descriptor.rawValue, mode: object.status.mode & 0o7777)
            _ = try tree.fileSystem.loader.load(scene[name])
        }
        var error: Errno?
        let (_, faults) = Faults.with(.none) {
            do throws(Errno) {
                try value.withUnsafeBytes { value in
                    Result { () throws(Errno) in
                        try tree.fileSystem.operations.xattrs.setXattr(scene[name], "system.aclfs.flags", value, flags: 0, caller)
                    }
                }.get()
            } catch let refused { error = refused }
        }
        return (faults.calls.count, error)
    }

    @Test func aRefusedChangeOfFlagsCostsNothingForEachDirectoryAbove() throws {
        let deep = (0..<30).map { "d\($0)" }
        let flat = try callsForFlags(FaultTree.stranger, below: [])
        let far = try callsForFlags(FaultTree.stranger, below: deep)
        #expect(flat.error == .perm || flat.error == .acces)
        #expect(far.error == flat.error)
        #expect(far.calls == flat.calls)
        // A granted one looks at them all.
        let granted = try callsForFlags(FaultTree.owner, below: deep)
        #expect(granted.error == nil && granted.calls > far.calls + deep.count)
    }

    @Test func whatARequestWouldMakeIsComputedWithoutTheLock() throws {
        let (tree, scene, name) = try file(below: [])
        let metadata = tree.fileSystem.operations.xattrs.metadata
        let wasFree = Lock(0)
        func make(_ facts: ObjectFacts) -> UInt16 {
            let isDone = Lock(false)
            _ = try? Thread.start(name: "writer") { [share = tree.share] in
                share.lock.withWriteLock {}
                isDone.withLock { $0 = true }
            }
            if eventually({ isDone.withLock { $0 } }) { wasFree.withLock { $0 += 1 } }
            return facts.mode.rawValue
        }
        let plan = try metadata.plan(for: scene[name], make)
        #expect(wasFree.withLock { $0 } == 1)
        var facts = try tree.share.lock.withReadLock { () throws(Errno) in try tree.fileSystem.loader.load(scene[name]).facts }
        // The same facts: nothing is computed again. Other ones: what they make.
        #expect(plan.result(for: facts) == facts.mode.rawValue)
        #expect(wasFree.withLock { $0 } == 1)
        facts.mode = FileMode(rawValue: 0o600)
        #expect(plan.result(for: facts) == 0o600)
        #expect(wasFree.withLock { $0 } == 2)
    }

    /// Names are decided from what is kept of their directory (docs/decisions/0040-directories-between-names.md). A change of a directory ends that, through
    /// whichever call; a change of a file does not.
    @Test func onlyAChangeOfADirectoryEndsWhatIsKept() throws {
        let (tree, scene, name) = try file(below: ["d0"])
        try scene.knows("d0")
        let operations = tree.fileSystem.operations
        func endsKept(_ change: () throws -> Void) throws -> Bool {
            func number() -> UInt64 { tree.share.lock.withReadLock { tree.share.lock.writesBefore } }
            let before = number()
            try change()
            return number() != before
        }
        func set(_ attribute: String, _ value: String, _ name: String) throws {
            try Array(value.utf8).withUnsafeBytes { value in
                Result { () throws(Errno) in
                    try operations.xattrs.setXattr(scene[name], attribute, value, flags: 0, FaultTree.owner)
                }
            }.get()
        }
        for (name, isDirectory) in [(name, false), ("d0", true)] {
            #expect(try endsKept { try scene.set(name, FaultScene.changes(.mode) { $0.mode = 0o700 }) } == isDirectory)
            #expect(try endsKept { try set("system.aclfs.acl", "user:#501 deny read", name) } == isDirectory)
            #expect(try endsKept { try set("system.aclfs.flags", "hidden", name) } == isDirectory)
            #expect(try endsKept { try set("user.x", "1", name) } == isDirectory)
            #expect(try endsKept { try operations.xattrs.removeXattr(scene[name], "user.x", FaultTree.owner) } == isDirectory)
        }
    }

    /// What was found out about the directories above is kept for a moment, as long as it is certain.
    @Test func whatIsKnownOfAPlaceEndsWithIt() {
        let known = KnownExclusions()
        let (object, other) = (ObjectKey(device: 1, inode: 2, handle: nil), ObjectKey(device: 1, inode: 3, handle: nil))
        let path = Array("/a/b".utf8)
        func keep() { for key in [object, other] { known.keep(true, key, at: path, known.generation, for: 1) } }
        func isKnown(_ key: ObjectKey, at path: [UInt8] = Array("/a/b".utf8)) -> Bool { known.find(key, at: path, known.generation) != nil }
        keep()
        #expect(isKnown(object) && isKnown(other) && !isKnown(object, at: Array("/a/c".utf8)))
        known.noteMove(of: object, isDirectory: false)
        #expect(!isKnown(object) && isKnown(other))
        known.noteMove(of: object, isDirectory: true)
        #expect(!isKnown(other))
        keep()
        let before = known.generation
        known.noteLayoutChange()
        #expect(!isKnown(object) && !isKnown(other))
        // Found out while a layout was set.
        known.keep(true, object, at: path, before, for: 1)
        #expect(!isKnown(object))
        known.keep(true, object, at: path, known.generation, for: 0)
        usleep(1_000)
        #expect(!isKnown(object))
    }

    @Test func aLayoutAboveCountsAsSoonAsItIsSet() throws {
        let (tree, scene, name) = try file(below: ["d0"])
        try scene.knows("d0")
        let xattrs = tree.fileSystem.operations.xattrs
        func isExcluded() throws -> Bool {
            String(decoding: try xattrs.getXattr(scene[name], "system.aclfs.flags", FaultTree.owner), as: UTF8.self).contains("nodump")
        }
        #expect(try !isExcluded() && !isExcluded())
        let value = Array("ios".utf8)
        try value.withUnsafeBytes { value in
            Result { () throws(Errno) in try xattrs.setXattr(scene["d0"], "user.backup.layout", value, flags: 0, FaultTree.owner) }
        }.get()
        #expect(try isExcluded() && isExcluded())
        try xattrs.removeXattr(scene["d0"], "user.backup.layout", FaultTree.owner)
        #expect(try !isExcluded())
    }
}
