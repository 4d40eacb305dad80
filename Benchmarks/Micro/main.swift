// What one decision, one record, one text costs: nanoseconds and allocations, as JSON.
//
//   aclfs-microbench [--quick] [--only TEXT]       those with TEXT in their name, for a profiler
//   aclfs-microbench --times N [--only TEXT]       each N times and without a clock, for a program that counts instructions
import AllocationCount
import Glibc

/// A counter that stands still would show "no allocation" for everything.
@inline(never) func allocate(_ count: UInt64) -> [UInt64] { Array(repeating: 1, count: Int(aclfs_opaque(count))) }

let before = aclfs_allocations()
let kept = allocate(1000)
guard aclfs_allocations() > before, kept.count == 1000 else {
    let message = Array("aclfs-microbench: allocations are not counted here\n".utf8)
    _ = write(2, message, message.count)
    exit(1)
}

let words = CommandLine.arguments.dropFirst()
func word(after option: String) -> String? {
    words.firstIndex(of: option).flatMap { $0 + 1 < words.endIndex ? words[$0 + 1] : nil }
}
var bench = Bench(
    effort: words.contains("--quick") ? .quick : Effort(), only: word(after: "--only"),
    times: word(after: "--times").flatMap { UInt64($0) })
Decisions.run(&bench)
Formats.run(&bench)
print("[\n\(bench.results.map { "  " + $0.json }.joined(separator: ",\n"))\n]")
