import ACLFormats
import BackingStore
import LinuxSystem

/// Identifies a tree across daemons. It is the header of a file of notes.
struct TreeIdentity {
    /// Whether a server holds the tree. It decides about access, with its own clock and inode numbers, and after a new mount old file
    /// handles lead nowhere.
    let isOnServer: Bool
    private let bytes: [UInt8]
    private static let magic = Array("aclfscr1".utf8)
    /// Where the bytes begin: after the magic, the checksum and the length.
    private static let start = magic.count + 8

    /// - Throws: an errno if a later daemon could not recognise the tree.
    init(_ tree: BackingTree) throws(Errno) {
        let root = try tree.descriptor(of: tree.root)
        let status = try Syscall.fstatvfs(root.rawValue)
        isOnServer = FileSystemUser.isJudgedByServer(fileSystemType: status.type)
        // Numbers of devices change at a new mount, ids of file systems do not. Some file systems have none.
        var numbers = [status.fsid, 0, tree.root.key.inode]
        if status.fsid == 0 {
            let mount = try Syscall.statx(root.rawValue, flags: AtFlag.dontSync).mountID
            guard let entry = try MountInfo.ofThisProcess().first(where: { $0.id == mount }) else { throw .nosys }
            numbers[1] = UInt64(Checksum.crc32c(entry.type + [0] + entry.source))
        }
        var bytes = numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
        if !isOnServer { bytes += tree.root.key.handle?.bytes ?? [] }
        self.bytes = bytes
    }

    /// - Parameter process: the id of the process whose notes follow.
    func header(of process: Int32) -> [UInt8] { header + Self.text(UInt32(bitPattern: process)) }

    private var header: [UInt8] { Self.magic + Self.text(Checksum.crc32c(bytes)) + Self.text(UInt32(bytes.count)) + bytes }

    /// Whether a file of notes is about this tree.
    func matches(_ file: [UInt8]) -> Bool { file.starts(with: header) }

    private static func text(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }

    /// Whether a file contains notes, of any tree.
    static func isHeader(_ file: [UInt8]) -> Bool {
        guard file.count == CreationNotes.size, file.starts(with: magic) else { return false }
        let count = Int(number(file, magic.count + 4))
        return count <= 256 && Checksum.crc32c(Array(file[start..<start + count])) == number(file, magic.count)
    }

    /// The process that wrote a file with a valid header.
    static func process(_ file: [UInt8]) -> Int32 { Int32(bitPattern: number(file, start + Int(number(file, magic.count + 4)))) }

    private static func number(_ file: [UInt8], _ offset: Int) -> UInt32 {
        file.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    }
}
