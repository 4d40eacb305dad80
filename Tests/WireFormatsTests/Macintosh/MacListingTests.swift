import ACLFormats
import Authorization
import Testing
import WireFormats

/// What `ls -leR@O` prints (docs/guide/export.md "From a Mac").
@Suite struct MacListingTests {
    private func read(_ text: String) -> (objects: [String: ExportedObject], problems: [String], identities: ExportIdentities) {
        let identities = ExportIdentities()
        var listing = MacListing(identities)
        var items = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).flatMap { listing.read(Array($0)[...]) }
        items += listing.finish()
        var objects: [String: ExportedObject] = [:]
        var problems: [String] = []
        for item in items {
            switch item {
            case .object(let object): objects[String(decoding: object.path, as: UTF8.self)] = object
            case .problem(let problem): problems.append(problem.message)
            }
        }
        return (objects, problems, identities)
    }

    private static let tree = """
        total 16
        drwxr-xr-x+  3 alice       staff         -           96 Nov 26 10:00 papers
         0: group:everyone deny delete
         1: user:mary jones inherited allow list,search,file_inherit,directory_inherit
        -rw-r--r--@  1 mary jones  domain users  uchg,hidden 12 Nov 26 10:00 plan
        \tcom.apple.quarantine\t  57\u{20}
        \tcom.apple.metadata:com_apple_backup_excludeItem\t  61\u{20}
        lrwxr-xr-x   1 alice       staff         -            4 Nov 26  2025 link -> plan
        crw-rw-rw-   1 root        wheel         -      3,   2 Nov 26 10:00 null
        -rwsr-sr-T   1 501         20            nodump       1 Nov 26 10:00 tool

        ./papers:
        total 0
        drwx------   2 alice  staff  - 0 Nov 26 10:00 deep
        -rw-r--r--+  1 alice  staff  - 0 Nov 26 10:00  leading
         0: FFFFEEEE-DDDD-CCCC-BBBB-AAAA000007D0 allow\u{20}

        ./papers/deep:
        """

    @Test func aTreeIsRead() throws {
        let (objects, problems, identities) = read(Self.tree)
        #expect(problems == [])
        #expect(objects.keys.sorted() == ["link", "null", "papers", "papers/ leading", "papers/deep", "plan", "tool"])
        let papers = try #require(objects["papers"])
        #expect(papers.kind == .directory && papers.mode == FileMode(rawValue: 0o755) && papers.flags == [] && papers.isExcluded == false)
        guard case .entries(let acl)? = papers.list else {
            Issue.record("\(papers)")
            return
        }
        #expect(acl.entries[0] == ACE(.everyone, .deny, .delete))
        #expect(identities.exportedName(of: acl.entries[1].guid) == ExportedName(.user, "mary jones"))
        #expect(acl.entries[1].flags == [.inherited, .fileInherit, .directoryInherit])
        let plan = try #require(objects["plan"])
        let group = try #require(plan.group)
        #expect(plan.owner == acl.entries[1].guid && identities.exportedName(of: group) == ExportedName(.group, "domain users"))
        #expect(plan.flags == [.userImmutable, .hidden] && plan.isExcluded == true && plan.list == ExportedList.none)
        #expect(objects["link"]?.kind == .symlink && objects["link"]?.mode == nil && objects["null"]?.kind == .characterDevice)
        let tool = try #require(objects["tool"])
        #expect(
            tool.mode == FileMode(rawValue: 0o7754) && tool.owner == GUID(user: 501) && tool.group == GUID(group: 20)
                && tool.isExcluded == true)
        // Its bits have no word.
        #expect(objects["papers/ leading"]?.list == .entries(ACL([ACE(GUID(user: 2000), .allow, [])])))
    }

    /// Dates of other languages and forms.
    @Test(
        arguments: [
            "Nov 26 10:00", "26 Nov 10:00", "26 nov.  2025", "26 Nov  2025", "11 26 10:00", "11月 26 10:00", "26 11月  2025", "26 Mär 10:00",
            "Nov 26 10:00:01 2025", "thg 11 26 10:00", "2026-11-26 10:00",
        ])
    func aDateOfAnyLanguageIsSkipped(_ date: String) {
        for name in ["x", " two  blanks", "10:00 y", "2025"] {
            let (objects, problems, _) = read("-rw-r--r--  1 alice  staff  - 5 \(date) \(name)")
            #expect(objects.keys.sorted() == [name] && problems == [], "\(problems)")
        }
    }

    /// Each with the start of the only problem; the object is left out.
    @Test(
        arguments: [
            ("-rw-r--r--  1 a  b  - 5 Nov 26 10:00 what?", "line 1: 'what?' may have other characters"),
            ("-rw-r--r--+ 1 a  b  - 5 Nov 26 10:00 x", "line 1: 'x' has entries that are not listed"),
            ("lrwxr-xr-x  1 a  b  - 5 Nov 26 10:00 x -> y -> z", "line 1: the name and the target"),
            ("lrwxr-xr-x  1 a  b  - 5 Nov 26 10:00 x", "line 1: the name and the target"),
            ("-rw-r--r--  1 a  b  - 5 Nov 26 10:00 x\nrest", "line 2: not understood: 'rest'; 'x' in line 1 may have a line feed"),
            ("-rw-r--r--  1 a  b  - 5 Nov 26 10:00 x\n 1: user:a allow read", "line 2: entry 1 is not in its place"),
            ("-rw-r--r--  1 a  b  - 5 Nov 26 10:00 x\n 0: user:a allow reed", "line 2: column"),
            ("-rw-r--r--  1 a  b  - 5 Nov 26 10:00 x\n 0: user:a unknown read", "line 2: column"),
            ("-rw-r--r--  1 a  b  uchgg 5 Nov 26 10:00 x", "line 1: column 1: 'uchgg' is not a flag"),
            ("-rw-r--r--  1 a  everyone  - 5 Nov 26 10:00 x", "line 1: 'everyone' cannot be a group; the object is left out"),
            ("-rw-r--r--  1 a  b  - 5 Nov 26 10:00 /etc/x", "line 1: '/etc/x' is a path"),
            ("ls: x: Permission denied", "line 1: ls could not list: x: Permission denied"),
            ("-rwwr--r--  1 a  b  - 5 Nov 26 10:00 x", "line 1: not understood"), ("-rw-r--r--  1 a", "line 1: not understood"),
            ("-rw-r--r--  1 a  b  - 5 sometime x", "line 1: not understood"),
        ])
    func anAmbiguousLineIsNamed(_ text: String, _ problem: String) {
        let (objects, problems, _) = read(text)
        #expect(objects.isEmpty && problems.count == 1 && problems.first?.hasPrefix(problem) == true, "\(objects) \(problems)")
    }

    @Test func headingsHaveARowAbove() {
        let row = "-rw-r--r--  1 a  b  - 5 Nov 26 10:00"
        let directory = "drwxr-xr-x  1 a  b  - 5 Nov 26 10:00"
        var (objects, problems, _) = read("\(directory) d\n\n./e:\n\(row) x")
        #expect(objects.keys.sorted() == ["d"] && problems.count == 2, "\(problems)")
        // The top may be any path, with a heading of its own or without.
        (objects, problems, _) = read("/Users/me:\ntotal 0\n\(directory) d\n\n/Users/me/d:\n\(row) x")
        #expect(objects.keys.sorted() == ["d", "d/x"] && problems == [])
        (objects, problems, _) = read("\(directory) d\n\(directory) e\n\n/d/d:\n\(row) x\n\n/d/e:\n\(row) y")
        #expect(objects.keys.sorted() == ["d", "d/x", "e", "e/y"] && problems == [])
        // A second directory of the same command, and one that is listed twice.
        (objects, problems, _) = read("one:\n\(directory) d\n\ntwo:\n\(row) x\n\none/d:\n\(row) y\n\none/d:\n\(row) z")
        #expect(objects.keys.sorted() == ["d", "d/y"] && problems.count == 4, "\(problems)")
        // With -a.
        (objects, problems, _) = read("\(directory) .\n\(directory) ..\n\(directory) d\n\n./d:\n\(directory) .\n\(directory) ..\n\(row) x")
        #expect(objects.keys.sorted() == [".", "d", "d/x"] && problems == [])
    }
}
