import Conformance

/// Makes a failing case smaller for as long as it still fails.
public func shrink(_ vector: Vector, whileFailing fails: (Vector) -> Bool) -> Vector {
    var current = vector
    var improved = true
    while improved {
        improved = false
        for candidate in simplifications(of: current) where candidate != current && fails(candidate) {
            current = candidate
            improved = true
            break
        }
    }
    return current
}

/// Every case that is one step simpler, the largest steps first. No step is ever undone by another, so
/// shrinking ends.
func simplifications(of vector: Vector) -> [Vector] {
    var candidates: [Vector] = []
    func add(_ change: (inout Vector) -> Void) {
        var candidate = vector
        change(&candidate)
        if candidate != vector { candidates.append(candidate) }
    }

    // The world and the caller.
    add { $0.volume = VectorVolume() }
    add { $0.volume.readOnly = false }
    add { $0.volume.ignoreOwnership = false }
    add { $0.volume.noExec = false }
    add { $0.securelevel = 0 }
    add { $0.sandboxDeny = false }
    add { $0.cred.groups = [] }
    for index in vector.cred.groups.indices { add { $0.cred.groups.remove(at: index) } }
    add { ($0.cred.ruid, $0.cred.rgid) = (nil, nil) }
    add { $0.cred.ruid = nil }
    add { $0.cred.rgid = nil }
    add { $0.cred.directoryOptOut = nil }
    add { $0.cred.groupsUnknown = nil }

    // The call.
    add { $0.op.initialACL = nil }
    add { $0.op.initialACLFlags = nil }
    for index in (vector.op.initialACL ?? []).indices { add { $0.op.initialACL?.remove(at: index) } }
    for index in (vector.op.flags ?? []).indices { add { $0.op.flags?.remove(at: index) } }
    if let rights = vector.op.rights, rights.count > 1 {
        for index in rights.indices { add { $0.op.rights?.remove(at: index) } }
    }
    if let words = vector.op.accessMode, words.count > 1 {
        for index in words.indices { add { $0.op.accessMode?.remove(at: index) } }
    }

    // The objects.
    add { $0.target = nil }
    add { $0.targetParent = nil }
    let nodes: [WritableKeyPath<Vector, VectorNode?>] = [\.parent, \.object, \.targetParent, \.target]
    for path in nodes {
        guard let node = vector[keyPath: path] else { continue }
        add { $0[keyPath: path]?.acl = nil }
        add { $0[keyPath: path]?.flags = [] }
        for index in node.flags.indices { add { $0[keyPath: path]?.flags.remove(at: index) } }
        for (index, entry) in (node.acl ?? []).enumerated() {
            add { $0[keyPath: path]?.acl?.remove(at: index) }
            add { $0[keyPath: path]?.acl?[index].flags = [] }
            for flag in entry.flags.indices { add { $0[keyPath: path]?.acl?[index].flags.remove(at: flag) } }
            if entry.rights.count > 1 {
                for right in entry.rights.indices {
                    add { $0[keyPath: path]?.acl?[index].rights.remove(at: right) }
                }
            }
        }
        // Mode bits, one at a time.
        for bit in 0..<12 where node.mode.value & (1 << bit) != 0 {
            add { $0[keyPath: path]?.mode.value &= ~(1 << bit) }
        }
    }
    return candidates
}
