import Testing
import ToolSupport

@testable import Commands

/// What `aclfs purge` prints of containers in use (docs/reference/security.md "What a terminal is shown").
struct PurgeReportTests {
    /// A user mounts at a name of any bytes, with a daemon that does not answer.
    @Test func usesAreEscaped() {
        var printed: [UInt8] = []
        let sink = OutputSink(output: { printed += $0 }, error: { printed += $0 })
        let report = PurgeReport(sink, isDryRun: true, isVerbose: false, json: false)
        report.skip(Array("/srv/c".utf8), ["  unknown whether a view uses it: /home/u/\u{1B}]0;x\u{07}\nm: no answer"], isNamed: true)
        #expect(
            String(decoding: printed, as: UTF8.self) == """
                aclfs: /srv/c: in use, and left as it is:
                  unknown whether a view uses it: /home/u/\\x1b]0;x\\x07\\x0am: no answer

                """)
        #expect(report.exitStatus == 1)
    }
}
