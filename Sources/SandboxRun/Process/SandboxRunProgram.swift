import Glibc
import LinuxSystem

/// The command's program, looked for as shells do. execvp(3) ends its search at the first directory of PATH that the view refuses
/// (EPERM), as it does a user's own programs where his home lies on the share.
enum SandboxRunProgram {
    /// Becomes the program.
    /// - Returns: why it did not; noent, too, where it is there and its interpreter is not.
    static func become(_ words: [[UInt8]]) -> Errno {
        let name = words.first ?? []
        // Of a path nothing is looked for.
        if name.contains(0x2F) { return execute(name, words) }
        var failure: Errno?
        for directory in directories {
            let path = (directory.isEmpty ? [0x2E] : directory) + [0x2F] + name
            // Where nobody may look, nothing was found: a closed directory does not make the command another one.
            guard isThere(path) else { continue }
            let error = execute(path, words)
            // The first that there was is what was meant.
            failure = failure ?? error
        }
        return failure ?? .noent
    }

    /// How shells end.
    static func exitCode(_ failure: Errno) -> Int32 { failure == .noent ? 127 : 126 }

    /// An empty one is the working directory.
    private static var directories: [[UInt8]] {
        let path = getenv("PATH").map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        // What execvp(3) takes where there is no PATH.
        return (path ?? Array("/bin:/usr/bin".utf8)).split(separator: 0x3A, omittingEmptySubsequences: false).map { Array($0) }
    }

    private static func isThere(_ path: [UInt8]) -> Bool {
        var status = stat()
        return stat(terminated(path), &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
    }

    /// A script without #! is run by sh, which execvp(3) does with a path.
    private static func execute(_ path: [UInt8], _ words: [[UInt8]]) -> Errno {
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup(terminated($0)) } + [nil]
        defer { for argument in arguments { free(argument) } }
        execvp(terminated(path), &arguments)
        return Errno(rawValue: errno)
    }

    private static func terminated(_ bytes: [UInt8]) -> [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }
}
