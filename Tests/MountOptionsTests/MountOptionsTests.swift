import MountOptions
import Testing

/// The words of `-o` and what is in force afterwards (docs/mounting.md "Options").
struct MountOptionsTests {
    @Test func theBudgetIsASizeOrOff() throws {
        var options = MountOptions()
        #expect(options.zeroFillBudget == 1 << 30)
        try options.apply("zerofill_budget=64M")
        #expect(options.zeroFillBudget == 64 << 20 && options.fixedWords.contains("zerofill_budget=64M"))
        try options.apply("zerofill_budget=off")
        #expect(options.zeroFillBudget == nil && options.fixedWords.contains("zerofill_budget=off"))
        #expect(throws: MountOptionError.self) { try options.apply("zerofill_budget=many") }
    }
}
