import Authorization
import BackingStore
import FuseSession
import LinuxSystem

/// Names that are looked up, and look-ups that the kernel forgets.
final class LookupOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let backingIDs: BackingIDs

    init(loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, backingIDs: BackingIDs) {
        (self.loader, self.judge, self.kernel, self.held, self.share, self.backingIDs) = (loader, judge, kernel, held, share, backingIDs)
    }
}

extension LookupOperations {
    func lookup(
        _ name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller
    ) throws(Errno) -> LookupAnswer {
        let awaited = awaitForget(of: name, in: parent, caller)
        return try held.passGates(caller) { () throws(Errno) in
            try share.lock.withReadLock { () throws(Errno) in try lookupLocked(name, in: parent, awaited, caller) }
        }
    }

    private func lookupLocked(
        _ name: UnsafePointer<CChar>, in parent: NodeID, _ awaited: Node?, _ caller: Caller
    ) throws(Errno) -> LookupAnswer {
        let directory = try loader.load(parent)
        try loader.requireOpenGate(of: directory.object)
        do throws(Errno) {
            try judge.permit(
                .lookup, Operands(finding: name, in: directory), caller, about: directory, named: name,
                in: directory.object)
            if directory.isCovered { return .absentUncacheable }
            let found = try loader.child(name, of: directory)
            try judge.permitFinding(found, named: name, in: directory.object, caller)
            // In vain: as if it had not waited, however many bumps there were meanwhile.
            if let awaited, isKnown(awaited) { awaited.revalidation.mark() }
            return .found(kernel.makeEntry(found, named: name, below: directory))
        } catch {
            if error == .noent { return .absent(validFor: kernel.absenceTimeout(of: name, below: directory)) }
            if error == .nameHeld { throw error }
            // The one refusal after which the kernel keeps what is mounted there.
            if kernel.mountsBelow.areReached(by: name, in: directory.object) { throw .nomem }
            throw error
        }
    }

    func forgetLookups(of id: NodeID, _ count: UInt64) {
        // A removed file that is looked at while it is open is in the tree's cache again.
        let object = loader.nodes.forget(id, count)
        if let object, !loader.tree.forgetDescriptorIfRemoved(object) { backingIDs.drop(object.key) }
        if let view = loader.view, loader.nodes.find(id) == nil { view.forget(id) }
    }
}

extension LookupOperations {
    /// Waits for the FORGET of a directory that is looked up, if one is likely, but not for long, and with no lock of ours; the kernel may
    /// hold that of the directory above.
    /// - Returns: the node for which it waited. If the kernel knows it still, the question may have been put without a lock (R7).
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

    /// The node of a directory that is looked up although the kernel should believe its name, or that has the mark and was just dropped.
    /// Decides for itself alone whether the caller may find it; what is answered is decided, and counted, behind the wait.
    private func nodeLikelyForgotten(_ name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller) -> Node? {
        share.lock.withReadLock {
            guard let directory = try? loader.load(parent), !directory.isCovered, judge.everybodyHolds(.search, on: directory),
                judge.decide(.lookup, Operands(finding: name, in: directory), caller).isAllowed,
                let found = try? loader.child(name, of: directory), found.object.kind == .directory,
                let node = loader.nodes.known(found.object)
            else { return nil }
            let isLikely = node.revalidation.isPossible ? node.revalidation.mayAwaitForget() : kernel.cache.isAskedAgain(node)
            return isLikely ? node : nil
        }
    }
}
