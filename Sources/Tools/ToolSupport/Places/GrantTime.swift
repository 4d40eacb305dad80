import Glibc

/// The end of a grant as text.
package enum GrantTime {
    package static let forms =
        "30s, 30m, 12h, 7d, '2026-12-31 18:00' (local time), 2026-12-31 (its beginning), 2026-12-31T18:00:00Z or @SECONDS"

    /// - Parameters:
    ///   - text: in one of `forms`.
    ///   - now: seconds since 1970.
    /// - Returns: seconds since 1970, possibly in the past; nil if the text is no time.
    package static func seconds(_ text: String, now: Int64) -> Int64? {
        if text.hasPrefix("@") { return Int64(text.dropFirst()) }
        if let unit = text.last, let length: Int64 = ["s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800][unit],
            let count = Int64(text.dropLast()), count.magnitude < 1 << 32
        {
            return now + count * length
        }
        return date(text)
    }

    /// `YYYY-MM-DD[ |T]HH:MM[:SS][Z]`; without a time of day, midnight.
    private static func date(_ text: String) -> Int64? {
        let isUniversal = text.hasSuffix("Z")
        let halves = (isUniversal ? text.dropLast() : text[...]).split(
            maxSplits: 1, omittingEmptySubsequences: false, whereSeparator: { $0 == " " || $0 == "T" })
        func numbers(_ text: Substring, _ separator: Character, _ widths: [Int]) -> [Int32]? {
            let parts = text.split(separator: separator, omittingEmptySubsequences: false)
            guard parts.map(\.count) == widths, parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } }) else {
                return nil
            }
            return parts.compactMap { Int32($0) }
        }
        guard let day = halves.first.flatMap({ numbers($0, "-", [4, 2, 2]) }) else { return nil }
        var clock: [Int32] = [0, 0, 0]
        if halves.count == 2 {
            guard let parts = numbers(halves[1], ":", [2, 2]) ?? numbers(halves[1], ":", [2, 2, 2]) else { return nil }
            clock = parts + (parts.count == 2 ? [0] : [])
        }
        var time = tm()
        (time.tm_year, time.tm_mon, time.tm_mday) = (day[0] - 1900, day[1] - 1, day[2])
        (time.tm_hour, time.tm_min, time.tm_sec) = (clock[0], clock[1], clock[2])
        let wanted = time
        // The library decides about summer time.
        time.tm_isdst = -1
        let seconds = isUniversal ? timegm(&time) : mktime(&time)
        // mktime(3) turns 31 February into a day of March, and 25:00 into the next day: such a text is an error.
        guard seconds >= 0, time.tm_mday == wanted.tm_mday, time.tm_mon == wanted.tm_mon, clock[1] < 60, clock[2] < 60 else {
            return nil
        }
        return Int64(seconds)
    }

    /// - Parameter seconds: since 1970.
    /// - Returns: the time in UTC, as commands print it.
    package static func text(_ seconds: Int64) -> String {
        var (time, broken) = (time_t(seconds), tm())
        guard gmtime_r(&time, &broken) != nil else { return "@\(seconds)" }
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &broken)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
