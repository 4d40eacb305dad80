import ACLFormats
import Glibc
import LinuxSystem

/// The undo files of presets, which their commands keep: for root in /var/lib/aclfs/presets, for others in the directory of their state.
struct PresetFiles {
    let directory: [UInt8]

    /// - Throws: there is no such directory, and it cannot be made.
    init() throws(CommandFailure) {
        var path = ""
        if geteuid() == 0 {
            path = "/var/lib/aclfs/presets"
        } else if let state = getenv("XDG_STATE_HOME").map({ String(cString: $0) }), state.hasPrefix("/") {
            path = state + "/aclfs/presets"
        } else if let home = getenv("HOME").map({ String(cString: $0) }), home.hasPrefix("/") {
            path = home + "/.local/state/aclfs/presets"
        } else {
            throw CommandFailure("no place for the undo file: set HOME, or name one with --undo-file")
        }
        var made = ""
        for name in path.split(separator: "/") {
            made += "/" + name
            // Of another user's making it is refused when a file is made or read there.
            if mkdir(made, 0o700) != 0, errno != EEXIST {
                throw CommandFailure("\(escapedName(made.utf8)): \(Errno(rawValue: errno).text); name another place with --undo-file")
            }
        }
        directory = Array(path.utf8)
    }

    private static let most = 1000

    private func path(_ identity: TreeIdentity, _ number: Int) -> [UInt8] {
        joinedPath(directory, Array("\(identity.inode).\(number).undo".utf8))
    }

    /// - Returns: the path of the next file for a directory.
    func next(_ identity: TreeIdentity) throws(CommandFailure) -> [UInt8] {
        let last = numbers(identity).last ?? 0
        guard last < Self.most else {
            throw CommandFailure(
                "\(escapedName(directory)) has \(Self.most) undo files of this directory, the most possible; use --undo-file")
        }
        return path(identity, last + 1)
    }

    /// Removes an undo file without entries.
    static func removeIfEmpty(_ path: [UInt8]) {
        guard let reader = try? UndoFileReader(path), (try? reader.isEmpty()) == true else { return }
        try? path.withCString { (path) throws(Errno) in try Syscall.unlinkat(Syscall.workingDirectory, path) }
    }

    /// - Returns: the path of the newest file of a tree.
    func newest(of tree: any ChangeableTree) -> [UInt8]? {
        for number in numbers(tree.identity).reversed() {
            let path = path(tree.identity, number)
            guard let reader = try? UndoFileReader(path), reader.header.identity == tree.identity, reader.header.place == tree.place else {
                continue
            }
            return path
        }
        return nil
    }

    private func numbers(_ identity: TreeIdentity) -> [Int] {
        let files = LinuxFiles()
        guard let node = try? files.open(directory, followsLink: true), let names = try? files.names(in: node) else { return [] }
        return names.compactMap { name in
            let parts = String(decoding: name, as: UTF8.self).split(separator: ".")
            guard parts.count == 3, parts[0] == String(identity.inode), parts[2] == "undo" else { return nil }
            return Int(parts[1])
        }.sorted()
    }
}
