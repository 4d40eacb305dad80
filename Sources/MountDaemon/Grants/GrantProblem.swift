import LinuxSystem

/// Why grants cannot be read or kept.
struct GrantProblem: Error {
    var errno: Errno
    var message: String
}
