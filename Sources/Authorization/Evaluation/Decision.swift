/// The errors an authorization can end in, named as errno names them.
public enum DenialCode: UInt8, Sendable, CaseIterable {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    case EACCES, EPERM, EROFS, EISDIR, ENOTDIR, EINVAL, ENOMEM, EIO, EBADF
}

/// The one class of mode bits that applies to a caller (docs/authorization.md 3.10).
public enum ModeClass: UInt8, Sendable { case owner, group, other }

/// Conditions that are tested before any right (docs/authorization.md 2.2 "first") or that belong to the volume.
public enum Precondition: UInt8, Sendable, CaseIterable {
    case readOnly, noExecution, isDirectory, notDirectory, notRegular, noExecuteBit, notALink, handleMode
    case protectedAttribute, superuser, unmapped
    /// An entry's or object's state could not be learned: fail closed.
    case unreadable
    /// A hard link to another's object, which the system protects (Q23).
    case protectedLink
}

/// Where a decision fell (docs/authorization.md 3.11). For an allowed operation: the last stage that
/// supplied a right of its last check.
public enum Stage: Sendable, Hashable {
    case precondition(Precondition)
    /// The object whose place lets too little pass.
    case sandbox(ObjectRole)
    case attributePolicy
    case ownershipIgnored
    case root
    case rootNoExecuteBit
    case ownerRight
    case entry(ObjectRole, Int)
    case flags(ObjectRole)
    case mode(ModeClass, ObjectRole)
    case sticky
    case noEquivalent
    case implicit
    /// FIFOs and sockets that the kernel would open without asking (docs/security.md).
    case special
}

/// Allowed, or refused with an error; in both cases the stage that settled it.
public struct Decision: Sendable, Hashable {
    public var denial: DenialCode?
    public var stage: Stage
    @inlinable public init(denial: DenialCode?, stage: Stage) { (self.denial, self.stage) = (denial, stage) }
    @inlinable public static func allow(_ stage: Stage) -> Decision { Decision(denial: nil, stage: stage) }
    @inlinable public static func deny(_ code: DenialCode, _ stage: Stage) -> Decision {
        Decision(denial: code, stage: stage)
    }
    @inlinable public var isAllowed: Bool { denial == nil }

    /// The same decision with EACCES turned into EPERM, as chmod, chown and their kin report it (2.3).
    @inlinable var reportedAsNotPermitted: Decision {
        denial == .EACCES ? .deny(.EPERM, stage) : self
    }
}
