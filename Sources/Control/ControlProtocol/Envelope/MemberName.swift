import ACLFormats

/// The names of the members of all messages and of their parts (docs/reference/control.md). They stand nowhere else, so that a name has one
/// spelling for writers and readers.
package enum MemberName: String, Sendable, CaseIterable {
    // What every message has.
    case messageVersion = "v"
    case command
    case succeeded = "ok"
    case result
    case error
    case message

    // Requests.
    case subject = "as"
    case operation
    case path
    case secondPath = "path2"
    case brief
    case count
    case before
    case options
    case check
    case bundle
    case access
    case expires
    case below
    case from
    case top
    case profile
    case ancestors
    case source
    case name
    case mountpoint
    case device
    case metadata
    case attributeRoom = "attribute_room"

    // Answers about a decision.
    case allowed
    case errno
    case steps
    case considered
    case notes
    case isSecond = "second"
    case depth
    case rights
    case stage
    case entry
    case index
    case effect
    case number
    case time
    case uid
    case inode
    case rule
    case gone

    // The status.
    case version
    case messages
    case owner
    case shared
    case sandbox
    case runningSandboxes = "running_sandboxes"
    case runningContainers = "running_containers"
    case sourceReach = "source_reachable_by"
    case identitiesProblem = "identities_problem"
    case daemon
    case deaths
    case longestWait = "longest_wait_ms"
    case upgradeObstacle = "upgrade_obstacle"
    case paths
    case cache
    case zeroFill = "zerofill"
    case data
    case counters
    case denied
    case protocolVersion = "protocol"
    case transport
    case maxWrite = "max_write"
    case parallelDirectoryOperations = "parallel_directory_operations"
    case used
    case why
    case entryTimeout = "entry_timeout"
    case attributeTimeout = "attribute_timeout"
    case suspended
    case epochBumps = "epoch_bumps"
    case watchedObjects = "watched_objects"
    case watchedBytes = "watched_bytes"
    case reservedBytes = "reserved_bytes"
    case writtenBytes = "written_bytes"
    case filesWaiting = "files_waiting"
    case filesOverBudget = "files_over_budget"
    case bytesOverBudget = "bytes_over_budget"
    case filesLeftWithHoles = "files_left_with_holes"
    case opensPassthrough = "opens_passthrough"
    case opensCached = "opens_cached"
    case opensUncached = "opens_uncached"
    case backingIDsOpened = "backing_ids_opened"
    case backingIDsIdle = "backing_ids_idle"
    case backingIDsClosed = "backing_ids_closed"
    case backingIDsRefused = "backing_ids_refused"
    case heldFiles = "held_files"
    case sleepingThreads = "sleeping_threads"

    // A profile.
    case file
    case home
    case layout
    case closed
    case entitlements

    // Changes of a mount and of grants.
    case was
    case removed
    case tree
    case total
    case grants
    case problems
    case counts
    case wider
    case follow
    case follows
    case found

    // Places of a sandbox.
    case confined
    case backing
    case stores
    case mounts
    case same
    case places
    case shows
    case controls
    case serves
}

extension JSON {
    package subscript(_ name: MemberName) -> JSON? { self[name.rawValue] }

    package func path(_ name: MemberName) -> [UInt8]? { path(name.rawValue) }

    package func hasPath(_ name: MemberName) -> Bool { hasPath(name.rawValue) }

    package static func texts(_ values: some Sequence<String>) -> JSON { .array(values.map { .string($0) }) }

    package static func number(_ value: some BinaryInteger) -> JSON { .integer(Int64(clamping: value)) }
}

extension JSON.Member {
    package init(_ name: MemberName, _ value: JSON) { self.init(name.rawValue, value) }

    package init(_ name: MemberName, _ text: String) { self.init(name.rawValue, .string(text)) }

    package init(_ name: MemberName, _ flag: Bool) { self.init(name.rawValue, .bool(flag)) }

    package init(_ name: MemberName, _ number: some BinaryInteger) { self.init(name.rawValue, .number(number)) }

    package init(_ name: MemberName, path: some Collection<UInt8>) { self = JSON.path(path, name: name.rawValue) }

    /// Names from the mount's top.
    package init(_ name: MemberName, names: [[UInt8]]) { self.init(name, path: Array(names.joined(separator: [0x2F]))) }
}
