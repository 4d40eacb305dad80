import ACLFormats
import LinuxSystem

extension GrantPlace {
    /// - Returns: for a message, the first name of a path that is no directory and prevents making one; nil if there is none.
    package static func obstacle(on path: String) -> String? {
        var way = ""
        for name in path.utf8.pathNames {
            way += "/" + String(decoding: name, as: UTF8.self)
            do throws(Errno) {
                if try Syscall.statxAt(Syscall.workingDirectory, way, flags: AtFlag.dontSync).isDirectory { continue }
                return "\(escapedName(way.utf8)) is not a directory"
            } catch {
                guard error == .noent || error == .loop,
                    (try? Syscall.statxAt(Syscall.workingDirectory, way, flags: AtFlag.symlinkNoFollow | AtFlag.dontSync)) != nil
                else { return nil }
                return "\(escapedName(way.utf8)) is a symbolic link that leads to no directory"
            }
        }
        return nil
    }
}
