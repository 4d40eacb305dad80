import Authorization
import BackingStore
import FuseSession
import LinuxSystem

extension FileSystem {
    /// unlink and rmdir: the child that the name means now is judged and removed; the kernel holds the
    /// directory's lock, so the name cannot change its meaning between the two.
    func remove(
        _ name: UnsafePointer<CChar>, in parent: NodeID, directory isDirectory: Bool, _ caller: Caller
    ) throws(Errno) {
        try share.withNamesHeld { () throws(Errno) in
            let directory = try load(parent)
            let object = try child(name, of: directory)
            if directory.isCovered { throw .noent }
            try permit(
                isDirectory ? .removeDirectory : .unlink,
                Parts(removing: object, from: directory), caller, about: object, named: name, in: directory.object)
            if object.isCovered { throw .busy }
            try Syscall.unlinkat(
                directory.descriptor.rawValue, name, flags: isDirectory ? AtFlag.removeDirectory : 0)
            keepRecord(of: directory)
            share.hasRemoved(object, name, from: directory)
            tellOthers(ofNameIn: directory, object.object)
            if isDirectory || object.status.nlink <= 1 { tree.forgetDescriptor(of: object.object) }
        }
    }
}
