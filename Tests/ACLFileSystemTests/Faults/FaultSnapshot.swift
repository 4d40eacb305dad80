import FuseSession
import Glibc
import LinuxSystem

@testable import ACLFileSystem

/// All that is stored of what lies in one directory, besides times of the present.
struct FaultSnapshot: Equatable {
    struct Object: Equatable {
        var mode: UInt32
        var uid: UInt32
        var gid: UInt32
        var links: UInt32
        var size: UInt64
        var device: UInt64
        var content: [UInt8]
        var attributes: [String: [UInt8]]
        /// Only if it was set to a time long past.
        var modified: Int64?

        var isDirectory: Bool { mode & FileType.mask == FileType.directory }
        var isSymlink: Bool { mode & FileType.mask == FileType.symlink }
    }

    private(set) var objects: [String: Object] = [:]

    init(of path: String) throws { try add(path, as: ".") }

    private mutating func add(_ path: String, as name: String) throws {
        let found = try Syscall.open(path, OpenFlag.path | OpenFlag.noFollow)
        let status = try Syscall.statx(found.rawValue)
        var object = Object(
            mode: status.mode, uid: status.uid, gid: status.gid, links: status.nlink, size: status.isDirectory ? 0 : status.size,
            device: status.rdev, content: [], attributes: [:], modified: status.mtime.sec < 1_000_000_000 ? status.mtime.sec : nil)
        if status.isRegular { object.content = try Syscall.readAll(path: path) }
        if status.isSymlink { object.content = try Syscall.readlinkat(Syscall.workingDirectory, path) }
        for name in try Syscall.listxattr(.any(found.rawValue)) {
            let text = String(decoding: name, as: UTF8.self)
            object.attributes[text] = try Syscall.getxattr(.any(found.rawValue), text)
        }
        objects[name] = object
        guard status.isDirectory else { return }
        for inner in FaultTree.names(path) { try add(path + "/" + inner, as: name + "/" + inner) }
    }

    /// Where two differ, for a message.
    func difference(from other: FaultSnapshot) -> String {
        var lines: [String] = []
        for name in Set(objects.keys).union(other.objects.keys).sorted() where objects[name] != other.objects[name] {
            lines.append("\(name): \(Self.text(other.objects[name])) became \(Self.text(objects[name]))")
        }
        return lines.isEmpty ? "no difference" : lines.joined(separator: "; ")
    }

    private static func text(_ object: Object?) -> String {
        guard let object else { return "nothing" }
        let attributes = object.attributes.map { "\($0.key)=\($0.value.count) bytes" }.sorted().joined(separator: " ")
        return "(\(String(object.mode, radix: 8)) \(object.uid):\(object.gid) links \(object.links) size \(object.size) "
            + "\(object.content.count) bytes, first \(object.content.first ?? 0), \(attributes) \(object.modified ?? 0))"
    }
}

/// What two callers may do with each object, as one mount answers it.
struct FaultRights: Equatable, CustomStringConvertible {
    private var granted: Set<String> = []

    init(of snapshot: FaultSnapshot, in name: String, on fileSystem: FileSystem) {
        for path in snapshot.objects.keys {
            var looked: [NodeID] = []
            defer { for node in looked { fileSystem.operations.lookups.forgetLookups(of: node, 1) } }
            do throws(Errno) {
                var node = NodeID.root
                for name in [name] + path.split(separator: "/").dropFirst().map(String.init) {
                    guard case .found(let entry) = try fileSystem.operations.lookups.lookup(name, in: node, FaultTree.root) else {
                        throw .noent
                    }
                    node = entry.node
                    looked.append(node)
                }
                for caller in [FaultTree.owner, FaultTree.stranger] {
                    for (mask, word) in [(4, "read"), (2, "write"), (1, "execute")] as [(Int32, String)] {
                        do throws(Errno) { try fileSystem.operations.attributes.access(node, mask: mask, caller) } catch {
                            if error == .acces || error == .perm { continue }
                            throw error
                        }
                        granted.insert("\(caller.uid) \(word) \(path)")
                    }
                }
            } catch { granted.insert("\(path): \(error.name)") }
        }
    }

    func isSubset(of others: [FaultRights]) -> Bool { granted.isSubset(of: others.reduce(into: []) { $0.formUnion($1.granted) }) }

    var description: String { granted.sorted().joined(separator: ", ") }
}
