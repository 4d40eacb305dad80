import Authorization
import Commands
import Testing

/// More levels than are held open (two, in `FakeFiles`), and of which one cannot go back by `..`: every level was entered by a link.
@Suite("the way down a tree, and back")
struct TreeDescentTests {
    let files = FakeFiles()
    /// As the chain of links calls them.
    private var paths: [String] = []

    /// Ten directories, each with a link to the next between a file and a directory; the last leads to the first.
    init() {
        for number in 0..<10 {
            files.add("d\(number)", .directory)
            files.add("d\(number)/a")
            files.add("d\(number)/l", .symlink, target: "d\((number + 1) % 10)")
            files.add("d\(number)/z", .directory)
            paths.append("d0" + String(repeating: "/l", count: number))
        }
    }

    @Test("chmod goes through links, says where they lead back to, and finds what comes behind them")
    func chmod() {
        let result = files.chmod("-vRL", "0700", "d0")
        let expected = paths.flatMap { [$0, "\($0)/a"] } + paths.reversed().map { "\($0)/z" }
        #expect(result.output == expected.map { "\($0)\n" }.joined())
        #expect(result.error == "aclfs: \(paths[9])/l: Too many levels of symbolic links\n" && result.status == 1)
    }

    @Test("ls, as well")
    func ls() {
        let result = files.ls("-RL", "d0")
        let expected = paths.map { ["\($0):", "a", "l", "z"] } + paths.reversed().map { ["\($0)/z:"] }
        #expect(result.lines == Array(expected.joined(separator: [""])))
        #expect(result.error == "aclfs: \(paths[9])/l: Too many levels of symbolic links\n" && result.status == 1)
    }

    @Test("what has become another directory meanwhile is left alone, and is said")
    func moved() {
        // The look on the way down, then it is another when it is opened again.
        files.changes(at: "d3", after: 1)
        let result = files.chmod("-vRL", "0700", "d0")
        let expected = paths.flatMap { [$0, "\($0)/a"] } + paths.reversed().filter { $0 != paths[3] }.map { "\($0)/z" }
        #expect(result.output == expected.map { "\($0)\n" }.joined())
        #expect(
            result.error.hasSuffix("aclfs: \(paths[3]): moved away during the walk; the rest of it was skipped\n")
                && result.status == 1)
    }
}
