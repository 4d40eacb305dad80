import LinuxSystem
import MountOptions
import Testing

/// What has to hold of the table itself.
struct OptionTableTests {
    @Test func noWordStandsTwice() {
        let texts = OptionTable.rows.flatMap { $0.words.flatMap(\.texts) }
        let twice = Dictionary(grouping: texts) { $0 }.filter { $0.value.count > 1 }.keys
        #expect(twice.isEmpty && texts.count > 100)
    }

    /// Else a remount with the words in force would change something, or be refused.
    @Test func theWordInForceSaysWhatIsInForce() throws {
        for row in OptionTable.rows where row.kind == .setting {
            for text in row.words.flatMap(\.texts) where !text.hasSuffix("=") {
                var options = MountOptions()
                try options.apply("audit=all,audit_log=/log,\(text)")
                let word = try #require(row.inForce(options) ?? (row.words.count == 1 ? text : nil), "\(text)")
                var again = options
                try again.apply(word)
                #expect(row.inForce(again) == row.inForce(options), "\(text)")
            }
        }
    }

    @Test func eachWordOfAFlagIsARowsWord() {
        let flags = OptionTable.rows.compactMap { row in row.kernelFlag.map { (row, $0) } }
        #expect(Set(flags.map { $0.1.bit }).count == flags.count && flags.count == 11)
        for (row, flag) in flags {
            let words = Set(row.words.map(\.name))
            #expect(words == Set([flag.set, flag.cleared].compactMap { $0 }))
        }
        #expect(flags.contains { $0.1.bit == MountFlag.noSymlinkFollow && $0.1.set == "nosymfollow" && $0.1.cleared == "symfollow" })
    }

    @Test func aRemountChangesWhatTheRowSays() {
        let rules: [(OptionRow.RemountRule, [String])] = [
            (.kernelAndDaemon, ["ro", "rw", "suid", "nosuid", "exec", "noexec"]), (.kernelSetsOnly, ["dev", "nodev"]),
            (.kernel, ["sync", "async", "noatime", "nodiratime", "relatime", "norelatime", "strictatime", "symfollow"]),
            (.daemon, ["securelevel=1"]), (.nothing, ["remount", "nofail"]),
            (
                .fixed,
                [
                    "dirsync", "context=x", "noowners", "cache=5", "suiddir=all", "kernel_features=-epoch", "-statx", "allow_other",
                    "posixacl=off",
                ]
            ),
        ]
        for (rule, words) in rules {
            for word in words { #expect(OptionTable.remountRule(of: word) == rule, "\(word)") }
        }
    }
}
