import FuseSession
import LinuxSystem

/// Runs a call that may allocate blocks: for root with the blocks that the file system reserves for root, for all others without.
/// The daemon's threads run without them by default (docs/decisions/0005-space.md).
func allocateBlocks<Value: ~Copyable>(for caller: Caller, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
    if caller.uid == 0 { return try FileSystemUser.asRoot(body) }
    return try body()
}

extension Caller {
    /// The caller that blocks of a write are charged to. The kernel sends pages of mappings later and as user 0, whatever process
    /// wrote them: these get no reserved blocks.
    func charged(for flags: WriteFlags) -> Caller {
        var charged = self
        if flags.contains(.fromCache) { charged.uid = .max }
        return charged
    }
}
