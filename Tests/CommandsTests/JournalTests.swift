import Glibc
import Testing
import ToolSupport

@Suite struct JournalTests {
    @Test func syslogTellsWarningsFromTheRest() {
        #expect(Journal.Level.warning.priority == LOG_WARNING)
        #expect(Journal.Level.info.priority == LOG_INFO)
    }

    @Test func namesAreNoFormats() {
        #expect(Journal.format("100%s\n") == #"100%%s\x0a"#)
    }
}
