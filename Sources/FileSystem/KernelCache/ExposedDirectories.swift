import LinuxSystem

/// Directories with exposed entries in the present epoch (docs/internals/coherence.md "When time alone is no reason"). Each has its ctime
/// from before the first look-up. While no ctime changes, no name below has changed, and no user has lost `search`.
struct ExposedDirectories: Sendable {
    static let capacity = 65536
    /// Reading the ctimes of so many takes some milliseconds.
    static let mostReads = 4096
    /// Checks without an exposure in between. Then the entries are invalidated, so that an unused mount needs no checks.
    private static let mostIdleChecks = 60
    /// Nanoseconds (R8).
    private static let longestEpoch: UInt64 = 3_600_000_000_000

    struct Seen: Sendable {
        var directory: Node
        var ctime: Timespec
    }

    private(set) var all: [Seen] = []
    /// The ctimes cannot confirm all exposed entries.
    private(set) var areUncertain = false
    private var idleChecks = 0
    /// Monotonic nanoseconds; 0 before the first exposure.
    private var beginning: UInt64 = 0

    /// Notes that a periodic bump is scheduled.
    mutating func begin(_ now: UInt64) { if beginning == 0 { beginning = now } }

    mutating func removeAll() { self = ExposedDirectories() }

    mutating func markUncertain() {
        areUncertain = true
        all.removeAll()
    }

    /// Notes that an entry below `directory` is exposed.
    /// - Parameters:
    ///   - ctime: of the directory, before the entry was looked up.
    ///   - isFirst: it is the first entry of this directory in the epoch.
    ///   - tells: whether the directory tells of every later change of its names in this way.
    mutating func note(_ directory: Node, at ctime: Timespec, isFirst: Bool, tells: (NameChange) -> Bool) {
        idleChecks = 0
        guard !areUncertain else { return }
        if isFirst {
            if all.count < Self.capacity, tells(.event) || tells(.ctime) {
                directory.exposure.noteCtime(ctime)
                all.append(Seen(directory: directory, ctime: ctime))
                return
            }
        } else if directory.exposure.hadCtime(ctime) || tells(.event) {
            return
        }
        // A change by the daemon counts too: another program may have changed the directory in the same moment.
        markUncertain()
    }

    /// Whether the ctimes can confirm the entries for another period, in milliseconds.
    func mayBeConfirmed(_ now: UInt64, _ period: UInt64) -> Bool {
        !areUncertain && idleChecks < Self.mostIdleChecks && now + period * 1_000_000 < beginning + Self.longestEpoch
    }

    /// - Parameter read: how many ctimes were read for it. A check that costs nothing may go on.
    mutating func noteUnchanged(read: Int) { if read > 0 { idleChecks += 1 } }
}

/// How a directory tells that its names have changed.
enum NameChange {
    /// The kernel reports changes by others.
    case event
    /// Its ctime differs.
    case ctime
}

/// What a check of the exposed directories found.
enum DirectoryCheck {
    case changed
    /// None has changed; of so many the ctime was read, the others are watched.
    case unchanged(read: Int)
}
