import MountOptions

/// How long the kernel may answer by itself where everybody would get the same answer: the `cache` option, as far
/// as the kernel can be made to forget (docs/coherence.md R8 and R16).
struct CacheTimeouts: Sendable, Equatable {
    /// Seconds that a name is good for.
    var entry: Double
    /// Seconds that attributes are good for.
    var attributes: Double
    /// Milliseconds after which all names are taken back, whether anything changed or not; nil if never.
    var period: UInt64?

    static let none = CacheTimeouts(entry: 0, attributes: 0, period: nil)
    /// R8: longer than any period, so that an entry is out of date by its stamp before it is by its time.
    private static let outlasting: Double = 7200

    init(entry: Double, attributes: Double, period: UInt64?) {
        (self.entry, self.attributes, self.period) = (entry, attributes, period)
    }

    /// - Parameter hasEpoch: names can be taken back at once. Without that only the user's own choice of a window
    ///   lets the kernel keep names; attributes can be taken back on every kernel.
    init(_ mode: MountOptions.CacheMode, hasEpoch: Bool) {
        switch mode {
        case .strict, .seconds(0): self = .none
        case .auto: self.init(entry: hasEpoch ? Self.outlasting : 0, attributes: 1, period: hasEpoch ? 1000 : nil)
        case .exclusive:
            self.init(
                entry: hasEpoch ? Self.outlasting : 0, attributes: Self.outlasting, period: hasEpoch ? 3_600_000 : nil)
        case .seconds(let seconds):
            let window = Double(seconds)
            self.init(
                entry: hasEpoch ? Self.outlasting : window, attributes: window,
                period: hasEpoch ? UInt64(seconds) * 1000 : nil)
        }
    }
}
