import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// The requests LOOKUP and FORGET.
final class LookupOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share

    init(loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share) {
        (self.loader, self.judge, self.kernel, self.held, self.share) = (loader, judge, kernel, held, share)
    }
}

extension LookupOperations {
    func lookup(_ name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller) throws(Errno) -> LookupAnswer {
        let awaited = awaitForget(of: name, in: parent, caller)
        return try held.passGates(caller) { () throws(Errno) in
            try share.lock.withReadLock { () throws(Errno) in try lookupLocked(name, in: parent, awaited, caller) }
        }
    }

    private func lookupLocked(
        _ name: UnsafePointer<CChar>, in parent: NodeID, _ awaited: Node?, _ caller: Caller
    ) throws(Errno) -> LookupAnswer {
        var directory = try loader.loadParent(parent)
        try loader.requireOpenGate(of: directory.object)
        kernel.watchNames(of: &directory)
        do throws(Errno) {
            try judge.permitLookup(name, in: directory, caller)
            if directory.isOvermounted { return .absentUncacheable }
            let found = try loader.child(name, of: directory)
            try judge.permitFinding(found, named: name, in: directory.object, caller)
            // The FORGET has not come. Mark the node, as without the wait, even if bumps came meanwhile.
            if let awaited, isKnown(awaited) { awaited.exposure.revalidation.mark() }
            return .found(kernel.makeEntry(found, named: name, below: directory))
        } catch {
            if error == .noent { return .absent(validFor: kernel.absenceTimeout(of: name, below: directory)) }
            if error == .nameHeld { throw error }
            // After another errno, the kernel would detach a mount on the name.
            if kernel.mountsBelow.areReached(by: name, in: directory.object) { throw .nomem }
            throw error
        }
    }

    /// The entry of an object that was made for a request, of which only the answer is missing.
    /// - Parameter isMade: whether it is that object.
    /// - Throws: `exist`: it is another one.
    func made(_ name: UnsafePointer<CChar>, in parent: NodeID, _ isMade: (ObjectState) -> Bool) throws(Errno) -> Entry {
        try share.withNamesHeld { () throws(Errno) in
            let directory = try loader.load(parent)
            let found = try loader.child(name, of: directory)
            guard isMade(found) else { throw .exist }
            return kernel.makeEntry(found, named: name, below: directory)
        }
    }

    /// The inode that a name leads to; nil: none.
    func inode(_ name: UnsafePointer<CChar>, in parent: NodeID) -> UInt64? {
        try? share.withNamesHeld { () throws(Errno) in try loader.child(name, of: loader.load(parent)).object.key.inode }
    }

    func forgetLookups(of id: NodeID, _ count: UInt64) {
        if let object = loader.nodes.forget(id, count) {
            // A request about a removed file that is open puts its descriptor back into the tree's cache.
            let mayBeRemoved = object.hasLostNames.load(ordering: .relaxed) || !loader.tree.hasDescriptor(of: object)
            if mayBeRemoved || !kernel.deferRemovalCheck(of: object) { kernel.dropIfRemoved(object) }
        }
        if let view = loader.view, loader.nodes.find(id) == nil { view.forget(id) }
    }
}

extension LookupOperations {
    /// Waits up to 3 ms for the FORGET of a directory that is looked up, if one is likely (docs/internals/coherence.md "A delayed FORGET").
    /// Call without a lock; the kernel may hold that of the parent.
    /// - Returns: the node. If the kernel still knows it, the LOOKUP may have been sent without a lock (R7).
    func awaitForget(of name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller) -> Node? {
        guard kernel.cache.forgets.isAnyLikely, let node = nodeLikelyForgotten(name, in: parent, caller), kernel.cache.forgets.begin()
        else {
            return nil
        }
        defer { kernel.cache.forgets.end() }
        let longest: UInt64 = 3_000_000
        let pause: UInt64 = 200_000
        let end = SystemTime.monotonic() + longest
        waiting {
            while isKnown(node), SystemTime.monotonic() < end { SystemTime.sleep(nanoseconds: pause) }
        }
        return node
    }

    func isKnown(_ node: Node) -> Bool { loader.nodes.find(node.id) === node }

    /// The node of a directory that is looked up although its entry is cacheable, or that is marked and was invalidated a moment ago.
    ///
    /// Its decision only shapes the wait. The one that is counted and answered follows the wait.
    private func nodeLikelyForgotten(_ name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller) -> Node? {
        share.lock.withReadLock {
            guard let directory = try? loader.load(parent), !directory.isOvermounted, judge.everyCallerHolds(.search, on: directory),
                judge.decide(.lookup, Operands(finding: name, in: directory), caller).isAllowed,
                let found = try? loader.child(name, of: directory), found.object.kind == .directory,
                let node = loader.nodes.node(of: found.object)
            else { return nil }
            let isLikely = kernel.cache.isForgetLikely(of: node)
            return isLikely ? node : nil
        }
    }
}
