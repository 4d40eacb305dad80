import CFuseShim

/// Seconds since 1970 and the nanoseconds after them.
public struct Timestamp: Hashable, Sendable {
    public var seconds: Int64
    public var nanoseconds: UInt32

    public init(seconds: Int64, nanoseconds: UInt32 = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    init(_ raw: aclfs_fuse_time) {
        self.init(seconds: raw.seconds, nanoseconds: raw.nanoseconds)
    }

    var raw: aclfs_fuse_time { aclfs_fuse_time(seconds: seconds, nanoseconds: nanoseconds) }
}

/// The attributes of an object in stat(2).
public struct ObjectAttributes: Equatable, Sendable {
    public var ino: UInt64
    public var size: UInt64
    /// In units of 512 bytes.
    public var blocks: UInt64
    public var accessTime: Timestamp
    public var modificationTime: Timestamp
    public var changeTime: Timestamp
    /// Only for statx(2).
    public var birthTime: Timestamp?
    /// Type and permission bits.
    public var mode: UInt32
    public var nlink: UInt32
    public var uid: UInt32
    public var gid: UInt32
    /// Of a device: the major number in the upper and the minor in the lower 32 bits.
    public var rdev: UInt64
    public var blksize: UInt32

    public init(
        ino: UInt64, mode: UInt32, nlink: UInt32 = 1, uid: UInt32 = 0, gid: UInt32 = 0, size: UInt64 = 0,
        blocks: UInt64 = 0, blksize: UInt32 = 4096, rdev: UInt64 = 0,
        accessTime: Timestamp = Timestamp(seconds: 0), modificationTime: Timestamp = Timestamp(seconds: 0),
        changeTime: Timestamp = Timestamp(seconds: 0), birthTime: Timestamp? = nil
    ) {
        self.ino = ino
        self.mode = mode
        self.nlink = nlink
        self.uid = uid
        self.gid = gid
        self.size = size
        self.blocks = blocks
        self.blksize = blksize
        self.rdev = rdev
        self.accessTime = accessTime
        self.modificationTime = modificationTime
        self.changeTime = changeTime
        self.birthTime = birthTime
    }

    var raw: aclfs_fuse_attributes {
        aclfs_fuse_attributes(
            ino: ino, size: size, blocks: blocks, rdev: rdev, atime: accessTime.raw, mtime: modificationTime.raw,
            ctime: changeTime.raw, btime: (birthTime ?? Timestamp(seconds: 0)).raw, mode: mode, nlink: nlink,
            uid: uid, gid: gid, blksize: blksize, has_btime: birthTime != nil)
    }
}

/// The object of a name, with the timeouts of the entry and of the attributes.
public struct Entry: Equatable, Sendable {
    public var node: NodeID
    public var generation: UInt64
    public var attributes: ObjectAttributes
    /// The timeout of the attributes, in seconds; 0 = the kernel asks at each use.
    public var attributesValidFor: Double
    /// The timeout of the entry, in seconds; 0 = the kernel looks it up at each use.
    public var entryValidFor: Double

    public init(
        node: NodeID, generation: UInt64, attributes: ObjectAttributes, attributesValidFor: Double = 0,
        entryValidFor: Double = 0
    ) {
        self.node = node
        self.generation = generation
        self.attributes = attributes
        self.attributesValidFor = attributesValidFor
        self.entryValidFor = entryValidFor
    }

    var raw: aclfs_fuse_entry {
        aclfs_fuse_entry(
            node: node.rawValue, generation: generation, attributes: attributes.raw,
            attributes_valid: attributesValidFor, entry_valid: entryValidFor)
    }
}

/// The changes in a SETATTR; `valid` has all bits of the kernel.
public struct SetAttributes: Equatable, Sendable {
    /// A time to set.
    public enum Time: Equatable, Sendable {
        case now
        case at(Timestamp)
    }

    /// The kernel's bits (FATTR_*): which fields the request sets.
    public struct Valid: OptionSet, Hashable, Sendable {
        public var rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        public static let mode = Valid(rawValue: 1 << 0)
        public static let uid = Valid(rawValue: 1 << 1)
        public static let gid = Valid(rawValue: 1 << 2)
        public static let size = Valid(rawValue: 1 << 3)
        public static let accessTime = Valid(rawValue: 1 << 4)
        public static let modificationTime = Valid(rawValue: 1 << 5)
        public static let handle = Valid(rawValue: 1 << 6)
        public static let accessTimeNow = Valid(rawValue: 1 << 7)
        public static let modificationTimeNow = Valid(rawValue: 1 << 8)
        public static let lockOwner = Valid(rawValue: 1 << 9)
        public static let changeTime = Valid(rawValue: 1 << 10)
        public static let killSetID = Valid(rawValue: 1 << 11)
    }

    public var valid: Valid
    private var raw: aclfs_fuse_setattr

    init(_ raw: aclfs_fuse_setattr) {
        valid = Valid(rawValue: raw.valid)
        self.raw = raw
    }

    public var mode: UInt32? { valid.contains(.mode) ? raw.mode : nil }

    /// The same request with other bits of the mode.
    public func replacing(mode: UInt32) -> SetAttributes {
        var other = self
        other.raw.mode = mode
        return other
    }

    public var uid: UInt32? { valid.contains(.uid) ? raw.uid : nil }
    public var gid: UInt32? { valid.contains(.gid) ? raw.gid : nil }
    public var size: UInt64? { valid.contains(.size) ? raw.size : nil }
    public var handle: HandleID? { valid.contains(.handle) ? HandleID(raw.handle) : nil }

    public var accessTime: Time? {
        if valid.contains(.accessTimeNow) { return .now }
        return valid.contains(.accessTime) ? .at(Timestamp(raw.atime)) : nil
    }

    public var modificationTime: Time? {
        if valid.contains(.modificationTimeNow) { return .now }
        return valid.contains(.modificationTime) ? .at(Timestamp(raw.mtime)) : nil
    }

    public var changeTime: Timestamp? { valid.contains(.changeTime) ? Timestamp(raw.ctime) : nil }

    /// Whether set-id bits must be cleared: by the flag, or because nothing else is requested. The kernel sends the
    /// latter before the first write to a file with such bits.
    public var killSetID: Bool {
        valid.contains(.killSetID) || valid.subtracting([.handle, .lockOwner]).isEmpty
    }

    public static func == (a: SetAttributes, b: SetAttributes) -> Bool {
        a.valid == b.valid && a.mode == b.mode && a.uid == b.uid && a.gid == b.gid && a.size == b.size
            && a.handle == b.handle && a.accessTime == b.accessTime && a.modificationTime == b.modificationTime
            && a.changeTime == b.changeTime
    }
}

/// The result of an open: the handle, and how the kernel may use it.
public struct Opening: Equatable, Sendable {
    public struct Flags: OptionSet, Hashable, Sendable {
        public var rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Reads and writes bypass the page cache, and shared mappings are refused.
        public static let directIO = Flags(rawValue: UInt32(ACLFS_FUSE_OPEN_DIRECT_IO))
        /// The page cache of the file stays valid.
        public static let keepCache = Flags(rawValue: UInt32(ACLFS_FUSE_OPEN_KEEP_CACHE))
        /// For directories: the kernel may cache the listing.
        public static let cacheDirectory = Flags(rawValue: UInt32(ACLFS_FUSE_OPEN_CACHE_DIR))
        /// No FLUSH at close(2).
        public static let noFlush = Flags(rawValue: UInt32(ACLFS_FUSE_OPEN_NOFLUSH))
    }

    public var handle: HandleID
    public var flags: Flags
    /// The backing id from `Notifier.openBacking`: the kernel reads and writes that file without the daemon. Excludes
    /// `keepCache`.
    public var backingID: Int32?

    public init(handle: HandleID, flags: Flags = [], backingID: Int32? = nil) {
        self.handle = handle
        self.flags = flags
        self.backingID = backingID
    }

    var raw: aclfs_fuse_open {
        guard let backingID else {
            return aclfs_fuse_open(handle: handle.rawValue, flags: flags.rawValue, backing_id: 0)
        }
        let flags = flags.subtracting(.keepCache).rawValue | UInt32(ACLFS_FUSE_OPEN_PASSTHROUGH)
        return aclfs_fuse_open(handle: handle.rawValue, flags: flags, backing_id: backingID)
    }
}

/// The result of statfs(2).
public struct FileSystemStatistics: Equatable, Sendable {
    public var blocks: UInt64
    public var blocksFree: UInt64
    public var blocksAvailable: UInt64
    public var files: UInt64
    public var filesFree: UInt64
    public var blockSize: UInt32
    public var fragmentSize: UInt32
    public var nameLength: UInt32

    public init(
        blocks: UInt64, blocksFree: UInt64, blocksAvailable: UInt64, files: UInt64, filesFree: UInt64,
        blockSize: UInt32, fragmentSize: UInt32, nameLength: UInt32 = 255
    ) {
        self.blocks = blocks
        self.blocksFree = blocksFree
        self.blocksAvailable = blocksAvailable
        self.files = files
        self.filesFree = filesFree
        self.blockSize = blockSize
        self.fragmentSize = fragmentSize
        self.nameLength = nameLength
    }

    var raw: aclfs_fuse_statfs {
        aclfs_fuse_statfs(
            blocks: blocks, blocks_free: blocksFree, blocks_available: blocksAvailable, files: files,
            files_free: filesFree, block_size: blockSize, fragment_size: fragmentSize, name_length: nameLength)
    }
}
