import BackingStore
import Foundation
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import SandboxPolicy
import Synchronization
import Testing

@testable import ACLFileSystem

/// A backing directory in a temporary place and file systems over it, asked without a kernel between.
final class ConfinedTree {
    let top: String
    let mounts = TreeMounts()
    let confined: FileSystem
    let free: FileSystem
    let caller = Caller(uid: geteuid(), gid: getegid(), tid: 0)

    static let data = "Users/ann/Library/Containers/org.example.App/Data"
    static let iosData = "Users/ann/Containers/Data/org.example.App"

    init(
        _ keys: [String: EntitlementValue] = [
            "files.downloads.read-write": .flag(true), "assets.music.read-only": .flag(true),
        ],
        layout: ContainerLayout = .macos, cache: MountOptions.CacheMode = .auto
    ) throws {
        var template = Array("/tmp/aclfs-confined.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw Errno.io }
        top = String(cString: made)
        var values: [String: EntitlementValue] = ["com.apple.security.app-sandbox": .flag(true)]
        for (key, value) in keys { values["com.apple.security." + key] = value }
        let profile = SandboxProfile(
            name: "test", entitlements: try Entitlements(values), bundle: "org.example.App",
            home: [Array("Users".utf8), Array("ann".utf8)], layout: layout)
        var options = MountOptions()
        options.cache = cache
        options.metadata = .user
        let path = top
        func tree() throws -> BackingTree {
            try BackingTree(
                directory: Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs",
                descriptorBudget: 64, report: { _ in })
        }
        confined = FileSystem(tree: try tree(), options: options, mounts: mounts, profile: profile)
        free = FileSystem(tree: try tree(), options: options, mounts: mounts)
        try confined.join()
        try free.join()
        let data = layout == .ios ? Self.iosData : Self.data
        for directory in [
            "etc", "Users/ann/Downloads", "Users/ann/Music", "Users/ann/Documents", data + "/Documents",
            data + "/Documents/Inbox",
            data + "/Library/Caches", data + "/tmp", data + (layout == .ios ? "/other" : "/Own"), data + "/Tool.app",
        ] { try fill(directory) }
    }

    deinit {
        confined.leave()
        free.leave()
        try? FileManager.default.removeItem(atPath: top)
    }

    private func fill(_ directory: String) throws {
        var path = top
        for name in directory.split(separator: "/") {
            path += "/" + name
            mkdir(path, 0o777)
            Glibc.chmod(path, 0o777)
        }
        for name in ["file", "victim"] { close(creat(path + "/" + name, 0o666)) }
        mkdir(path + "/sub", 0o777)
        close(creat(path + "/sub/file", 0o666))
    }

    // MARK: Calls

    func node(_ path: String, on fileSystem: FileSystem? = nil) throws(Errno) -> NodeID {
        let fileSystem = fileSystem ?? confined
        var node = NodeID.root
        for name in path.split(separator: "/") {
            switch try fileSystem.operations.lookups.lookup(String(name), in: node, caller) {
            case .found(let entry): node = entry.node
            case .absent: throw .noent
            }
        }
        return node
    }

    func split(_ path: String) -> (String, String) {
        let names = path.split(separator: "/")
        return (names.dropLast().joined(separator: "/"), String(names.last ?? ""))
    }

    func word(_ body: () throws(Errno) -> Void) -> String {
        do {
            try body()
            return "ok"
        } catch { return error.name }
    }

    func stat(_ path: String) -> String {
        word { () throws(Errno) in _ = try confined.operations.attributes.status(node(path), nil, caller) }
    }

    func open(_ path: String, _ flags: Int32) -> String {
        word { () throws(Errno) in
            confined.operations.gaps.release(try confined.operations.opens.open(node(path), flags: flags, caller).handle)
        }
    }

    func list(_ path: String) -> String {
        word { () throws(Errno) in confined.files.remove(try confined.operations.directories.openDirectory(node(path), caller).handle) }
    }

    func make(_ new: NewObject, _ path: String) -> String {
        let (parent, name) = split(path)
        return word { () throws(Errno) in _ = try confined.operations.names.make(new, name, in: node(parent), mode: 0o777, caller) }
    }

    func link(_ path: String, _ newPath: String) -> String {
        let (parent, name) = split(newPath)
        return word { () throws(Errno) in _ = try confined.operations.names.link(node(path), as: name, in: node(parent), caller) }
    }

    func rename(_ path: String, _ newPath: String, exchange: Bool = false, on fileSystem: FileSystem? = nil) -> String {
        let (from, to) = (split(path), split(newPath))
        return word { () throws(Errno) in
            try (fileSystem ?? confined).operations.names.rename(
                from.1, in: node(from.0, on: fileSystem), to: to.1, in: node(to.0, on: fileSystem),
                flags: exchange ? RenameFlag.exchange : 0, caller)
        }
    }

    func remove(_ path: String, directory: Bool = false) -> String {
        let (parent, name) = split(path)
        return word { () throws(Errno) in try confined.operations.names.remove(name, in: node(parent), directory: directory, caller) }
    }

    /// What asks writesecurity of the object itself.
    func setFlags(_ node: NodeID) -> String {
        word { () throws(Errno) in
            let value = Array("hidden".utf8)
            let result = value.withUnsafeBytes { bytes in
                Result { () throws(Errno) in
                    try confined.operations.xattrs.setXattr(node, "system.aclfs.flags", bytes, flags: 0, caller)
                }
            }
            try result.get()
        }
    }

    var lastRule: String? { confined.judge.denials.last(1, of: nil).first?.rule }
}
