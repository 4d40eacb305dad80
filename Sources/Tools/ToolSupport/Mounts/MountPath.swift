import Glibc
import LinuxSystem

/// Paths in the form of the mount table.
package enum MountPath {
    /// - Parameters:
    ///   - path: of a source or mount point.
    ///   - role: of the path, for messages.
    /// - Returns: the real path. The last name of a mount whose daemon died is taken as written, since it cannot be entered.
    /// - Throws: the path cannot be resolved.
    package static func resolved(_ path: String, role: String) throws(MountFailure) -> String {
        do throws(Errno) { return try real(path) } catch {
            var hint = ""
            if MountServer.saysDead(error) {
                let trimmed = trimmed(path)
                let slash = trimmed.lastIndex(of: "/")
                let name = slash.map { String(trimmed[trimmed.index(after: $0)...]) } ?? trimmed
                let directory = slash.map { $0 == trimmed.startIndex ? "/" : String(trimmed[..<$0]) } ?? "."
                if name != "." && name != "..", let parent = try? real(directory) {
                    return parent == "/" ? "/\(name)" : "\(parent)/\(name)"
                }
                hint = "; it is on a mount whose daemon has died: aclfs unmount removes that mount"
            }
            throw MountFailure(status: MountExit.failed, message: "\(role) \(path): \(error)\(hint)")
        }
    }

    /// - Returns: the real path of a mount point, without a request to its server, which may not answer.
    /// - Throws: the path cannot be opened.
    package static func unasked(_ path: String, role: String) throws(MountFailure) -> String {
        do throws(Errno) {
            let top = try Syscall.open(path, OpenFlag.path)
            return String(decoding: try Syscall.readlinkat(top.rawValue, "/proc/self/fd/\(top.rawValue)"), as: UTF8.self)
        } catch { throw MountFailure(status: MountExit.failed, message: "\(role) \(path): \(error)") }
    }

    /// Whether the path is the directory or lies below it.
    package static func isInside(_ path: String, _ directory: String) -> Bool {
        directory == "/" || path == directory || path.hasPrefix(directory + "/")
    }

    /// - Returns: the path without links, by realpath(3).
    /// - Throws: the path cannot be resolved.
    package static func real(_ path: String) throws(Errno) -> String {
        guard let resolved = realpath(path, nil) else { throw Errno(rawValue: errno) }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// - Returns: the directory of a real path.
    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    private static func trimmed(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
