// docs/reference/authorization.md 3.8: which rights the flags of an immutable or append-only object forbid.

private let appendCompatibleOnFile: Rights = [.append, .writeExtendedAttributes]
private let appendCompatibleOnDirectory: Rights = [.addFile, .addSubdirectory, .writeExtendedAttributes]

/// Whether the object's flags forbid these rights. One forbidden right is enough.
///
/// - Parameter ignoring: flags that do not count, because the flags themselves change.
func flagsForbid(_ rights: Rights, on object: ObjectFacts, ignoring: FileFlags = []) -> Bool {
    let flags = object.flags.subtracting(ignoring)
    var asked = rights.intersection(.anyWrite)
    // Writing *through* a FIFO, socket or device does not change the node.
    if object.kind.isSpecial { asked.remove(.write) }
    if asked.isEmpty { return false }
    // SF_NOUNLINK: no removal and no rename of the object itself, nothing else (Q12).
    if flags.contains(.noUnlink), asked.contains(.delete) { return true }
    if !flags.isDisjoint(with: .immutable) { return true }
    if !flags.isDisjoint(with: .appendOnly) {
        let compatible = object.kind == .directory ? appendCompatibleOnDirectory : appendCompatibleOnFile
        return !asked.subtracting(compatible).isEmpty
    }
    return false
}
