import Glibc
import LinuxSystem

/// Finds the command's program as shells do. execvp(3) would end its search at the first directory of PATH that the view refuses
/// (EPERM), such as one in a home on the share.
enum SandboxRunProgram {
    /// Replaces this process by the program.
    /// - Returns: only on failure, with the reason; `noent` also for a missing interpreter.
    static func become(_ words: [[UInt8]]) -> Errno {
        let name = words.first ?? []
        // A name with a slash is a path, not searched for.
        if name.contains(0x2F) { return execute(name, words) }
        var failure: Errno?
        for directory in directories {
            let path = (directory.isEmpty ? [0x2E] : directory) + [0x2F] + name
            // A directory that refuses the search is skipped.
            guard isThere(path) else { continue }
            let error = execute(path, words)
            // The first program found decides the error.
            failure = failure ?? error
        }
        return failure ?? .noent
    }

    /// - Returns: the exit code that shells use.
    static func exitCode(_ failure: Errno) -> Int32 { failure == .noent ? 127 : 126 }

    /// Of PATH. An empty one is the working directory.
    private static var directories: [[UInt8]] {
        let path = getenv("PATH").map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        // The default of execvp(3) without PATH.
        return (path ?? Array("/bin:/usr/bin".utf8)).split(separator: 0x3A, omittingEmptySubsequences: false).map { Array($0) }
    }

    private static func isThere(_ path: [UInt8]) -> Bool {
        var status = stat()
        return stat(terminated(path), &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
    }

    /// execvp(3) with a path runs a script without #! by sh.
    private static func execute(_ path: [UInt8], _ words: [[UInt8]]) -> Errno {
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup(terminated($0)) } + [nil]
        defer { for argument in arguments { free(argument) } }
        execvp(terminated(path), &arguments)
        return Errno(rawValue: errno)
    }

    private static func terminated(_ bytes: [UInt8]) -> [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }
}
