import LinuxSystem

/// Why grants cannot be read, stored or applied.
struct GrantProblem: Error {
    var errno: Errno
    var message: String
}
