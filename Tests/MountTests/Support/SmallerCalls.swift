/// Leaves calls out for as long as there is still a difference.
/// - Parameter run: makes the calls in a fresh world; the index of the one that shows a difference, if one does.
/// - Returns: nil if it does not come again.
func smaller(
    _ calls: [EquivalenceCall], within time: Duration, _ run: ([EquivalenceCall]) throws -> Int?
) rethrows -> [EquivalenceCall]? {
    guard let end = try run(calls) else { return nil }
    var current = Array(calls.prefix(end + 1))
    let start = ContinuousClock.now
    var step = max(1, current.count / 2)
    while ContinuousClock.now - start < time {
        var index = 0
        var isSmaller = false
        while index < current.count, ContinuousClock.now - start < time {
            var candidate = current
            candidate.removeSubrange(index..<min(index + step, current.count))
            if let end = try run(candidate) {
                current = Array(candidate.prefix(end + 1))
                isSmaller = true
            } else {
                index += step
            }
        }
        if step == 1, !isSmaller { break }
        step = max(1, step / 2)
    }
    return current
}
