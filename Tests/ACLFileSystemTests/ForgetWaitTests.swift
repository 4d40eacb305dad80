import BackingStore
import Foundation
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import Synchronization
import Testing

@testable import ACLFileSystem

/// Look-ups that come before the FORGET that was sent before them, without a kernel between.
@Suite struct ForgetWaitTests {
    private let fileSystem: FileSystem
    private let caller = Caller(uid: geteuid(), gid: getegid(), tid: 0)
    private let top = "/tmp/aclfs-forget.\(UUID().uuidString)"

    init() throws {
        for path in [top, top + "/d"] {
            try #require(mkdir(path, 0o755) == 0)
            try #require(Glibc.chmod(path, 0o755) == 0)
        }
        var options = MountOptions()
        options.metadata = .user
        fileSystem = FileSystem(
            tree: try BackingTree(
                directory: Syscall.open(top, OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs",
                descriptorBudget: 64, report: { _ in }), options: options)
        try fileSystem.join()
        fileSystem.kernel.cache.begin(hasEpoch: true)
    }

    private func end() {
        fileSystem.leave()
        try? FileManager.default.removeItem(atPath: top)
    }

    private func lookup(_ name: String = "d") throws -> Entry {
        guard case .found(let entry) = try fileSystem.operations.lookups.lookup(name, in: .root, caller) else { throw Errno.noent }
        return entry
    }

    /// Looks up a directory that is new, right behind a bump.
    private func lookUpNew(_ name: String) throws -> Entry {
        try #require(mkdir("\(top)/\(name)", 0o755) == 0)
        fileSystem.kernel.cache.invalidateAllEntries()
        let entry = try lookup(name)
        #expect(entry.entryValidFor > 0)
        return entry
    }

    private func isMarked(_ id: NodeID) -> Bool { fileSystem.loader.nodes.find(id)?.exposure.revalidation.isPossible ?? false }

    /// Runs something while a look-up waits.
    private func meanwhile(_ body: @escaping @Sendable () -> Void) throws -> Monitor<Bool> {
        let isDone = Monitor(false)
        let end = SystemTime.monotonic() + 100_000_000
        _ = try LinuxSystem.Thread.start(name: "meanwhile") { [fileSystem] in
            while fileSystem.kernel.cache.forgets.waiting.load(ordering: .relaxed) == 0, SystemTime.monotonic() < end {
                SystemTime.sleep(nanoseconds: 100_000)
            }
            body()
            isDone.withLock { $0 = true }
        }
        return isDone
    }

    @Test func whoComesBeforeTheForgetFindsANewNode() throws {
        defer { end() }
        // On a busy machine the FORGET may come too late.
        let isSeen = try (1...200).contains { number in
            let name = "n\(number)"
            let old = try lookUpNew(name)
            let forgotten = try meanwhile { [fileSystem] in fileSystem.operations.lookups.forgetLookups(of: old.node, 1) }
            let new = try lookup(name)
            _ = forgotten.wait(until: .max) { $0 ? true : nil }
            #expect(new.node == old.node ? isMarked(new.node) || fileSystem.loader.nodes.find(new.node) == nil : !isMarked(new.node))
            return new.node != old.node && new.entryValidFor > 0
        }
        #expect(isSeen)
    }

    /// docs/internals/coherence.md R7: a question without a lock is no other one for having waited.
    @Test(arguments: [true, false]) func whoeverWaitsInVainLeavesTheMark(_ isBumped: Bool) throws {
        defer { end() }
        fileSystem.kernel.cache.invalidateAllEntries()
        let first = try lookup()
        #expect(first.entryValidFor > 0)
        let bumped = try meanwhile { [fileSystem] in if isBumped { fileSystem.kernel.cache.invalidateAllEntries() } }
        let again = try lookup()
        #expect(again.node == first.node)
        #expect(again.entryValidFor == 0)
        #expect(isMarked(first.node))
        _ = bumped.wait(until: .max) { $0 ? true : nil }
    }

    /// docs/internals/data-path.md "Descriptors"
    @Test func whatWasRemovedElsewhereIsDroppedIfItStaysForgotten() throws {
        defer { end() }
        let (kernel, lookups) = (fileSystem.kernel, fileSystem.operations.lookups)
        let object = try #require(fileSystem.loader.nodes.find(try lookup().node)).object
        func forget() throws { lookups.forgetLookups(of: try #require(fileSystem.loader.nodes.node(of: object)).id, 100) }
        var isKept: Bool { fileSystem.loader.tree.hasDescriptor(of: object) }
        try forget()
        #expect(kernel.nextRemovalCheck != nil)
        _ = try lookup()
        #expect(rmdir(top + "/d") == 0)
        kernel.dropRemovedObjects(0)
        #expect(kernel.nextRemovalCheck != nil && isKept, "it is not due")
        kernel.dropRemovedObjects(.max)
        #expect(kernel.nextRemovalCheck == nil && isKept, "the kernel knows it again")
        try forget()
        kernel.dropRemovedObjects(.max)
        #expect(!isKept)
        #expect(mkdir(top + "/d", 0o755) == 0)
        let other = try lookup()
        let held = try #require(fileSystem.loader.nodes.find(other.node)).object
        #expect(rmdir(top + "/d") == 0)
        _ = try fileSystem.operations.attributes.status(other.node, nil, caller)
        lookups.forgetLookups(of: other.node, 1)
        #expect(!fileSystem.loader.tree.hasDescriptor(of: held) && kernel.nextRemovalCheck == nil, "a request has found it without a name")
    }

    /// mkdir(2) onto an existing name asks for it with the directory's lock held.
    @Test func whereNothingWasLostNobodyWaits() throws {
        defer { end() }
        // A busy machine may take the processor away for longer than anybody waits.
        let isSeen = try (1...20).contains { number in
            let name = "e\(number)"
            let first = try lookUpNew(name)
            SystemTime.sleep(milliseconds: 60)
            let began = SystemTime.monotonic()
            let again = try lookup(name)
            let isAtOnce = SystemTime.monotonic() < began + 3_000_000
            #expect(again.entryValidFor == 0)
            #expect(isMarked(first.node))
            return isAtOnce
        }
        #expect(isSeen)
    }

    @Test func noMoreThanEightWait() {
        defer { end() }
        let waits = ForgetWaits()
        let isAnyLikely = waits.isAnyLikely
        #expect(!isAnyLikely)
        let begun = (1...10).count { _ in waits.begin() }
        #expect(begun == 8)
        waits.end()
        #expect(waits.begin())
        waits.noteInvalidation()
        #expect(waits.isAnyLikely)
    }
}
