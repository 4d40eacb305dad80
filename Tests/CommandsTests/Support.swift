import ACLFormats
import Authorization
import Commands
import ControlProtocol
import LinuxSystem
import ToolSupport

/// The names of docs/reference/authorization.md 7.7.
struct ExampleNames: IdentityNames {
    static let users: [(String, UInt32)] = [
        ("root", 0), ("alice", 501), ("bob", 502), ("carol", 503), ("admin", 510), ("mary jones", 511),
    ]
    static let groups: [(String, UInt32)] = [("wheel", 0), ("staff", 20), ("admin", 80), ("eng", 30)]
    func identity(named name: String, kind: IdentityKind?) -> GUID? {
        if kind != .group, let user = Self.users.first(where: { $0.0 == name }) { return GUID(user: user.1) }
        if kind != .user, let group = Self.groups.first(where: { $0.0 == name }) { return GUID(group: group.1) }
        return nil
    }
    func name(of identity: GUID) -> IdentityName? {
        switch Principal(identity) {
        case .user(let uid): Self.users.first { $0.1 == uid }.map { IdentityName(.user, $0.0) }
        case .group(let gid): Self.groups.first { $0.1 == gid }.map { IdentityName(.group, $0.0) }
        default: nil
        }
    }
}

/// A file tree in memory, addressed by whole paths.
final class FakeFiles: ToolFiles {
    struct Object {
        var status: ObjectStatus
        var target: String?
        var attributes: [String: [UInt8]] = [:]
        var refuses: Errno?
        /// Of stat alone.
        var refusesStatus: Errno?
    }
    var objects: [String: Object] = [:]
    var supportsAttributes = true
    private(set) var changes: [String] = []
    var openListings = 0 {
        didSet { mostListings = max(mostListings, openListings) }
    }
    private(set) var mostListings = 0
    /// Whether `..` is the directory above.
    var leadsUp = false
    /// Whether the tree is a mount.
    var isMount = true
    /// Directories that become others after so many looks.
    private var changing: [String: Int] = [:]
    func changes(at path: String, after looks: Int) { changing[path] = looks }

    func add(
        _ path: String, _ kind: ObjectKind = .file, mode: UInt16 = 0o644, target: String? = nil, device: UInt64 = 1
    ) {
        objects[path] = Object(
            status: ObjectStatus(
                kind: kind, mode: mode, uid: 501, gid: 20, size: 5, device: device, inode: UInt64(objects.count + 1)),
            target: target)
    }
    func setACL(_ path: String, _ entries: String...) throws {
        let acl = ACL(try entries.flatMap { try ACLTextParser.parse($0, names: ExampleNames()) })
        objects[path]?.attributes["system.aclfs.acl"] = ACLAttributeText.write(
            acl, isDirectory: false, names: ExampleNames())
    }
    func acl(_ path: String) throws -> ACL? {
        try objects[path]?.attributes["system.aclfs.acl"].map { try ACLAttributeText.parse($0, names: ExampleNames()) }
    }
    func flags(_ path: String) -> String? {
        objects[path]?.attributes["system.aclfs.flags"].map { String(decoding: $0, as: UTF8.self) }
    }

    func open(_ path: [UInt8], followsLink: Bool) throws(Errno) -> String {
        let path = String(decoding: path, as: UTF8.self)
        guard let object = objects[path] else { throw .noent }
        guard followsLink, let target = object.target else { return path }
        guard objects[target] != nil else { throw .noent }
        return target
    }
    func open(_ name: [UInt8], in directory: String, followsLink: Bool) throws(Errno) -> String {
        if name == [0x2E] { return directory }
        if name == [0x2E, 0x2E] {
            guard leadsUp, let end = directory.lastIndex(of: "/") else { return directory }
            return String(directory[..<end])
        }
        return try open(Array("\(directory)/\(String(decoding: name, as: UTF8.self))".utf8), followsLink: followsLink)
    }
    func status(of node: String) throws(Errno) -> ObjectStatus {
        guard var object = objects[node] else { throw .noent }
        if let errno = object.refusesStatus { throw errno }
        if let looks = changing[node] {
            changing[node] = looks - 1
            if looks <= 0 { object.status.inode = 99_999 }
        }
        return object.status
    }
    func isMounted(_ device: UInt64) -> Bool { isMount }
    func setMode(of node: String, to mode: UInt16, asked: UInt16, _ status: ObjectStatus) throws(Errno) -> UInt16 {
        try change(node)
        objects[node]?.status.mode = mode
        return 0
    }
    func names(in directory: String) throws(Errno) -> [[UInt8]] {
        objects.keys.filter { $0.hasPrefix("\(directory)/") && !$0.dropFirst(directory.count + 1).contains("/") }
            .map { Array($0.dropFirst(directory.count + 1).utf8) }
    }
    func linkTarget(of node: String) throws(Errno) -> [UInt8] { Array((objects[node]?.target ?? "").utf8) }
    func attribute(_ name: String, of node: String) throws(Errno) -> [UInt8]? {
        if !supportsAttributes { throw .opnotsupp }
        guard name == ExchangeRequest.attribute else { return objects[node]?.attributes[name] }
        if !knowsExchange { throw .opnotsupp }
        return try? ExchangeRequest.value(of: acl(node))
    }
    func attribute(_ name: [UInt8], of node: String) throws(Errno) -> [UInt8]? {
        try attribute(String(decoding: name, as: UTF8.self), of: node)
    }
    func setAttribute(_ name: String, of node: String, to value: [UInt8]) throws(Errno) {
        if !supportsAttributes { throw .opnotsupp }
        if name == ExchangeRequest.attribute { return try exchange(node, value) }
        try change(node)
        objects[node]?.attributes[name] = value
    }
    /// Whether the daemon does; an earlier one does not.
    var knowsExchange = true
    /// What others do to an object before each change of it.
    var meanwhile: ((FakeFiles) -> Void)?
    private func exchange(_ node: String, _ value: [UInt8]) throws(Errno) {
        if !knowsExchange { throw .opnotsupp }
        meanwhile?(self)
        guard let request = ExchangeRequest(reading: value) else { throw .inval }
        try change(node)
        switch request.change {
        case .list(let old, let new):
            guard (try? acl(node)) == .some(old) else { throw .canceled }
            objects[node]?.attributes["system.aclfs.acl"] = new.map {
                ACLAttributeText.write($0, isDirectory: false, names: NoNames())
            }
        case .lift, .flags:
            var (set, clear): (FileFlags, FileFlags) = ([], [])
            if case .flags(let asked, let cleared) = request.change { (set, clear) = (asked, cleared) }
            if case .lift(let lifted) = request.change { clear = lifted }
            let old = objects[node]?.attributes["system.aclfs.flags"] ?? []
            let flags = ((try? FileFlagsText.parseAttribute(old)) ?? []).union(set).subtracting(clear)
            objects[node]?.attributes["system.aclfs.flags"] = Array(FileFlagsText.attribute(flags).utf8)
        }
    }
    func removeAttribute(_ name: String, of node: String) throws(Errno) {
        if !supportsAttributes { throw .opnotsupp }
        try change(node)
        objects[node]?.attributes[name] = nil
    }
    /// What the daemon of this tree would say, by path.
    var rules: [String: String] = [:]
    func rule(refusing operation: OperationWord, on node: String?, _ path: [UInt8], _ error: Errno) -> String? {
        rules[String(decoding: path, as: UTF8.self)].map { "\(operation.rawValue): \($0)" }
    }
    /// What a mount of this tree ignores.
    var ignored: String?
    func warningOfNoEffect(on node: String, _ path: [UInt8], entries: Bool) -> String? {
        defer { ignored = nil }
        return ignored
    }
    func attributeNames(of node: String) throws(Errno) -> [[UInt8]] {
        (objects[node]?.attributes.keys).map { $0.map { Array($0.utf8) } } ?? []
    }
    private func change(_ node: String) throws(Errno) {
        if let errno = objects[node]?.refuses { throw errno }
        changes.append(node)
    }
}

final class Captured {
    var output = ""
    var error = ""
    var input: String?
    var sink: OutputSink {
        OutputSink(
            output: { self.output += String(decoding: $0, as: UTF8.self) },
            error: { self.error += String(decoding: $0, as: UTF8.self) }, input: { self.input.map { Array($0.utf8) } })
    }
    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }
}

func bytes(_ arguments: [String]) -> [[UInt8]] { arguments.map { Array($0.utf8) } }

extension FakeFiles {
    func chmod(_ arguments: String..., input: String? = nil) -> (status: Int32, output: String, error: String) {
        chmod(arguments, input: input)
    }
    func chmod(_ arguments: [String], input: String? = nil) -> (status: Int32, output: String, error: String) {
        let captured = Captured()
        captured.input = input
        let status = runChmod(
            arguments: bytes(arguments), sink: captured.sink, files: self, names: ExampleNames(), umask: 0o022)
        return (status, captured.output, captured.error)
    }
    func chflags(_ arguments: String...) -> (status: Int32, output: String, error: String) {
        let captured = Captured()
        let status = runChflags(arguments: bytes(arguments), sink: captured.sink, files: self)
        return (status, captured.output, captured.error)
    }
    func ls(_ arguments: String...) -> (status: Int32, lines: [String], error: String) {
        let captured = Captured()
        let status = runLs(
            arguments: bytes(arguments), sink: captured.sink, files: self, names: ExampleNames(),
            clock: Clock(now: 1_000_000, isUTC: true))
        return (status, captured.lines, captured.error)
    }
}
