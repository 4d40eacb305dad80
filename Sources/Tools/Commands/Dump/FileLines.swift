import ACLFormats
import LinuxSystem

/// The lines of an open file, one buffer at a time.
struct FileLines {
    private let file: SharedDescriptor
    private var buffer: [UInt8] = []
    /// What of the buffer was returned.
    private var start = 0
    private var isAtEnd = false
    /// Whether the line that was returned last has no line end: the file was cut there.
    private(set) var endsCut = false

    init(_ file: SharedDescriptor) { self.file = file }

    /// - Parameter longest: of a line, in bytes. A longer one is returned cut, so that its reader refuses it.
    /// - Returns: the next line without its line end; nil at the end.
    mutating func next(longest: Int) throws(Errno) -> ArraySlice<UInt8>? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                defer { start = end + 1 }
                return buffer[start..<end]
            }
            searched = buffer.count
            if isAtEnd || buffer.count - start > longest {
                guard start < buffer.count else { return nil }
                defer { start = buffer.count }
                endsCut = isAtEnd
                return buffer[start...]
            }
            buffer.removeSubrange(..<start)
            searched -= start
            start = 0
            try read()
        }
    }

    private mutating func read() throws(Errno) {
        var piece = [UInt8](repeating: 0, count: 65_536)
        let descriptor = file.rawValue
        let count = try piece.withUnsafeMutableBytes { room in
            Result { () throws(Errno) in try Syscall.read(descriptor, into: room) }
        }.get()
        isAtEnd = count == 0
        buffer += piece[..<count]
    }
}
