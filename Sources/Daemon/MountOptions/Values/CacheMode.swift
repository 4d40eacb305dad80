extension MountOptions {
    /// How long the kernel may answer by itself (docs/internals/coherence.md).
    public enum CacheMode: Sendable, Hashable {
        case auto
        case strict
        case exclusive
        case seconds(UInt32)
    }
}

extension ValueForm<MountOptions.CacheMode> {
    static var cacheMode: ValueForm {
        let named: KeyValuePairs<String, MountOptions.CacheMode> = ["auto": .auto, "strict": .strict, "exclusive": .exclusive]
        let names = Array(named)
        return ValueForm(
            words: names.map(\.key), other: "a number of seconds up to 3600",
            read: { text in
                if let name = names.first(where: { $0.key == text }) { return name.value }
                guard let seconds = UInt32(text), seconds <= 3600 else { return nil }
                return .seconds(seconds)
            },
            write: { mode in
                if case .seconds(let seconds) = mode { return String(seconds) }
                return names.first { $0.value == mode }?.key
            })
    }
}
