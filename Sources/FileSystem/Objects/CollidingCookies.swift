import BackingStore
import LinuxSystem

/// The small cookies of names in a directory whose hashes agree in the 31 bits that such a cookie has: a hundred among a million names.
///
/// Each directory has one table for all its handles, because the kernel mixes what several have read in the listing that it caches, and answers
/// handles from it that listed nothing themselves (docs/decisions/0033-small-cookies.md).
final class CollidingCookies: Sendable {
    /// The most names. The cookies of others have 64 bits.
    static let capacity = 4096

    private struct State {
        var cookies: [Int64: UInt64] = [:]
        var positions: [UInt64: Int64] = [:]
    }
    private let state = Lock(State())

    init() {}

    init(_ saved: [SavedCookie]) {
        state.withLock { state in
            for entry in saved { (state.cookies[entry.position], state.positions[entry.cookie]) = (entry.cookie, entry.position) }
        }
    }

    func save() -> [SavedCookie] { state.withLock { $0.cookies.map { SavedCookie(position: $0.key, cookie: $0.value) } } }

    /// - Parameters:
    ///   - position: in the backing directory.
    ///   - isColliding: the name before it has the same 31 bits.
    func cookie(of position: Int64, isColliding: Bool) -> UInt64 {
        let plain = UInt64(bitPattern: position) >> 32
        return state.withLock { state in
            if let known = state.cookies[position] { return known }
            guard isColliding || state.positions[plain] != nil else { return plain }
            // Upwards: a caller that has this cookie from a name that was removed is led to one before that name, and misses none.
            var free = plain + 1
            while state.positions[free] != nil { free += 1 }
            guard state.cookies.count < Self.capacity, free < DirectoryCookies.largest else { return UInt64(bitPattern: position) }
            state.cookies[position] = free
            state.positions[free] = position
            return free
        }
    }

    /// nil: the cookie stands for no colliding name.
    func position(of cookie: UInt64) -> Int64? { state.withLock { $0.positions[cookie] } }
}
