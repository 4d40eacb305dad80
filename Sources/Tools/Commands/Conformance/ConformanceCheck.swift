import ACLFormats
import ArgumentParser
import Conformance
import Glibc
import LinuxSystem
import ToolSupport

/// `aclfs conformance [--json] [--users NUMBER] MOUNTPOINT`: plays the documented behaviour on a mount and prints TAP or JSON.
struct ConformanceCheck: ParsedCommand, ListedCommand {
    static let summary = "whether a mount behaves as documented"
    static let example = "conformance /srv/share"
    static let configuration = CommandConfiguration(
        commandName: "aclfs conformance", abstract: "Whether a mount behaves as documented.",
        usage: "aclfs conformance [--json] [--users NUMBER] MOUNTPOINT",
        discussion: """
            Runs the rules of docs/reference/semantics.md and the test vectors on a mount that is in use by no other process, as several users \
            for whom no accounts are needed, and prints TAP: a line for each case with the rule and the document that states it. It \
            needs root, works in a directory of its own, and removes that.

            Exit status: 0 if no case was "not ok", 1 if one was, 2 if the run could not begin or ended early.

            Example: aclfs conformance /srv/share
            """)

    @Flag(help: "JSON instead of TAP.") var json = false
    @Option(
        help: ArgumentHelp(
            "The first of the \(Numbers.count) numbers that stand for users and groups; no account may have one. By default from 60001 on.",
            valueName: "NUMBER"))
    var users: UInt32?
    @Argument(help: ArgumentHelp("The mount, or any directory.", valueName: "MOUNTPOINT")) var mountpoint: ByteWord

    /// - Returns: the exit status: 0; 1 if a case was not ok; 2 if the run could not begin or ended early.
    func perform() -> Int32 {
        do throws(RunFailure) { return try play() } catch {
            let message = "\(escapedName(mountpoint.bytes)): \(error.message)"
            if !json { printLine(TAP.bailOut(message)) }
            printError("aclfs: \(message)")
            if let signal = error.signal {
                _ = StandardOutput.close(after: 2)
                Interruption.end(by: signal)
            }
            return 2
        }
    }

    private func play() throws(RunFailure) -> Int32 {
        let interruption: Interruption
        do throws(Errno) { interruption = try Interruption() } catch { throw RunFailure("signals cannot be blocked: \(error)") }
        let place = try ConformancePlace(mountpoint.bytes)
        let numbers = try FreeNumbers.find(from: users)
        let cases = CaseList.all(numbers, keepsSystemFlags: place.keepsSystemFlags)
        var results: [CaseResult] = []
        var counts = CaseCounts()
        let run = ConformanceRun(in: place.directory.rawValue, numbers, interruption)
        try run.play(
            cases, begin: { if !json { printLine(TAP.plan(cases.count)) } },
            report: { result in
                counts.count(result.outcome)
                if json { results.append(result) } else { for line in TAP.lines(result) { printLine(line) } }
            })
        if json { printJSON(ConformanceJSON.report(mountpoint.bytes, results)) } else { printLine(TAP.summary(counts)) }
        return counts.notOK == 0 ? 0 : 1
    }
}
