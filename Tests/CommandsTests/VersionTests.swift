import Foundation
import Testing
import ToolSupport

/// One version, wherever it is written.
@Suite struct VersionTests {
    private func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func theManualsSayIt() throws {
        for (page, title) in [("aclfs.1", "ACLFS 1"), ("mount.aclfs.8", "MOUNT.ACLFS 8")] {
            let head = try #require(try text("docs/man/" + page).split(separator: "\n").first { $0.hasPrefix(".TH") })
            #expect(head.hasPrefix(".TH \(title) ") && head.contains("\"aclfs \(ProgramVersion.text)\""), "\(page): \(head)")
        }
    }

    /// The newest heading of the changelog is the version that is built.
    @Test func theChangelogBeginsWithIt() throws {
        let heading = try #require(try text("CHANGELOG.md").split(separator: "\n").first { $0.hasPrefix("## ") })
        #expect(heading.hasPrefix("## \(ProgramVersion.text)"), "\(heading)")
    }

    /// The word by which it is asked is offered.
    @Test(arguments: ["_aclfs", "aclfs.bash", "aclfs.fish"]) func completionsOfferTheWord(_ file: String) throws {
        let words = try text("docs/completions/" + file).split { !$0.isLetter && $0 != "-" }
        #expect(words.contains("version"), "\(file)")
    }
}
