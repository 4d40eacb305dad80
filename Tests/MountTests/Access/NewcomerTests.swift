import Foundation
import Glibc
import TestSupport
import Testing

/// What somebody who has just mounted it does, as the users who would.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct NewcomerTests {
    let fixture: MountFixture
    let root: ActingProcess

    init() throws {
        fixture = try MountFixture()
        root = try ActingProcess(.root)
        try root.must("chmod", fixture.mountpoint, "01777")
    }

    /// A file or directory of alice's with a list.
    private func make(_ name: String, _ mode: String, acl: String? = nil, directory: Bool = false) throws -> String {
        let path = fixture.path(name)
        try root.must(directory ? "mkdir" : "create", path, mode, "0")
        try root.must("chown", path, "501", "20")
        if let acl { try root.must("setxattr", path, "system.aclfs.acl", acl) }
        return path
    }

    private func acl(_ path: String) throws -> String? {
        let result = try root.call("getxattr", path, "system.aclfs.acl")
        return result.isOK ? String(decoding: unescaped(result.value), as: UTF8.self) : nil
    }

    @Test func chmodKeepsTheEntries() throws {
        let file = try make("f", "0644", acl: "user:#502 allow read")
        #expect(try TestUser.alice.shell("chmod 600 \(file)").status == 0)
        #expect(try acl(file)?.contains("allow read") == true)
        #expect(try TestUser.bob.shell("cat \(file)").status == 0)
        #expect(try TestUser.carol.shell("cat \(file)").status != 0)
    }

    @Test func copyAndMoveWithinIntoAndOut() throws {
        let outside = fixture.top + "/outside"
        mkdir(outside, 0o777)
        chmod(outside, 0o777)
        let file = try make("f", "0640")
        let script = """
            set -e
            echo text > \(file); cp -a \(file) \(file).copy; cmp \(file) \(file).copy
            mv \(file).copy \(outside)/x; grep -q text \(outside)/x
            mv \(outside)/x \(file).back; grep -q text \(file).back; stat -c %a \(file).back
            """
        let result = try TestUser.alice.shell(script)
        #expect(result.status == 0, "\(result)")
        #expect(result.output == "640")
    }

    @Test func aForeignTreeCannotBeRemoved() throws {
        let tree = try make("tree", "0755", directory: true)
        #expect(try TestUser.alice.shell("mkdir \(tree)/d && echo x > \(tree)/d/f").status == 0)
        #expect(try TestUser.bob.shell("rm -rf \(tree)").status != 0)
        #expect(try root.call("stat", tree + "/d/f").isOK)
    }

    @Test func editingInPlaceDropsExplicitAndInheritsAgain() throws {
        let directory = try make("d", "0755", acl: "user:#502 allow read,file_inherit", directory: true)
        #expect(try TestUser.alice.shell("echo old > \(directory)/f").status == 0)
        try root.must("setxattr", directory + "/f", "system.aclfs.acl", "user:#503 deny read")
        #expect(try TestUser.alice.shell("sed -i s/old/new/ \(directory)/f").status == 0)
        let after = try acl(directory + "/f") ?? ""
        #expect(after.contains("inherited allow read") && !after.contains("deny"), "\(after)")
    }

    @Test(.enabled(if: isInstalled("vim"), "no vim (apt install vim)"))
    func vimDropsExplicitEntriesToo() throws {
        let directory = try make("d", "0755", directory: true)
        #expect(try TestUser.alice.shell("echo old > \(directory)/f").status == 0)
        try root.must("setxattr", directory + "/f", "system.aclfs.acl", "user:#503 deny read")
        // Below /tmp vim would always write in place.
        let edit = "cd \(directory) && vim -N -es -u NONE -i NONE -c 'set backupskip=' -c '%s/old/new/e' -c"
        // Written in place the file keeps what it has; by default a new one takes its name.
        #expect(try TestUser.alice.shell("\(edit) 'set backupcopy=yes | wq' f </dev/null && cat f").output == "new")
        #expect(try acl(directory + "/f")?.contains("deny") == true)
        #expect(try TestUser.alice.shell("\(edit) wq f </dev/null; sed -n '$=' f").output == "1")
        #expect(try acl(directory + "/f") == nil)
    }

    @Test func anEntryAloneMakesNoProgram() throws {
        let script = try make("s", "0644", acl: "user:#502 allow read,execute")
        let bob = try ActingProcess(.bob)
        #expect(try bob.call("exec", script).word == "EACCES")
        let said = try Spawn.run([MountTesting.program("aclfs"), "explain", "--as", "502", "exec", script])
        #expect(said.status == 1 && said.output.contains("no_x_bit"), "\(said)")
        try root.must("chmod", script, "0744")
        #expect(try bob.call("exec", script).word == "ENOEXEC")
    }

    @Test func findAsAStranger() throws {
        let directory = try make("many", "0755", directory: true)
        let alice = try ActingProcess(.alice)
        for number in 0..<100 { try alice.must("create", "\(directory)/\(number)", "0600", "0") }
        try alice.must("utimes", directory + "/7", "explicit")
        #expect(try TestUser.bob.shell("find \(directory) -type f -newer \(directory)/7 | wc -l").output == "99")
    }

    @Test func aBusyMountStays() throws {
        let file = try make("f", "0666")
        let alice = try ActingProcess(.alice)
        try alice.must("hold", "1", file, String(O_RDWR), "0")
        let result = try Spawn.run(["umount", fixture.mountpoint])
        #expect(result.status == 32, "\(result)")
        #expect(try alice.call("write", "1", "still").isOK)
        try alice.must("close", "1")
        #expect(try fixture.unmount().status == 0)
    }

    @Test func aKilledDaemonLosesNothing() throws {
        let file = try make("f", "0640", acl: "user:#502 allow read")
        #expect(try TestUser.alice.shell("echo kept > \(file)").status == 0)
        let serving = MountFixture.daemons(of: fixture.mountpoint)
        #expect(serving.count == 1)
        MountFixture.killDaemons(of: fixture.mountpoint)
        try eventually { try !root.call("stat", file).isOK }
        #expect(try fixture.unmount().status == 0)
        try fixture.mount()
        #expect(try TestUser.bob.shell("cat \(file)").output == "kept")
    }

    /// Also while the kernel still knows the attributes of the mount's top.
    @Test func aDeadMountIsHealedAtOnce() throws {
        for _ in 0..<25 {
            try root.must("stat", fixture.mountpoint)
            MountFixture.killDaemons(of: fixture.mountpoint)
            // Until the kernel has closed the dead daemon's connection.
            eventually { MountFixture.daemons(of: fixture.mountpoint).isEmpty }
            try fixture.mount()
            try root.must("stat", fixture.mountpoint)
        }
    }

    @Test func twoMountsOfOneSource() throws {
        let second = fixture.top + "/second"
        mkdir(second, 0o755)
        try fixture.mount("", at: second)
        let file = try make("f", "0644")
        let bob = try ActingProcess(.bob)
        #expect(try bob.call("open", second + "/f", "0").isOK)
        try root.must("setxattr", file, "system.aclfs.acl", "user:#502 deny read")
        #expect(try bob.call("open", second + "/f", "0").word == "EACCES")
        #expect(try fixture.unmount(at: second).status == 0)
    }

    @Test func openUnlinkedAndLinkedFiles() throws {
        let directory = try make("d", "0755", directory: true)
        let alice = try ActingProcess(.alice)
        try alice.must("hold", "1", directory + "/f", String(O_RDWR | O_CREAT), "0600")
        try alice.must("link", directory + "/f", directory + "/g")
        #expect(try alice.must("stat", directory + "/g") == "501 20 600 2 0")
        try alice.must("unlink", directory + "/f")
        try alice.must("unlink", directory + "/g")
        try alice.must("write", "1", "text")
        #expect(try alice.must("pread", "1", "0") == "text")
        try alice.must("close", "1")
    }

    @Test func unnamedFilesGetNames() throws {
        let directory = try make("d", "0755", directory: true)
        let alice = try ActingProcess(.alice)
        let unnamed: Int32 = 0o20200000
        try alice.must("hold", "1", directory, String(unnamed | O_RDWR), "0600")
        try alice.must("write", "1", "text")
        try alice.must("linkheld", "1", directory + "/f")
        #expect(try TestUser.alice.shell("cat \(directory)/f").output == "text")
    }

    @Test func strangeNames() throws {
        let directory = try make("d", "0755", directory: true)
        let alice = try ActingProcess(.alice)
        let long = String(repeating: "n", count: 255)
        #expect(try alice.call("create", directory + "/" + long, "0600", "0").isOK)
        #expect(try alice.call("create", directory + "/" + long + "n", "0600", "0").word == "ENAMETOOLONG")
        #expect(try alice.call("create", directory + "/\\xff\\xfe", "0600", "0").isOK)
        #expect(try alice.call("open", directory + "/\\xff\\xfe", "0").isOK)
        #expect(try alice.must("list", directory) == "4")
    }
}
