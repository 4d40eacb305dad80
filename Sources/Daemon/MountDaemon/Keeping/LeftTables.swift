import ACLFileSystem
import ACLFormats
import Glibc
import LinuxSystem

/// What a daemon leaves to the next one that serves the same connection: its device, and the tables of the mount, in a memory file.
///
/// What is in it may be cut, forged or of another build: each part is checked before it is used.
struct LeftTables {
    var device: Int32
    var tables: SavedTables

    init(device: Int32, _ tables: SavedTables) { (self.device, self.tables) = (device, tables) }

    private static let magic: [UInt8] = Array("aclfstbl".utf8)
    private static let name = "aclfs-tables"
    /// Magic, version, device, length and checksum.
    private static let headSize = 28

    /// - Returns: a descriptor of the memory file.
    /// - Throws: there is no memory.
    func write() throws(Errno) -> SharedDescriptor {
        let memory = try Syscall.memoryFile(Self.name)
        let bytes = tables.bytes
        let head = Self.head(device, bytes)
        let whole = head + Self.number(Checksum.crc32c(head + bytes)) + bytes
        var rest = whole[...]
        while !rest.isEmpty {
            let count = try rest.withUnsafeBytes { bytes in
                Result { () throws(Errno) in try Syscall.pwrite(memory.rawValue, bytes, offset: Int64(whole.count - rest.count)) }
            }.get()
            rest = rest.dropFirst(count)
        }
        return memory
    }

    /// - Parameter descriptor: that a daemon has left; it is closed.
    /// - Throws: it cannot be used.
    init(from descriptor: Int32) throws(KeptProblem) {
        let bytes: [UInt8]
        do throws(Errno) {
            let link = String(decoding: try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(descriptor)"), as: UTF8.self)
            guard link.hasPrefix("/memfd:\(Self.name)") else { throw Errno.inval }
            let memory = SharedDescriptor(rawValue: descriptor)
            try Syscall.lseek(memory.rawValue, offset: 0, whence: Seek.set)
            bytes = try Syscall.readAll(memory.rawValue)
        } catch { throw KeptProblem("the tables that the daemon left cannot be read: \(error)") }
        guard bytes.count >= Self.headSize, bytes.starts(with: Self.magic) else { throw KeptProblem("\(SavedProblem.isCut)") }
        func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type) -> Number {
            Number(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) })
        }
        let version = number(8, UInt32.self)
        guard version == SavedTables.version else {
            throw KeptProblem("the daemon left tables of version \(version), and this program understands \(SavedTables.version)")
        }
        device = number(12, Int32.self)
        let (count, checksum) = (number(16, UInt64.self), number(24, UInt32.self))
        let content = Array(bytes[Self.headSize...])
        guard count == UInt64(content.count), device > 2, checksum == Checksum.crc32c(Self.head(device, content) + content)
        else { throw KeptProblem("\(SavedProblem.isCut)") }
        do throws(SavedProblem) { tables = try SavedTables(content) } catch { throw KeptProblem("\(error)") }
    }

    private static func head(_ device: Int32, _ content: [UInt8]) -> [UInt8] {
        magic + number(SavedTables.version) + number(device) + number(UInt64(content.count))
    }

    private static func number<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
