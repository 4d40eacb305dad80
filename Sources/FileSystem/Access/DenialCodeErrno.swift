import Authorization
import LinuxSystem

extension DenialCode {
    /// The only table from the code of a denial, which the rules and `Inquiry` choose, to the errno that the caller sees.
    var errno: Errno {
        switch self {
        case .EACCES: .acces
        case .EPERM: .perm
        case .EROFS: .rofs
        case .EISDIR: .isdir
        case .ENOTDIR: .notdir
        case .EINVAL: .inval
        case .ENOMEM: .nomem
        case .EIO: .io
        case .EBADF: .badf
        }
    }
}
