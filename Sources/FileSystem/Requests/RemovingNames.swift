import Authorization
import BackingStore
import FuseSession
import LinuxSystem

extension NameOperations {
    /// UNLINK and RMDIR. The object that is judged is the one that is removed: the kernel holds the directory's lock meanwhile.
    func remove(
        _ name: UnsafePointer<CChar>, in parent: NodeID, directory isDirectory: Bool, _ caller: Caller
    ) throws(Errno) {
        try removeWhenFree(name, in: parent, directory: isDirectory, caller)
        try durable.finishNames(in: parent)
    }

    private func removeWhenFree(
        _ name: UnsafePointer<CChar>, in parent: NodeID, directory isDirectory: Bool, _ caller: Caller
    ) throws(Errno) {
        let isDone: Void? = try held.runUnlessHeld(caller) { () throws(Errno) in
            try performRemove(name, in: parent, directory: isDirectory, caller)
        }
        if isDone != nil { return }
        let copy = name.copied
        try held.runHeldNameChange(caller, { () throws(Errno) in try held.findHeldNames([(copy, parent)]) }) { [self] () throws(Errno) in
            try copy.asName { (name) throws(Errno) in try performRemove(name, in: parent, directory: isDirectory, caller) }
        }
    }

    private func performRemove(
        _ name: UnsafePointer<CChar>, in parent: NodeID, directory isDirectory: Bool, _ caller: Caller
    ) throws(Errno) {
        try share.withNamesHeld { () throws(Errno) in
            let directory = try loader.load(parent)
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
