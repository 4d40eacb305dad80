import Authorization
import BackingStore
import FuseSession
import LinuxSystem

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
            let directory = try loader.load(lent.parent)
            let object = try loader.child(name, of: directory)
            if isDirectory { try loader.requireOpenGate(of: object.object) }
            if directory.isOvermounted { throw .noent }
            try judge.permit(
                isDirectory ? .removeDirectory : .unlink,
                Operands(removing: object, from: directory), caller, about: object, named: name, in: directory.object)
            if object.isOvermounted { throw .busy }
            try held.makeCall(on: object) { () throws(Errno) in
                try Syscall.unlinkat(
                    directory.descriptor.rawValue, name, flags: isDirectory ? AtFlag.removeDirectory : 0)
            }
            loader.keepRecord(of: directory)
            kernel.mounts.recordRemoval(of: object, name, from: directory)
            kernel.invalidateNameElsewhere(in: directory, object.object)
        }
    }
}
