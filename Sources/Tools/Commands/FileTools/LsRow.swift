import Glibc

/// One object in the long form of ls, with the lines below it.
struct LongRow {
    /// Ten characters of mode, then the mark.
    var mode: String
    var links = ""
    var owner = ""
    var group = ""
    /// `nil` without -O.
    var flags: String?
    var size = ""
    var time = ""
    var name = ""
    var below: [String] = []

    init(mode: String) { self.mode = mode }

    /// Whether a line begins as a row does, with a mode, a mark and a blank.
    static func begins(_ line: some Collection<UInt8>) -> Bool {
        let sets = ["-dlpscb"] + Array(repeating: ["-r", "-w", "-xsStT"], count: 3).joined() + ["@+ ", " "]
        return line.count >= sets.count && zip(line, sets).allSatisfy { byte, set in set.utf8.contains(byte) }
    }

    struct Widths { var links = 0, owner = 0, group = 0, flags = 0, size = 0 }

    static func widths(_ rows: [LongRow]) -> Widths {
        rows.reduce(into: Widths()) { widths, row in
            widths.links = max(widths.links, row.links.count)
            widths.owner = max(widths.owner, row.owner.count)
            widths.group = max(widths.group, row.group.count)
            widths.flags = max(widths.flags, row.flags?.count ?? 0)
            widths.size = max(widths.size, row.size.count)
        }
    }

    func text(_ widths: Widths) -> String {
        func left(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: width - text.count) }
        func right(_ text: String, _ width: Int) -> String { String(repeating: " ", count: width - text.count) + text }
        let flags = self.flags.map { left($0, widths.flags) + " " } ?? ""
        return "\(mode) \(right(links, widths.links)) \(left(owner, widths.owner))  \(left(group, widths.group))  "
            + "\(flags)\(right(size, widths.size)) \(time) \(name)"
    }
}

/// A size with a unit of 1024, in at most four characters: `999B`, `1.5K`, `15M`.
func humanSize(_ size: UInt64) -> String {
    var (value, rest): (UInt64, UInt64) = (size, 0)
    var unit = 0
    let units = Array("BKMGTPE")
    // Also where rounding would give a fourth digit.
    while unit + 1 < units.count, value >= 1000 || unit > 0 && value == 999 && rest >= 512 {
        (value, rest) = (value / 1024, value % 1024)
        unit += 1
    }
    if unit == 0 { return "\(value)B" }
    let tenths = value * 10 + (rest * 10 + 512) / 1024
    if tenths < 100 { return "\(tenths / 10).\(tenths % 10)\(units[unit])" }
    return "\(value + (rest + 512) / 1024)\(units[unit])"
}

/// How ls shows times: with the time of day within half a year of now, else with the year.
package struct Clock: Sendable {
    /// Seconds since 1970.
    package var now: Int64
    /// Whether times are shown in UTC, for tests; else in the local time zone.
    package var isUTC: Bool
    package init(now: Int64, isUTC: Bool) { (self.now, self.isUTC) = (now, isUTC) }

    package static var system: Clock { Clock(now: Int64(time(nil)), isUTC: false) }

    func shown(_ seconds: Int64) -> String {
        var moment = time_t(seconds)
        var parts = tm()
        let known = isUTC ? gmtime_r(&moment, &parts) : localtime_r(&moment, &parts)
        // The library cannot represent the year: show the number.
        guard known != nil else { return String(seconds) }
        let halfYear: Int64 = 15_778_476
        let isRecent = seconds > now - halfYear && seconds < now + halfYear
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, isRecent ? "%b %e %H:%M" : "%b %e  %Y", &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
