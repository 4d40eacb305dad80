import ACLFormats

/// The answer to `status`. It is kept as it came: what a daemon of another build tells besides, or does not tell, is shown like the rest.
public struct StatusAnswer: ControlAnswer {
    public let json: JSON

    public init(reading result: JSON) { json = result }

    /// - Parameters:
    ///   - version: of the program.
    ///   - owner: who mounted.
    ///   - metadata: the name of the attribute that records are kept in.
    ///   - attributeRoom: the bytes of the largest other attribute beside a record, 64 KiB where each has so many; nil: unknown.
    ///   - sharedKind: the kind of file system, if other hosts may change the source.
    ///   - options: in force, the kernel's included.
    ///   - sandbox: nil where no profile confines the mount.
    ///   - runningSandboxes: how many commands run in views of it.
    ///   - runningContainers: the containers of these commands, as names from the mount's top.
    ///   - sourceReach: who gets at the backing directory without being judged.
    ///   - identitiesProblem: why the file of `identities=` is not in force as it is now; nil where it is, or there is none.
    ///   - keeping: the daemon's process, and what it replaces.
    ///   - paths: what the kernel agreed to; nothing until it has introduced itself.
    ///   - cache: what of the kernel's caches is used.
    ///   - zeroFill: gaps that are filled with zeros (docs/internals/zerofill.md).
    ///   - data: opens by the way of their data, the kernel's ids of backing files, and files that are held (docs/internals/data-path.md).
    ///   - counters: decisions since the mount began.
    package init(
        source: String, mountpoint: String, version: String, owner: UInt32, metadata: String, attributeRoom: Int?, sharedKind: String?,
        options: [String],
        sandbox: ProfileSummary?, runningSandboxes: Int, runningContainers: [[[UInt8]]], sourceReach: String, identitiesProblem: String?,
        keeping: Keeping, paths: [JSON.Member], cache: [JSON.Member], zeroFill: [JSON.Member], data: [JSON.Member], counters: [JSON.Member]
    ) {
        json = .object([
            .init(.source, path: source.utf8), .init(.mountpoint, path: mountpoint.utf8), .init(.version, version),
            .init(.owner, owner), .init(.metadata, metadata),
            .init(.attributeRoom, attributeRoom.map { .integer(Int64($0)) } ?? .null),
            .init(.shared, sharedKind.map { .string($0) } ?? .bool(false)),
            .init(.options, .texts(options)), .init(.sandbox, sandbox.map { .object($0.members) } ?? .null),
            .init(.runningSandboxes, runningSandboxes),
            .init(.runningContainers, .array(runningContainers.map { .object([.init(.path, path: $0.joinedPath)]) })),
            .init(.sourceReach, sourceReach), .init(.identitiesProblem, identitiesProblem.map { .string($0) } ?? .null),
            .init(.daemon, Int64(keeping.process)), .init(.deaths, keeping.deaths), .init(.longestWait, keeping.longestWait),
            .init(.upgradeObstacle, keeping.obstacle.map { .string($0) } ?? .null), .init(.paths, .object(paths)),
            .init(.cache, .object(cache)), .init(.zeroFill, .object(zeroFill)),
            .init(.data, .object(data)), .init(.counters, .object(counters)),
        ])
    }

    /// The daemon, and those before it that died.
    public struct Keeping: Sendable, Hashable {
        public var process: Int32
        public var deaths: UInt64
        /// How long a mount did not answer after a death, at most; milliseconds.
        public var longestWait: UInt64
        /// Why `aclfs upgrade` would refuse; nil if nothing is known.
        public var obstacle: String?

        public init(process: Int32, deaths: UInt64 = 0, longestWait: UInt64 = 0, obstacle: String? = nil) {
            (self.process, self.deaths, self.longestWait, self.obstacle) = (process, deaths, longestWait, obstacle)
        }
    }

    // MARK: Members; nil if the daemon does not send them

    public var daemon: Value? { json[.daemon].map { Value($0) } }
    public var deaths: Value? { json[.deaths].map { Value($0) } }
    public var longestWait: Value? { json[.longestWait].map { Value($0) } }
    public var upgradeObstacle: String? { json[.upgradeObstacle]?.string }

    public var source: [UInt8]? { json.path(.source) }
    public var metadata: String? { json[.metadata]?.string }
    public var attributeRoom: Int64? { json[.attributeRoom]?.integer }
    public var sharedKind: String? { json[.shared]?.string }
    public var options: [String] { (json[.options]?.array ?? []).compactMap(\.string) }
    public var runningSandboxes: Value? { json[.runningSandboxes].map { Value($0) } }
    public var runningContainers: [[[UInt8]]]? {
        json[.runningContainers]?.array.map { $0.compactMap { $0.path(.path)?.pathNames } }
    }
    public var sourceReach: String? { json[.sourceReach]?.string }
    public var identitiesProblem: String? { json[.identitiesProblem]?.string }
    public var paths: [Item] { Self.items(json[.paths]) }
    public var cache: [Item] { Self.items(json[.cache]) }
    public var zeroFill: [Item] { Self.items(json[.zeroFill]) }
    public var data: [Item] { Self.items(json[.data]) }
    public var allowed: Value? { json[.counters]?[.allowed].map { Value($0) } }
    public var denied: [Item] { Self.items(json[.counters]?[.denied]) }

    /// Whether the answer has a sandbox.
    public var tellsSandbox: Bool { json[.sandbox] != nil }
    /// nil where no profile confines the mount.
    public var sandbox: ProfileSummary? { json[.sandbox].flatMap { ProfileSummary(reading: $0) } }

    /// One thing in a part of the status, as it is called there.
    public struct Item: Sendable, Hashable {
        public var name: String
        public var value: Value
    }

    public enum Value: Sendable, Hashable {
        case flag(Bool)
        case number(Int64)
        case text(String)
        case texts([String])
        /// A way that the kernel may take, and why it does or does not.
        case way(isUsed: Bool, why: String?)
        case other

        init(_ json: JSON) {
            switch json {
            case .bool(let flag): self = .flag(flag)
            case .integer(let number): self = .number(number)
            case .string(let text): self = .text(text)
            case .array(let values): self = .texts(values.compactMap(\.string))
            case .object: self = .way(isUsed: json[.used]?.bool == true, why: json[.why]?.string)
            case .null: self = .other
            }
        }
    }

    private static func items(_ json: JSON?) -> [Item] {
        guard case .object(let members)? = json else { return [] }
        return members.map { Item(name: $0.name, value: Value($0.value)) }
    }
}
