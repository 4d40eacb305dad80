import Authorization
import BackingStore
import FuseSession
import LinuxSystem

/// Requests that change names: MKNOD, MKDIR, SYMLINK, LINK, UNLINK, RMDIR, RENAME.
final class NameOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let lookups: LookupOperations
    let durable: DurableCalls
    let creationNotes: CreationNotes?

    init(
        loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, lookups: LookupOperations,
        durable: DurableCalls, creationNotes: CreationNotes?
    ) {
        (self.loader, self.judge, self.kernel, self.held, self.share, self.lookups, self.durable, self.creationNotes) = (
            loader, judge, kernel, held, share, lookups, durable, creationNotes
        )
    }

    /// Brings a new name to the disk, where the mount promises that. If it fails, the look-up of the entry is not counted.
    func finish(_ entry: Entry, in parent: NodeID) throws(Errno) -> Entry {
        do throws(Errno) { try durable.finishNames(in: parent, made: entry.node) } catch {
            lookups.forgetLookups(of: entry.node, 1)
            throw error
        }
        return entry
    }
}

extension NameOperations {
    /// UNLINK and RMDIR. The object that is judged is the one that is removed: the kernel holds the directory's lock meanwhile.
    func remove(_ name: UnsafePointer<CChar>, in parent: NodeID, directory isDirectory: Bool, _ caller: Caller) throws(Errno) {
        let name = LentName(name, in: parent)
        try held.run(
            (name, isDirectory, caller), caller, on: .names([name]), keeping: { ($0.0.kept, $0.1, $0.2) }
        ) { [self] (input) throws(Errno) in try performRemove(input.0, directory: input.1, input.2) }
        try durable.finishNames(in: parent)
    }

    private func performRemove(_ lent: LentName, directory isDirectory: Bool, _ caller: Caller) throws(Errno) {
        let name = lent.characters
        try share.withNamesHeld { () throws(Errno) in
            let directory = try loader.loadParent(lent.parent)
            let object = try loader.child(name, of: directory)
            if isDirectory { try loader.requireOpenGate(of: object.object) }
            if directory.isOvermounted { throw .noent }
            try judge.permit(
                isDirectory ? .removeDirectory : .unlink,
                Operands(removing: object, from: directory), caller, about: object, named: name, in: directory.object)
            if object.isOvermounted { throw .busy }
            try held.makeCall(on: object) { () throws(Errno) in
                try share.acts.run(caller) { () throws(Errno) in
                    try Syscall.unlinkat(
                        directory.descriptor.rawValue, name, flags: isDirectory ? AtFlag.removeDirectory : 0)
                }
            }
            loader.noteNameChange(in: directory)
            kernel.mounts.recordRemoval(of: object, name, from: directory)
            kernel.invalidateNameElsewhere(in: directory, object.object)
        }
    }
}
