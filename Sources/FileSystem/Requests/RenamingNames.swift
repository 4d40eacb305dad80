import Authorization
import BackingStore
import FuseSession
import LinuxSystem

extension NameOperations {
    func rename(
        _ name: UnsafePointer<CChar>, in parent: NodeID, to newName: UnsafePointer<CChar>, in newParent: NodeID,
        flags: UInt32, _ caller: Caller
    ) throws(Errno) {
        // RENAME_WHITEOUT would create a device node without a decision (docs/reference/authorization.md 2.4).
        guard flags & ~(RenameFlag.noReplace | RenameFlag.exchange) == 0 else { throw .inval }
        let (name, newName) = (LentName(name, in: parent), LentName(newName, in: newParent))
        try held.run(
            (name, newName, flags, caller), caller, on: .names([name, newName]), keeping: { ($0.0.kept, $0.1.kept, $0.2, $0.3) }
        ) { [self] (input) throws(Errno) in try performRename(input.0, to: input.1, flags: input.2, input.3) }
        // The new name first: a crash in between leaves both.
        try durable.finishNames(in: newParent, and: parent)
    }

    private func performRename(_ old: LentName, to new: LentName, flags: UInt32, _ caller: Caller) throws(Errno) {
        let (name, parent, newName, newParent) = (old.characters, old.parent, new.characters, new.parent)
        let exchanges = flags & RenameFlag.exchange != 0
        // For writing: a look-up that the kernel sent without its locks must have noted its entry before this asks whether any is exposed
        // (docs/internals/coherence.md R2).
        try share.lock.withWriteLock { () throws(Errno) in
            let source = try loader.loadParent(parent)
            let destination = parent == newParent ? source : try loader.loadParent(newParent)
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
                    try share.acts.run(caller, before: object.object.key.inode) { () throws(Errno) in
                        try Syscall.renameat2(
                            source.descriptor.rawValue, name, to: destination.descriptor.rawValue, newName, flags: flags)
                    }
                }
            }
            loader.noteNameChange(in: source)
            if parent != newParent { loader.noteNameChange(in: destination) }
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

    func link(_ id: NodeID, as name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller) throws(Errno) -> Entry {
        let name = LentName(name, in: parent)
        let entry = try held.run(
            (id, name, caller), caller, on: .names([name], besides: id), keeping: { ($0.0, $0.1.kept, $0.2) },
            discard: { [lookups] in lookups.forgetLookups(of: $0.node, 1) }
        ) { [self] (input) throws(Errno) in try performLink(input.0, as: input.1, input.2) }
        return try finish(entry, in: parent)
    }

    private func performLink(_ id: NodeID, as lent: LentName, _ caller: Caller) throws(Errno) -> Entry {
        let name = lent.characters
        return try share.withNamesHeld { () throws(Errno) in
            let object = try loader.load(id)
            let directory = try loader.loadParent(lent.parent)
            try loader.requireOpenGate(of: directory.object)
            try judge.permit(.link, Operands(linking: object, as: name, in: directory), caller, about: object)
            if directory.isOvermounted { throw .rofs }
            try held.makeCall(on: object) { () throws(Errno) in
                try allocateBlocks(for: caller) { () throws(Errno) in
                    try share.acts.run(caller) { () throws(Errno) in
                        try Syscall.link(descriptor: object.descriptor.rawValue, to: directory.descriptor.rawValue, name)
                    }
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
