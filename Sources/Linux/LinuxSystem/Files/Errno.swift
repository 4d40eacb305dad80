import CLinux
import Glibc

/// An error number of the system. Prints as "Permission denied (EACCES)".
public struct Errno: Error, Equatable, Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    public var rawValue: Int32
    /// `rawValue` is positive: `EACCES`, not its negation.
    @inlinable public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let perm = Errno(rawValue: EPERM)
    public static let noent = Errno(rawValue: ENOENT)
    public static let srch = Errno(rawValue: ESRCH)
    public static let intr = Errno(rawValue: EINTR)
    public static let io = Errno(rawValue: EIO)
    public static let nxio = Errno(rawValue: ENXIO)
    public static let toobig = Errno(rawValue: E2BIG)
    public static let badf = Errno(rawValue: EBADF)
    public static let again = Errno(rawValue: EAGAIN)
    public static let nomem = Errno(rawValue: ENOMEM)
    public static let acces = Errno(rawValue: EACCES)
    public static let fault = Errno(rawValue: EFAULT)
    public static let busy = Errno(rawValue: EBUSY)
    public static let exist = Errno(rawValue: EEXIST)
    public static let xdev = Errno(rawValue: EXDEV)
    public static let nodev = Errno(rawValue: ENODEV)
    public static let notdir = Errno(rawValue: ENOTDIR)
    public static let isdir = Errno(rawValue: EISDIR)
    public static let inval = Errno(rawValue: EINVAL)
    public static let nfile = Errno(rawValue: ENFILE)
    public static let mfile = Errno(rawValue: EMFILE)
    public static let notty = Errno(rawValue: ENOTTY)
    public static let txtbsy = Errno(rawValue: ETXTBSY)
    public static let fbig = Errno(rawValue: EFBIG)
    public static let nospc = Errno(rawValue: ENOSPC)
    public static let spipe = Errno(rawValue: ESPIPE)
    public static let rofs = Errno(rawValue: EROFS)
    public static let mlink = Errno(rawValue: EMLINK)
    public static let pipe = Errno(rawValue: EPIPE)
    public static let range = Errno(rawValue: ERANGE)
    public static let nametoolong = Errno(rawValue: ENAMETOOLONG)
    public static let nosys = Errno(rawValue: ENOSYS)
    public static let notempty = Errno(rawValue: ENOTEMPTY)
    public static let loop = Errno(rawValue: ELOOP)
    public static let nodata = Errno(rawValue: ENODATA)
    public static let overflow = Errno(rawValue: EOVERFLOW)
    public static let noprotoopt = Errno(rawValue: ENOPROTOOPT)
    public static let opnotsupp = Errno(rawValue: EOPNOTSUPP)
    public static let notconn = Errno(rawValue: ENOTCONN)
    public static let timedout = Errno(rawValue: ETIMEDOUT)
    public static let already = Errno(rawValue: EALREADY)
    public static let stale = Errno(rawValue: ESTALE)
    public static let dquot = Errno(rawValue: EDQUOT)
    public static let canceled = Errno(rawValue: ECANCELED)

    /// The constant's name ("EACCES"); empty for a number without one.
    public var name: String { String(cString: aclfs_errno_name(rawValue)) }

    /// The text of strerror(3), without the name.
    public var text: String {
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: 128)
        defer { buffer.deallocate() }
        aclfs_errno_text(rawValue, buffer, 128)
        return String(cString: buffer)
    }

    public var description: String { name.isEmpty ? text : "\(text) (\(name))" }
}

/// Makes one system call; in a debug build a test may have it fail instead (docs/internals/testing.md "Calls that fail").
@inline(__always)
private func made<Answer: FixedWidthInteger>(_ name: StaticString, _ call: () -> Answer) -> Answer {
    #if ACLFS_FAULTS
        if let fault = Faults.next(name) { return Answer(-fault.rawValue) }
    #endif
    return call()
}

/// Splits the result of a C function: a value, or a negated error number. As in the kernel only -4095 to -1 are errors, because a
/// directory offset may be any other negative number.
@inline(__always)
private func split(_ answer: Int64) throws(Errno) -> Int64 {
    if answer < 0, answer >= -4095 { throw Errno(rawValue: Int32(-answer)) }
    return answer
}

@inline(__always)
private func split(_ answer: Int32) throws(Errno) -> Int32 {
    if answer < 0 { throw Errno(rawValue: -answer) }
    return answer
}

/// Makes a call once, whether a signal interrupts it or not.
/// - Parameter name: of the function that makes it, for tests.
@inline(__always) @discardableResult
func value(_ call: @autoclosure () -> Int64, _ name: StaticString = #function) throws(Errno) -> Int64 {
    try split(made(name, call))
}

@inline(__always) @discardableResult
func value(_ call: @autoclosure () -> Int32, _ name: StaticString = #function) throws(Errno) -> Int32 {
    try split(made(name, call))
}

/// Repeats a call that a signal interrupted before it had any effect. All functions of `Syscall` repeat unless their comments say
/// otherwise. close(2) is never repeated, because the first attempt always frees the descriptor.
@inline(__always) @discardableResult
func repeating(_ name: StaticString = #function, _ call: () -> Int32) throws(Errno) -> Int32 {
    while true {
        let answer = made(name, call)
        if answer != -EINTR { return try split(answer) }
    }
}

@inline(__always) @discardableResult
func repeating(_ name: StaticString = #function, _ call: () -> Int64) throws(Errno) -> Int64 {
    while true {
        let answer = made(name, call)
        if answer != -Int64(EINTR) { return try split(answer) }
    }
}
