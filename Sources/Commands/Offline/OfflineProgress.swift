import Glibc
import LinuxSystem
import ToolSupport

/// The number of objects that a walk has met, on a terminal, in a line that the next message replaces.
final class OfflineProgress {
    private let sink: OutputSink
    private let isShown: Bool
    private var count = 0
    private var shownAt = SystemTime.monotonic()
    private var isOnScreen = false

    /// Nanoseconds.
    private static let interval: UInt64 = 500_000_000

    init(_ sink: OutputSink, isShown: Bool) { (self.sink, self.isShown) = (sink, isShown && isatty(STDERR_FILENO) == 1) }

    /// Counts an object.
    func advance() {
        count += 1
        // A look at the clock for each object would be felt.
        guard isShown, count & 63 == 0 else { return }
        let now = SystemTime.monotonic()
        guard now - shownAt >= Self.interval else { return }
        (shownAt, isOnScreen) = (now, true)
        sink.error(Array("\r\(count) objects examined".utf8))
    }

    /// Clears the line. Call it before each message.
    func clear() {
        if isOnScreen { sink.error(Array("\r\u{1B}[K".utf8)) }
        isOnScreen = false
    }
}
