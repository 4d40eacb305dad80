import LinuxSystem

/// The directories below which the kernel may believe names in the present epoch, each with the ctime that it had before the
/// first of them was looked for. While all keep it, no name below them has come, gone or moved and nobody has lost the
/// right to search them behind our back (docs/coherence.md "When time alone is no reason").
struct ExposedDirectories: Sendable {
    /// Looking at so many takes some milliseconds.
    static let capacity = 4096
    /// Looks without a hand-out in between; then the names are taken back, so that a mount that nobody uses rests.
    private static let mostIdleLooks = 60
    /// Nanoseconds (R8).
    private static let longestEpoch: UInt64 = 3_600_000_000_000

    struct Seen: Sendable {
        var directory: Node
        var ctime: Timespec
    }

    private(set) var all: [Seen] = []
    /// What the kernel believes goes beyond what looking at these directories can confirm.
    private(set) var areUncertain = false
    private var idleLooks = 0
    /// Monotonic nanoseconds; 0 before the first hand-out.
    private var beginning: UInt64 = 0

    /// From now on a bump is due, in this epoch for the first time or again.
    mutating func begin(_ now: UInt64) { if beginning == 0 { beginning = now } }

    mutating func removeAll() { self = ExposedDirectories() }

    mutating func markUncertain() {
        areUncertain = true
        all.removeAll()
    }

    /// A name was handed out below `directory`, in this epoch for the first time if `isFirst`.
    mutating func note(_ directory: Node, at ctime: Timespec, isFirst: Bool, stampsEveryChange: () -> Bool) {
        idleLooks = 0
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
        // A change of ours counts too: somebody else may have made another in the same moment.
        markUncertain()
    }

    /// Whether it is worth looking, and right that the names stay for a period (milliseconds) more if nothing has changed.
    func mayBeConfirmed(_ now: UInt64, _ period: UInt64) -> Bool {
        !areUncertain && idleLooks < Self.mostIdleLooks && now + period * 1_000_000 < beginning + Self.longestEpoch
    }

    mutating func noteUnchanged() { idleLooks += 1 }
}
