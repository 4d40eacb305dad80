import ACLFormats
import CKeeper
import ControlProtocol
import Glibc
import LinuxSystem

/// The memory file that outlives a daemon: its mounts, and what the keeper notes of deaths.
///
/// What is in it may be cut, forged or of another build. It is read once, by the program that the keeper runs after a death, and each part is
/// checked before it is used.
// Unchecked: the pointer never changes. The keeper reads the head when the daemon is dead; the rest is behind the lock.
final class KeptState: @unchecked Sendable {
    let memory: SharedDescriptor
    private let head: UnsafeMutablePointer<aclfs_kept>

    private struct Writing {
        var mounts: [KeptMount] = []
        /// Of the last text; the next one goes to the other place, so that the last one stays whole.
        var sequence: UInt64 = 0
    }
    private let writing = Lock(Writing())
    /// The process that is this one's parent as long as it lives, and the path of the program that it runs.
    private let keeper = Lock<(process: Int32, program: String)?>(nil)

    private static let magic: [UInt8] = Array("aclfskpt".utf8)
    /// Bytes of each of the two places of a text.
    private static let room = 1 << 20
    /// Sequence, length and checksum.
    private static let textHead = 16
    private static let size = Int(ACLFS_KEPT_HEADER) + 2 * room

    private init(_ memory: SharedDescriptor, _ head: UnsafeMutableRawPointer) {
        self.memory = memory
        self.head = head.assumingMemoryBound(to: aclfs_kept.self)
    }

    deinit { munmap(head, Int(ACLFS_KEPT_HEADER)) }

    /// - Parameter isForeground: lines of the log go to standard error.
    static func new(isForeground: Bool) throws(Errno) -> KeptState {
        let memory = try Syscall.memoryFile("aclfs-kept")
        try Syscall.ftruncate(memory.rawValue, size: Int64(size))
        let state = KeptState(memory, try map(memory))
        withUnsafeMutableBytes(of: &state.head.pointee.magic) { $0.copyBytes(from: magic) }
        state.head.pointee.version = UInt32(ACLFS_KEPT_VERSION)
        state.head.pointee.is_foreground = isForeground ? 1 : 0
        state.noteDescriptors([])
        return state
    }

    /// What a dead daemon left.
    /// - Parameter descriptor: as the keeper names it.
    /// - Throws: it is none, or of another version.
    init(of descriptor: Int32) throws(KeptProblem) {
        do throws(Errno) {
            let link = String(decoding: try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(descriptor)"), as: UTF8.self)
            guard link.hasPrefix("/memfd:aclfs-kept") else { throw Errno.inval }
            try Syscall.setClosedByExec(descriptor, true)
            memory = SharedDescriptor(rawValue: descriptor)
            // A page beyond the end of a file that was cut would end this process.
            guard try Syscall.statx(descriptor).size == UInt64(Self.size) else { throw Errno.inval }
            head = try Self.map(memory).assumingMemoryBound(to: aclfs_kept.self)
        } catch { throw KeptProblem("descriptor \(descriptor) is not the state that a daemon of aclfs leaves: \(error)") }
        let isOurs = withUnsafeBytes(of: &head.pointee.magic) { $0.elementsEqual(Self.magic) }
        guard isOurs else { throw KeptProblem("the state that the daemon left is damaged") }
        guard head.pointee.version == UInt32(ACLFS_KEPT_VERSION) else {
            throw KeptProblem(
                "the state that the daemon left has version \(head.pointee.version), and this program understands \(ACLFS_KEPT_VERSION)")
        }
        do throws(Errno) { for number in heldDescriptors { try Syscall.setClosedByExec(number, true) } } catch {
            throw KeptProblem("the state that the daemon left names a descriptor that is not open")
        }
    }

    private static func map(_ memory: SharedDescriptor) throws(Errno) -> UnsafeMutableRawPointer {
        let address = mmap(nil, Int(ACLFS_KEPT_HEADER), PROT_READ | PROT_WRITE, MAP_SHARED, memory.rawValue, 0)
        guard let address, address != MAP_FAILED else { throw Errno(rawValue: errno) }
        return address
    }
}

// MARK: The keeper's part

extension KeptState {
    /// The last death.
    var death: Death {
        Death(
            number: head.pointee.deaths, how: head.pointee.how, sleepers: head.pointee.sleepers, process: head.pointee.daemon,
            time: head.pointee.died)
    }

    struct Death {
        /// Counted from 1.
        var number: UInt64
        /// As of waitpid(2); negative: some of its threads still sleep in the kernel.
        var how: Int32
        var sleepers: UInt32
        var process: Int32
        /// When the keeper saw it, monotonic nanoseconds.
        var time: UInt64
    }

    /// All mounts answer again.
    func noteAnswers() {
        note(wait: SystemTime.monotonic() &- head.pointee.died)
    }

    /// For the status.
    var keeping: StatusAnswer.Keeping {
        StatusAnswer.Keeping(process: getpid(), deaths: head.pointee.deaths, longestWait: head.pointee.longest_wait / 1_000_000)
    }

    var isForeground: Bool { head.pointee.is_foreground != 0 }

    /// - Returns: how many deaths there were in the time before the last one, that one included.
    func deaths(within nanoseconds: UInt64) -> Int {
        withUnsafeBytes(of: &head.pointee.recent) { bytes in
            bytes.bindMemory(to: UInt64.self).count { $0 != 0 && $0 <= head.pointee.died && head.pointee.died - $0 < nanoseconds }
        }
    }

    /// Splits this process, which must have one thread. Returns in the daemon; the keeper ends with the daemon, or runs the program again.
    /// - Parameter mounts: those that are known, for the list of processes.
    /// - Throws: there can be no keeper.
    func split(for mounts: [(source: String, mountpoint: String)]) throws(Errno) {
        let path = try Self.program()
        let words = [path, Restart.word, "\(memory.rawValue)"] + mounts.flatMap { [$0.source, $0.mountpoint] }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        let result = aclfs_keep(head, memory.rawValue, path, &arguments)
        if result < 0 { throw Errno(rawValue: -result) }
        keeper.withLock { $0 = (getppid(), path) }
    }

    /// The path of the program that the keeper would run; nil if it is gone.
    var programToCome: String? { keeper.withLock { $0 }.flatMap { $0.process == getppid() ? $0.program : nil } }
}

extension KeptState {
    /// The path of this program: after an upgrade the new one lies there. What cannot be found is run as it is.
    static func program() throws(Errno) -> String {
        let program = String(decoding: try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/exe"), as: UTF8.self)
        let deleted = " (deleted)"
        return program.hasSuffix(deleted) ? String(program.dropLast(deleted.count)) : program
    }
}

extension KeptState {
    /// Leaves a mount to the process that the keeper runs when this one has ended.
    /// - Parameters:
    ///   - tables: a descriptor of what it has to know.
    ///   - since: when requests were last read, in monotonic nanoseconds.
    func leave(_ tables: Int32, since: UInt64) { (head.pointee.tables, head.pointee.left) = (tables, since) }

    /// - Returns: what `leave` was told, once; nil if the daemon died.
    func takeLeft() -> (tables: Int32, since: UInt64)? {
        defer { leave(0, since: 0) }
        return head.pointee.left == 0 ? nil : (head.pointee.tables, head.pointee.left)
    }

    /// Notes tables with which the same connection can be served after a death; nil: there are none.
    func note(live descriptor: Int32?) { head.pointee.live = descriptor ?? 0 }

    /// What the keeper has kept at a death; nil: it has closed all but what the texts name. It is kept until a next one is noted: the program that
    /// goes on from it may die, too.
    var live: Int32? { head.pointee.live > 2 && head.pointee.sleepers == 0 ? head.pointee.live : nil }

    /// Closes all descriptors but those that the state names, and these.
    func closeOthers(but kept: [Int32]) { Self.closeAll(but: Set(heldDescriptors + kept + [memory.rawValue])) }

    /// Closes all descriptors but the standard ones and these.
    static func closeAll(but held: Set<Int32>) {
        guard let listing = try? Syscall.open("/proc/self/fd", OpenFlag.readOnly | OpenFlag.directory),
            let names = try? Syscall.names(listing.rawValue)
        else { return }
        for name in names {
            guard let number = Int32(String(decoding: name, as: UTF8.self)), number > 2, number != listing.rawValue, !held.contains(number)
            else { continue }
            close(number)
        }
    }

    func note(wait: UInt64) { head.pointee.longest_wait = max(head.pointee.longest_wait, wait) }
}

extension KeptState {
    /// Makes the keeper take the end of this thread for the daemon's death. The thread must only wait.
    func watchThisThread() { aclfs_keep_watch(head) }
}

// MARK: The mounts

extension KeptState {
    /// - Returns: a descriptor that outlives the daemon, until `remove`.
    func hold(_ descriptor: Int32) throws(Errno) -> Int32 { try Syscall.dup(descriptor).release() }

    /// From now on a death is worth another daemon.
    /// - Throws: what a daemon would have to know is too much, or there is no memory. The mount will be dead after a death.
    func add(_ mount: KeptMount) throws(Errno) {
        do throws(Errno) {
            // One that could not be read would make the whole state unreadable.
            if mount.message.message().count > JSONText.maximumSize { throw .fbig }
            // It may replace a dead one, which is in the state until then.
            try change { mounts in mounts = mounts.filter { $0.message.mountpoint != mount.message.mountpoint } + [mount] }
        } catch {
            for number in mount.descriptors { close(number) }
            throw error
        }
        head.pointee.is_serving = 1
    }

    /// The mount has ended.
    func remove(device: String) {
        try? change { $0.removeAll { $0.message.device == device } }
    }

    /// A remount has changed the volume.
    func update(device: String, _ body: (inout KeptMount) -> Void) throws(Errno) {
        try change { mounts in
            for index in mounts.indices where mounts[index].message.device == device { body(&mounts[index]) }
        }
    }

    /// Whether another daemon could serve this mount.
    func has(device: String) -> Bool { writing.withLock { $0.mounts.contains { $0.message.device == device } } }

    private func change(_ body: (inout [KeptMount]) -> Void) throws(Errno) {
        try writing.withLock { (state) throws(Errno) in
            var mounts = state.mounts
            body(&mounts)
            let numbers = Set(mounts.flatMap(\.descriptors))
            let both = numbers.union(state.mounts.flatMap(\.descriptors))
            guard both.count <= Int(ACLFS_KEPT_MOST_DESCRIPTORS) else { throw .mfile }
            // A death at any point leaves a text whose descriptors are kept.
            noteDescriptors(both)
            do throws(Errno) { try write(mounts.flatMap(\.text), state.sequence + 1) } catch {
                noteDescriptors(Set(state.mounts.flatMap(\.descriptors)))
                throw error
            }
            state.sequence += 1
            state.mounts = mounts
            // What is closed may be another file's number in a moment.
            noteDescriptors(numbers)
            for number in both.subtracting(numbers) { close(number) }
        }
    }

    private func noteDescriptors(_ noted: Set<Int32>) {
        let numbers = noted.sorted()
        withUnsafeMutableBytes(of: &head.pointee.descriptors) { bytes in
            let places = bytes.bindMemory(to: Int32.self)
            for index in places.indices { places[index] = index < numbers.count ? numbers[index] : -1 }
        }
    }

    private var heldDescriptors: [Int32] {
        withUnsafeBytes(of: &head.pointee.descriptors) { $0.bindMemory(to: Int32.self).filter { $0 > 2 } }
    }

    private static func place(_ sequence: UInt64) -> Int64 { Int64(ACLFS_KEPT_HEADER) + Int64(sequence % 2) * Int64(room) }

    private func write(_ text: [UInt8], _ sequence: UInt64) throws(Errno) {
        guard text.count <= Self.room - Self.textHead else { throw .fbig }
        let bytes = Self.headed(text, sequence)
        var rest = bytes[...]
        var offset = Self.place(sequence)
        while !rest.isEmpty {
            let written = try rest.withUnsafeBytes { bytes in
                Result { () throws(Errno) in try Syscall.pwrite(memory.rawValue, bytes, offset: offset) }
            }.get()
            rest = rest.dropFirst(written)
            offset += Int64(written)
        }
    }

    private static func headed(_ text: [UInt8], _ sequence: UInt64) -> [UInt8] {
        func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }
        let covered = bytes(sequence) + bytes(UInt32(text.count))
        return covered + bytes(Checksum.crc32c(covered + text)) + text
    }

    /// The mounts of the dead daemon. Call once, before anything is added.
    /// - Throws: neither text is whole, or the newer one cannot be understood.
    func read() throws(KeptProblem) -> [KeptMount] {
        let found = [UInt64(0), 1].compactMap { text(at: Self.place($0)) }
        guard let newest = found.max(by: { $0.sequence < $1.sequence }) else {
            throw KeptProblem("the state that the daemon left is damaged")
        }
        let lines = newest.text.split(separator: 0x0A)
        guard lines.count.isMultiple(of: 2) else { throw KeptProblem("the state that the daemon left is damaged") }
        let mounts = try stride(from: 0, to: lines.count, by: 2).map { (index) throws(KeptProblem) in
            try KeptMount(Array(lines[index]), Array(lines[index + 1]))
        }
        let held = Set(heldDescriptors)
        for mount in mounts where !held.isSuperset(of: mount.descriptors) {
            throw KeptProblem("the state that the daemon left names descriptors that it does not keep")
        }
        // They are in the state until each is served again or given up.
        writing.withLock { $0 = Writing(mounts: mounts, sequence: newest.sequence) }
        return mounts
    }

    private func text(at place: Int64) -> (sequence: UInt64, text: [UInt8])? {
        guard let head = bytes(at: place, count: Self.textHead) else { return nil }
        func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type) -> Number {
            head[offset..<offset + MemoryLayout<Number>.size].reversed().reduce(0) { $0 << 8 | Number($1) }
        }
        let (sequence, length) = (number(0, UInt64.self), Int(number(8, UInt32.self)))
        guard length <= Self.room - Self.textHead, let text = bytes(at: place + Int64(Self.textHead), count: length),
            Self.headed(text, sequence).prefix(Self.textHead).elementsEqual(head)
        else { return nil }
        // A place that was never written.
        return sequence == 0 ? nil : (sequence, text)
    }

    private func bytes(at place: Int64, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                try? Syscall.pread(
                    memory.rawValue, into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), offset: place + Int64(filled))
            }
            guard let got, got > 0 else { return nil }
            filled += got
        }
        return bytes
    }
}

extension KeptState.Death: CustomStringConvertible {
    /// One line of the log.
    var description: String {
        let end =
            switch (how, how & 0x7F) {
            case (..<0, _): "died, and \(sleepers) of its threads still sleep\(sleepers == 1 ? "s" : "") in the kernel"
            case (_, 0): "ended with status \(how >> 8 & 0xFF)"
            default: "died by signal \(how & 0x7F) (\(String(cString: strsignal(how & 0x7F))))"
            }
        return "the daemon (process \(process)) \(end); death \(number) of this mount's daemons"
    }
}
