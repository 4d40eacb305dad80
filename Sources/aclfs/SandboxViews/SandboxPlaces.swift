import ACLFileSystem
import ACLFormats
import BackingStore
import LinuxSystem

/// Where a share can be seen besides its mount point: what a sandbox has to cover (docs/sandbox-run.md).
struct SandboxPlaces {
    /// A directory of some file system, by names from that file system's own root.
    struct Place: Equatable {
        /// As in `MountInfo.device`.
        var device: UInt64
        var names: [[UInt8]]
        /// The backing directory itself; otherwise what is mounted below it.
        var isSource: Bool
        /// Of the backing directory, so that nothing else is taken for it.
        var inode: UInt64?
        /// Done without where a cover would not stay.
        var isOptional = false
        /// Closed to the caller: what lies behind it he has no file of.
        var isDoor = false
    }

    /// A mount of the same daemon.
    struct Mount {
        var device: UInt64
        /// Of the same backing directory, so that the view can stand for it.
        var isSame: Bool
    }

    var backing: [Place]
    var mounts: [Mount]
    /// Directories of kept grants, which nobody inside may read or change.
    var stores: [Place] = []
    /// Whether processes, control groups or FUSE connections are seen in the backing directory, or mounted below it. Not told as a place.
    private(set) var showsControls = false
}

extension SandboxPlaces {
    var json: JSON { .object(members) }

    var members: [JSON.Member] {
        [
            .init(
                "backing",
                .array(
                    backing.map { place in
                        .object([
                            .init("device", .string(DeviceNumber.text(place.device))),
                            place.path,
                            .init("source", .bool(place.isSource)),
                        ] + (place.inode.map { [.init("inode", .string(String($0)))] } ?? []))
                    })),
            .init("stores", .array(stores.map { .object([.init("device", .string(DeviceNumber.text($0.device))), $0.path]) })),
            .init(
                "mounts",
                .array(
                    mounts.map { mount in
                        .object([
                            .init("device", .string(DeviceNumber.text(mount.device))), .init("same", .bool(mount.isSame)),
                        ])
                    })),
        ]
    }

    /// nil if it says anything that cannot be understood: then nobody knows what to cover.
    init?(_ json: JSON) {
        guard let places = json["backing"]?.array, let served = json["mounts"]?.array else { return nil }
        (backing, mounts) = ([], [])
        for place in places {
            guard let device = place["device"]?.string.flatMap(DeviceNumber.parse), let path = place.path(),
                let isSource = place["source"]?.bool
            else { return nil }
            let inode = place["inode"]?.string.flatMap { UInt64($0) }
            backing.append(Place(device: device, names: path.pathNames, isSource: isSource, inode: inode))
        }
        // Another daemon that is asked about somebody's places is told none.
        for store in json["stores"]?.array ?? [] {
            guard let device = store["device"]?.string.flatMap(DeviceNumber.parse), let path = store.path() else { return nil }
            stores.append(Place(device: device, names: path.pathNames, isSource: false))
        }
        for mount in served {
            guard let device = mount["device"]?.string.flatMap(DeviceNumber.parse), let isSame = mount["same"]?.bool else {
                return nil
            }
            mounts.append(Mount(device: device, isSame: isSame))
        }
        if !backing.contains(where: { $0.isSource }) || mounts.isEmpty { return nil }
    }
}

extension SandboxPlaces.Place {
    /// Where what any descriptor is open on lies, by the mount table of this process.
    init(of object: Int32) throws(Errno) {
        let id = try Syscall.mountID(of: object)
        let path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(object)")
        guard let mount = try MountInfo.ofThisProcess().first(where: { $0.id == id }), path.isInside(mount.path) else {
            throw .noent
        }
        let below = path.pathNames.dropFirst(mount.path.pathNames.count)
        self.init(device: mount.device, names: mount.shownPath.pathNames + below, isSource: false)
    }

    fileprivate var path: JSON.Member { JSON.path([0x2F] + Array(names.joined(separator: [0x2F]))) }
}

extension SandboxPlaces {
    /// In the daemon, from its own mount table.
    /// - Throws: a reason if the backing directory is not found there.
    init(of mount: AttachedMount, _ tree: BackingTree, among served: [(mount: AttachedMount, tree: BackingTree)])
        throws(MountFailure)
    {
        func failure(_ message: String) -> MountFailure {
            MountFailure(status: MountExit.systemError, message: "\(mount.source): \(message)")
        }
        let table: [MountInfo]
        let status: FileStatus
        let type: UInt64
        var path: [UInt8]
        do throws(Errno) {
            table = try MountInfo.ofThisProcess()
            let directory = try tree.descriptor(of: tree.root)
            status = try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync)
            type = try Syscall.fileSystemType(directory.rawValue)
            path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(directory.rawValue)")
        } catch { throw failure("\(error)") }
        var entry = table.first { $0.id == status.mountID }
        if entry == nil {
            // With nocrossmounts the daemon has a copy of the mount that stands in no table.
            path = Array(mount.source.utf8)
            entry = table.filter { $0.mayHold(device: status.device, type: type) && path.isInside($0.path) }
                .max { $0.path.count < $1.path.count }
        }
        guard let entry, path.isInside(entry.path) else {
            throw failure("the backing directory is in no mount that the daemon sees; nobody can say what to cover")
        }
        backing = [
            Place(
                device: entry.device,
                names: entry.shownPath.pathNames + path.pathNames.dropFirst(entry.path.pathNames.count), isSource: true,
                inode: status.inode)
        ]
        showsControls = entry.isOfControls
        // The table is in no order: what was moved may stand before what it stands on.
        var (below, rest): (Set<UInt64>, [MountInfo]) = ([entry.id], table)
        // Mounts of ours below it, with their paths: what stands on them is no part of the backing directory, but for what stands on their
        // very tops, which a name of it leads to.
        var ours: [UInt64: [UInt8]] = [:]
        while let index = rest.firstIndex(where: {
            (below.contains($0.parent) || ours[$0.parent] == $0.path) && $0.path.isInside(path)
        }) {
            let mounted = rest.remove(at: index)
            if mounted.type.elementsEqual("fuse.aclfs".utf8) {
                if mounted.path.pathNames != path.pathNames { ours[mounted.id] = mounted.path }
                continue
            }
            below.insert(mounted.id)
            if mounted.isOfControls, mount.options.crossMounts { showsControls = true }
            // What was removed is seen nowhere else.
            if mounted.isRemoved { continue }
            backing.append(Place(device: mounted.device, names: mounted.shownPath.pathNames, isSource: false))
        }
        mounts = served.compactMap { other in
            other.mount.deviceNumber.map { Mount(device: $0, isSame: other.tree.root.key == tree.root.key) }
        }
    }
}

extension [UInt8] {
    /// Whether the path is the directory or lies below it.
    func isInside(_ directory: [UInt8]) -> Bool { pathNames.starts(with: directory.pathNames) }
}
