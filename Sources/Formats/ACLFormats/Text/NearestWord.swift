/// The candidate that a mistyped word most probably meant; nil if none is close.
///
/// The distance counts insertions, deletions, replacements and swaps of neighbours. Letter case does not count: the grammar is
/// case-sensitive, and `Read` is the most common mistake (docs/reference/authorization.md 7.1).
public func nearestWord(to word: some Collection<UInt8>, in candidates: some Sequence<String>) -> String? {
    // No word of a grammar is this long, and the table below is quadratic in the size of the text.
    if word.isEmpty || word.count > 40 { return nil }
    let typed = word.map(lowercased)
    var best: (distance: Int, word: String)?
    for candidate in candidates {
        let bound = best?.distance ?? (max(typed.count, candidate.utf8.count) / 3 + 1)
        // Each byte that one word has more is an insertion.
        if abs(typed.count - candidate.utf8.count) >= bound { continue }
        let distance = editDistance(typed, candidate.utf8.map(lowercased))
        if distance < bound {
            best = (distance, candidate)
        }
    }
    if let best { return best.word }
    // Words without their blanks or dashes, or cut short: `readattributes`, `exec`.
    let continuations = candidates.filter {
        let candidate = $0.utf8.map(lowercased)
        return typed.count >= 3
            && (candidate.starts(with: typed) || candidate.count >= 4 && typed.starts(with: candidate))
    }
    return continuations.max { $0.utf8.count < $1.utf8.count }
}

private func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}

private func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var beforeLast = [Int](repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    var row = beforeLast
    for i in a.indices {
        row[0] = i + 1
        for j in b.indices {
            row[j + 1] = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                row[j + 1] = min(row[j + 1], beforeLast[j - 1] + 1)
            }
        }
        (beforeLast, last, row) = (last, row, beforeLast)
    }
    return last[b.count]
}
