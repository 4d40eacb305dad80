/// The rights that a profile permits on each object of one operation, by role. One type serves confined mounts and others, on which
/// every right is permitted.
public struct Confinement: SandboxPolicy, Sendable, Hashable {
    /// Every bit that an operation can need, those that never occur in an entry included.
    public static let everything = Rights(rawValue: .max)

    public var object: Rights
    public var parent: Rights
    public var target: Rights
    public var targetParent: Rights

    @inlinable public init(
        object: Rights = everything, parent: Rights = everything, target: Rights = everything,
        targetParent: Rights = everything
    ) {
        (self.object, self.parent, self.target, self.targetParent) = (object, parent, target, targetParent)
    }

    /// The rights that are permitted on the object in this role.
    @inlinable public subscript(role: ObjectRole) -> Rights {
        get {
            switch role {
            case .object: object
            case .parent: parent
            case .target: target
            case .targetParent: targetParent
            }
        }
        set {
            switch role {
            case .object: object = newValue
            case .parent: parent = newValue
            case .target: target = newValue
            case .targetParent: targetParent = newValue
            }
        }
    }

    @inlinable public func permits(_ rights: Rights, on role: ObjectRole) -> Bool { self[role].isSuperset(of: rights) }
}
