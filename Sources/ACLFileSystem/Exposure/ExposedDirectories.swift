import LinuxSystem

/// Directories with exposed entries in the present epoch (docs/coherence.md "When time alone is no reason"). Each has its ctime
/// from before the first look-up. While no ctime changes, no name below has changed, and no user has lost `search`.
struct ExposedDirectories: Sendable {
    /// Reading the ctimes of so many takes some milliseconds.
    static let capacity = 4096
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
    ///   - stampsEveryChange: whether each change of the directory will have another ctime.
    mutating func note(_ directory: Node, at ctime: Timespec, isFirst: Bool, stampsEveryChange: () -> Bool) {
        idleChecks = 0
        guard !areUncertain else { return }
        if isFirst {
            if all.count < Self.capacity, stampsEveryChange() {
                directory.ctimeAtExposure = ctime
                all.append(Seen(directory: directory, ctime: ctime))
                return
            }
        } else if directory.ctimeAtExposure == ctime {
            return
        }
        // A change by the daemon counts too: another program may have changed the directory in the same moment.
        markUncertain()
    }

    /// Whether the ctimes can confirm the entries for another period, in milliseconds.
    func mayBeConfirmed(_ now: UInt64, _ period: UInt64) -> Bool {
        !areUncertain && idleChecks < Self.mostIdleChecks && now + period * 1_000_000 < beginning + Self.longestEpoch
    }

    mutating func noteUnchanged() { idleChecks += 1 }
}
