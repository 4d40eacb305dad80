import CFuseShim

@inline(__always)
private func handler(_ userdata: UnsafeMutableRawPointer) -> RequestHandler {
    Unmanaged<RequestHandler>.fromOpaque(userdata).takeUnretainedValue()
}

/// For requests that may depend on the caller: the handler prepares for the caller before it takes any lock.
@inline(__always)
private func handler(_ userdata: UnsafeMutableRawPointer, for caller: aclfs_fuse_caller) -> RequestHandler {
    let handler = handler(userdata)
    handler.willServe(Caller(caller, 0, handler.squashedRoot))
    return handler
}

/// The caller of a request, as the handler is to judge it.
@inline(__always)
private func judged(_ userdata: UnsafeMutableRawPointer, _ raw: aclfs_fuse_caller, _ request: UInt64) -> Caller {
    Caller(raw, request, handler(userdata).squashedRoot)
}

extension Caller {
    @inline(__always)
    fileprivate init(_ raw: aclfs_fuse_caller, _ request: UInt64, _ squashedRoot: SquashedRoot?) {
        self.init(uid: raw.uid, gid: raw.gid, tid: raw.tid, umask: raw.umask, request: request)
        if uid == 0, let squashedRoot { (uid, gid, isSquashed) = (squashedRoot.uid, squashedRoot.gid, true) }
    }
}

/// Maps the shim's callbacks to the methods of the handler in `userdata`.
let dispatchTable = aclfs_fuse_handlers(
    initialized: { handler($0).initialized(Negotiated($1.pointee)) },
    repeated: { handler($0).repeated($1) },
    lookup: { user, request, caller, parent, name in
        handler(user, for: caller).lookup(
            name, in: NodeID(parent), caller: judged(user, caller, request.unique), reply: EntryReply(request))
    },
    forget: { user, node, count in
        handler(user).forget(NodeID(node), count: count)
    },
    getattr: { user, request, caller, node, hasHandle, handle in
        handler(user, for: caller).getattr(
            NodeID(node), handle: hasHandle ? HandleID(handle) : nil, caller: judged(user, caller, request.unique),
            reply: AttributeReply(request))
    },
    statx: { user, request, caller, node, hasHandle, handle, mask in
        handler(user, for: caller).statx(
            NodeID(node), handle: hasHandle ? HandleID(handle) : nil, mask: mask, caller: judged(user, caller, request.unique),
            reply: AttributeReply(request))
    },
    setattr: { user, request, caller, node, changes in
        handler(user, for: caller).setattr(
            NodeID(node), SetAttributes(changes.pointee), caller: judged(user, caller, request.unique), reply: AttributeReply(request))
    },
    readlink: { user, request, caller, node in
        handler(user, for: caller).readlink(NodeID(node), caller: judged(user, caller, request.unique), reply: LinkTargetReply(request))
    },
    mknod: { user, request, caller, parent, name, mode, rdev in
        handler(user, for: caller).mknod(
            name, in: NodeID(parent), mode: mode, rdev: rdev, caller: judged(user, caller, request.unique), reply: EntryReply(request))
    },
    mkdir: { user, request, caller, parent, name, mode in
        handler(user, for: caller).mkdir(
            name, in: NodeID(parent), mode: mode, caller: judged(user, caller, request.unique), reply: EntryReply(request))
    },
    unlink: { user, request, caller, parent, name in
        handler(user, for: caller).unlink(
            name, in: NodeID(parent), caller: judged(user, caller, request.unique), reply: EmptyReply(request))
    },
    rmdir: { user, request, caller, parent, name in
        handler(user, for: caller).rmdir(name, in: NodeID(parent), caller: judged(user, caller, request.unique), reply: EmptyReply(request))
    },
    symlink: { user, request, caller, target, parent, name in
        handler(user, for: caller).symlink(
            name, in: NodeID(parent), target: target, caller: judged(user, caller, request.unique), reply: EntryReply(request))
    },
    rename: { user, request, caller, parent, name, newParent, newName, flags in
        handler(user, for: caller).rename(
            name, in: NodeID(parent), to: newName, in: NodeID(newParent), flags: flags, caller: judged(user, caller, request.unique),
            reply: EmptyReply(request))
    },
    link: { user, request, caller, node, newParent, newName in
        handler(user, for: caller).link(
            NodeID(node), as: newName, in: NodeID(newParent), caller: judged(user, caller, request.unique), reply: EntryReply(request))
    },
    open: { user, request, caller, node, flags, killSetID in
        handler(user, for: caller).open(
            NodeID(node), flags: flags, killSetID: killSetID, caller: judged(user, caller, request.unique), reply: OpenReply(request))
    },
    read: { user, request, caller, node, handle, offset, size, flags in
        handler(user).read(
            NodeID(node), handle: HandleID(handle), offset: offset, size: size, flags: flags,
            caller: judged(user, caller, request.unique), reply: DataReply(request))
    },
    write: { user, request, caller, node, handle, offset, bytes, size, flags, writeFlags, _ in
        handler(user).write(
            NodeID(node), handle: HandleID(handle), offset: offset,
            bytes: UnsafeRawBufferPointer(start: bytes, count: size), flags: flags,
            writeFlags: WriteFlags(rawValue: writeFlags), caller: judged(user, caller, request.unique), reply: WriteReply(request))
    },
    flush: { user, request, caller, node, handle, lockOwner in
        handler(user).flush(
            NodeID(node), handle: HandleID(handle), lockOwner: lockOwner, caller: judged(user, caller, request.unique),
            reply: EmptyReply(request))
    },
    release: { user, request, caller, node, handle, flags, lockOwner in
        handler(user).release(
            NodeID(node), handle: HandleID(handle), flags: flags, lockOwner: lockOwner, caller: judged(user, caller, request.unique),
            reply: EmptyReply(request))
    },
    fsync: { user, request, caller, node, handle, dataOnly in
        handler(user).fsync(
            NodeID(node), handle: HandleID(handle), dataOnly: dataOnly, caller: judged(user, caller, request.unique),
            reply: EmptyReply(request))
    },
    opendir: { user, request, caller, node, flags in
        handler(user, for: caller).opendir(
            NodeID(node), flags: flags, caller: judged(user, caller, request.unique), reply: OpenReply(request))
    },
    readdir: { user, request, caller, node, handle, offset, size in
        handler(user, for: caller).readdir(
            NodeID(node), handle: HandleID(handle), offset: UInt64(bitPattern: offset), caller: judged(user, caller, request.unique),
            reply: DirectoryReply(request, capacity: size))
    },
    readdirplus: { user, request, caller, node, handle, offset, size in
        handler(user, for: caller).readdirplus(
            NodeID(node), handle: HandleID(handle), offset: UInt64(bitPattern: offset), caller: judged(user, caller, request.unique),
            reply: DirectoryReply(request, capacity: size))
    },
    releasedir: { user, request, caller, node, handle, flags in
        handler(user).releasedir(
            NodeID(node), handle: HandleID(handle), flags: flags, caller: judged(user, caller, request.unique),
            reply: EmptyReply(request))
    },
    fsyncdir: { user, request, caller, node, handle, dataOnly in
        handler(user).fsyncdir(
            NodeID(node), handle: HandleID(handle), dataOnly: dataOnly, caller: judged(user, caller, request.unique),
            reply: EmptyReply(request))
    },
    statfs: { user, request, caller, node in
        handler(user).statfs(NodeID(node), caller: judged(user, caller, request.unique), reply: StatfsReply(request))
    },
    syncfs: { user, request, caller, node in
        handler(user).syncfs(NodeID(node), caller: judged(user, caller, request.unique), reply: EmptyReply(request))
    },
    setxattr: { user, request, caller, node, name, value, size, flags in
        handler(user, for: caller).setxattr(
            NodeID(node), name: name, value: UnsafeRawBufferPointer(start: value, count: size), flags: flags,
            caller: judged(user, caller, request.unique), reply: EmptyReply(request))
    },
    getxattr: { user, request, caller, node, name, size in
        handler(user, for: caller).getxattr(
            NodeID(node), name: name, size: size, caller: judged(user, caller, request.unique),
            reply: XattrReply(request, requestedSize: size))
    },
    listxattr: { user, request, caller, node, size in
        handler(user, for: caller).listxattr(
            NodeID(node), size: size, caller: judged(user, caller, request.unique), reply: XattrReply(request, requestedSize: size))
    },
    removexattr: { user, request, caller, node, name in
        handler(user, for: caller).removexattr(
            NodeID(node), name: name, caller: judged(user, caller, request.unique), reply: EmptyReply(request))
    },
    access: { user, request, caller, node, mask in
        handler(user, for: caller).access(
            NodeID(node), mask: mask, caller: judged(user, caller, request.unique), reply: EmptyReply(request))
    },
    create: { user, request, caller, parent, name, flags, mode, killSetID in
        handler(user, for: caller).create(
            name, in: NodeID(parent), flags: flags, mode: mode, killSetID: killSetID, caller: judged(user, caller, request.unique),
            reply: CreateReply(request))
    },
    tmpfile: { user, request, caller, parent, flags, mode in
        handler(user, for: caller).tmpfile(
            in: NodeID(parent), flags: flags, mode: mode, caller: judged(user, caller, request.unique), reply: CreateReply(request))
    },
    fallocate: { user, request, caller, node, handle, mode, offset, length in
        handler(user).fallocate(
            NodeID(node), handle: HandleID(handle), mode: mode, offset: offset, length: length,
            caller: judged(user, caller, request.unique), reply: EmptyReply(request))
    },
    lseek: { user, request, caller, node, handle, offset, whence in
        handler(user).lseek(
            NodeID(node), handle: HandleID(handle), offset: offset, whence: whence, caller: judged(user, caller, request.unique),
            reply: OffsetReply(request))
    },
    copy_file_range: {
        user, request, caller, nodeIn, handleIn, offsetIn, nodeOut, handleOut, offsetOut, length, flags in
        handler(user).copyFileRange(
            from: FilePosition(node: NodeID(nodeIn), handle: HandleID(handleIn), offset: offsetIn),
            to: FilePosition(node: NodeID(nodeOut), handle: HandleID(handleOut), offset: offsetOut),
            length: length, flags: flags, caller: judged(user, caller, request.unique), reply: WriteReply(request))
    },
    ioctl: { user, request, caller, node, handle, command, flags, input, inputSize, outputSize in
        handler(user, for: caller).ioctl(
            NodeID(node), handle: HandleID(handle), command: command, flags: flags,
            input: UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : inputSize),
            outputSize: outputSize, caller: judged(user, caller, request.unique), reply: IoctlReply(request))
    }
)
