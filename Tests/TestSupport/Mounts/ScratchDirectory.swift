import Glibc

/// A directory that other users may pass through (0755). It is removed with the object, without what is mounted in it.
public final class ScratchDirectory {
    public let path: String

    /// - Parameters:
    ///   - name: a word of the directory's name.
    ///   - parent: where it is made.
    public init(_ name: String, in parent: String = "/tmp") throws {
        var template = Array("\(parent)/aclfs-\(name).XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw FixtureError("mkdtemp: errno \(errno)") }
        path = String(cString: made)
        chmod(path, 0o755)
    }

    /// Makes a directory in it.
    /// - Returns: its path.
    public func directory(_ name: String, mode: mode_t = 0o755) -> String {
        mkdir(path + "/" + name, mode)
        return path + "/" + name
    }

    deinit { _ = try? Spawn.run(["rm", "-rf", "--one-file-system", path]) }
}
