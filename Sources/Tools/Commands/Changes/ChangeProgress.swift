import Glibc
import LinuxSystem
import ToolSupport

/// The number of objects that a command has examined, on a terminal, in a line that the next message replaces.
final class ChangeProgress {
    let isShown: Bool
    private let sink: OutputSink
    private let total: () -> Int?
    private let begun = SystemTime.monotonic()
    private var count = 0
    private var shownAt = SystemTime.monotonic()
    private var isOnScreen = false

    /// Nanoseconds.
    private static let interval: UInt64 = 500_000_000

    /// - Parameter total: the number of all objects, once it is known.
    init(_ sink: OutputSink, isShown: Bool, total: @escaping () -> Int?) {
        (self.sink, self.isShown, self.total) = (sink, isShown && isatty(STDERR_FILENO) == 1, total)
    }

    /// Counts objects.
    func advance(_ more: Int) {
        count += more
        // A look at the clock for each object would be felt.
        guard isShown, more > 1 || count & 63 == 0 else { return }
        let now = SystemTime.monotonic()
        guard now - shownAt >= Self.interval else { return }
        (shownAt, isOnScreen) = (now, true)
        let text = Self.text(count, of: total(), nanoseconds: now - begun, columns: sink.columns(STDERR_FILENO))
        sink.error(Array("\r\u{1B}[K\(text)".utf8))
    }

    /// Clears the line. Call it before each message.
    func clear() {
        if isOnScreen { sink.error(Array("\r\u{1B}[K".utf8)) }
        isOnScreen = false
    }

    /// - Parameter columns: of the terminal. A line that wraps could not be cleared, and some terminals wrap after the last column.
    static func text(_ count: Int, of total: Int?, nanoseconds: UInt64, columns: Int) -> String {
        String(text(count, of: total, nanoseconds: nanoseconds).prefix(max(1, columns - 1)))
    }

    private static func text(_ count: Int, of total: Int?, nanoseconds: UInt64) -> String {
        let rate = Double(count) / (Double(max(nanoseconds, 1)) / 1e9)
        let speed = "\(Int(rate)) a second"
        guard let total, total >= count, rate > 0 else { return "\(count) objects examined, \(speed)" }
        return "\(count) of \(total) objects examined, \(speed), \(duration(Int(Double(total - count) / rate))) left"
    }

    private static func duration(_ seconds: Int) -> String {
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3600) h \(seconds / 60 % 60) min"
    }
}
