import BackingStore
import LinuxSystem

/// The change times that files show since a fill has moved the real ones: a fill changes no byte, and a program that compares them while it
/// reads a file (tar) must not find it changed. In the order of their last fill; beyond the bound the older half is forgotten.
struct ShownChangeTimes {
    private struct Change {
        /// As the fill left it. Any other time comes from a change.
        var real: Timespec
        var shown: Timespec
    }

    /// Between this many files and twice as many are kept.
    private static let most = 2048
    private var young: [ObjectKey: Change] = [:]
    private var old: [ObjectKey: Change] = [:]

    var count: Int { young.count + old.count }

    /// Notes what a file shows instead of its change time.
    mutating func insert(_ key: ObjectKey, real: Timespec, shown: Timespec) {
        if young.count >= Self.most { (old, young) = (young, [:]) }
        young[key] = Change(real: real, shown: shown)
    }

    /// The change time that a file shows.
    func shown(_ key: ObjectKey, real: Timespec) -> Timespec {
        guard let change = young[key] ?? old[key], change.real == real else { return real }
        return change.shown
    }
}
