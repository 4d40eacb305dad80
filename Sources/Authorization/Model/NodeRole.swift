/// The part an object plays in an operation.
public enum NodeRole: UInt8, Sendable, CaseIterable { case object, parent, target, targetParent }
