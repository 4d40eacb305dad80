import LinuxSystem
import Testing

@Suite("extended attributes")
struct XattrTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    /// Every way to the same attribute.
    private func roundTrip(_ target: XattrTarget, _ name: String) throws {
        #expect(throws: Errno.nodata) { _ = try Syscall.getxattr(target, name) }
        try Syscall.setxattr(target, name, [1, 0, 2], flags: XattrFlag.create)
        #expect(throws: Errno.exist) { try Syscall.setxattr(target, name, [3], flags: XattrFlag.create) }
        #expect(try Syscall.getxattr(target, name) == [1, 0, 2])
        #expect(try Syscall.listxattr(target).contains(Array(name.utf8)))

        var small = [UInt8](repeating: 0, count: 2)
        #expect(throws: Errno.range) {
            _ = try small.withUnsafeMutableBytes { try Syscall.getxattr(target, name, into: $0) }
        }
        #expect(try Syscall.getxattr(target, name, into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) == 3)

        let long = (0..<2000).map { UInt8(truncatingIfNeeded: $0) }
        try Syscall.setxattr(target, name, long, flags: XattrFlag.replace)
        #expect(try Syscall.getxattr(target, name) == long)
        try Syscall.setxattr(target, name, [])
        #expect(try Syscall.getxattr(target, name) == [])
        try Syscall.removexattr(target, name)
        #expect(throws: Errno.nodata) { try Syscall.removexattr(target, name) }
        #expect(throws: Errno.nodata) { try Syscall.setxattr(target, name, [1], flags: XattrFlag.replace) }
    }

    @Test("round trip through a real descriptor, an O_PATH one and a path")
    func files() throws {
        let file = try directory.file("f")
        try roundTrip(.open(file.rawValue), "user.test")
        try roundTrip(.any(directory.opaque("f").rawValue), "user.test")
        try "\(directory.path)/f".withCString { try roundTrip(.path($0), "user.test") }
    }

    @Test("a directory's are reached from itself, also where it may not be searched")
    func ofDirectories() throws {
        try Syscall.mkdirat(directory.descriptor, "d", mode: 0o700)
        let inside = try directory.opaque("d")
        try roundTrip(.directory(inside.rawValue), "user.test")
        try Syscall.setxattr(.directory(inside.rawValue), "user.test", [1, 2])
        #expect(try Syscall.getxattr(.any(inside.rawValue), "user.test") == [1, 2])
        try Syscall.fchmod(inside.rawValue, mode: 0o600)
        #expect(try Syscall.getxattr(.directory(inside.rawValue), "user.test") == [1, 2])
        // What is no directory is not taken for one.
        _ = try directory.file("f")
        #expect(throws: Errno.notdir) { _ = try Syscall.getxattr(.directory(directory.opaque("f").rawValue), "user.test") }
    }

    @Test("symlinks and FIFOs keep attributes of their own", .enabled(if: isRoot, "needs root"))
    func specialObjects() throws {
        let target = try directory.file("f")
        try Syscall.symlinkat(target: "f", directory.descriptor, "l")
        try Syscall.mknodat(directory.descriptor, "p", mode: FileType.fifo | 0o600)
        try roundTrip(.any(directory.opaque("p").rawValue), "trusted.test")
        try "\(directory.path)/l".withCString { try roundTrip(.path($0), "trusted.test") }

        let link = try directory.opaque("l")
        try roundTrip(.any(link.rawValue), "trusted.test")
        try Syscall.setxattr(.any(link.rawValue), "trusted.test", [9])
        #expect(throws: Errno.nodata) { _ = try Syscall.getxattr(.open(target.rawValue), "trusted.test") }
        #expect(throws: Errno.badf) { _ = try Syscall.getxattr(.open(link.rawValue), "trusted.test") }
    }

    @Test("an attribute is read by directory and name where the kernel can")
    func byName() throws {
        let file = try directory.file("f")
        let value = [UInt8](repeating: 7, count: 1000)
        try Syscall.setxattr(.open(file.rawValue), "user.test", value)
        let read = Result { () throws(Errno) in try Syscall.getxattrat(directory.descriptor, "f", "user.test") }
        if read == .failure(.nosys) { return }
        #expect(read == .success(value))
        #expect(throws: Errno.nodata) { _ = try Syscall.getxattrat(directory.descriptor, "f", "user.none") }
    }
}
