import Glibc

/// A file that is mapped: what a process stores there outlives it, however the process ends, without a system call.
// Unchecked: the pointer never changes; the user of this value sees to it that two threads do not store at the same place.
public final class SharedMemoryFile: @unchecked Sendable {
    private let descriptor: SharedDescriptor
    public let bytes: UnsafeMutableRawBufferPointer

    /// Maps a file that is at least so long already, with all its blocks: a store that finds no room ends the process.
    /// - Parameter descriptor: held as long as this value lives, with its lock.
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
    /// Takes flock(2)'s lock of an open file for this descriptor and its copies, unless another has it.
    /// - Parameter milliseconds: for how long to wait for it.
    /// - Returns: whether it was taken.
    public static func lockFile(_ descriptor: Int32, milliseconds: UInt32 = 0) -> Bool {
        let end = SystemTime.monotonic() + UInt64(milliseconds) * 1_000_000
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, SystemTime.monotonic() < end else { return false }
            SystemTime.sleep(milliseconds: 2)
        }
        return true
    }

    public static func unlockFile(_ descriptor: Int32) { _ = flock(descriptor, LOCK_UN) }
}
