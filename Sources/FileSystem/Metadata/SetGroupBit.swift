import Authorization
import FuseSession
import LinuxSystem

// docs/reference/authorization.md 6.1 and docs/decisions/0032-the-set-gid-bit-of-a-folder.md.
extension MetadataChanges {
    /// The mode that a chmod is judged by and sets: without set-gid for a directory that has the group of the directory it lies in, if only
    /// that bit is refused. Every other request is judged as it is.
    ///
    /// New objects there have this group anyway, whether the bit is set or not, and the caller did not choose it.
    /// - Parameter mode: requested; bits of the kind stay.
    func grantedMode(_ mode: UInt32, of object: ObjectState, _ caller: Caller) -> UInt32 {
        let asked = FileMode(rawValue: UInt16(mode & 0o7777))
        guard asked.contains(.setGroup), object.facts.kind == .directory else { return mode }
        let operands = Operands(object: object)
        guard !judge.decide(.chmod(asked), operands, caller).isAllowed,
            judge.decide(.chmod(asked.subtracting(.setGroup)), operands, caller).isAllowed, loader.hasGroupOfParent(object)
        else { return mode }
        return mode & ~0o2000
    }
}
