import MountOptions

/// The timeouts of the `cache` option, for answers that are the same for every caller (docs/internals/coherence.md R8 and R16).
struct CacheTimeouts: Sendable, Equatable {
    /// Seconds for entries.
    var entry: Double
    /// Seconds for attributes.
    var attributes: Double
    /// Seconds for attributes of a watched object (docs/internals/coherence.md "Changes elsewhere").
    var watchedAttributes: Double
    /// Milliseconds until a periodic bump; nil: never.
    var period: UInt64?

    static let none = CacheTimeouts(entry: 0, attributes: 0, period: nil)
    /// Longer than any period, so that an entry is stale by its stamp before its timeout ends (R8).
    private static let outlasting: Double = 7200

    init(entry: Double, attributes: Double, period: UInt64?) {
        (self.entry, self.attributes, self.period) = (entry, attributes, period)
        watchedAttributes = attributes
    }

    /// - Parameters:
    ///   - hasEpoch: the kernel can invalidate all entries at once. Without that, entries are cacheable only if the user chose a time.
    ///     Attributes can be invalidated on every kernel.
    ///   - watches: objects at rest may be watched.
    init(_ mode: MountOptions.CacheMode, hasEpoch: Bool, watches: Bool = false) {
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
        // SECONDS is a time that the user chose, so only `auto` outlasts its own.
        if watches, mode == .auto, hasEpoch { watchedAttributes = Self.outlasting }
    }
}
