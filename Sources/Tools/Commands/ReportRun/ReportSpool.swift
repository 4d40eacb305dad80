import LinuxSystem

/// What a walk has met, in a temporary file without a name: subjects are known only when the walk has ended, and memory must not
/// depend on the number of objects.
final class ReportSpool {
    private enum Kind: UInt8 { case enter, object, unreadable, unlisted, leave }

    private let file: SharedDescriptor
    private var pending: [UInt8] = []
    private var size: Int64 = 0
    private static let room = 1 << 18

    /// - Parameter directories: where the file is made; the first that takes one.
    init(in directories: [String]) throws(Errno) {
        for directory in directories {
            if let made = try? Syscall.open(directory, OpenFlag.readWrite | OpenFlag.temporaryFile, mode: 0o600) {
                file = SharedDescriptor(made)
                return
            }
        }
        file = try Syscall.memoryFile("aclfs-report")
    }

    func append(_ event: ReportEvent) throws(Errno) {
        switch event {
        case .enter(let name, let number): put(.enter, name, number)
        case .object(let name, let number): put(.object, name, number)
        case .unreadable(let name, let reason):
            put(.unreadable, name, 0)
            put(Array(reason.utf8))
        case .unlisted(let reason): put(.unlisted, Array(reason.utf8), 0)
        case .leave: put(.leave, [], 0)
        }
        if pending.count > Self.room { try flush() }
    }

    /// Calls the body with each event, in their order.
    func forEach(_ body: (ReportEvent) -> Void) throws(Errno) {
        try flush()
        var position: Int64 = 0
        var buffer: [UInt8] = []
        var start = 0
        while true {
            while let (event, end) = Self.event(in: buffer, at: start) {
                body(event)
                start = end
            }
            if position == size { return }
            buffer.removeFirst(start)
            start = 0
            let more = try read(at: position)
            if more.isEmpty { throw .io }
            position += Int64(more.count)
            buffer += more
        }
    }

    private func put(_ kind: Kind, _ bytes: [UInt8], _ number: Int) {
        pending.append(kind.rawValue)
        put(number)
        put(bytes)
    }

    private func put(_ bytes: [UInt8]) {
        put(bytes.count)
        pending += bytes
    }

    /// Seven bits a byte, the lowest first.
    private func put(_ number: Int) {
        var rest = number
        while rest > 0x7F {
            pending.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        pending.append(UInt8(rest))
    }

    private func flush() throws(Errno) {
        var start = 0
        while start < pending.count {
            let (from, at, descriptor) = (start, size, file.rawValue)
            let result = pending.withUnsafeBytes { buffer -> Result<Int, Errno> in
                do throws(Errno) {
                    return .success(try Syscall.pwrite(descriptor, UnsafeRawBufferPointer(rebasing: buffer[from...]), offset: at))
                } catch { return .failure(error) }
            }
            let count = try result.get()
            if count == 0 { throw .io }
            start += count
            size += Int64(count)
        }
        pending.removeAll(keepingCapacity: true)
    }

    private func read(at position: Int64) throws(Errno) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: Self.room)
        let descriptor = file.rawValue
        let result = buffer.withUnsafeMutableBytes { buffer -> Result<Int, Errno> in
            do throws(Errno) { return .success(try Syscall.pread(descriptor, into: buffer, offset: position)) } catch {
                return .failure(error)
            }
        }
        buffer.removeLast(buffer.count - (try result.get()))
        return buffer
    }

    /// - Returns: the event at a position and the position after it; nil if the buffer ends before.
    private static func event(in buffer: [UInt8], at start: Int) -> (ReportEvent, Int)? {
        var position = start
        guard position < buffer.count, let kind = Kind(rawValue: buffer[position]) else { return nil }
        position += 1
        guard let number = Self.number(in: buffer, at: &position), let bytes = Self.bytes(in: buffer, at: &position) else { return nil }
        switch kind {
        case .enter: return (.enter(name: bytes, number: number), position)
        case .object: return (.object(name: bytes, number: number), position)
        case .unlisted: return (.unlisted(reason: String(decoding: bytes, as: UTF8.self)), position)
        case .leave: return (.leave, position)
        case .unreadable:
            guard let reason = Self.bytes(in: buffer, at: &position) else { return nil }
            return (.unreadable(name: bytes, reason: String(decoding: reason, as: UTF8.self)), position)
        }
    }

    private static func number(in buffer: [UInt8], at position: inout Int) -> Int? {
        var (number, shift) = (0, 0)
        while position < buffer.count, shift < 63 {
            let byte = buffer[position]
            position += 1
            number |= Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number }
            shift += 7
        }
        return nil
    }

    private static func bytes(in buffer: [UInt8], at position: inout Int) -> [UInt8]? {
        guard let count = number(in: buffer, at: &position), position + count <= buffer.count else { return nil }
        defer { position += count }
        return Array(buffer[position..<position + count])
    }
}
