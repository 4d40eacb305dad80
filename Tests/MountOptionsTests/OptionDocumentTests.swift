import MountOptions
import Testing

/// No document lacks a word of the table or has one that the table lacks.
@Suite("documents and the table of options")
struct OptionDocumentTests {
    private let rows = OptionTable.rows
    private let audited: MountOptions

    init() throws {
        var options = MountOptions()
        try options.apply("audit=all,audit_log=/log")
        audited = options
    }

    @Test func mountingHasEachRow() throws {
        let lines = OptionDocument.table(try OptionDocument.section("## Options", of: "reference/mounting.md", until: "## "))
        expectSame(lines.flatMap(\.texts), rows.flatMap { texts($0) })
        expectMeanings(lines, rows.filter { $0.subject == .mount || $0.subject == .kernel })
        expectDefaults(lines)
    }

    @Test func mountingHasTheKernelsInTheirPlace() throws {
        let lines = OptionDocument.table(try OptionDocument.section("### Options of the kernel", of: "reference/mounting.md", until: "##"))
        expectSame(lines.flatMap(\.texts), rows.filter { $0.subject == .kernel }.flatMap { texts($0) })
    }

    @Test func auditAndSandboxHaveTheirs() throws {
        let audit = OptionDocument.table(try OptionDocument.section("# The log of decisions", of: "reference/audit.md", until: "## "))
        let sandbox = OptionDocument.table(try OptionDocument.section("## Options", of: "guide/sandbox.md", until: "## "))
        for (subject, lines) in [
            (OptionRow.Subject.audit, audit), (.sandbox, sandbox.filter { !Set($0.names).isDisjoint(with: names(.sandbox)) }),
        ] {
            expectSame(lines.flatMap(\.texts), rows.filter { $0.subject == subject }.flatMap { texts($0) })
            expectMeanings(lines, rows.filter { $0.subject == subject })
            expectDefaults(lines)
        }
    }

    @Test func mountingSaysWhatARemountChanges() throws {
        let lines = OptionDocument.table(try OptionDocument.section("## Remounting", of: "reference/mounting.md", until: "## "))
        // The words of the flag that can only be set are divided.
        let changing = rows.filter { $0.kind == .setting && $0.remount != .fixed && $0.remount != .nothing }.flatMap { row in
            row.remount == .kernelSetsOnly ? [row.kernelFlag?.set ?? ""] : texts(row)
        }
        expectSame(lines.flatMap(\.texts), changing)
    }

    @Test func theManualPageHasEachWordAsATag() throws {
        let tags = OptionDocument.tags(try OptionDocument.section(".SH OPTIONS", of: "man/mount.aclfs.8", until: ".SH"))
        expectSame(tags.flatMap(\.texts), rows.flatMap { texts($0) })
        expectDefaults(tags)
    }

    @Test(arguments: [
        ("aclfs.bash", "\n_aclfs_mount_words='", "'"), ("_aclfs", " mount_words=(", ")"),
        ("aclfs.fish", " __aclfs_mount_words (string match -ra '\\S+' -- '", "'"),
    ])
    func completionsOfferEachSetting(_ file: String, _ start: String, _ end: String) throws {
        let words = try OptionDocument.words(of: file, from: start, to: end)
        // nofail is no setting, but a word of lines in fstab.
        expectSame(words, rows.filter { $0.kind == .setting }.flatMap { texts($0) } + ["nofail"])
    }

    private func texts(_ row: OptionRow) -> [String] { row.words.flatMap(\.texts) }

    private func names(_ subject: OptionRow.Subject) -> Set<String> {
        Set(rows.filter { $0.subject == subject }.flatMap { $0.words.map(\.name) })
    }

    private func expectSame(_ document: [String], _ table: [String], _ location: SourceLocation = #_sourceLocation) {
        #expect(Set(table).subtracting(document).sorted() == [], "missing in the document", sourceLocation: location)
        #expect(Set(document).subtracting(table).sorted() == [], "not in the table", sourceLocation: location)
        let twice = Dictionary(grouping: document) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
        #expect(twice == [], "twice in the document", sourceLocation: location)
    }

    /// A row has a line of its own, which begins with what the table says.
    private func expectMeanings(_ lines: [DocumentedOptions], _ rows: [OptionRow], _ location: SourceLocation = #_sourceLocation) {
        for row in rows {
            let line = lines.first { Set($0.texts) == Set(texts(row)) }
            #expect(line?.meaning.hasPrefix(row.meaning) ?? false, "\(texts(row)): \(row.meaning)", sourceLocation: location)
        }
    }

    /// Of several words the default stands first, and a value that stands for all is the default.
    private func expectDefaults(_ lines: [DocumentedOptions], _ location: SourceLocation = #_sourceLocation) {
        for row in rows {
            guard let word = row.inForce(MountOptions()) ?? row.inForce(audited),
                let line = lines.first(where: { $0.names.contains(word.name) })
            else { continue }
            let first = line.texts.first { texts(row).contains($0) }
            if let name = first?.name, let example = line.examples[name] {
                #expect("\(name)=\(example)" == word, sourceLocation: location)
            } else if let first {
                #expect(first == word || first.hasSuffix("=") && word.hasPrefix(first), sourceLocation: location)
            }
        }
    }
}

extension String {
    fileprivate var name: String { String(prefix { $0 != "=" }) }
}
