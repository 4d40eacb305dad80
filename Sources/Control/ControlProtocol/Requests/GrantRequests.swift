import ACLFormats
import SandboxPolicy

extension ReceivedRequest {
    fileprivate func bundle() throws(RequestProblem) -> String {
        guard let bundle = json[.bundle]?.string, ContainerLayout.isIdentifier(bundle) else {
            throw .malformed("no bundle, or not an identifier such as org.example.App")
        }
        return bundle
    }
}

/// `grant-add`: a place for an application.
public struct GrantAddMessage: ControlRequest {
    public typealias Answer = GrantAddAnswer
    public static let command = ControlCommand.grantAdd

    public var bundle: String
    /// Names from the mount's top.
    public var path: [[UInt8]]
    public var access: EntitledAccess
    /// Seconds since 1970; nil for never.
    public var expires: Int64?
    /// Whether it is only looked whether it can be given.
    public var isCheck: Bool
    /// Whether the grant follows the object that is there now.
    public var follows: Bool

    public init(
        bundle: String, path: [[UInt8]], access: EntitledAccess, expires: Int64? = nil, isCheck: Bool = false, follows: Bool = false
    ) {
        (self.bundle, self.path, self.access, self.expires) = (bundle, path, access, expires)
        (self.isCheck, self.follows) = (isCheck, follows)
    }

    /// - Parameter now: seconds since 1970. What expires before is refused.
    public init(reading message: ReceivedRequest, at now: Int64) throws(RequestProblem) {
        guard let access = EntitledAccess(word: message.json[.access]?.string) else {
            throw .malformed("access must be read-only or read-write")
        }
        self.access = access
        if let expires = message.json[.expires] {
            guard let time = expires.integer else { throw .malformed("expires must be seconds since 1970") }
            guard time > now else { throw .malformed("the time at which it expires has passed") }
            self.expires = time
        }
        path = try message.names()
        bundle = try message.bundle()
        isCheck = message.isSet(.check)
        follows = message.isSet(.follow)
    }

    public var members: [JSON.Member] {
        var members: [JSON.Member] = [.init(.bundle, bundle), .init(.access, access.word)]
        if let expires { members.append(.init(.expires, expires)) }
        members.append(.init(.path, names: path))
        if isCheck { members.append(.init(.check, true)) }
        if follows { members.append(.init(.follow, true)) }
        return members
    }
}

/// `grant-remove`: revokes grants.
public struct GrantRemoveMessage: ControlRequest {
    public typealias Answer = GrantRemoveAnswer
    public static let command = ControlCommand.grantRemove

    public var bundle: String
    /// Names from the mount's top.
    public var path: [[UInt8]]
    /// Whether those for what lies below go, too.
    public var isBelow: Bool

    public init(bundle: String, path: [[UInt8]], isBelow: Bool) { (self.bundle, self.path, self.isBelow) = (bundle, path, isBelow) }

    public init(reading message: ReceivedRequest) throws(RequestProblem) {
        bundle = try message.bundle()
        path = try message.names()
        isBelow = message.isSet(.below)
    }

    public var members: [JSON.Member] { [.init(.bundle, bundle), .init(.path, names: path), .init(.below, isBelow)] }
}

/// `grant-list`: what is granted, in as many messages as it takes.
public struct GrantListMessage: ControlRequest {
    public typealias Answer = GrantListAnswer
    public static let command = ControlCommand.grantList

    /// nil for all applications.
    public var bundle: String?
    /// The number of grants in earlier answers.
    public var from: Int

    public init(bundle: String? = nil, from: Int) { (self.bundle, self.from) = (bundle, from) }

    public init(reading message: ReceivedRequest) throws(RequestProblem) {
        bundle = message.json[.bundle] == nil ? nil : try message.bundle()
        from = Int(clamping: message.json[.from]?.integer ?? 0)
    }

    public var members: [JSON.Member] { [.init(.from, from)] + (bundle.map { [.init(.bundle, $0)] } ?? []) }
}
