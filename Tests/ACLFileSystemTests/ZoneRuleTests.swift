import Authorization
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import SandboxPolicy
import Testing

@testable import ACLFileSystem

/// docs/reference/sandbox-zones.md, rule by rule, without a mount. `SandboxZoneTests` and their kin do the same through the kernel.
@Suite struct ZoneRuleTests {
    private let data = ConfinedTree.data

    @Test func placesDecide() throws {
        let tree = try ConfinedTree()
        for (place, reads, writes, removes) in [
            ("Users/ann/Downloads", true, true, true), ("Users/ann/Music", true, false, false),
            ("etc", false, false, false),
            ("Users/ann/Documents", false, false, false), (data + "/Documents", true, true, true),
            (data + "/Documents/Inbox", true, false, true), (data + "/Own", true, true, true),
            (data + "/Tool.app", true, false, false),
        ] {
            func expect(_ word: String, _ passes: Bool, _ what: String) {
                #expect(word == (passes ? "ok" : "EPERM"), "\(place): \(what)")
            }
            expect(tree.stat(place + "/file"), reads, "stat")
            expect(tree.list(place), reads, "list")
            expect(tree.open(place + "/sub/file", O_RDONLY), reads, "read")
            expect(tree.open(place + "/file", O_RDWR), writes, "write")
            expect(tree.make(.file, place + "/new"), writes, "create")
            expect(tree.make(.directory, place + "/newdir"), writes, "mkdir")
            expect(tree.link(place + "/file", place + "/hard"), writes, "link")
            expect(tree.rename(place + "/file", place + "/file2"), writes, "rename")
            expect(tree.remove(place + "/victim"), removes, "unlink")
        }
        #expect(tree.stat("") == "ok" && tree.list("") == "EPERM")
        #expect(tree.stat("nothing") == "EPERM", "whether it is there is not told")
        #expect(tree.lastRule == "no key reaches this place")
    }

    @Test func fixedPlacesStay() throws {
        let tree = try ConfinedTree()
        #expect(tree.rename(data + "/Documents", data + "/Docs") == "EPERM")
        #expect(tree.lastRule == "container:Documents: stays where it is")
        #expect(tree.rename(data + "/Documents", data + "/Own", exchange: true) == "EPERM")
        #expect(tree.rename(data + "/Own/sub", data + "/tmp") == "EPERM")
        #expect(tree.remove(data + "/Documents/Inbox", directory: true) == "EPERM")
        for new in [NewObject.file, .special(.fifo, device: 0)] {
            #expect(tree.make(new, data + "/Library/Preferences") == "EPERM")
        }
        #expect(tree.link(data + "/Own/file", data + "/Library/Preferences") == "EPERM")
        #expect(tree.rename(data + "/Own/sub", data + "/Library/Preferences") == "EPERM")
        #expect(tree.make(.directory, data + "/Library/Preferences") == "ok")
        #expect(tree.make(.file, data + "/Library/Preferences/x.plist") == "ok")
        #expect(tree.make(.directory, data + "/Fake.app") == "EPERM")
    }

    @Test func theTopOfAnIosContainer() throws {
        let tree = try ConfinedTree(layout: .ios)
        let data = ConfinedTree.iosData
        #expect(tree.list(data) == "ok")
        #expect(tree.stat(data + "/other") == "EPERM")
        #expect(tree.make(.directory, data + "/new") == "EPERM")
        #expect(tree.make(.file, data + "/Library/Preferences") == "EPERM")
        #expect(tree.make(.directory, data + "/Library/Application Support") == "ok")
        rmdir(tree.top + "/" + data + "/tmp/sub/file")
        #expect(tree.remove(data + "/tmp", directory: true) == "EPERM")
        #expect(rename(tree.top + "/" + data + "/tmp", tree.top + "/etc/tmp") == 0)
        #expect(tree.make(.file, data + "/tmp") == "EPERM")
        #expect(tree.make(.directory, data + "/tmp") == "ok")
    }

    @Test func movesOnlyLose() throws {
        let tree = try ConfinedTree()
        #expect(tree.rename(data + "/Documents/file", "Users/ann/Downloads/a") == "ok")
        #expect(tree.rename("Users/ann/Music/file", "Users/ann/Downloads/b") == "EPERM")
        #expect(tree.rename("Users/ann/Downloads/a", "Users/ann/Music/a") == "EPERM")
        #expect(tree.rename("Users/ann/Downloads/a", "Users/ann/Music/file", exchange: true) == "EPERM")
        #expect(tree.link("Users/ann/Music/file", "Users/ann/Downloads/b") == "EPERM")
        #expect(tree.link(data + "/Documents/Inbox/file", data + "/Documents/b") == "EPERM")
        #expect(tree.rename(data + "/Documents/Inbox/file", data + "/tmp/b") == "EPERM")
        #expect(tree.rename(data + "/Documents/Inbox/file", data + "/Documents/b") == "ok")
        #expect(tree.open(data + "/Documents/b", O_RDWR) == "ok")
        #expect(tree.rename(data + "/Documents/Inbox/sub", data + "/Documents/c") == "ok")
        #expect(link(tree.top + "/etc/file", tree.top + "/" + data + "/Documents/Inbox/two") == 0)
        #expect(tree.rename(data + "/Documents/Inbox/two", data + "/Documents/d") == "EPERM")
        #expect(tree.lastRule == "container:Documents/Inbox: it has other links")
        // The type error comes after the sandbox.
        #expect(tree.rename("Users/ann/Music/sub", "Users/ann/Music/victim") == "EPERM")
        #expect(tree.rename("Users/ann/Downloads/sub", "Users/ann/Downloads/victim") == "ENOTDIR")
    }

    @Test(arguments: [MountOptions.CacheMode.auto, .strict, .exclusive])
    func whereItIs(_ cache: MountOptions.CacheMode) throws {
        let tree = try ConfinedTree(cache: cache)
        let (sub, file) = (try tree.node("Users/ann/Downloads/sub"), try tree.node("Users/ann/Downloads/sub/file"))
        let victim = try tree.node("Users/ann/Downloads/victim")
        func looksUp() -> String {
            tree.word { () throws(Errno) in _ = try tree.confined.operations.lookups.lookup("file", in: sub, tree.caller) }
        }
        for _ in 0..<3 {
            #expect(looksUp() == "ok" && tree.setFlags(file) == "ok" && tree.setFlags(victim) == "ok")
            #expect(tree.rename("Users/ann/Downloads/sub", "etc/sub2", on: tree.free) == "ok")
            #expect(tree.rename("Users/ann/Downloads/victim", "etc/victim2", on: tree.free) == "ok")
            #expect(
                looksUp() == "EPERM" && tree.setFlags(sub) == "EPERM" && tree.setFlags(file) == "EPERM"
                    && tree.setFlags(victim) == "EPERM")
            #expect(tree.rename("etc/sub2", "Users/ann/Downloads/sub", on: tree.free) == "ok")
            #expect(tree.rename("etc/victim2", "Users/ann/Downloads/victim", on: tree.free) == "ok")
        }
        #expect(tree.rename("Users/ann/Downloads", "Users/ann/Music/in", on: tree.free) == "ok")
        #expect(looksUp() == "ok" && tree.setFlags(file) == "EPERM", "only reading passes there")
    }

    @Test func twoNamesAreTwoNodes() throws {
        let tree = try ConfinedTree()
        #expect(link(tree.top + "/Users/ann/Music/file", tree.top + "/Users/ann/Downloads/both") == 0)
        let (reading, writing) = (try tree.node("Users/ann/Music/file"), try tree.node("Users/ann/Downloads/both"))
        #expect(reading != writing)
        #expect(try tree.node("Users/ann/Downloads/both") == writing && tree.node("Users/ann/Music/file") == reading)
        #expect(tree.setFlags(reading) == "EPERM" && tree.setFlags(writing) == "ok")
        #expect(tree.link("Users/ann/Downloads/both", "Users/ann/Downloads/third") == "ok")
        #expect(try tree.node("Users/ann/Downloads/third") == writing)
        #expect(tree.remove("Users/ann/Downloads/both") == "ok")
        #expect(tree.setFlags(writing) == "ok", "it has the third name")
        #expect(tree.remove("Users/ann/Downloads/third") == "ok")
        #expect(tree.setFlags(writing) == "EPERM", "it stands where only reading passes")
        tree.confined.operations.lookups.forgetLookups(of: writing, 10)
        #expect(try tree.node("Users/ann/Music/file") == reading)
        tree.confined.operations.lookups.forgetLookups(of: reading, 10)
        #expect(tree.confined.loader.nodes.find(reading) == nil && tree.confined.loader.nodes.find(writing) == nil)
        #expect(try tree.node("Users/ann/Music/file") != reading)
    }

    @Test func unnamedFiles() throws {
        let tree = try ConfinedTree()
        let victim = try tree.node("Users/ann/Downloads/victim")
        let handle = try tree.confined.operations.opens.open(victim, flags: O_RDWR, tree.caller).handle
        #expect(tree.remove("Users/ann/Downloads/victim") == "ok")
        #expect(tree.setFlags(victim) == "ok")
        tree.confined.operations.gaps.release(handle)
        let downloads = try tree.node("Users/ann/Downloads")
        let (entry, opening) = try tree.confined.operations.opens.openUnnamed(in: downloads, flags: O_RDWR, mode: 0o600, tree.caller)
        #expect(tree.setFlags(entry.node) == "ok")
        func give(_ name: String, _ directory: String) -> String {
            tree.word { () throws(Errno) in
                _ = try tree.confined.operations.names.link(entry.node, as: name, in: tree.node(directory), tree.caller)
            }
        }
        #expect(give("new", "Users/ann/Music") == "EPERM")
        #expect(give("new", data + "/Tool.app") == "EPERM")
        #expect(give("new", data + "/Documents") == "ok")
        #expect(tree.setFlags(entry.node) == "ok")
        #expect(try tree.node(data + "/Documents/new") == entry.node)
        tree.confined.operations.gaps.release(opening.handle)
        let music = try tree.node("Users/ann/Music")
        #expect(
            tree.word { () throws(Errno) in
                _ = try tree.confined.operations.opens.openUnnamed(in: music, flags: O_RDWR, mode: 0o600, tree.caller)
            } == "EPERM")
    }

    @Test func grantsThatAreTooManyCloseAndSayWhy() throws {
        let tree = try ConfinedTree(["files.user-selected.read-write": .flag(true)])
        let deep = [[UInt8]](repeating: [0x78], count: 250)
        let grants = (0..<140).map { number in
            Grant(
                bundle: "org.example.App", path: [Array("p\(number)".utf8)] + deep, isDirectory: true, access: .readOnly,
                expires: nil)
        }
        try tree.confined.changeGrants(Array(grants.prefix(100)))
        #expect(tree.confined.closedBecause == nil && tree.list(ConfinedTree.data) == "ok")
        try tree.confined.changeGrants(grants)
        #expect(tree.confined.closedBecause?.contains("more places than can be kept apart") == true)
        #expect(tree.list(ConfinedTree.data) == "EPERM")
        try tree.confined.changeGrants([])
        #expect(tree.confined.closedBecause == nil && tree.list(ConfinedTree.data) == "ok")
    }

    @Test func grantsComeAndGo() throws {
        let tree = try ConfinedTree(["files.user-selected.read-write": .flag(true)])
        func grant(_ access: EntitledAccess, isDirectory: Bool = true, expires: Int64? = nil) -> Grant {
            let path = isDirectory ? ["Users", "ann", "Documents"] : ["Users", "ann", "Documents", "file"]
            return Grant(
                bundle: "org.example.App", path: path.map { Array($0.utf8) }, isDirectory: isDirectory, access: access,
                expires: expires)
        }
        let file = "Users/ann/Documents/file"
        #expect(tree.open(file, O_RDONLY) == "EPERM")
        try tree.confined.changeGrants([grant(.readOnly)])
        #expect(tree.open(file, O_RDONLY) == "ok" && tree.open(file, O_RDWR) == "EPERM")
        let node = try tree.node(file)
        try tree.confined.changeGrants([grant(.readWrite)])
        #expect(tree.setFlags(node) == "ok")
        #expect(try tree.node(file) == node, "the same file, the same node: locks and pages stay")
        try tree.confined.changeGrants([])
        #expect(tree.setFlags(node) == "EPERM" && tree.stat(file) == "EPERM")
        // One file alone: written in place, not replaced.
        try tree.confined.changeGrants([grant(.readWrite, isDirectory: false)])
        #expect(tree.open(file, O_RDWR) == "ok" && tree.stat("Users/ann/Documents/victim") == "EPERM")
        #expect(tree.remove(file) == "EPERM" && tree.make(.file, "Users/ann/Documents/new") == "EPERM")
        #expect(unlink(tree.top + "/" + file) == 0)
        #expect(tree.make(.directory, file) == "EPERM" && tree.make(.file, file) == "ok")
        // However far away the end is that a file of grants names.
        try tree.confined.changeGrants([grant(.readWrite, expires: .max)])
        #expect(tree.stat(file) == "ok" && tree.confined.loader.view?.nextExpiry != nil)
        // It ends by itself.
        let end = SystemTime.now().sec + 1
        try tree.confined.changeGrants([grant(.readWrite, expires: end)])
        #expect(tree.confined.loader.view?.nextExpiry != nil)
        while SystemTime.now().sec < end { usleep(10_000) }
        #expect(tree.stat(file) == "EPERM")
        #expect(tree.confined.loader.view?.takeExpiry() == true && tree.confined.loader.view?.nextExpiry == nil)
    }
}
