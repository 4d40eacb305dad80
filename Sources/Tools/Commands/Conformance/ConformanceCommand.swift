import ACLFormats
import Conformance
import Glibc
import LinuxSystem
import ToolSupport

/// The words of `aclfs conformance`.
package struct ConformanceRequest {
    package var json: Bool
    /// The first of the numbers that stand for users; nil: the first free ones from 60001 on.
    package var firstUser: UInt32?
    package var mountpoint: [UInt8]

    package init(json: Bool, firstUser: UInt32?, mountpoint: [UInt8]) {
        (self.json, self.firstUser, self.mountpoint) = (json, firstUser, mountpoint)
    }
}

/// `aclfs conformance [--json] [--users NUMBER] MOUNTPOINT`: plays the documented behaviour on a mount and prints TAP or JSON.
package enum ConformanceCommand {
    /// - Returns: the exit status: 0; 1 if a case was not ok; 2 if the run could not begin or ended early.
    package static func perform(_ request: ConformanceRequest) -> Int32 {
        do throws(RunFailure) { return try run(request) } catch {
            let message = "\(escapedName(request.mountpoint)): \(error.message)"
            if !request.json { printLine(TAP.bailOut(message)) }
            printError("aclfs: \(message)")
            if let signal = error.signal {
                _ = StandardOutput.close(after: 2)
                Interruption.end(by: signal)
            }
            return 2
        }
    }

    private static func run(_ request: ConformanceRequest) throws(RunFailure) -> Int32 {
        let interruption: Interruption
        do throws(Errno) { interruption = try Interruption() } catch { throw RunFailure("signals cannot be blocked: \(error)") }
        let place = try ConformancePlace(request.mountpoint)
        let numbers = try FreeNumbers.find(from: request.firstUser)
        let cases = CaseList.all(numbers, keepsSystemFlags: place.keepsSystemFlags)
        var results: [CaseResult] = []
        var counts = CaseCounts()
        let run = ConformanceRun(in: place.directory.rawValue, numbers, interruption)
        try run.play(
            cases, begin: { if !request.json { printLine(TAP.plan(cases.count)) } },
            report: { result in
                counts.count(result.outcome)
                if request.json { results.append(result) } else { for line in TAP.lines(result) { printLine(line) } }
            })
        if request.json { printJSON(ConformanceJSON.report(request.mountpoint, results)) } else { printLine(TAP.summary(counts)) }
        return counts.notOK == 0 ? 0 : 1
    }
}
