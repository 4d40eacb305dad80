/// A small generator whose whole state is its seed: a failure names the seed, and the seed is the case.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64
    public init(seed: UInt64) { state = seed }
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True in `percent` of a hundred cases.
    public mutating func chance(_ percent: UInt64) -> Bool { next() % 100 < percent }
    public mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    /// `choices` must not be empty.
    public mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }
    /// Each element with the given chance, in order.
    public mutating func some<Element>(of choices: [Element], percent: UInt64) -> [Element] {
        choices.filter { _ in chance(percent) }
    }
}
