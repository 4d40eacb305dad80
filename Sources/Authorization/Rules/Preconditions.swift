/// The structural errors that precede the sandbox stage, operation by operation (docs/reference/authorization.md 2.2 "first"). The function
/// that looks up the objects decides existence, names and moves across volumes.
@inline(__always)
func structuralError(of operation: Operation, _ kind: ObjectKind?, _ mode: FileMode?, makesDevices: @autoclosure () -> Bool) -> Decision? {
    switch operation {
    case .open(let intent):
        if intent.contains(.execute), let kind, kind != .file {
            if kind != .directory { return .deny(.EACCES, .precondition(.notRegular)) }
            if !intent.contains(.directory) { return .deny(.EISDIR, .precondition(.isDirectory)) }
        }
        if kind == .directory, !intent.isDisjoint(with: [.write, .truncate]) {
            return .deny(.EISDIR, .precondition(.isDirectory))
        }
    case .execute:
        if kind != .file { return .deny(.EACCES, .precondition(.notRegular)) }
        if mode?.isDisjoint(with: .anyExecute) ?? true {
            return .deny(.EACCES, .precondition(.noExecuteBit))
        }
    case .readLink:
        if kind != .symlink { return .deny(.EINVAL, .precondition(.notALink)) }
    case .setXattr(isProtected: true), .removeXattr(isProtected: true):
        return .deny(.EPERM, .precondition(.protectedAttribute))
    case .unlink, .link:
        if kind == .directory { return .deny(.EPERM, .precondition(.isDirectory)) }
    case .removeDirectory:
        if kind != .directory { return .deny(.ENOTDIR, .precondition(.notDirectory)) }
    case .create(let request):
        if request.kind == .characterDevice || request.kind == .blockDevice, !makesDevices() {
            return .deny(.EPERM, .precondition(.superuser))
        }
    default: break
    }
    return nil
}

/// Type errors that come after the sandbox stage (9a.3): the truncation of something else than a file, and a rename of a directory
/// over something else or the other way round.
func typeErrorAfterSandbox(of operation: Operation, facts: FactsByRole) -> Decision? {
    guard let kind = facts.object?.kind else { return nil }
    switch operation {
    case .truncate where kind == .directory: return .deny(.EISDIR, .precondition(.isDirectory))
    case .truncate where kind != .file: return .deny(.EINVAL, .precondition(.notRegular))
    case .rename:
        guard let target = facts.target?.kind, (kind == .directory) != (target == .directory) else { return nil }
        return kind == .directory
            ? .deny(.ENOTDIR, .precondition(.notDirectory)) : .deny(.EISDIR, .precondition(.isDirectory))
    default: return nil
    }
}
