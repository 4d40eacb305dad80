import Glibc

/// A mapped file: stores survive the process, however it ends, without a system call.
// Unchecked: the pointer never changes; callers do not store at one place from two threads.
public final class SharedMemoryFile: @unchecked Sendable {
    private let descriptor: SharedDescriptor
    public let bytes: UnsafeMutableRawBufferPointer

    /// Maps a file. It must have this size and all its blocks: a store into a missing block ends the process.
    /// - Parameters:
    ///   - descriptor: stays open as long as this value, with its lock.
    ///   - count: in bytes.
    /// - Throws: as mmap(2).
    public init(_ descriptor: SharedDescriptor, count: Int) throws(Errno) {
        let address = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.rawValue, 0)
        guard let address, address != MAP_FAILED else { throw Errno(rawValue: errno) }
        bytes = UnsafeMutableRawBufferPointer(start: address, count: count)
        self.descriptor = descriptor
    }

    deinit { munmap(bytes.baseAddress, bytes.count) }
}

extension Syscall {
    /// Acquires flock(2)'s lock of an open file for this descriptor and its copies, unless another open file has it.
    /// - Parameters:
    ///   - descriptor: the open file.
    ///   - milliseconds: how long to wait for the lock.
    /// - Returns: whether it has the lock.
    public static func lockFile(_ descriptor: Int32, milliseconds: UInt32 = 0) -> Bool {
        let end = SystemTime.monotonic() + UInt64(milliseconds) * 1_000_000
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, SystemTime.monotonic() < end else { return false }
            SystemTime.sleep(milliseconds: 2)
        }
        return true
    }

    /// Releases the lock of `lockFile`.
    public static func unlockFile(_ descriptor: Int32) { _ = flock(descriptor, LOCK_UN) }
}
