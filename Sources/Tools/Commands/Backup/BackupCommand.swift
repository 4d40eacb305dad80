import Glibc

/// `aclfs backup` with the working directory and standard output of the process.
package enum BackupCommand {
    /// - Parameter arguments: after the command's name, as bytes.
    /// - Returns: the exit status.
    package static func run(_ arguments: [[UInt8]]) -> Int32 {
        runBackup(arguments: arguments, workingDirectory: workingDirectory(), isTerminal: isatty(STDOUT_FILENO) == 1)
    }

    /// The path that the shell shows, symlinks included, if it is correct. restic uses the same.
    private static func workingDirectory() -> [UInt8] {
        var (here, shown) = (stat(), stat())
        if let text = getenv("PWD"), text[0] == CChar(UInt8(ascii: "/")), stat(text, &shown) == 0, stat(".", &here) == 0,
            shown.st_dev == here.st_dev, shown.st_ino == here.st_ino
        {
            return bytes(text)
        }
        guard let text = getcwd(nil, 0) else { return [UInt8(ascii: "/")] }
        defer { free(text) }
        return bytes(text)
    }

    private static func bytes(_ text: UnsafeMutablePointer<CChar>) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
}
