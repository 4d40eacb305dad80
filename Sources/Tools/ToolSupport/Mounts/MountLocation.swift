import ACLFormats
import Glibc
import LinuxSystem

/// A path as the daemon of its mount names it.
package struct MountLocation {
    package let entry: MountEntry
    /// From the root of the file system, also on a bind mount of a part.
    package let names: [[UInt8]]

    /// - Parameters:
    ///   - path: absolute, or relative to the working directory.
    ///   - isFollowed: whether a link at its end is followed. The object must exist then.
    ///   - isAsWritten: whether names that are missing or hidden are taken as written.
    /// - Throws: the path does not lie on an aclfs mount.
    package init(_ path: [UInt8], isFollowed: Bool = false, isAsWritten: Bool = false) throws(ControlError) {
        let real = isFollowed ? try Self.real(path) : try Self.absolute(path, isAsWritten)
        let mounts = MountTable.entries().filter { Self.contains(Array($0.path.utf8), real) }
        guard let length = mounts.map({ $0.path.utf8.count }).max(),
            let top = mounts.last(where: { $0.path.utf8.count == length }), top.type == "fuse.aclfs"
        else { throw ControlError("\(escapedName(path)): not on an aclfs mount") }
        entry = top
        let inside = real.dropFirst(top.path == "/" ? 0 : top.path.utf8.count)
        names = (Array(top.root.utf8) + [0x2F] + inside).split(separator: 0x2F).map { Array($0) }
    }

    /// The top of a mount.
    package init(top: MountEntry) {
        entry = top
        names = top.root.utf8.split(separator: 0x2F).map { Array($0) }
    }

    /// A path that the daemon of a mount reported.
    package init(_ mount: MountEntry, _ path: [UInt8]) {
        entry = mount
        names = path.split(separator: 0x2F).map { Array($0) }
    }

    /// The path as messages contain it.
    package var path: [UInt8] { Array(names.joined(separator: [0x2F])) }

    /// - Throws: the daemon cannot be reached.
    package func client() throws(ControlError) -> ControlClient {
        try ControlClient(device: entry.device, owner: entry.userID ?? 0)
    }

    /// - Returns: the path of the first `depth` names in this mount namespace.
    package func shown(_ depth: Int) -> [UInt8] {
        let hidden = entry.root.utf8.split(separator: 0x2F).map { Array($0) }
        let shown = names.prefix(depth)
        var path = entry.path == "/" ? [] : Array(entry.path.utf8)
        guard shown.starts(with: hidden) else {
            if hidden.starts(with: shown) { return Array("(above the bind mount)".utf8) }
            return shown.reduce(Array("(outside of the bind mount)".utf8)) { $0 + [0x2F] + $1 }
        }
        for name in shown.dropFirst(hidden.count) { path += [0x2F] + name }
        return path.isEmpty ? [0x2F] : path
    }

    private static func contains(_ mountpoint: [UInt8], _ path: [UInt8]) -> Bool {
        mountpoint == [0x2F] || path == mountpoint || path.starts(with: mountpoint + [0x2F])
    }

    /// Resolves the directory and keeps the last name. Names below a directory that the caller may not search are taken as written:
    /// the caller may ask why it is closed.
    private static func absolute(_ path: [UInt8], _ isAsWritten: Bool) throws(ControlError) -> [UInt8] {
        var names = path.split(separator: 0x2F).map { Array($0) }.filter { $0 != [0x2E] }
        let start: [UInt8] = path.first == 0x2F ? [0x2F] : [0x2E]
        if names.last == [0x2E, 0x2E] || names.isEmpty { return try real(start + [0x2F] + names.joined(separator: [0x2F])) }
        // A slash at the end asks for a directory.
        if path.last == 0x2F {
            do throws(Errno) { _ = try resolve(path) } catch {
                if error == .notdir { throw failure(path, error) }
            }
        }
        var rest: [[UInt8]] = [names.removeLast()]
        while true {
            do throws(Errno) {
                let directory = try resolve(start + [0x2F] + names.joined(separator: [0x2F]))
                return (directory == [0x2F] ? [] : directory) + rest.flatMap { [0x2F] + $0 }
            } catch {
                // A confined mount answers EPERM.
                let isClosed = error == .acces || error == .perm || isAsWritten && error == .noent
                guard isClosed, let name = names.popLast(), name != [0x2E, 0x2E] else {
                    throw failure(path, error)
                }
                rest.insert(name, at: 0)
            }
        }
    }

    private static func real(_ path: [UInt8]) throws(ControlError) -> [UInt8] {
        do { return try resolve(path) } catch { throw failure(path, error) }
    }

    private static func failure(_ path: [UInt8], _ error: Errno) -> ControlError {
        ControlError("\(escapedName(path)): \(error.text)", code: error.name)
    }

    private static func resolve(_ path: [UInt8]) throws(Errno) -> [UInt8] {
        let characters = path.map { CChar(bitPattern: $0) } + [0]
        guard let resolved = realpath(characters, nil) else { throw Errno(rawValue: errno) }
        defer { free(resolved) }
        return UnsafeBufferPointer(start: resolved, count: strlen(resolved)).map { UInt8(bitPattern: $0) }
    }
}
