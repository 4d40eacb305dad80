import FuseSession
import LinuxSystem

/// Runs what may allocate blocks. For root with root's reserve; for all others without, which is how the
/// daemon's threads are anyway (docs/decisions/0005-space.md).
func allocateBlocks<Value: ~Copyable>(
    for caller: Caller, _ body: () throws(Errno) -> Value
) throws(Errno) -> Value {
    if caller.uid == 0 { return try FileSystemUser.asRoot(body) }
    return try body()
}

extension Caller {
    /// Who pays for a write. The kernel sends pages of mappings later and as user 0, whoever wrote them.
    func charged(for flags: WriteFlags) -> Caller {
        var charged = self
        if flags.contains(.fromCache) { charged.uid = .max }
        return charged
    }
}
