import ACLFormats

extension StatusAnswer {
    /// One way that requests, data or revocations can take.
    public struct Way: Sendable, Hashable {
        public var name: String
        public var isUsed: Bool
        /// Or why not.
        public var reason: String

        public init(name: String, isUsed: Bool, reason: String) { (self.name, self.isUsed, self.reason) = (name, isUsed, reason) }
    }

    /// What the kernel agreed to.
    public struct Paths: Sendable, Hashable {
        /// `MAJOR.MINOR` of the kernel's FUSE protocol.
        public var protocolVersion: String
        /// `uring` or `dev`.
        public var transport: String
        /// Bytes.
        public var maxWrite: UInt64
        public var hasParallelDirectoryOperations: Bool
        public var ways: [Way]

        public init(protocolVersion: String, transport: String, maxWrite: UInt64, hasParallelDirectoryOperations: Bool, ways: [Way]) {
            (self.protocolVersion, self.transport, self.maxWrite) = (protocolVersion, transport, maxWrite)
            (self.hasParallelDirectoryOperations, self.ways) = (hasParallelDirectoryOperations, ways)
        }

        var members: [JSON.Member] {
            let numbers: [JSON.Member] = [
                .init(.protocolVersion, protocolVersion), .init(.transport, transport), .init(.maxWrite, maxWrite),
                .init(.parallelDirectoryOperations, hasParallelDirectoryOperations),
            ]
            return numbers + ways.map { JSON.Member($0.name, .object([.init(.used, $0.isUsed), .init(.why, $0.reason)])) }
        }
    }

    /// What of the kernel's caches is used.
    public struct Cache: Sendable, Hashable {
        /// Seconds.
        public var entryTimeout: Int64
        /// Seconds.
        public var attributeTimeout: Int64
        /// Why less is exposed now.
        public var suspended: [String]
        /// How often all entries were invalidated.
        public var epochBumps: UInt64
        /// Objects at rest whose changes elsewhere the kernel reports.
        public var watchedObjects: Int
        /// The memory for them.
        public var watchedBytes: Int

        public init(
            entryTimeout: Int64, attributeTimeout: Int64, suspended: [String], epochBumps: UInt64, watchedObjects: Int = 0,
            watchedBytes: Int = 0
        ) {
            (self.entryTimeout, self.attributeTimeout) = (entryTimeout, attributeTimeout)
            (self.suspended, self.epochBumps) = (suspended, epochBumps)
            (self.watchedObjects, self.watchedBytes) = (watchedObjects, watchedBytes)
        }

        var members: [JSON.Member] {
            [
                .init(.entryTimeout, entryTimeout), .init(.attributeTimeout, attributeTimeout), .init(.suspended, .texts(suspended)),
                .init(.epochBumps, epochBumps), .init(.watchedObjects, watchedObjects), .init(.watchedBytes, watchedBytes),
            ]
        }
    }

    /// Gaps that are filled with zeros (docs/internals/zerofill.md).
    public struct ZeroFillStatus: Sendable, Hashable {
        public var reservedBytes: UInt64
        public var writtenBytes: UInt64
        public var filesWaiting: Int
        public var filesOverBudget: Int
        public var bytesOverBudget: UInt64
        public var filesLeftWithHoles: UInt64

        public init(
            reservedBytes: UInt64, writtenBytes: UInt64, filesWaiting: Int, filesOverBudget: Int, bytesOverBudget: UInt64,
            filesLeftWithHoles: UInt64
        ) {
            (self.reservedBytes, self.writtenBytes, self.filesWaiting) = (reservedBytes, writtenBytes, filesWaiting)
            (self.filesOverBudget, self.bytesOverBudget) = (filesOverBudget, bytesOverBudget)
            self.filesLeftWithHoles = filesLeftWithHoles
        }

        var members: [JSON.Member] {
            [
                .init(.reservedBytes, reservedBytes), .init(.writtenBytes, writtenBytes), .init(.filesWaiting, filesWaiting),
                .init(.filesOverBudget, filesOverBudget), .init(.bytesOverBudget, bytesOverBudget),
                .init(.filesLeftWithHoles, filesLeftWithHoles),
            ]
        }
    }

    /// Opens by the way of their data, the kernel's ids of backing files, and files that are held (docs/internals/data-path.md).
    public struct DataPathStatus: Sendable, Hashable {
        public var opensPassthrough: UInt64
        public var opensCached: UInt64
        public var opensUncached: UInt64
        public var backingIDsOpened: UInt64
        public var backingIDsIdle: Int
        public var backingIDsClosed: UInt64
        public var backingIDsRefused: UInt64
        public var heldFiles: Int
        public var sleepingThreads: Int

        public init(
            opensPassthrough: UInt64, opensCached: UInt64, opensUncached: UInt64, backingIDsOpened: UInt64, backingIDsIdle: Int,
            backingIDsClosed: UInt64, backingIDsRefused: UInt64, heldFiles: Int, sleepingThreads: Int
        ) {
            (self.opensPassthrough, self.opensCached, self.opensUncached) = (opensPassthrough, opensCached, opensUncached)
            (self.backingIDsOpened, self.backingIDsIdle) = (backingIDsOpened, backingIDsIdle)
            (self.backingIDsClosed, self.backingIDsRefused) = (backingIDsClosed, backingIDsRefused)
            (self.heldFiles, self.sleepingThreads) = (heldFiles, sleepingThreads)
        }

        var members: [JSON.Member] {
            [
                .init(.opensPassthrough, opensPassthrough), .init(.opensCached, opensCached), .init(.opensUncached, opensUncached),
                .init(.backingIDsOpened, backingIDsOpened), .init(.backingIDsIdle, backingIDsIdle),
                .init(.backingIDsClosed, backingIDsClosed), .init(.backingIDsRefused, backingIDsRefused),
                .init(.heldFiles, heldFiles), .init(.sleepingThreads, sleepingThreads),
            ]
        }
    }

    /// Decisions since the mount began.
    public struct DecisionCounts: Sendable {
        public var allowed: UInt64
        /// By the stage that refused, in the order of the message.
        public var denied: [(stage: String, count: UInt64)]

        public init(allowed: UInt64, denied: [(stage: String, count: UInt64)]) { (self.allowed, self.denied) = (allowed, denied) }

        var members: [JSON.Member] {
            [.init(.allowed, allowed), .init(.denied, .object(denied.map { JSON.Member($0.stage, .number($0.count)) }))]
        }
    }
}
