/// The errors that a decision can end in, named as errno names them.
public enum DenialCode: UInt8, Sendable, CaseIterable {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    case EACCES, EPERM, EROFS, EISDIR, ENOTDIR, EINVAL, ENOMEM, EIO, EBADF
}

/// The one class of mode bits that applies to a caller (docs/reference/authorization.md 3.10).
public enum ModeClass: UInt8, Sendable { case owner, group, other }

/// Conditions that are tested before any right (docs/reference/authorization.md 2.2 "first") or that belong to the volume.
public enum Precondition: UInt8, Sendable, CaseIterable {
    case readOnly, noExecution, isDirectory, notDirectory, notRegular, noExecuteBit, notALink, handleMode
    case protectedAttribute, superuser, unmapped
    /// The state of an entry or object could not be read: fail closed.
    case unreadable
    /// A hard link to an object of another owner, which the system protects (Q23).
    case protectedLink
}

/// The stage that decided (docs/reference/authorization.md 3.11). For an allowed operation it is the last stage that granted a right of the
/// last check.
public enum Stage: Sendable, Hashable {
    case precondition(Precondition)
    /// The object at whose effective location the profile permits too little.
    case sandbox(ObjectRole)
    case attributePolicy
    case ownershipIgnored
    case root
    case rootNoExecuteBit
    case ownerRight
    /// A capability of a caller who is not root, or counts as root only by it (3.12).
    case capability(Capabilities)
    case entry(ObjectRole, Int)
    case flags(ObjectRole)
    case mode(ModeClass, ObjectRole)
    case sticky
    case noEquivalent
    case implicit
    /// FIFOs, sockets and devices, which the kernel would open without a request (docs/reference/security.md).
    case special
}

/// Allowed, or refused with an error; in both cases with the stage that decided.
public struct Decision: Sendable, Hashable {
    public var denial: DenialCode?
    public var stage: Stage
    /// - Parameters:
    ///   - denial: the error for the caller; nil: allowed.
    ///   - stage: the stage that denies, or the last one that granted a right.
    @inlinable public init(denial: DenialCode?, stage: Stage) { (self.denial, self.stage) = (denial, stage) }
    @inlinable public static func allow(_ stage: Stage) -> Decision { Decision(denial: nil, stage: stage) }
    @inlinable public static func deny(_ code: DenialCode, _ stage: Stage) -> Decision {
        Decision(denial: code, stage: stage)
    }
    @inlinable public var isAllowed: Bool { denial == nil }

    /// The same decision with EACCES as EPERM, as chmod, chown and similar calls report it (2.3).
    @inlinable var reportedAsNotPermitted: Decision {
        denial == .EACCES ? .deny(.EPERM, stage) : self
    }
}
