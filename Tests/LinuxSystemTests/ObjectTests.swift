import Glibc
import LinuxSystem
import Testing

let isRoot = geteuid() == 0

@Suite("objects by descriptor and name")
struct ObjectTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    @Test("an error carries its name and text")
    func errors() throws {
        #expect(throws: Errno.noent) { _ = try Syscall.openat(directory.descriptor, "none", OpenFlag.readOnly) }
        #expect("\(Errno.acces)" == "Permission denied (EACCES)")
        #expect(Errno.opnotsupp.name == "EOPNOTSUPP" || Errno.opnotsupp.name == "ENOTSUP")
        #expect(Errno(rawValue: 999).name == "")
        #expect(Errno(rawValue: 999).description.contains("999"))
    }

    @Test("a descriptor is closed when its owner ends, and not when it was released")
    func ownership() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let reading = SharedDescriptor(rawValue: ends[0])
        let copy: Int32
        do {
            let writing = OwnedDescriptor(rawValue: ends[1])
            copy = try Syscall.dup(writing.rawValue).release()
        }
        #expect(fcntl(copy, F_GETFD) == FD_CLOEXEC)
        close(copy)
        // The end of the pipe is seen only when every writing descriptor is closed.
        #expect(try Syscall.readAll(reading.rawValue) == [])
    }

    @Test("a name beneath a directory leads out of it by no link, by no .. and by no mount")
    func beneath() throws {
        _ = try directory.file("f", "x", mode: 0o600)
        try Syscall.mkdirat(directory.descriptor, "d", mode: 0o700)
        try Syscall.symlinkat(target: "d", directory.descriptor, "l")
        func open(_ name: String, _ flags: Int32 = OpenFlag.path | OpenFlag.noFollow) throws(Errno) -> FileStatus {
            let object = try Syscall.openBeneath(directory.descriptor, name, flags)
            return try Syscall.statx(object.rawValue)
        }
        #expect(try open("f").inode == Syscall.statxAt(directory.descriptor, "f").inode)
        #expect(try open("l").isSymlink)
        #expect(throws: Errno.loop) { try open("l/x") }
        #expect(throws: Errno.loop) { try open("l", OpenFlag.readOnly) }
        for name in ["..", "d/../..", "/etc"] { #expect(throws: Errno.xdev) { try open(name) } }
        let root = try Syscall.open("/", OpenFlag.path)
        #expect(throws: Errno.xdev) { _ = try Syscall.openBeneath(root.rawValue, "proc", OpenFlag.path) }
    }

    @Test("status of a file by descriptor and by name is the same, and a symlink is not followed")
    func status() throws {
        let file = try directory.file("f", "hello", mode: 0o600)
        try Syscall.symlinkat(target: "f", directory.descriptor, "l")
        let status = try Syscall.statx(file.rawValue)
        #expect(status == (try Syscall.statxAt(directory.descriptor, "f")))
        #expect(status.isRegular && status.size == 5 && status.mode == 0o100600 && status.nlink == 1)
        #expect(status.uid == geteuid() && status.mountID != 0)
        #expect(!status.hasBirthTime || status.btime <= SystemTime.now())
        #expect(try Syscall.statxAt(directory.descriptor, "l").isSymlink)
        #expect(try Syscall.statxAt(directory.descriptor, "l", flags: 0).inode == status.inode)

        var classic = stat()
        #expect(fstat(file.rawValue, &classic) == 0)
        #expect(classic.st_ino == status.inode && UInt64(classic.st_blocks) == status.blocks)
        // Small device numbers: the C library keeps eight bits of the minor number below twelve of the major one.
        #expect(status.device == UInt64(classic.st_dev >> 8 & 0xFFF) << 32 | UInt64(classic.st_dev & 0xFF))
    }

    @Test("a handle opens the object under any name, and is stale when the object is gone", .enabled(if: isRoot, "needs root"))
    func handles() throws {
        _ = try directory.file("f")
        let inode = try Syscall.statxAt(directory.descriptor, "f").inode
        let handle = try Syscall.nameToHandle(directory.descriptor, "f")
        do {
            let opened = SharedDescriptor(try Syscall.openat(directory.descriptor, "f", OpenFlag.path))
            let same = try Syscall.nameToHandle(opened.rawValue)
            #expect(handle == same)
        }
        #expect(handle != (try Syscall.nameToHandle(directory.descriptor)))
        try Syscall.renameat2(directory.descriptor, "f", to: directory.descriptor, "g")
        do {
            let opened = SharedDescriptor(try Syscall.openByHandle(directory.descriptor, handle, OpenFlag.path))
            #expect(try Syscall.statx(opened.rawValue).inode == inode)
        }
        #expect(FileHandle(type: handle.type, bytes: handle.bytes) == handle)
        try Syscall.unlinkat(directory.descriptor, "g")
        #expect(throws: Errno.stale) {
            _ = try Syscall.openByHandle(directory.descriptor, handle, OpenFlag.path)
        }
    }

    @Test("handles of every length keep their bytes", arguments: [1, 8, 24, 25, 40, 128])
    func handleLengths(count: Int) {
        let bytes = (0..<count).map { UInt8($0) }
        let handle = FileHandle(type: 7, bytes: bytes)
        #expect(handle?.bytes == bytes && handle?.count == count)
        #expect(handle != FileHandle(type: 7, bytes: bytes + [0]))
        #expect(FileHandle(type: 7, bytes: [UInt8](repeating: 0, count: 129)) == nil)
        #expect(MemoryLayout<FileHandle>.size <= 40)
    }

    @Test("an O_PATH descriptor takes mode, owner, times and size")
    func changesByOpaqueDescriptor() throws {
        _ = try directory.file("f", "hello")
        let file = try directory.opaque("f")
        try Syscall.fchmod(file.rawValue, mode: 0o4711)
        try Syscall.utimens(
            file.rawValue, access: .set(Timespec(sec: 5, nsec: 6)), modification: .set(Timespec(sec: -7, nsec: 8)))
        var status = try Syscall.statx(file.rawValue)
        #expect(status.mode == 0o104711)
        #expect(status.atime == Timespec(sec: 5, nsec: 6) && status.mtime == Timespec(sec: -7, nsec: 8))
        try Syscall.utimens(file.rawValue, access: .omit, modification: .now)
        status = try Syscall.statx(file.rawValue)
        #expect(status.atime.sec == 5 && status.mtime.sec > 0)
        try Syscall.truncate(file.rawValue, size: 2)
        #expect(try directory.content("f") == "he")
        if isRoot {
            try Syscall.fchown(file.rawValue, uid: 1234, gid: .max)
            status = try Syscall.statx(file.rawValue)
            #expect(status.uid == 1234 && status.gid == getegid())
        }
    }

    @Test("a symlink takes owner and times of its own, but no mode")
    func changesOfSymlink() throws {
        let target = try directory.file("f")
        try Syscall.symlinkat(target: "f", directory.descriptor, "l")
        let link = try directory.opaque("l")
        #expect(throws: Errno.opnotsupp) { try Syscall.fchmod(link.rawValue, mode: 0o600) }
        try Syscall.utimens(link.rawValue, access: .omit, modification: .set(Timespec(sec: 9, nsec: 0)))
        #expect(try Syscall.statx(link.rawValue).mtime.sec == 9)
        #expect(try Syscall.statx(target.rawValue).mtime.sec != 9)
        #expect(try Syscall.readlinkat(link.rawValue) == Array("f".utf8))
        #expect(try Syscall.readlinkat(directory.descriptor, "l") == Array("f".utf8))
        #expect(throws: Errno.loop) { _ = try Syscall.reopen(link.rawValue, OpenFlag.readOnly) }
    }

    @Test("a target longer than the first buffer is read whole")
    func longTarget() throws {
        let target = String(repeating: "x/", count: 1000)
        try Syscall.symlinkat(target: target, directory.descriptor, "l")
        #expect(try Syscall.readlinkat(directory.descriptor, "l") == Array(target.utf8))
    }

    @Test("a file made without a name gets one, from a real and from an O_PATH descriptor")
    func linkDescriptor() throws {
        let file = SharedDescriptor(
            try Syscall.openat(
                directory.descriptor, ".", OpenFlag.temporaryFile | OpenFlag.readWrite, mode: 0o600))
        try Syscall.link(descriptor: file.rawValue, to: directory.descriptor, "a")
        try Syscall.link(descriptor: directory.opaque("a").rawValue, to: directory.descriptor, "b")
        try Syscall.linkat(directory.descriptor, "b", to: directory.descriptor, "c")
        #expect(try Syscall.statx(file.rawValue).nlink == 3)
        #expect(throws: Errno.exist) {
            try Syscall.link(descriptor: file.rawValue, to: directory.descriptor, "a")
        }
    }

    @Test("rename refuses to replace, or exchanges, when told so")
    func renameFlags() throws {
        _ = try directory.file("a", "A")
        _ = try directory.file("b", "B")
        let d = directory.descriptor
        #expect(throws: Errno.exist) {
            try Syscall.renameat2(d, "a", to: d, "b", flags: RenameFlag.noReplace)
        }
        try Syscall.renameat2(d, "a", to: d, "b", flags: RenameFlag.exchange)
        #expect(try directory.content("a") == "B" && directory.content("b") == "A")
        try Syscall.renameat2(d, "a", to: d, "b")
        #expect(try directory.content("b") == "B")
        #expect(throws: Errno.noent) { _ = try Syscall.statxAt(d, "a") }
    }

    @Test("objects of every kind are made and removed")
    func kinds() throws {
        let d = directory.descriptor
        try Syscall.mkdirat(d, "d", mode: 0o700)
        try Syscall.mknodat(d, "p", mode: FileType.fifo | 0o600)
        try Syscall.mknodat(d, "s", mode: FileType.socket | 0o600)
        #expect(try Syscall.statxAt(d, "d").type == FileType.directory)
        #expect(try Syscall.statxAt(d, "p").type == FileType.fifo)
        #expect(try Syscall.statxAt(d, "s").type == FileType.socket)
        if isRoot {
            try Syscall.mknodat(d, "c", mode: FileType.characterDevice | 0o600, device: 1 << 32 | 3)
            #expect(try Syscall.statxAt(d, "c").rdev == 1 << 32 | 3)
        }
        #expect(throws: Errno.isdir) { try Syscall.unlinkat(d, "d") }
        try Syscall.unlinkat(d, "d", flags: AtFlag.removeDirectory)
    }

    @Test("a listing gives every name once, also when it goes on from a remembered offset")
    func listing() throws {
        let odd: [UInt8] = [0xFF, 0x0A, 0x80]
        try odd.withCString { (name) throws(Errno) in
            _ = try Syscall.openat(directory.descriptor, name, OpenFlag.create | OpenFlag.writeOnly, mode: 0o600)
        }
        for number in 0..<200 { _ = try directory.file("name-\(number)") }
        let expected = Set((0..<200).map { Array("name-\($0)".utf8) } + [odd])

        let listed = SharedDescriptor(try Syscall.open(directory.path, OpenFlag.readOnly | OpenFlag.directory))
        var seen: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: 512)
        while true {
            let next = try buffer.withUnsafeMutableBytes { buffer -> Int64? in
                let count = try Syscall.getdents(listed.rawValue, into: buffer)
                var entries = DirectoryEntries(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                // Only the first record of each buffer is used, so that every step seeks.
                guard let entry = entries.next() else { return nil }
                #expect(strlen(entry.name) == entry.length && entry.inode != 0)
                if !entry.isDot {
                    #expect(UInt32(entry.type) << 12 == FileType.regular || entry.type == 0)
                    seen.append(entry.bytes)
                }
                return entry.nextOffset
            }
            guard let next else { break }
            try Syscall.lseek(listed.rawValue, offset: next, whence: Seek.set)
        }
        #expect(seen.count == expected.count && Set(seen) == expected)
        #expect(throws: Errno.inval) {
            try Syscall.lseek(listed.rawValue, offset: 0, whence: Seek.set)
            _ = try Syscall.getdents(listed.rawValue, into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
        }
    }

    @Test("names with a NUL are refused")
    func embeddedZero() {
        #expect(throws: Errno.inval) { try [0x61, 0, 0x62].withCString { _ in } }
    }
}

@Suite("data")
struct DataTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    @Test("holes are found, filled by allocation and left unchanged in content")
    func holes() throws {
        let file = try directory.file("f", "head")
        try Syscall.ftruncate(file.rawValue, size: 1 << 20)
        #expect(try Syscall.lseek(file.rawValue, offset: 0, whence: Seek.hole) < 1 << 20)
        #expect(throws: Errno.nxio) { try Syscall.lseek(file.rawValue, offset: 1 << 20, whence: Seek.data) }
        try Syscall.fallocate(file.rawValue, mode: AllocateFlag.keepSize, offset: 0, length: 1 << 20)
        #expect(try Syscall.statx(file.rawValue).blocks >= 2048)
        #expect(try directory.content("f").hasPrefix("head\0"))
        try Syscall.fsync(file.rawValue)
        try Syscall.fdatasync(file.rawValue)
    }

    @Test("a range is copied between files, and reading past the end gives nothing")
    func copy() throws {
        let (source, target) = (try directory.file("a", "0123456789"), try directory.file("b"))
        let count = try Syscall.copyFileRange(
            from: source.rawValue, offset: 2, to: target.rawValue, offset: 1, length: 5)
        #expect(count == 5)
        #expect(try directory.content("b") == "\u{0}23456")
        var byte = [UInt8](repeating: 0, count: 1)
        #expect(try byte.withUnsafeMutableBytes { try Syscall.pread(source.rawValue, into: $0, offset: 10) } == 0)
    }

    @Test("a file longer than the first buffer is read whole, or up to the limit")
    func readAll() throws {
        let text = String(repeating: "0123456789", count: 2000)
        _ = try directory.file("f", text)
        #expect(try directory.content("f") == text)
        let part = try Syscall.readAll(path: directory.path + "/f", limit: 5000)
        #expect(part.count == 5000)
    }

    @Test("an O_PATH descriptor is opened anew for reading")
    func reopen() throws {
        _ = try directory.file("f", "text")
        let again = SharedDescriptor(try Syscall.reopen(directory.opaque("f").rawValue, OpenFlag.readOnly))
        #expect(try Syscall.readAll(again.rawValue) == Array("text".utf8))
    }

    @Test("the file system reports itself")
    func fileSystem() throws {
        let status = try Syscall.fstatvfs(directory.opaque(".").rawValue)
        #expect(status.namemax == 255 && status.blocks >= status.bfree && status.frsize > 0)
        #expect(try Syscall.fileSystemType(directory.descriptor) == status.type)
    }

    @Test("inode flags are set on a path and stop a write", .enabled(if: isRoot, "needs root"))
    func flags() throws {
        _ = try directory.file("f")
        let path = directory.path + "/f"
        guard let before = try? Syscall.getFlags(path: path) else { return }
        try Syscall.setFlags(path: path, before | InodeFlag.immutable)
        defer { _ = try? Syscall.setFlags(path: path, before) }
        #expect(throws: Errno.perm) {
            _ = try Syscall.openat(directory.descriptor, "f", OpenFlag.writeOnly)
        }
        let opened = SharedDescriptor(try Syscall.openForFlags(path: path))
        let extended = try Syscall.getExtendedFlags(opened.rawValue)
        #expect(extended.flags & InodeXFlag.immutable != 0)
    }
}
