import Glibc

/// Polls until something holds; false when it does not in time, half a minute by default: under load everything takes its time, and
/// a long wait costs nothing when it goes well.
@discardableResult
public func eventually(
    every microseconds: UInt32 = 5000, within seconds: Int = 30, _ holds: () throws -> Bool
) rethrows -> Bool {
    var start = timespec()
    clock_gettime(CLOCK_MONOTONIC, &start)
    while true {
        if try holds() { return true }
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        if now.tv_sec - start.tv_sec > seconds { return false }
        usleep(microseconds)
    }
}
