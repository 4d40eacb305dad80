import ACLFormats
import Authorization
import LinuxSystem

/// What finds an object after a crash in the middle of its creation: its location, and how it looks while it is half made.
struct CreationNote: Equatable {
    /// When the creation began, by the clock that stamps files.
    var time: Timespec
    /// The type bits and permissions that it is created with.
    var mode: UInt32
    /// The uid of the daemon's thread as file systems see it during the creation.
    var maker: UInt32
    /// The uid of the future owner.
    var owner: UInt32
    /// The inode number of the directory.
    var inode: UInt64
    var handle: FileHandle?
    /// The name of the object.
    var name: [UInt8]
    /// The names from the tree's root to the directory; nil: the file handle leads there.
    var path: [[UInt8]]?
}

/// The layout of a note in memory: its length, a checksum, and the content. Length 0 means no note; it is written last and removed
/// first.
enum CreationNoteFormat {
    static let size = 4096
    private static let start = 8
    /// The size without the handle, the name and the path.
    private static let fixed = start + 12 + 3 * 4 + 8 + 4 + 1 + 1 + 2
    private static let noHandle: UInt8 = 255
    private static let noPath: UInt16 = .max

    /// Writes a note without a heap allocation. The parameters are the members of `CreationNote`.
    /// - Returns: false if the note is too large; then there is none.
    static func write(
        _ memory: UnsafeMutableRawBufferPointer, time: Timespec, mode: UInt32, maker: UInt32, owner: UInt32, inode: UInt64,
        handle: FileHandle?, name: UnsafeBufferPointer<UInt8>, path: [[UInt8]]?
    ) -> Bool {
        let pathSize = path.map { $0.reduce(0) { $0 + $1.count + 1 } } ?? 0
        let handleSize = handle?.count ?? 0
        guard memory.count >= size, name.count <= 255, fixed + handleSize + name.count + pathSize <= size else { return false }
        var writer = Writer(memory: memory, end: start)
        writer.put(time.sec)
        writer.put(time.nsec)
        writer.put(mode)
        writer.put(maker)
        writer.put(owner)
        writer.put(inode)
        writer.put(handle?.type ?? 0)
        writer.put(handle == nil ? noHandle : UInt8(handleSize))
        writer.put(UInt8(name.count))
        writer.put(path == nil ? noPath : UInt16(pathSize))
        handle?.withBytes { writer.put($0) }
        writer.put(UnsafeRawBufferPointer(name))
        for part in path ?? [] {
            part.withUnsafeBytes { writer.put($0) }
            writer.put(UInt8(0))
        }
        let end = writer.end
        memory.storeBytes(of: sum(UnsafeRawBufferPointer(memory), end).littleEndian, toByteOffset: 4, as: UInt32.self)
        memory.storeBytes(of: UInt32(end).littleEndian, toByteOffset: 0, as: UInt32.self)
        return true
    }

    private struct Writer {
        let memory: UnsafeMutableRawBufferPointer
        var end: Int

        @inline(__always)
        mutating func put<Number: FixedWidthInteger>(_ number: Number) {
            memory.storeBytes(of: number.littleEndian, toByteOffset: end, as: Number.self)
            end += MemoryLayout<Number>.size
        }

        mutating func put(_ bytes: UnsafeRawBufferPointer) {
            UnsafeMutableRawBufferPointer(rebasing: memory[end..<end + bytes.count]).copyMemory(from: bytes)
            end += bytes.count
        }
    }

    static func clear(_ memory: UnsafeMutableRawBufferPointer) { memory.storeBytes(of: 0, toByteOffset: 0, as: UInt32.self) }

    private static func sum(_ memory: UnsafeRawBufferPointer, _ end: Int) -> UInt32 {
        Checksum.crc32c(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: memory[start..<end])))
    }

    enum Reading: Equatable {
        case none
        case damaged
        case note(CreationNote)
    }

    /// Reads memory that may contain anything.
    static func read(_ memory: UnsafeRawBufferPointer) -> Reading {
        guard memory.count >= size else { return .damaged }
        let end = Int(UInt32(littleEndian: memory.loadUnaligned(fromByteOffset: 0, as: UInt32.self)))
        if end == 0 { return .none }
        guard end >= fixed, end <= size,
            sum(memory, end) == UInt32(littleEndian: memory.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        else { return .damaged }
        var position = start
        func take<Number: FixedWidthInteger>(_: Number.Type) -> Number {
            defer { position += MemoryLayout<Number>.size }
            return Number(littleEndian: memory.loadUnaligned(fromByteOffset: position, as: Number.self))
        }
        let time = Timespec(sec: take(Int64.self), nsec: take(UInt32.self))
        let (mode, maker, owner) = (take(UInt32.self), take(UInt32.self), take(UInt32.self))
        let (inode, type) = (take(UInt64.self), take(Int32.self))
        let (handleSize, nameSize, pathSize) = (take(UInt8.self), take(UInt8.self), take(UInt16.self))
        let (hasHandle, hasPath) = (handleSize != noHandle, pathSize != noPath)
        guard position + (hasHandle ? Int(handleSize) : 0) + Int(nameSize) + (hasPath ? Int(pathSize) : 0) == end else { return .damaged }
        func bytes(_ count: Int) -> [UInt8] {
            defer { position += count }
            return Array(memory[position..<position + count])
        }
        let handle = hasHandle ? FileHandle(type: type, bytes: bytes(Int(handleSize))) : nil
        if hasHandle, handle == nil { return .damaged }
        let name = bytes(Int(nameSize))
        let path = hasPath ? bytes(Int(pathSize)).split(separator: 0).map { Array($0) } : nil
        guard isName(name), path?.allSatisfy(isName) ?? true else { return .damaged }
        return .note(
            CreationNote(
                time: time, mode: mode, maker: maker, owner: owner, inode: inode, handle: handle, name: name, path: path))
    }

    private static func isName(_ name: [UInt8]) -> Bool {
        !name.isEmpty && name.count <= 255 && name != [0x2E] && name != [0x2E, 0x2E] && !name.contains(0x2F) && !name.contains(0)
    }
}
