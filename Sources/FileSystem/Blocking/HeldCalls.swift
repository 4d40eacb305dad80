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

    // MARK: Running

    /// What an operation may have to wait for.
    enum Objects {
        case object(NodeID)
        /// The objects that these names lead to, their directories, and one more object.
        case names([LentName], besides: NodeID? = nil)
    }

    /// Runs an operation: here, unless one of its objects may be held, and else on a spare thread.
    /// - Parameters:
    ///   - input: what the operation gets from its request.
    ///   - objects: asked for only if a spare thread runs it.
    ///   - kept: the input with copies of what ends with the request.
    ///   - discard: undoes a result that comes after the deadline.
    ///   - body: the operation. It captures its owner alone, so that it costs no memory here, and has changed nothing when it throws `mayBeHeld`.
    /// - Throws: `held` at the deadline; and what `body` throws.
    func run<Input: Sendable, Value: Sendable>(
        _ input: Input, _ caller: Caller, on objects: @autoclosure () -> Objects, keeping kept: (Input) -> Input = { $0 },
        discard: @escaping @Sendable (Value) -> Void = { _ in }, _ body: @escaping @Sendable (Input) throws(Errno) -> Value
    ) throws(Errno) -> Value {
        do throws(Errno) { return try passGates(caller) { () throws(Errno) in try body(input) } } catch {
            guard error == .mayBeHeld, !ThreadMark.isSet else { throw error }
        }
        let input = kept(input)
        switch objects() {
        case .object(let id):
            let object = try loader.node(id).object
            let probe = try loader.tree.descriptor(of: object)
            return try share.held.run([object.key], for: caller.payer, .change, changes: true, probes: [probe], discard: discard) {
                _ throws(Errno) in try body(input)
            }
        case .names(let names, let node):
            let names = try passGates(caller) { () throws(Errno) in try find(names, besides: node) }
            let gates = names.gates
            var probes: [SharedDescriptor] = []
            for object in names.objects { probes.append(try loader.tree.descriptor(of: object)) }
            let held = share.held
            // Other operations wait at the gates of the directories meanwhile.
            return try held.run(
                (names.objects + names.directories).map(\.key), for: caller.payer, .name, changes: true, probes: probes, hasGates: true,
                discard: discard
            ) { _ throws(Errno) in
                guard held.gates.close(gates, until: SystemTime.monotonic() + HeldFiles.Deadlines.name.untilFree) else { throw .held }
                defer { held.gates.open(gates) }
                return try body(input)
            }
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
    private struct HeldNames: Sendable {
        var objects: [BackingObject] = []
        var directories: [BackingObject] = []

        var gates: Set<NameGates.Gate> {
            var gates = Set(directories.map { NameGates.Gate.directory($0.key) })
            if gates.count > 1 { gates.insert(.crossing) }
            return gates
        }
    }

    private func find(_ lent: [LentName], besides node: NodeID?) throws(Errno) -> HeldNames {
        var names = HeldNames()
        if let node { names.objects.append(try loader.node(node).object) }
        try share.withNamesHeld { () throws(Errno) in
            for name in lent {
                let directory = try loader.load(name.parent)
                if !names.directories.contains(where: { $0.key == directory.object.key }) { names.directories.append(directory.object) }
                let object = try loader.childIfThere(name.characters, of: directory)?.object
                if let object, !names.objects.contains(where: { $0.key == object.key }) { names.objects.append(object) }
            }
        }
        return names
    }
}

/// Bytes that a request lends to its operation, or a copy of them for a spare thread, which lasts as long as this value.
struct LentBytes: @unchecked Sendable {
    private final class Copy: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer
        init(_ lent: UnsafeRawBufferPointer) {
            bytes = .allocate(byteCount: lent.count, alignment: 1)
            bytes.copyMemory(from: lent)
        }
        deinit { bytes.deallocate() }
    }

    let bytes: UnsafeRawBufferPointer
    private var copy: Copy?

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var kept: LentBytes {
        let copy = Copy(bytes)
        var kept = LentBytes(UnsafeRawBufferPointer(copy.bytes))
        kept.copy = copy
        return kept
    }
}

/// A name in a directory, as `LentBytes`.
struct LentName: @unchecked Sendable {
    let characters: UnsafePointer<CChar>
    let parent: NodeID
    private var copy: LentBytes?

    init(_ characters: UnsafePointer<CChar>, in parent: NodeID) { (self.characters, self.parent) = (characters, parent) }

    var kept: LentName {
        let copy = LentBytes(UnsafeRawBufferPointer(start: characters, count: characters.bytes.count + 1)).kept
        guard let start = copy.bytes.baseAddress else { return self }
        var kept = LentName(start.assumingMemoryBound(to: CChar.self), in: parent)
        kept.copy = copy
        return kept
    }
}

// MARK: Data

extension HeldCalls {
    /// Makes a system call on the bytes of open files; on a spare thread if it could sleep.
    /// - Parameters:
    ///   - input: what the call gets from its request.
    ///   - file: whose lock the call takes.
    ///   - other: a second file whose lock it takes.
    ///   - hold: which holders could make it sleep.
    ///   - kept: the input with copies of what ends with the request.
    ///   - body: the system call; it captures nothing that ends with the request.
    func makeDataCall<Input: Sendable, Value: Sendable>(
        _ input: Input, of file: OpenFile, and other: OpenFile? = nil, _ caller: Caller, against hold: DataHold,
        keeping kept: (Input) -> Input = { $0 }, _ body: @escaping @Sendable (Input) throws(Errno) -> Value
    ) throws(Errno) -> Value {
        if ThreadMark.isSet { return try body(input) }
        func runOnSpareThread() throws(Errno) -> Value {
            let input = kept(input)
            return try self.runOnSpareThread(file, and: other, caller) { () throws(Errno) in try body(input) }
        }
        let key = file.node.object.key
        guard share.dataPaths.claim(key, against: hold) else { return try runOnSpareThread() }
        defer { share.dataPaths.unclaim(key) }
        guard let otherKey = other?.node.object.key else { return try body(input) }
        guard share.dataPaths.claim(otherKey, against: hold) else { return try runOnSpareThread() }
        defer { share.dataPaths.unclaim(otherKey) }
        return try body(input)
    }

    /// Makes a system call on the bytes of open files on a spare thread.
    func runOnSpareThread<Value: Sendable>(
        _ file: OpenFile, and other: OpenFile? = nil, _ caller: Caller, _ body: @escaping @Sendable () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let files = other.map { [file, $0] } ?? [file]
        return try share.held.run(
            files.map(\.node.object.key), for: caller.payer, .data, changes: false, probes: files.map(\.pathDescriptor)
        ) { _ throws(Errno) in try body() }
    }
}
