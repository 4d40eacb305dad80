import ACLFormats
import BackingStore
import LinuxSystem

/// What tells a tree from all others, also in a daemon that comes later: the head of a file of notes.
struct TreeIdentity {
    /// A server judges what is done, with a clock and inode numbers of its own; handles lead nowhere when it is mounted anew.
    let isOnServer: Bool
    private let bytes: [UInt8]
    private static let magic = Array("aclfscr1".utf8)
    /// Of the sum and the length behind it.
    private static let start = magic.count + 8

    /// - Throws: what keeps the tree from being known again.
    init(_ tree: BackingTree) throws(Errno) {
        let root = try tree.descriptor(of: tree.root)
        let status = try Syscall.fstatvfs(root.rawValue)
        isOnServer = FileSystemUser.isJudgedByServer(fileSystemType: status.type)
        // Numbers of devices are given anew, those of file systems are not; some have none.
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

    /// - Parameter process: whose notes follow.
    func header(of process: Int32) -> [UInt8] { header + Self.text(UInt32(bitPattern: process)) }

    private var header: [UInt8] { Self.magic + Self.text(Checksum.crc32c(bytes)) + Self.text(UInt32(bytes.count)) + bytes }

    /// Whether a file of notes is about this tree.
    func matches(_ file: [UInt8]) -> Bool { file.starts(with: header) }

    private static func text(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }

    /// Whether a file is one of notes, of this tree or of another.
    static func isHeader(_ file: [UInt8]) -> Bool {
        guard file.count == CreationNotes.size, file.starts(with: magic) else { return false }
        let count = Int(number(file, magic.count + 4))
        return count <= 256 && Checksum.crc32c(Array(file[start..<start + count])) == number(file, magic.count)
    }

    /// Whose notes they are; of a file that has such a head.
    static func process(_ file: [UInt8]) -> Int32 { Int32(bitPattern: number(file, start + Int(number(file, magic.count + 4)))) }

    private static func number(_ file: [UInt8], _ offset: Int) -> UInt32 {
        file.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    }
}
