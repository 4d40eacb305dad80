import Authorization
import BackingStore
import FuseSession
import LinuxSystem

// `makeCall` and `makeDataCall` make every system call that takes the lock of a backing inode (docs/decisions/0020-held-files.md). As a rule
// no caller can hold that lock: then the call is made at once, and no caller comes to hold the lock before it returns. Otherwise the
// operation fails with `mayBeHeld` before it changes anything, and runs again on a spare thread. There `makeCall` releases the metadata lock
// during the call.

/// How the metadata lock is held when a system call is made.
enum MetadataHold {
    case writing
    case reading
    case free
}

/// Makes system calls that may sleep on a held object: without a lock that others need, and with a deadline for the caller.
final class HeldCalls: Sendable {
    let loader: ObjectLoader
    let share: Share
    let backingIDs: BackingIDs

    init(loader: ObjectLoader, share: Share, backingIDs: BackingIDs) {
        (self.loader, self.share, self.backingIDs) = (loader, share, backingIDs)
    }
}

extension HeldCalls {
    /// Makes a system call that changes an object.
    /// - Parameters:
    ///   - object: whose lock the call takes.
    ///   - other: a second object whose lock the call takes.
    ///   - hold: how the metadata lock is held.
    ///   - body: the system call.
    /// - Returns: the result of `body`.
    /// - Throws: `mayBeHeld` if the call could sleep here; and what `body` throws.
    func makeCall<Value: ~Copyable>(
        on object: ObjectState, and other: ObjectState? = nil, holding hold: MetadataHold = .writing, _ body: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        if let mark = ActMark.current {
            try mark.beginAct(on: object.object.key, isFile: object.facts.kind == .file)
            if let other { try mark.beginAct(on: other.object.key, isFile: other.facts.kind == .file) }
            switch hold {
            case .writing: return try share.lock.releasingWriteLock(body)
            case .reading: return try share.lock.releasingReadLock(body)
            case .free: return try body()
            }
        }
        guard claim(object) else { throw .mayBeHeld }
        defer { unclaim(object) }
        guard let other else { return try body() }
        guard claim(other) else { throw .mayBeHeld }
        defer { unclaim(other) }
        return try body()
    }

    private func claim(_ object: ObjectState) -> Bool {
        let key = object.object.key
        switch object.facts.kind {
        case .file:
            return share.dataPaths.claim(key, against: .request(from: backingIDs))
        case .directory: return !share.held.gates.isClosed(.directory(key))
        // The kernel moves no data of these past the daemon.
        case .symlink, .fifo, .socket, .characterDevice, .blockDevice: return true
        }
    }

    /// Requires that no spare thread is changing the object. Call before the object is judged for a change.
    /// - Throws: `mayBeHeld`.
    func requireNoOtherChange(of object: ObjectState) throws(Errno) {
        if !ThreadMark.isSet, share.held.isChanging(object.object.key) { throw .mayBeHeld }
    }

    private func unclaim(_ object: ObjectState) {
        if object.facts.kind == .file { share.dataPaths.unclaim(object.object.key) }
    }

    /// Runs an operation here, unless an object of it may be held.
    /// - Returns: nil if the operation must run on a spare thread.
    func runUnlessHeld<Value>(_ caller: Caller, _ body: () throws(Errno) -> Value) throws(Errno) -> Value? {
        do throws(Errno) { return try passGates(caller, body) } catch {
            guard error == .mayBeHeld, !ThreadMark.isSet else { throw error }
            return nil
        }
    }

    /// Runs an operation that changes an object's facts or its size on a spare thread.
    /// - Parameters:
    ///   - id: of the object.
    ///   - discard: undoes a result that comes after the deadline.
    ///   - body: the operation; it refers to nothing that ends with the request.
    /// - Throws: `held` at the deadline; and what `body` throws.
    func runHeldChange<Value: Sendable>(
        _ id: NodeID, _ caller: Caller, discard: @escaping @Sendable (Value) -> Void = { _ in },
        _ body: @escaping @Sendable () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let object = try loader.node(id).object
        let probe = try loader.tree.descriptor(of: object)
        return try share.held.run([object.key], for: caller.payer, .change, changes: true, probes: [probe], discard: discard) {
            _ throws(Errno) in
            try body()
        }
    }
}

// MARK: Names

extension HeldCalls {
    /// Runs an operation that uses names of directories. While a spare thread changes them, it waits for a short time and runs it again.
    /// - Parameter body: has done nothing when it throws `nameHeld`.
    /// - Throws: `held` at the deadline; and what `body` throws.
    func passGates<Value>(_ caller: Caller, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        do throws(Errno) { return try body() } catch { guard error == .nameHeld else { throw error } }
        let gates = share.held.gates
        let end = SystemTime.monotonic() + HeldFiles.Deadlines.name.untilFree
        var isTrying = false
        defer { if isTrying { gates.endTry() } }
        while SystemTime.monotonic() < end {
            let openings = gates.openings
            do throws(Errno) { return try body() } catch { guard error == .nameHeld else { throw error } }
            if isTrying { gates.endTry() }
            isTrying = share.held.awaitOpening(since: openings, until: end, for: caller.payer)
            guard isTrying else { break }
        }
        throw .held
    }

    /// What a change of names may have to wait for: its objects, and the directories of their old and new names.
    struct HeldNames: Sendable {
        var objects: [BackingObject]
        var directories: [BackingObject]

        var gates: Set<NameGates.Gate> {
            var gates = Set(directories.map { NameGates.Gate.directory($0.key) })
            if gates.count > 1 { gates.insert(.crossing) }
            return gates
        }
    }

    /// Runs an operation that changes names on a spare thread, while other operations wait at the directories' gates.
    /// - Parameters:
    ///   - discard: undoes a result that comes after the deadline.
    ///   - find: looks up the objects and directories of the operation.
    ///   - body: the operation; it refers to nothing that ends with the request.
    /// - Throws: `held` at the deadline; and what `body` throws.
    func runHeldNameChange<Value: Sendable>(
        _ caller: Caller, discard: @escaping @Sendable (Value) -> Void = { _ in },
        _ find: () throws(Errno) -> HeldNames, _ body: @escaping @Sendable () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let names = try passGates(caller, find)
        let gates = names.gates
        var probes: [SharedDescriptor] = []
        for object in names.objects { probes.append(try loader.tree.descriptor(of: object)) }
        let held = share.held
        return try held.run(
            (names.objects + names.directories).map(\.key), for: caller.payer, .name, changes: true, probes: probes, hasGates: true,
            discard: discard
        ) { _ throws(Errno) in
            guard held.gates.close(gates, until: SystemTime.monotonic() + HeldFiles.Deadlines.name.untilFree) else { throw .held }
            defer { held.gates.open(gates) }
            return try body()
        }
    }

    /// Looks up the objects and directories of an operation on names, for `runHeldNameChange`.
    func findHeldNames(_ pairs: [(name: [CChar], parent: NodeID)], besides node: NodeID? = nil) throws(Errno) -> HeldNames {
        var names = HeldNames(objects: [], directories: [])
        if let node { names.objects.append(try loader.node(node).object) }
        try share.withNamesHeld { () throws(Errno) in
            for pair in pairs {
                let directory = try loader.load(pair.parent)
                if !names.directories.contains(where: { $0.key == directory.object.key }) { names.directories.append(directory.object) }
                let found = try pair.name.withUnsafeBufferPointer { bytes in
                    Result { () throws(Errno) in
                        guard let name = bytes.baseAddress else { throw .inval }
                        return try loader.childIfThere(name, of: directory)
                    }
                }.get()
                if let object = found?.object, !names.objects.contains(where: { $0.key == object.key }) { names.objects.append(object) }
            }
        }
        return names
    }
}

extension [CChar] {
    /// Lends a name that was copied.
    func asName<Value>(_ body: (UnsafePointer<CChar>) throws(Errno) -> Value) throws(Errno) -> Value {
        try withUnsafeBufferPointer { bytes in
            Result { () throws(Errno) in
                guard let name = bytes.baseAddress else { throw .inval }
                return try body(name)
            }
        }.get()
    }
}

// MARK: Data

extension HeldCalls {
    /// Makes a system call on the bytes of open files; on a spare thread if it could sleep.
    /// - Parameters:
    ///   - files: whose locks the call takes.
    ///   - hold: which holders could make it sleep.
    ///   - body: the system call; it refers to nothing that ends with the request.
    func makeDataCall<Value: Sendable>(
        of files: [OpenFile], _ caller: Caller, against hold: DataHold,
        _ body: @escaping @Sendable () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        if ThreadMark.isSet { return try body() }
        var claimed: [ObjectKey] = []
        defer { for key in claimed { share.dataPaths.unclaim(key) } }
        for file in files {
            let key = file.node.object.key
            guard share.dataPaths.claim(key, against: hold) else {
                return try runOnSpareThread(files, caller) { _ throws(Errno) in try body() }
            }
            claimed.append(key)
        }
        return try body()
    }

    /// Makes a system call on the bytes of open files on a spare thread.
    func runOnSpareThread<Value: Sendable>(
        _ files: [OpenFile], _ caller: Caller, isInterrupted: (() -> Bool)? = nil,
        _ body: @escaping @Sendable (_ step: @Sendable () -> Bool) throws(Errno) -> Value
    ) throws(Errno) -> Value {
        try share.held.run(
            files.map(\.node.object.key), for: caller.payer, .data, changes: false, probes: files.map(\.pathDescriptor),
            isInterrupted: isInterrupted, body)
    }
}
