import Glibc
import LinuxSystem

/// The calls of a subject, by words. The first word is the call, numbers are decimal, octal with a leading 0 or hexadecimal with 0x.
///
/// | words | value |
/// |---|---|
/// | `open PATH FLAGS`, `access PATH MASK FLAGS`, `exec PATH`, `chdir PATH`, `truncate PATH SIZE` | |
/// | `stat PATH` | uid, gid, mode in octal, links, size |
/// | `blocks PATH` | size and space in bytes |
/// | `list PATH` | the number of entries |
/// | `create`, `mkdir`, `mkfifo` with `PATH MODE UMASK`, `mknod PATH MODE UMASK KIND` | |
/// | `symlink TARGET PATH`, `link PATH NEW`, `rename PATH NEW FLAGS`, `unlink PATH`, `rmdir PATH` | |
/// | `chmod PATH MODE`, `chown PATH UID GID`, `utimes PATH now\|explicit` | |
/// | `getxattr PATH NAME`, `listxattr PATH`, `readlink PATH` | the value |
/// | `setxattr PATH NAME VALUE`, `removexattr PATH NAME`, `copyxattr PATH TO NAME` | |
/// | `hold SLOT PATH FLAGS MODE`, `close SLOT`, `write SLOT TEXT`, `pwrite SLOT OFFSET TEXT` | |
/// | `pread SLOT OFFSET COUNT` | what was read |
/// | `ftruncate SLOT SIZE`, `fallocate SLOT MODE OFFSET LENGTH`, `setfl SLOT FLAGS`, `map SLOT` | |
final class SubjectCalls {
    /// The working directory, to which `chdir` returns.
    private let home: Int32
    private var held: [Int: OwnedFile] = [:]

    /// A descriptor in a dictionary.
    private final class OwnedFile {
        let descriptor: OwnedDescriptor
        init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }
    }

    init() throws(Errno) {
        home = try Syscall.open(".", OpenFlag.path | OpenFlag.directory).release()
    }

    /// Makes the call of a line.
    func answer(_ words: [[UInt8]]) -> CallAnswer {
        let call = CallWords(words)
        do throws(Errno) { return CallAnswer("ok", try perform(call)) } catch {
            return CallAnswer(error.name.isEmpty ? "errno-\(error.rawValue)" : error.name)
        }
    }

    private func perform(_ call: CallWords) throws(Errno) -> [UInt8] {
        switch call.name {
        case "open", "access", "exec", "chdir", "truncate", "stat", "blocks", "list", "readlink": try look(call)
        case "create", "mkdir", "mkfifo", "mknod", "symlink", "link", "rename", "unlink", "rmdir": try changeNames(call)
        case "chmod", "chown", "utimes", "getxattr", "listxattr", "setxattr", "removexattr", "copyxattr": try changeAttributes(call)
        default: try useHeld(call)
        }
    }

    private func look(_ call: CallWords) throws(Errno) -> [UInt8] {
        let path = call.text(1)
        switch call.name {
        case "open": _ = try Syscall.open(path, call.number(2), mode: 0o666)
        case "access": try checked(faccessat(AT_FDCWD, path, call.number(2), call.number(3)))
        case "exec":
            var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path), nil]
            defer { free(arguments[0]) }
            try checked(execv(path, &arguments))
        case "chdir":
            try Syscall.chdir(path)
            try checked(fchdir(home))
        case "truncate": try checked(Glibc.truncate(path, off_t(call.number(2))))
        case "stat":
            let status = try Syscall.statxAt(Syscall.workingDirectory, path)
            return Array("\(status.uid) \(status.gid) \(String(status.mode & 0o7777, radix: 8)) \(status.nlink) \(status.size)".utf8)
        case "blocks":
            let status = try Syscall.statxAt(Syscall.workingDirectory, path)
            return Array("\(status.size) \(status.blocks * 512)".utf8)
        case "list":
            // Not opendir(3), which asks for the attributes as well.
            let directory = try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory)
            return Array("\(try Syscall.names(directory.rawValue).count)".utf8)
        default: return try Syscall.readlinkat(Syscall.workingDirectory, path)
        }
        return []
    }

    private func changeNames(_ call: CallWords) throws(Errno) -> [UInt8] {
        let here = Syscall.workingDirectory
        let path = call.text(1)
        switch call.name {
        case "symlink":
            try Syscall.symlinkat(target: path, here, call.text(2))
            return []
        case "link":
            try Syscall.linkat(here, path, to: here, call.text(2))
            return []
        case "rename":
            try Syscall.renameat2(here, path, to: here, call.text(2), flags: UInt32(bitPattern: call.number(3)))
            return []
        case "unlink":
            try Syscall.unlinkat(here, path)
            return []
        case "rmdir":
            try Syscall.unlinkat(here, path, flags: AtFlag.removeDirectory)
            return []
        default: break
        }
        let mode = UInt32(bitPattern: call.number(2))
        let mask = Syscall.umask(UInt32(bitPattern: call.number(3)))
        defer { Syscall.umask(mask) }
        switch call.name {
        case "create": _ = try Syscall.open(path, OpenFlag.create | OpenFlag.exclusive | OpenFlag.writeOnly, mode: mode)
        case "mkdir": try Syscall.mkdirat(here, path, mode: mode)
        case "mkfifo": try Syscall.mknodat(here, path, mode: mode | FileType.fifo)
        default:
            // /dev/null, and a block device that no system has.
            let (type, device): (UInt32, UInt64) =
                switch call.text(4) {
                case "fifo": (FileType.fifo, 0)
                case "socket": (FileType.socket, 0)
                case "blk": (FileType.blockDevice, 240 << 32 | 7)
                default: (FileType.characterDevice, 1 << 32 | 3)
                }
            try Syscall.mknodat(here, path, mode: mode | type, device: device)
        }
        return []
    }

    private func changeAttributes(_ call: CallWords) throws(Errno) -> [UInt8] {
        let path = call.text(1)
        switch call.name {
        case "chmod": try checked(Glibc.chmod(path, mode_t(bitPattern: call.number(2))))
        case "chown": try checked(lchown(path, uid_t(truncatingIfNeeded: call.long(2)), gid_t(truncatingIfNeeded: call.long(3))))
        case "utimes":
            let chosen = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
            let times = [chosen, chosen]
            let isChosen = call.text(2) == "explicit"
            try checked(
                isChosen
                    ? utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) : utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW))
        case "getxattr": return try Self.attribute(path, call.text(2))
        case "listxattr":
            return try path.withCStringTyped { (path) throws(Errno) in
                Array(try Syscall.listxattr(.path(path)).joined(separator: [0x20]))
            }
        case "setxattr": try Self.set(path, call.text(2), call.bytes(3))
        case "removexattr":
            let name = call.text(2)
            try path.withCStringTyped { (path) throws(Errno) in try Syscall.removexattr(.path(path), name) }
        default: try Self.set(call.text(2), call.text(3), Self.attribute(path, call.text(3)))
        }
        return []
    }

    private static func attribute(_ path: String, _ name: String) throws(Errno) -> [UInt8] {
        try path.withCStringTyped { (path) throws(Errno) in try Syscall.getxattr(.path(path), name) }
    }

    private static func set(_ path: String, _ name: String, _ value: [UInt8]) throws(Errno) {
        try path.withCStringTyped { (path) throws(Errno) in try Syscall.setxattr(.path(path), name, value) }
    }

    /// On a busy machine the RELEASE of a handle that was closed may still be on its way, and be what is busy (docs/internals/data-path.md).
    private func openWhenFree(_ call: CallWords) throws(Errno) -> OwnedFile {
        for _ in 0..<200 {
            do throws(Errno) {
                return OwnedFile(try Syscall.open(call.text(2), call.number(3), mode: UInt32(bitPattern: call.number(4))))
            } catch {
                if error != .busy { throw error }
                SystemTime.sleep(milliseconds: 10)
            }
        }
        throw .busy
    }

    private func useHeld(_ call: CallWords) throws(Errno) -> [UInt8] {
        let slot = Int(call.number(1))
        if call.name == "hold" {
            held[slot] = nil
            held[slot] = try openWhenFree(call)
            return []
        }
        guard let file = held[slot] else { throw .badf }
        let descriptor = file.descriptor.rawValue
        switch call.name {
        case "close":
            // Its result counts: a gap may find no space.
            let copy = try Syscall.dup(descriptor).release()
            held[slot] = nil
            try checked(Glibc.close(copy))
        case "write": try checkedCount(call.bytes(2).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) })
        case "pwrite":
            let (offset, bytes) = (off_t(call.long(2)), call.bytes(3))
            try checkedCount(bytes.withUnsafeBytes { Glibc.pwrite(descriptor, $0.baseAddress, $0.count, offset) })
        case "pread":
            var buffer = [UInt8](repeating: 0, count: Int(call.number(3)))
            let (offset, size) = (off_t(call.long(2)), buffer.count)
            let count = try checkedCount(Glibc.pread(descriptor, &buffer, size, offset))
            return Array(buffer.prefix(count))
        case "ftruncate": try Syscall.ftruncate(descriptor, size: Int64(call.long(2)))
        case "fallocate":
            try Syscall.fallocate(descriptor, mode: call.number(2), offset: Int64(call.long(3)), length: Int64(call.long(4)))
        case "setfl": try checked(fcntl(descriptor, F_SETFL, call.number(2)))
        case "map":
            let page = mmap(nil, 1, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
            // MAP_FAILED is -1.
            guard let page, page != UnsafeMutableRawPointer(bitPattern: -1) else { throw Errno(rawValue: errno) }
            page.storeBytes(of: 0x4D, as: UInt8.self)
            munmap(page, 1)
        default: throw .nosys
        }
        return []
    }
}

/// The words of one call.
struct CallWords {
    private let words: [[UInt8]]
    init(_ words: [[UInt8]]) { self.words = words }

    var name: String { text(0) }
    func bytes(_ index: Int) -> [UInt8] { index < words.count ? words[index] : [] }
    func text(_ index: Int) -> String { String(decoding: bytes(index), as: UTF8.self) }
    /// 0 if it is no number, as strtol(3) has it.
    func long(_ index: Int) -> Int { strtol(text(index), nil, 0) }
    func number(_ index: Int) -> Int32 { Int32(truncatingIfNeeded: long(index)) }
}

extension String {
    /// As `withCString`, for a body with typed errors.
    fileprivate func withCStringTyped<Value>(_ body: (UnsafePointer<CChar>) throws(Errno) -> Value) throws(Errno) -> Value {
        try Array(utf8).withCString(body)
    }
}

/// - Throws: the errno of a call that returned -1.
private func checked(_ answer: Int32) throws(Errno) {
    if answer < 0 { throw Errno(rawValue: errno) }
}

@discardableResult
private func checkedCount(_ answer: Int) throws(Errno) -> Int {
    if answer < 0 { throw Errno(rawValue: errno) }
    return answer
}
