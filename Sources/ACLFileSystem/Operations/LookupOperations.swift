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
        return try held.passingGates(caller) { () throws(Errno) in
            try share.lock.withReadLock { () throws(Errno) in try lookupNow(name, in: parent, awaited, caller) }
        }
    }

    private func lookupNow(
        _ name: UnsafePointer<CChar>, in parent: NodeID, _ awaited: Node?, _ caller: Caller
    ) throws(Errno) -> LookupAnswer {
        let directory = try loader.load(parent)
        try loader.requireOpenGate(of: directory.object)
        do throws(Errno) {
            try judge.permit(
                .lookup, Operands(finding: name, in: directory), caller, about: directory, named: name,
                in: directory.object)
            if directory.isCovered { return .absent(validFor: 0) }
            let found = try loader.child(name, of: directory)
            try judge.permitFinding(found, named: name, in: directory.object, caller)
            // In vain: as if it had not waited, however many bumps there were meanwhile.
            if let awaited, isKnown(awaited) { awaited.revalidation.mark() }
            return .found(kernel.entry(found, named: name, below: directory))
        } catch {
            if error == .noent { return .absent(validFor: kernel.absenceTime(of: name, below: directory)) }
            if error == .nameHeld { throw error }
            // The one refusal after which the kernel keeps what is mounted there.
            if kernel.mountsBelow.guards(name, in: directory.object) { throw .nomem }
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
