import ACLFormats
import Authorization
import Identity
import LinuxSystem
import ToolSupport

/// `aclfs owner`: shows and changes the owner of objects, which may be a group (docs/reference/identity.md "Owners").
enum Owner: ListedCommand {
    static let name = "aclfs owner"
    static let summary = "show and change owners; a group may own"
    static let example = "owner --group staff plans"
    static func run(_ words: [[UInt8]]) -> Int32 {
        runOwner(arguments: words, sink: .standard, files: LinuxFiles(), accounts: SystemAccounts())
    }
}

/// The same with other streams, files and accounts, for tests.
package func runOwner<Files: ToolFiles>(
    arguments: [[UInt8]], sink: OutputSink, files: Files, accounts: some AccountSource
) -> Int32 {
    let parsed: OwnerArguments
    let owner: GUID?
    do {
        guard let known = try OwnerArguments.parse(arguments) else {
            sink.lines(OwnerArguments.help)
            return 0
        }
        parsed = known
        owner = try known.newOwner.map { (asked) throws(UsageError) in try identity(of: asked, accounts) }
    } catch {
        sink.complain("owner: \(error.message)", usage: OwnerArguments.usage)
        return 2
    }
    let names = AccountIdentityNames(accounts)
    var status: Int32 = 0
    var shown: [JSON] = []
    for path in parsed.paths {
        var node: Files.Node?
        do throws(Errno) {
            let opened = try files.open(path, followsLink: parsed.followsLinks)
            node = opened
            if let owner {
                try files.setAttribute(ownerAttribute, of: opened, to: Array(owner.uuidText.utf8))
                if let warning = files.warningOfNoEffect(on: opened, path, entries: false) { sink.complain("owner: warning: \(warning)") }
                continue
            }
            guard let value = try files.attribute(ownerAttribute, of: opened), let present = GUID(uuidText: value) else {
                throw .opnotsupp
            }
            if parsed.wantsJSON {
                shown.append(form(present, path, names))
            } else {
                sink.line("\(displayedIdentity(present, names: names))  \(escapedName(path))")
            }
        } catch {
            status = 1
            let reason =
                error == .opnotsupp ? "not on an aclfs mount" : files.message(error, of: owner == nil ? .stat : .chown, on: node, path)
            sink.complain(path, reason)
        }
    }
    if parsed.wantsJSON { sink.output(JSONText.write(.array(shown)) + [UInt8(ascii: "\n")]) }
    return status
}

private func identity(of asked: OwnerArguments.NewOwner, _ accounts: some AccountSource) throws(UsageError) -> GUID {
    switch asked {
    case .user(let name): return try identity(named: name, .user, accounts)
    case .group(let name): return try identity(named: name, .group, accounts)
    case .uuid(let text):
        guard let identity = GUID(uuidText: text) else {
            throw UsageError("'\(escapedName(text))' is not a UUID; --user and --group take names and numbers")
        }
        switch Principal(identity) {
        case .everyone, .owner, .owningGroup: throw UsageError("\(identity.uuidText) stands for no single user or group, and cannot own")
        case .user(.max), .group(.max): throw UsageError("\(identity.uuidText) stands for neither a user nor a group, and cannot own")
        case .user, .group, .nobody, .other: return identity
        }
    }
}

private func identity(
    named name: [UInt8], _ kind: AccountNames.Kind, _ accounts: some AccountSource
) throws(UsageError) -> GUID {
    let role = kind == .user ? "user" : "group"
    guard let text = String(validating: name, as: UTF8.self) else { throw UsageError("no \(role) '\(escapedName(name))'") }
    let found: GUID?
    do throws(Errno) { found = try AccountNames.resolve(name: text, kind: kind, from: accounts) } catch {
        throw UsageError("\(role) '\(escapedName(name))': the account databases do not answer: \(error.text)")
    }
    guard let found else { throw UsageError("no \(role) '\(escapedName(name))'") }
    if found == .everyone { throw UsageError("everyone is not a group that can own objects; name a user or a group") }
    return found
}

private func form(_ owner: GUID, _ path: [UInt8], _ names: some IdentityNames) -> JSON {
    var members: [JSON.Member] = [JSON.path(path), .init("uuid", .string(owner.uuidText))]
    switch Principal(owner) {
    case .user(let number) where number != .max: members.append(.init("user", .integer(Int64(number))))
    case .group(let number) where number != .max: members.append(.init("group", .integer(Int64(number))))
    default: break
    }
    if let known = names.name(of: owner) { members.append(.init("account", .string(escapedName(known.name.utf8)))) }
    return .object(members)
}
