/// The structural errors that precede the sandbox stage, operation by operation (docs/authorization.md 2.2
/// "first"; existence, names and cross-volume moves are settled by whoever resolved the objects).
@inline(__always)
func structuralError(of operation: Operation, _ kind: ObjectKind?, _ mode: FileMode?, isRoot: Bool) -> Decision? {
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
        if request.kind == .characterDevice || request.kind == .blockDevice, !isRoot {
            return .deny(.EPERM, .precondition(.superuser))
        }
    default: break
    }
    return nil
}

/// Type errors that come only after the sandbox (9a.3): what cannot be truncated, and a rename by which a directory would
/// replace something else or the other way round.
func typeErrorAfterSandbox(of operation: Operation, nodes: Nodes) -> Decision? {
    guard let kind = nodes.object?.kind else { return nil }
    switch operation {
    case .truncate where kind == .directory: return .deny(.EISDIR, .precondition(.isDirectory))
    case .truncate where kind != .file: return .deny(.EINVAL, .precondition(.notRegular))
    case .rename:
        guard let target = nodes.target?.kind, (kind == .directory) != (target == .directory) else { return nil }
        return kind == .directory
            ? .deny(.ENOTDIR, .precondition(.notDirectory)) : .deny(.EISDIR, .precondition(.isDirectory))
    default: return nil
    }
}
