import ACLFormats
import LinuxSystem

/// One object of an undo file: what it was before a change, and what the change made of it.
struct UndoEntry: Hashable {
    /// Below the top, without `..`; `.` for the top itself.
    var path: [UInt8]
    var identity: TreeIdentity
    /// The number of names that it had.
    var links: UInt32
    var before: TreeState
    var after: TreeState

    /// The path of the top.
    static let topPath: [UInt8] = [UInt8(ascii: ".")]
    /// Of an object's path, in bytes. A line holds it and both states.
    static let longestPath = 16_384

    var json: JSON {
        .object(
            [JSON.path(path)] + identity.members + [
                .init("links", .integer(Int64(links))), .init("before", before.json), .init("after", after.json),
            ])
    }

    init(path: [UInt8], identity: TreeIdentity, links: UInt32, before: TreeState, after: TreeState) {
        (self.path, self.identity, self.links, self.before, self.after) = (path, identity, links, before, after)
    }

    /// - Throws: what is wrong with the line, which may be any text.
    init(reading json: JSON) throws(UndoProblem) {
        guard let path = json.path() else { throw UndoProblem("no path") }
        guard path.count <= Self.longestPath, Self.staysBelow(path) else {
            throw UndoProblem("the path '\(escapedName(path))' does not stay below the directory")
        }
        guard let identity = TreeIdentity(reading: json), let links = json["links"]?.integer, let count = UInt32(exactly: links) else {
            throw UndoProblem("no identity of the object")
        }
        guard let before = json["before"], let after = json["after"] else { throw UndoProblem("no state of the object") }
        self.init(
            path: path, identity: identity, links: count, before: try TreeState(reading: before),
            after: try TreeState(reading: after))
    }

    /// The names of a path; none for the top.
    var names: [[UInt8]] {
        path == Self.topPath ? [] : path.split(separator: UInt8(ascii: "/")).map { Array($0) }
    }

    private static func staysBelow(_ path: [UInt8]) -> Bool {
        if path == Self.topPath { return true }
        let dot = UInt8(ascii: ".")
        return path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
            !$0.isEmpty && $0 != [dot] && $0 != [dot, dot]
        }
    }
}

extension TreeIdentity {
    var members: [JSON.Member] {
        [.init("inode", .string(String(inode)))] + (born.map { [.init("born", .string("\($0.sec).\($0.nsec)"))] } ?? [])
    }

    init?(reading json: JSON) {
        guard let inode = json["inode"]?.string.flatMap({ UInt64($0) }) else { return nil }
        self.init(inode: inode, born: nil)
        guard let text = json["born"] else { return }
        let parts = text.string?.split(separator: ".") ?? []
        guard parts.count == 2, let seconds = Int64(parts[0]), let nanoseconds = UInt32(parts[1]) else { return nil }
        born = Timespec(sec: seconds, nsec: nanoseconds)
    }
}
