import CLinux

/// The handle of an object, which stays valid when its paths change (name_to_handle_at(2)): a type and 1 to 128 opaque bytes. It is
/// valid within one file system.
///
/// Handles of up to 24 bytes (ext4, XFS, tmpfs) are stored in the value, without a heap allocation.
public struct FileHandle: Hashable, Sendable {
    public static let maximumCount = 128
    private static let inlineCount = 24

    public let type: Int32
    private let length: UInt8
    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var third: UInt64 = 0
    private var overflow: [UInt8] = []

    /// - Returns: nil for more than 128 bytes.
    public init?(type: Int32, bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Self.maximumCount else { return nil }
        self.type = type
        length = UInt8(bytes.count)
        if bytes.count > Self.inlineCount {
            overflow = Array(bytes)
        } else {
            var words = (UInt64(0), UInt64(0), UInt64(0))
            withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
            (first, second, third) = words
        }
    }

    public init?(type: Int32, bytes: [UInt8]) {
        guard let handle = bytes.withUnsafeBytes({ FileHandle(type: type, bytes: $0) }) else { return nil }
        self = handle
    }

    public var count: Int { Int(length) }
    /// For tables: equal for equal handles, and seldom equal for others.
    public var number: UInt64 {
        guard overflow.isEmpty else { return UInt64(truncatingIfNeeded: hashValue) }
        return first ^ second &* 0x9E37_79B9_7F4A_7C15 ^ third &* 0xC2B2_AE3D_27D4_EB4F
    }
    public var bytes: [UInt8] { withBytes { Array($0) } }

    /// Calls `body` with the bytes, which are valid during the call.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if count > Self.inlineCount { return overflow.withUnsafeBytes(body) }
        let words = (first, second, third)
        return withUnsafeBytes(of: words) { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
}

extension Syscall {
    /// The handle of a descriptor's object (O_PATH descriptors included).
    /// - Throws: opnotsupp where the file system has no handles, overflow for one of more than 128 bytes.
    public static func nameToHandle(_ descriptor: Int32) throws(Errno) -> FileHandle {
        try nameToHandle(descriptor, "", flags: AtFlag.emptyPath)
    }

    /// The handle of the object of a name; a symlink is not followed.
    public static func nameToHandle(_ directory: Int32, _ name: UnsafePointer<CChar>) throws(Errno) -> FileHandle {
        try nameToHandle(directory, name, flags: 0)
    }

    private static func nameToHandle(
        _ directory: Int32, _ name: UnsafePointer<CChar>, flags: Int32
    ) throws(Errno) -> FileHandle {
        var type: Int32 = 0
        var count: UInt32 = 0
        return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: FileHandle.maximumCount) {
            room -> Result<FileHandle, Errno> in
            guard let base = room.baseAddress else { return .failure(.overflow) }
            do throws(Errno) { try value(aclfs_name_to_handle(directory, name, flags, &type, base, &count)) } catch {
                return .failure(error)
            }
            guard let handle = FileHandle(type: type, bytes: UnsafeRawBufferPointer(start: base, count: Int(count))) else {
                return .failure(.overflow)
            }
            return .success(handle)
        }.get()
    }

    /// Opens the object of a handle. Needs CAP_DAC_READ_SEARCH.
    /// - Parameters:
    ///   - mountDescriptor: an object of the same file system, opened without O_PATH.
    ///   - handle: the handle.
    ///   - flags: of `OpenFlag`.
    /// - Throws: stale if the object no longer exists.
    public static func openByHandle(
        _ mountDescriptor: Int32, _ handle: FileHandle, _ flags: Int32
    ) throws(Errno) -> OwnedDescriptor {
        // While a new object reuses the number of a removed one, the kernel reports ENOMEM for a moment.
        for pause: UInt32 in [1, 2, 5] {
            do throws(Errno) { return try openByHandleOnce(mountDescriptor, handle, flags) } catch {
                guard error == .nomem else { throw error }
                SystemTime.sleep(milliseconds: pause)
            }
        }
        return try openByHandleOnce(mountDescriptor, handle, flags)
    }

    private static func openByHandleOnce(
        _ mountDescriptor: Int32, _ handle: FileHandle, _ flags: Int32
    ) throws(Errno) -> OwnedDescriptor {
        let descriptor = try repeating {
            handle.withBytes { bytes in
                guard let base = bytes.bindMemory(to: UInt8.self).baseAddress else { return -Errno.stale.rawValue }
                return aclfs_open_by_handle(mountDescriptor, handle.type, base, UInt32(bytes.count), flags)
            }
        }
        return OwnedDescriptor(rawValue: descriptor)
    }
}
