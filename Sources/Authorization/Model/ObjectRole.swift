/// The role of an object in an operation.
public enum ObjectRole: UInt8, Sendable, CaseIterable { case object, parent, target, targetParent }
