import Glibc
import LinuxSystem

/// The two programs find each other by the place of their own file, never by PATH, which the caller controls
/// (docs/decisions/0039-two-programs.md).
package enum OtherProgram {
    /// What people type.
    package static let command = "aclfs"
    /// What serves mounts.
    package static let daemon = "aclfsd"

    /// - Parameter name: one of these.
    /// - Returns: the path of its file.
    /// - Throws: it is not there; the message names the places.
    package static func path(of name: String) throws(MountFailure) -> String {
        guard let link = try? Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/exe"),
            let own = String(validating: link, as: UTF8.self)
        else {
            throw MountFailure(
                status: MountExit.systemError, message: "\(name) is not found: /proc/self/exe cannot be read; is /proc mounted?")
        }
        let beside = MountPath.directory(of: own)
        let top = MountPath.directory(of: beside)
        let others = (name == daemon ? ["sbin", "libexec"] : ["bin"]).map { (top == "/" ? "/" : top + "/") + $0 }
        let places = [beside] + others.filter { $0 != beside }
        for place in places where access("\(place)/\(name)", X_OK) == 0 { return "\(place)/\(name)" }
        throw MountFailure(
            status: MountExit.systemError,
            message: "the program \(name) is missing: it is not in \(places.joined(separator: " or ")); "
                + "it belongs to the same installation as \(own)")
    }
}
