import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

extension FileSystem {
    func openDirectory(_ id: NodeID, _ caller: Caller) throws(Errno) -> Opening {
        let node = try node(id)
        return try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(node)
            try permit(.list, Nodes(object: object.facts), caller, about: object)
            guard object.facts.kind == .directory else { throw .notdir }
            let descriptor = SharedDescriptor(
                try Syscall.reopen(
                    object.descriptor.rawValue,
                    OpenFlag.readOnly | OpenFlag.directory | OpenFlag.nonBlock))
            return Opening(handle: handles.add(OpenDirectory(node: node, descriptor: descriptor)))
        }
    }

    /// Fills the reply with names from `offset` on; offsets are the backing directory's own.
    func list(_ id: HandleID, offset: UInt64, into reply: inout DirectoryReply) throws(Errno) {
        let directory = try handles.directory(id)
        let descriptor = directory.descriptor.rawValue
        let device = directory.node.object.key.device
        let isRoot = directory.node.id == .root
        let rootInode = tree.shownInode(device: device, inode: directory.node.object.key.inode)
        var buffer = [UInt8](repeating: 0, count: 32768)
        try directory.position.withLock { _ throws(Errno) in
            try Syscall.lseek(descriptor, offset: Int64(bitPattern: offset), whence: Seek.set)
            var isFull = false
            while !isFull {
                let count = try buffer.withUnsafeMutableBufferPointer { (buffer) throws(Errno) in
                    try Syscall.getdents(descriptor, into: UnsafeMutableRawBufferPointer(buffer))
                }
                if count == 0 { return }
                buffer.withUnsafeBytes { bytes in
                    for entry in DirectoryEntries(UnsafeRawBufferPointer(rebasing: bytes[..<count])) {
                        // What lies above the root of the mount is nobody's business.
                        let inode =
                            isRoot && entry.isDot ? rootInode : tree.shownInode(device: device, inode: entry.inode)
                        let added = reply.add(
                            name: entry.name, ino: inode, type: UInt32(entry.type),
                            offset: UInt64(bitPattern: entry.nextOffset))
                        if !added {
                            isFull = true
                            break
                        }
                    }
                }
            }
        }
    }
}
