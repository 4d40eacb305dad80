import Authorization
import BackingStore
import FuseSession
import LinuxSystem

extension NameOperations {
    func rename(
        _ name: UnsafePointer<CChar>, in parent: NodeID, to newName: UnsafePointer<CChar>, in newParent: NodeID,
        flags: UInt32, _ caller: Caller
    ) throws(Errno) {
        try renameWhenFree(name, in: parent, to: newName, in: newParent, flags: flags, caller)
        // The new name first: a crash in between leaves both.
        try durable.finishNames(in: newParent, and: parent)
    }

    private func renameWhenFree(
        _ name: UnsafePointer<CChar>, in parent: NodeID, to newName: UnsafePointer<CChar>, in newParent: NodeID,
        flags: UInt32, _ caller: Caller
    ) throws(Errno) {
        // RENAME_WHITEOUT would create a device node without a decision (docs/reference/authorization.md 2.4).
        guard flags & ~(RenameFlag.noReplace | RenameFlag.exchange) == 0 else { throw .inval }
        let isDone: Void? = try held.runUnlessHeld(caller) { () throws(Errno) in
            try performRename(name, in: parent, to: newName, in: newParent, flags: flags, caller)
        }
        if isDone != nil { return }
        let (old, new) = (name.copied, newName.copied)
        try held.runHeldNameChange(caller, { () throws(Errno) in try held.findHeldNames([(old, parent), (new, newParent)]) }) {
            [self] () throws(Errno) in
            try old.asName { (name) throws(Errno) in
                try new.asName { (newName) throws(Errno) in
                    try performRename(name, in: parent, to: newName, in: newParent, flags: flags, caller)
                }
            }
        }
    }

    private func performRename(
        _ name: UnsafePointer<CChar>, in parent: NodeID, to newName: UnsafePointer<CChar>, in newParent: NodeID,
        flags: UInt32, _ caller: Caller
    ) throws(Errno) {
        let exchanges = flags & RenameFlag.exchange != 0
        // For writing: a look-up that the kernel sent without its locks must have noted its entry before this asks whether any is exposed
        // (docs/internals/coherence.md R2).
        try share.lock.withWriteLock { () throws(Errno) in
            let source = try loader.load(parent)
            let destination = parent == newParent ? source : try loader.load(newParent)
            let object = try loader.child(name, of: source)
            let target = try loader.childIfThere(newName, of: destination)
            if parent != newParent { try loader.requireOpen(.crossing) }
            try loader.requireOpenGate(of: object.object)
            if let target { try loader.requireOpenGate(of: target.object) }
            if exchanges, target == nil { throw .noent }
            if flags & RenameFlag.noReplace != 0, target != nil { throw .exist }
            let objects = Operands(
                moving: object, from: source, to: newName, in: destination, isSame: parent == newParent,
                replacing: target, exchanges: exchanges)
            try judge.permit(
                exchanges ? .exchange : .rename, objects, caller, about: object, named: name, in: source.object)
            if source.isOvermounted { throw .noent }
            if destination.isOvermounted { throw .rofs }
            if object.isOvermounted || target?.isOvermounted ?? false { throw .busy }
            try held.makeCall(on: object, and: target.flatMap { $0.object.key == object.object.key ? nil : $0 }) { () throws(Errno) in
                try allocateBlocks(for: caller) { () throws(Errno) in
                    try Syscall.renameat2(
                        source.descriptor.rawValue, name, to: destination.descriptor.rawValue, newName, flags: flags)
                }
            }
            loader.keepRecord(of: source)
            if parent != newParent { loader.keepRecord(of: destination) }
            loader.keepRecord(of: object)
            if object.object.key != target?.object.key {
                kernel.mounts.recordMove(of: object, from: source, name, to: destination, newName, through: kernel)
                if let target {
                    if exchanges {
                        kernel.mounts.recordMove(of: target, from: destination, newName, to: source, name, through: kernel)
                    } else {
                        kernel.mounts.recordRemoval(of: target, newName, from: destination)
                    }
                }
            }
            kernel.invalidateMovedName(object, from: source, to: newName, in: destination)
            if exchanges, let target { kernel.invalidateMovedName(target, from: destination, to: name, in: source) }
            if !exchanges, let target { kernel.invalidateElsewhere(target.object) }
        }
    }

    func link(
        _ id: NodeID, as name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller
    ) throws(Errno) -> Entry {
        let linked = try held.runUnlessHeld(caller) { () throws(Errno) in
            try performLink(id, as: name, in: parent, caller)
        }
        if let linked { return try finish(linked, in: parent) }
        let copy = name.copied
        let late = try held.runHeldNameChange(
            caller, discard: { [self] in lookups.forgetLookups(of: $0.node, 1) },
            { () throws(Errno) in try held.findHeldNames([(copy, parent)], besides: id) }
        ) { [self] () throws(Errno) in
            try copy.asName { (name) throws(Errno) in try performLink(id, as: name, in: parent, caller) }
        }
        return try finish(late, in: parent)
    }

    private func performLink(
        _ id: NodeID, as name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller
    ) throws(Errno) -> Entry {
        try share.withNamesHeld { () throws(Errno) in
            let object = try loader.load(id)
            let directory = try loader.load(parent)
            try loader.requireOpenGate(of: directory.object)
            try judge.permit(.link, Operands(linking: object, as: name, in: directory), caller, about: object)
            if directory.isOvermounted { throw .rofs }
            try held.makeCall(on: object) { () throws(Errno) in
                try allocateBlocks(for: caller) { () throws(Errno) in
                    try Syscall.link(descriptor: object.descriptor.rawValue, to: directory.descriptor.rawValue, name)
                }
            }
            kernel.invalidateNameElsewhere(in: directory, object.object)
            // On a confined mount the new name may be in another zone, and so have another node.
            guard loader.view != nil else { return kernel.makeEntry(try loader.load(id), named: name, below: directory) }
            if let node = object.node { loader.giveName(name, in: directory, to: node) }
            return kernel.makeEntry(try loader.child(name, of: directory), named: name, below: directory)
        }
    }
}
