import LinuxSystem

/// What a call asks to be on the disk when it returns (docs/internals/data-path.md "On the disk").
enum Durability: UInt8, Comparable {
    case nothing
    /// The bytes, and what is needed to read them: O_DSYNC, RWF_DSYNC, a mount with `sync`.
    case data
    /// All attributes too: O_SYNC, RWF_SYNC.
    case everything

    /// What the flags of OPEN or WRITE say. fcntl(2) changes none of these. In those of WRITE the kernel notes the flags of the call, too.
    init(flags: Int32) {
        // O_SYNC contains O_DSYNC.
        guard flags & OpenFlag.dataSync != 0 else {
            self = .nothing
            return
        }
        self = flags & OpenFlag.sync == OpenFlag.sync ? .everything : .data
    }

    static func < (left: Durability, right: Durability) -> Bool { left.rawValue < right.rawValue }
}
