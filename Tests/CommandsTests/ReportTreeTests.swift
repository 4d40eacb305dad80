import ACLFormats
import Authorization
import Identity
import TestSupport
import Testing

@testable import Commands

/// What a report says of a tree: who may do what, what is one place, where entries come from (docs/guide/report.md).
struct ReportTreeTests {
    @Test func aTreeThatAgreesIsOnePlace() throws {
        var scene = ReportScene()
        scene.folder("")
        for name in ["a", "b"] {
            scene.folder(name)
            scene.file("one")
            scene.folder("deep")
            // Programs lie among texts.
            scene.file("tool", 0o755)
            scene.leave()
            scene.leave()
        }
        scene.leave()
        let report = try #require(scene.report())
        #expect(report.top.text(report) == [".: this folder [alice]; 4 folders below [alice]; 4 files below [alice]"])
        #expect(report.objects == 9)
        #expect(report.looks.contains { $0.executeVaries })
    }

    @Test func whatDiffersIsAPlaceOfItsOwn() throws {
        var scene = ReportScene()
        scene.folder("")
        for name in ["a", "b", "c"] {
            scene.folder(name)
            scene.file("one")
            scene.folder("private", 0o700)
            scene.file("key", 0o600)
            scene.leave()
            scene.leave()
        }
        scene.file("open", 0o666)
        scene.file("usual")
        scene.file("usual too")
        scene.leave()
        let report = try #require(scene.report())
        #expect(
            report.top.text(report) == [
                ".: this folder [alice]; 3 folders below [alice]; 5 files below [alice]",
                "a/private b/private c/private: these 3 folders [alice]; 3 files below [alice]",
                "open: this file [everyone]",
            ])
    }

    @Test func aRightCountsOnlyWhereTheFoldersAboveMayBeSearched() throws {
        var scene = ReportScene()
        scene.folder("")
        scene.folder("closed", 0o750)
        scene.file("open", 0o666)
        scene.leave()
        scene.leave()
        let report = try #require(scene.report())
        // carol is not in the group.
        #expect(report.top.text(report).last == "closed: this folder [alice]; 1 file below: closed/open [group staff]")
    }

    @Test func directoriesAboveCount() throws {
        var scene = ReportScene()
        let above = scene.classes.number(of: scene.item(.directory, 0o711, ["group:eng deny search"]))
        scene.folder("")
        scene.file("f", 0o666, owner: 503)
        scene.leave()
        let report = try #require(scene.report(above: [above]))
        #expect(report.top.text(report) == [".: this folder [alice]; 1 file below: f [everyone but group eng, carol]"])
    }

    @Test func entriesAreFollowedToTheirDirectory() throws {
        let given = "user:bob allow read,file_inherit,directory_inherit"
        let inherited = "user:bob inherited allow read,file_inherit,directory_inherit"
        var scene = ReportScene()
        let above = scene.classes.number(of: scene.item(.directory, 0o755, ["group:eng allow read,file_inherit,directory_inherit"]))
        scene.folder("", 0o755, acl: [given, "group:eng inherited allow read,file_inherit,directory_inherit"])
        scene.folder("d", 0o755, acl: [inherited, "group:eng inherited allow read,file_inherit,directory_inherit"])
        scene.file("f", acl: ["user:bob inherited allow read", "group:eng inherited allow read", "user:carol inherited allow write"])
        scene.file("own", acl: ["user:carol allow write"])
        scene.leave()
        scene.leave()
        let report = try #require(scene.report(above: [above]))
        let f = try #require(report.looks.first { $0.entries.count == 3 })
        #expect(f.origins == [.level(0), .level(-1), .nowhere])
        let orphaned = report.findings[FindingKind.orphaned.rawValue]
        #expect(orphaned.objects == 1 && orphaned.examples.first?.path == Array("d/f".utf8) && orphaned.examples[0].detail == "entry 2")
        let own = report.findings[FindingKind.explicitEntries.rawValue]
        #expect(own.objects == 1 && own.examples.first?.path == Array("d/own".utf8))
        let page = scene.page()
        #expect(page.contains("inherited from nowhere"))
    }

    @Test func repeatedFoldersWithTheirOwnEntriesAreOnePlace() throws {
        var scene = ReportScene()
        scene.folder("")
        for number in 0..<40 {
            scene.folder("p\(number)", 0o755, acl: ["group:eng allow list,search,file_inherit"])
            scene.file("f", acl: ["group:eng inherited allow read,execute"])
            scene.leave()
        }
        scene.leave()
        let report = try #require(scene.report())
        #expect(report.top.places == 1)
        #expect(report.top.text(report) == [".: this folder [alice]; 40 folders below [alice]; 40 files below [alice]"])
        #expect(report.findings[FindingKind.explicitEntries.rawValue].objects == 40)
        #expect(scene.page().contains("1 from their own folders"))
    }

    @Test func whatCannotBeReadIsARow() throws {
        var scene = ReportScene()
        scene.folder("")
        scene.take(.unreadable(name: Array("x".utf8), reason: "Permission denied"))
        scene.take(.unreadable(name: Array("y".utf8), reason: "Permission denied"))
        scene.folder("shut", 0o711)
        scene.take(.unlisted(reason: "Permission denied"))
        scene.leave()
        scene.leave()
        let report = try #require(scene.report())
        #expect(
            report.top.text(report) == [
                ".: this folder [alice]", "shut: this folder [alice]; Permission denied", "x y: Permission denied",
            ])
        #expect(report.unreadableCount == 3)
        #expect(scene.page().contains("these 2 are not readable: Permission denied"))
    }

    @Test func theDirectoryItselfMayBeUnreadable() {
        var scene = ReportScene()
        scene.take(.unreadable(name: [], reason: "Permission denied"))
        #expect(scene.report() == nil)
    }

    @Test func findingsOfLists() throws {
        let rules = FindingRules(subjects: subjectsOfLists)
        func kinds(_ entries: String..., isTop: Bool = false) -> [FindingKind] {
            let item = ReportScene().item(.file, 0o644, entries)
            let origins = item.entries.map { $0.flags.contains(.inherited) ? EntryOrigin.level(0) : .own }
            return rules.findings(item, origins, Verdict(others: [], withoutAccount: []), isTop: isTop).map(\.kind)
        }
        #expect(kinds(isTop: true) == [])
        #expect(kinds("user:bob allow read", isTop: true) == [])
        #expect(kinds("user:bob allow read") == [.explicitEntries])
        #expect(kinds("user:bob inherited allow read") == [])
        #expect(kinds("user:bob deny write", "group:staff allow read,write", isTop: true) == [.shadowingDeny])
        #expect(kinds("user:carol deny write", "group:staff allow read,write", isTop: true) == [])
        #expect(kinds("user:bob deny write", "group:staff allow read", isTop: true) == [])
        #expect(kinds("group:everyone deny write", "user:carol allow write", isTop: true) == [.shadowingDeny])
        #expect(kinds("group:staff allow read,write", "user:bob deny write", isTop: true) == [.uselessDeny, .unusualOrder])
        #expect(kinds("group:eng allow read,write", "user:alice deny write", isTop: true) == [.unusualOrder])
        #expect(kinds("user:#777 allow read", isTop: true) == [.unknownIdentity])
        #expect(kinds("5EFD76A1-0DAF-4B6E-9E3E-55E1E4C53B1E allow read", isTop: true) == [.unknownIdentity])
    }

    /// The order of a preset's list is meant, in its directory and in all that inherits it, for any owner and group, also beside other entries.
    @Test func listsOfPresetsAreInUsualOrder() throws {
        let rules = FindingRules(subjects: subjectsOfLists)
        func isUnusual(_ kind: ObjectKind, _ entries: [ACE]) -> Bool {
            var item = ReportScene().item(kind, 0o700, [])
            item.facts.acl = ACL(entries)
            let origins = entries.map { $0.flags.contains(.inherited) ? EntryOrigin.level(0) : .own }
            return rules.findings(item, origins, Verdict(others: [], withoutAccount: []), isTop: false).map(\.kind).contains(.unusualOrder)
        }
        for preset in Preset.allCases {
            for people in [("user:501", "group:20", false), ("user:502", "group:30", true)] {
                let list = try preset.list(Preset.People(owner: people.0, group: people.1, isGroupNamed: people.2))
                #expect(!isUnusual(.directory, list), "\(preset)")
                var above = list
                for _ in 0..<4 {
                    #expect(!isUnusual(.file, above.compactMap { $0.inherited(by: .file) }), "\(preset)")
                    above = above.compactMap { $0.inherited(by: .directory) }
                    #expect(!isUnusual(.directory, above), "\(preset)")
                    #expect(!isUnusual(.directory, list + above), "\(preset)")
                }
                // Another list is none of theirs.
                if preset == .noDelete { #expect(isUnusual(.directory, list.reversed())) }
            }
        }
    }

    private var subjectsOfLists: ReportSubjects {
        var scene = ReportScene()
        for entry in ["user:bob allow read", "user:carol allow read", "group:eng allow read", "user:#777 allow read"] {
            scene.file("f", acl: [entry])
        }
        return scene.subjects
    }

    @Test func findingsOfObjects() throws {
        var scene = ReportScene()
        scene.folder("")
        scene.folder("open", 0o1777)
        scene.file("inside", 0o666)
        scene.leave()
        scene.file("locked", flags: .userImmutable)
        scene.file("left", flags: .noDump)
        scene.file("foreign", owner: 4242)
        scene.leave()
        let report = try #require(scene.report())
        let found = report.findings.filter { $0.objects > 0 }.map { item in
            "\(item.kind.word) \(item.objects) \(item.examples.map { String(decoding: $0.path, as: UTF8.self) + "=" + $0.detail })"
        }
        #expect(
            found == [
                #"everyone_may_write 2 ["open=with the sticky bit"]"#, #"unknown_identity 1 ["foreign=owner"]"#,
                #"locked_by_flag 1 ["locked=uchg"]"#, #"excluded_from_backup 1 ["left="]"#,
            ])
    }

    @Test func namesOfSubjects() throws {
        var scene = ReportScene()
        scene.file("f", 0o600, acl: ["group:staff allow write,append", "user:carol allow write"])
        scene.file("g", acl: ["user:bob deny write,append", "group:staff allow write,append"])
        scene.file("h", 0o666, acl: ["group:eng deny write,append"])
        scene.file("i", owner: 4242)
        let subjects = scene.subjects
        let maker = VerdictMaker(classes: scene.classes.all, subjects: subjects, volume: VolumeState())
        let who = (0..<4).map { number in
            WhoText(subjects: subjects).text(maker.verdict(of: number, in: nil, Reach()), ReportColumn.write.rights(of: .file))
        }
        #expect(
            who == [
                "group staff; partly: carol", "group staff, but not bob", "everyone but group eng, bob, carol, users without an account",
                "uid 4242",
            ])
    }

    // MARK: Against every answer by itself

    private static let principals = [
        "user:alice", "user:bob", "user:carol", "user:#777", "group:staff", "group:eng", "group:everyone", "group:#55",
    ]
    private static let rights = ["read", "write", "execute", "delete", "append", "delete_child", "readattr", "writesecurity", "chown"]

    private static func item(_ random: inout SplitMix64, _ scene: ReportScene, _ kind: ObjectKind) -> ObjectClass {
        let modes: [UInt16] = [0o755, 0o700, 0o750, 0o1777, 0o604, 0o2770, 0o077]
        let entries = (0..<Int.random(in: 0...4, using: &random)).map { _ in
            let words = rights.filter { _ in Bool.random(using: &random) }
            let kind = Bool.random(using: &random) ? "allow" : "deny"
            return "\(principals.randomElement(using: &random) ?? "") \(kind) \((words + ["read"]).joined(separator: ","))"
        }
        return scene.item(
            kind, modes.randomElement(using: &random) ?? 0, owner: [0, 501, 502, 777].randomElement(using: &random) ?? 0,
            group: [0, 20, 30, 55].randomElement(using: &random) ?? 0,
            flags: Int.random(in: 0..<8, using: &random) == 0 ? .userImmutable : [], entries)
    }

    /// Each subject is asked about by itself here, along the whole path. The report asks only where an answer may differ.
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func verdictsAreThoseOfTheAuthorizer(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<25 {
            var scene = ReportScene()
            let path = (0..<4).map { scene.classes.number(of: Self.item(&random, scene, $0 == 3 ? .file : .directory)) }
            let subjects = scene.subjects
            let classes = scene.classes.all
            let maker = VerdictMaker(classes: classes, subjects: subjects, volume: VolumeState())
            let reach = path.dropLast().reduce(Reach()) { maker.reach(into: $1, from: $0) }
            let verdict = maker.verdict(of: path[3], in: path[2], reach)
            func expected(_ caller: DirectoryCredential) -> RightMask {
                func isAllowed(_ operation: Operation, _ facts: FactsByRole) -> Bool {
                    var inquiry = Inquiry(caller, on: VolumeState(), sandbox: Unconfined(), observer: NoObserver())
                    return inquiry.authorize(operation, facts).isAllowed
                }
                for number in path.dropLast() where !isAllowed(.lookup, FactsByRole(object: classes[number].facts)) { return [] }
                var mask: RightMask = []
                for (index, name) in RightName.all.enumerated() {
                    let parent = name.right == .delete ? classes[path[2]].facts : nil
                    let facts = FactsByRole(object: classes[path[3]].facts, parent: parent)
                    if isAllowed(.rights(name.right), facts) { mask.insert(RightMask(rawValue: 1 << index)) }
                }
                return mask
            }
            for (index, subject) in subjects.all.enumerated() {
                #expect(verdict.mask(of: index, subjects) == expected(subject.credential), "\(subject.kind), seed \(seed)")
            }
            #expect(verdict.others == expected(subjects.everyoneElse))
            #expect(subjects.unknown.isEmpty || verdict.withoutAccount == expected(subjects.withoutAccount))
        }
    }

    /// However places are put together, each object is counted once, under its own verdict.
    @Test(arguments: [11, 12, 13, 14, 15, 16] as [UInt64])
    func everyObjectIsCountedUnderItsVerdict(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var scene = ReportScene()
        let folders = (0..<3).map { _ in Self.item(&random, scene, .directory) }
        let files = (0..<3).map { _ in Self.item(&random, scene, .file) }
        var expected: [String: Int] = [:]
        var path: [Int] = []
        var objects: [(number: Int, path: [Int])] = []
        func grow(_ depth: Int) {
            for index in 0..<Int.random(in: 0...4, using: &random) {
                if depth < 5, Bool.random(using: &random) {
                    let item = folders.randomElement(using: &random) ?? folders[0]
                    objects.append((scene.classes.number(of: item), path))
                    scene.enter(Array("d\(index)".utf8), item)
                    path.append(scene.classes.number(of: item))
                    grow(depth + 1)
                    path.removeLast()
                    scene.leave()
                } else {
                    let item = files.randomElement(using: &random) ?? files[0]
                    objects.append((scene.classes.number(of: item), path))
                    scene.add(Array("f\(index)".utf8), item)
                }
            }
        }
        for _ in 0..<30 {
            let top = scene.classes.number(of: folders[0])
            if scene.events.isEmpty {
                scene.enter([], folders[0])
                objects.append((top, []))
                path = [top]
            }
            grow(0)
        }
        scene.leave()
        let maker = VerdictMaker(classes: scene.classes.all, subjects: scene.subjects, volume: VolumeState())
        func key(_ kind: KindGroup, _ verdict: Verdict, _ entries: [ACE]) -> String {
            "\(kind) \((kind == .folder ? verdict : verdict.without(.execute, maker.subjects))) \(entries)"
        }
        for object in objects {
            let item = scene.classes.all[object.number]
            let reach = object.path.reduce(Reach()) { maker.reach(into: $1, from: $0) }
            let verdict = maker.verdict(of: object.number, in: object.path.last, reach)
            expected[key(KindGroup(item.facts.kind), verdict, item.entries), default: 0] += 1
        }
        for most in [20_000, 40] {
            let report = try #require(scene.report(mostPlaces: most))
            var counted: [String: Int] = [:]
            func count(_ place: ReportPlace) {
                func add(_ look: Int?, _ count: Int) {
                    guard let look = look.map({ report.looks[$0] }) else { return }
                    counted[key(look.kind, look.verdict, look.entries), default: 0] += count
                }
                add(place.look, place.count)
                for line in place.lines { if let line { add(line.look, line.count) } }
                place.children.forEach(count)
            }
            count(report.top)
            if most == 20_000 { #expect(counted == expected) }
            #expect(counted.values.reduce(0, +) + report.top.omittedInAll.objects == objects.count)
            #expect(report.top.objects == objects.count)
            #expect(counted.allSatisfy { expected[$0.key, default: 0] >= $0.value })
        }
    }

    @Test func aLimitLeavesOutTheDeepestPlacesAndCountsThem() throws {
        var scene = ReportScene()
        scene.folder("")
        for number in 0..<30 {
            // Each owner is another.
            scene.folder("u\(number)", owner: 1000 + UInt32(number))
            for index in 0..<5 { scene.file("f\(index)", owner: 2000 + UInt32(number * 5 + index)) }
            scene.leave()
        }
        scene.leave()
        let report = try #require(scene.report())
        #expect(report.top.places == 1 + 30 + 150)
        let middle = report.top.limited(to: 100)
        #expect(middle.places == 31 && middle.omittedInAll.places == 150 && middle.objects == report.top.objects)
        let small = report.top.limited(to: 10)
        #expect(small.places == 10 && small.omittedInAll.places == 171 && small.objects == report.top.objects)
    }
}
