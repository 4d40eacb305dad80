import Authorization
import Glibc
import LinuxSystem
import ToolSupport

/// The real file tree. A node is an O_PATH descriptor: opening it needs no right on the object itself, and works for symlinks, sockets
/// and unreadable files.
package struct LinuxFiles: ToolFiles {
    let refusals = Refusals()
    private let ignored = IgnoredRules()
    /// Whether a name in a directory may lead through a symlink, `..` or a mount.
    private let staysBeneath: Bool

    /// - Parameter staysBeneath: true for a tree that other users write to: no name leads out of its directory.
    package init(staysBeneath: Bool = false) { self.staysBeneath = staysBeneath }

    package func open(_ path: [UInt8], followsLink: Bool) throws(Errno) -> SharedDescriptor {
        try open(path, at: Syscall.workingDirectory, followsLink: followsLink)
    }
    package func open(
        _ name: [UInt8], in directory: SharedDescriptor, followsLink: Bool
    ) throws(Errno) -> SharedDescriptor {
        guard staysBeneath else { return try open(name, at: directory.rawValue, followsLink: followsLink) }
        return SharedDescriptor(
            rawValue: try name.withCString { (name) throws(Errno) in
                try Syscall.openBeneath(directory.rawValue, name, OpenFlag.path | OpenFlag.noFollow).release()
            })
    }

    /// Opens what a command changes, as its user names it. A symlink at its end is followed only if it is root's or the caller's: a user who may
    /// write the directory could lead the command elsewhere.
    /// - Throws: loop for a symlink of another user.
    func openOperand(_ path: [UInt8]) throws(Errno) -> SharedDescriptor {
        var path = path
        for _ in 0..<Self.mostLinks {
            let node = try open(path, followsLink: false)
            let status = try Syscall.statx(node.rawValue)
            guard status.isSymlink else { return node }
            guard status.uid == 0 || status.uid == geteuid() else { throw .loop }
            let target = try linkTarget(of: node)
            let isAbsolute = target.first == UInt8(ascii: "/")
            path = (isAbsolute ? [] : path[..<(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)]) + target
        }
        throw .loop
    }

    /// As the kernel has it for a path.
    private static let mostLinks = 40

    package func status(of node: SharedDescriptor) throws(Errno) -> ObjectStatus {
        let status = try Syscall.statx(node.rawValue)
        return ObjectStatus(
            kind: kind(status.type), mode: UInt16(truncatingIfNeeded: status.mode & 0o7777), uid: status.uid,
            gid: status.gid, linkCount: status.nlink, size: status.size, blocks: status.blocks,
            modified: status.mtime, device: status.device, inode: status.inode,
            specialDevice: status.rdev)
    }

    package func isMounted(_ device: UInt64) -> Bool {
        let device = DeviceNumber.text(device)
        return MountTable.entries().contains { $0.device == device && $0.type == "fuse.aclfs" }
    }

    package func setMode(of node: SharedDescriptor, to mode: UInt16, asked: UInt16, _ status: ObjectStatus) throws(Errno) -> UInt16 {
        try ModeWriting.set(mode, of: node, SetIDClaim(uid: status.uid, gid: status.gid, asked: asked, isLiteral: true))
    }

    package func names(in directory: SharedDescriptor) throws(Errno) -> [[UInt8]] {
        let listing = try Syscall.reopen(directory.rawValue, OpenFlag.readOnly | OpenFlag.directory)
        return try Syscall.names(listing.rawValue)
    }

    package func linkTarget(of node: SharedDescriptor) throws(Errno) -> [UInt8] {
        try Syscall.readlinkat(node.rawValue)
    }

    package func attribute(_ name: String, of node: SharedDescriptor) throws(Errno) -> [UInt8]? {
        try attribute(Array(name.utf8), of: node)
    }
    package func attribute(_ name: [UInt8], of node: SharedDescriptor) throws(Errno) -> [UInt8]? {
        do {
            return try name.withCString { (name) throws(Errno) in try Syscall.getxattr(.any(node.rawValue), name) }
        } catch {
            if error == .nodata { return nil }
            throw error
        }
    }

    package func setAttribute(_ name: String, of node: SharedDescriptor, to value: [UInt8]) throws(Errno) {
        try Syscall.setxattr(.any(node.rawValue), name, value)
    }

    package func removeAttribute(_ name: String, of node: SharedDescriptor) throws(Errno) {
        do {
            try Syscall.removexattr(.any(node.rawValue), name)
        } catch {
            if error != .nodata { throw error }
        }
    }

    package func warningOfNoEffect(on node: SharedDescriptor, _ path: [UInt8], entries: Bool) -> String? {
        guard let device = try? Syscall.statx(node.rawValue).device else { return nil }
        return ignored.warning(device: device, (try? absolutePath(of: node)) ?? path, entries: entries)
    }

    package func attributeNames(of node: SharedDescriptor) throws(Errno) -> [[UInt8]] {
        try Syscall.listxattr(.any(node.rawValue))
    }

    /// Half of the free descriptors, two for each level.
    package var openLevels: Int {
        guard let limit = try? Syscall.descriptorLimit().soft else { return 1 }
        // Inherited descriptors count as well.
        var taken = 8
        if let own = try? open(Array("/proc/self/fd".utf8), followsLink: true), let all = try? names(in: own) {
            taken = all.count
        }
        return max(1, min((Int(clamping: limit) - taken) / 4, 100))
    }

    private func open(_ name: [UInt8], at directory: Int32, followsLink: Bool) throws(Errno) -> SharedDescriptor {
        let flags = OpenFlag.path | OpenFlag.closeOnExec | (followsLink ? 0 : OpenFlag.noFollow)
        let descriptor = try name.withCString { (name) throws(Errno) in
            // Returned as a number: the closure cannot give a non-copyable value through.
            try Syscall.openat(directory, name, flags).release()
        }
        return SharedDescriptor(rawValue: descriptor)
    }

    private func kind(_ type: UInt32) -> ObjectKind {
        switch type {
        case FileType.directory: .directory
        case FileType.symlink: .symlink
        case FileType.fifo: .fifo
        case FileType.socket: .socket
        case FileType.characterDevice: .characterDevice
        case FileType.blockDevice: .blockDevice
        default: .file
        }
    }
}
