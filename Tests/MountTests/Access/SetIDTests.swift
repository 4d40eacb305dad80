import Glibc
import TestSupport
import Testing

/// Set-id bits go when somebody writes, and not because somebody asks for a change of nothing.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SetIDTests {
    /// chown(2) without ids reaches the file system as a request that names nothing.
    @Test(arguments: ["cache=auto", "passthrough=off", "kernel_features=-killpriv2"])
    func aChangeOfNothingClearsNothing(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        let root = try ActingProcess(.root)
        for (name, mode, text) in [
            ("plain", "06755", ""), ("locked", "06755", ""), ("closed", "06700", "user:#502 deny read,write,execute,readattr,readsecurity"),
            ("open", "06777", ""),
        ] {
            try root.must("create", fixture.path(name), "0644", "0")
            try root.must("chown", fixture.path(name), "501", "501")
            try root.must("chmod", fixture.path(name), mode)
            if !text.isEmpty { try root.must("setxattr", fixture.path(name), "system.aclfs.acl", text) }
        }
        try root.must("setxattr", fixture.path("locked"), "system.aclfs.flags", "schg")
        let bob = try ActingProcess(.bob)
        for name in ["plain", "locked", "closed", "open"] {
            _ = try bob.call("chown", fixture.path(name), "-1", "-1")
            var status = stat()
            #expect(lstat(fixture.path(name), &status) == 0)
            #expect(status.st_mode & 0o6000 == 0o6000, "\(name): \(String(status.st_mode, radix: 8))")
        }
        // Who writes takes them away.
        try bob.must("hold", "1", fixture.path("open"), String(O_WRONLY), "0")
        try bob.must("write", "1", "x")
        var status = stat()
        #expect(lstat(fixture.path("open"), &status) == 0)
        #expect(status.st_mode & 0o6000 == 0)
    }

    /// The threads of the daemon give up CAP_FSETID when they register a file for passthrough. Whatever they do next for root, root's changes leave the
    /// bits.
    @Test(arguments: ["cache=auto", "passthrough=off"])
    func rootKeepsThemBetweenCreationsOfOthers(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        let (root, alice) = (try ActingProcess(.root), try ActingProcess(.alice))
        try root.must("mkdir", fixture.path("d"), "0777")
        try root.must("chmod", fixture.path("d"), "0777")
        try root.must("create", fixture.path("tool"), "0644", "0")
        try root.must("chown", fixture.path("tool"), "501", "4242")
        let tool = fixture.path("tool")
        let changes: [[String]] = [
            ["chmod", tool, "06755"], ["truncate", tool, "100"], ["hold", "1", tool, String(O_WRONLY), "0"], ["pwrite", "1", "50", "x"],
            ["fallocate", "1", "0", "0", "4096"], ["ftruncate", "1", "7"], ["close", "1"],
            ["setxattr", tool, "user.note", "x"], ["utimes", tool, "1", "1"], ["chmod", tool, "06750"], ["chmod", tool, "06755"],
        ]
        for change in changes {
            for number in 0..<12 {
                try alice.must("create", fixture.path("d/\(number)"), "0644")
                try alice.must("unlink", fixture.path("d/\(number)"))
            }
            let result = try root.call(change)
            #expect(result.isOK, "\(change): \(result)")
            var status = stat()
            #expect(lstat(tool, &status) == 0)
            #expect(status.st_mode & 0o6000 == 0o6000, "\(change): \(String(status.st_mode, radix: 8))")
        }
        // And others' writes still take them.
        try root.must("chmod", tool, "06777")
        for handle in ["2", "3"] {
            try alice.must("create", fixture.path("d/\(handle)"), "0644")
            try alice.must("hold", handle, tool, String(O_WRONLY), "0")
            try alice.must("pwrite", handle, "0", "y")
        }
        var status = stat()
        #expect(lstat(fixture.backing + "/tool", &status) == 0)
        #expect(status.st_mode & 0o6000 == 0)
    }

    /// On overlayfs also the removal of a POSIX ACL sets the mode.
    @Test func aListThatIsReplacedLeavesTheBitOnOverlay() throws {
        let fixture = try MountFixture(options: nil)
        let layers = fixture.top + "/private/layers"
        let script = """
            mkdir -p $0/lower $0/upper $0/work && mount -t overlay none -o lowerdir=$0/lower,upperdir=$0/upper,workdir=$0/work $1 || exit 77
            chmod 755 $1; mkdir $1/d $1/open; chmod 777 $1/open; chgrp 4242 $1/d; chmod 2755 $1/d; setfacl -m u:501:rx,m::rx $1/d
            """
        let made = try Spawn.run(["sh", "-c", "mkdir -p $0; mount -t tmpfs none $0; \(script)", layers, fixture.backing])
        defer { for place in [fixture.backing, layers] { _ = try? Spawn.run(["umount", "-ql", place]) } }
        // Not every kernel has overlayfs.
        if made.status == 77 { return print("no overlayfs: \(made.output)") }
        #expect(made.status == 0, "\(made)")
        try fixture.mount()
        let alice = try ActingProcess(.alice)
        for round in 0..<4 {
            // Each thread that serves has registered a file.
            for number in 0..<12 { try alice.must("create", fixture.path("open/\(round)-\(number)"), "0644") }
            let set = try Spawn.run(["setfacl", "-m", "u:60\(round):rx", fixture.path("d")])
            var status = stat()
            #expect(set.status == 0 && lstat(fixture.backing + "/d", &status) == 0, "\(set)")
            #expect(status.st_mode & 0o2000 != 0, "round \(round): \(String(status.st_mode, radix: 8))")
        }
        try fixture.unmount()
    }

    /// docs/reference/authorization.md Q1: where ownership does not count no set-id bit is stored, by whatever call, and none is honoured.
    @Test(arguments: ["noowners", "noowners,nogrpid", "noowners,kernel_features=-killpriv2"])
    func ignoredOwnershipStoresNoSetID(_ options: String) throws {
        let fixture = try MountFixture(options: nil)
        // Of a root who uses the directory without aclfs.
        close(Glibc.open(fixture.backing + "/tool", O_CREAT | O_WRONLY, 0o755))
        Glibc.mkdir(fixture.backing + "/shared", 0o777)
        chmod(fixture.backing + "/shared", 0o6777)
        try fixture.mount(options)
        func mode(_ name: String) -> mode_t {
            var status = stat()
            return lstat(fixture.backing + "/" + name, &status) == 0 ? status.st_mode & 0o7777 : 0
        }
        for user in [TestUser.bob, .root] {
            let process = try ActingProcess(user)
            for (asked, stored) in [("04755", mode_t(0o755)), ("02711", 0o711), ("07777", 0o1777)] {
                try process.must("chmod", fixture.path("tool"), asked)
                #expect(mode("tool") == stored, "uid \(user.uid), \(asked)")
            }
            let names = ["f", "d", "p", "shared/d"].map { "\($0)\(user.uid)" }
            try process.must("create", fixture.path(names[0]), "06755", "0")
            try process.must("mkdir", fixture.path(names[1]), "06755", "0")
            try process.must("mkfifo", fixture.path(names[2]), "06755", "0")
            try process.must("mkdir", fixture.path(names[3]), "0755", "0")
            for name in names { #expect(mode(name) & 0o6000 == 0, "\(name): \(String(mode(name), radix: 8))") }
        }
    }

    @Test func ignoredOwnershipAndSetIDDoNotGoTogether() throws {
        let fixture = try MountFixture(options: "noowners")
        let aclfs = MountTesting.program("aclfs")
        let refused = try Spawn.run([aclfs, "mount", "-o", "noowners,suid", fixture.backing, fixture.mountpoint])
        #expect(refused.status == 1 && refused.output.contains("contradict each other"), "\(refused)")
        // As mount(8) calls the helper.
        let helper = "exec -a mount.aclfs \"$@\""
        let words = ["bash", "-c", helper, "-", aclfs, fixture.backing, fixture.mountpoint, "-o", "remount,suid"]
        let later = try Spawn.run(words)
        #expect(later.status != 0 && later.output.contains("contradict each other"), "\(later)")
        let flags = ProcFile.text("/proc/self/mounts").split(separator: "\n").first { $0.contains(" \(fixture.mountpoint) ") } ?? ""
        #expect(flags.contains("nosuid"), "\(flags)")
    }

    /// Q4: what root makes in another's set-uid directory stays root's, unless the mount says otherwise.
    @Test(arguments: [("suiddir", "501", "0"), ("suiddir=all", "501", "501"), ("nosuiddir", "502", "0")])
    func aSetUserDirectoryTakesNothingOfRoots(_ option: String, _ bobs: String, _ roots: String) throws {
        let fixture = try MountFixture(options: option)
        let (root, alice, bob) = (try ActingProcess(.root), try ActingProcess(.alice), try ActingProcess(.bob))
        try root.must("chmod", fixture.mountpoint, "0777")
        try alice.must("mkdir", fixture.path("in"), "0777", "0")
        try alice.must("chmod", fixture.path("in"), "04777")
        for (process, name, owner) in [(bob, "bob", bobs), (root, "root", roots)] {
            try process.must("create", fixture.path("in/\(name)"), "0600", "0")
            try process.must("mkdir", fixture.path("in/\(name).d"), "0700", "0")
            try process.must("mkfifo", fixture.path("in/\(name).p"), "0600", "0")
            try process.must("symlink", "target", fixture.path("in/\(name).l"))
            for suffix in ["", ".d", ".p", ".l"] {
                let status = try root.must("stat", fixture.path("in/\(name)\(suffix)"))
                #expect(String(decoding: unescaped(status), as: UTF8.self).hasPrefix("\(owner) "), "\(name)\(suffix): \(status)")
            }
        }
        // What is root's the owner of the directory may not read.
        #expect(try alice.call("open", fixture.path("in/root"), String(O_RDONLY)).isOK == (roots == "501"))
    }

    /// Q4: touch(1) makes a file and sets its times before it closes it. Afterwards all is the owner's.
    @Test func whoMakesAFileInASetUserDirectoryMayTouchIt() throws {
        let fixture = try MountFixture()
        let (root, alice) = (try ActingProcess(.root), try ActingProcess(.alice))
        try root.must("chmod", fixture.mountpoint, "0777")
        try alice.must("mkdir", fixture.path("in"), "0777", "0")
        try alice.must("chmod", fixture.path("in"), "04777")
        func bob(_ script: String) throws -> CommandResult { try TestUser.bob.shell("cd \(fixture.path("in")); \(script)") }
        let touched = try bob("touch new && stat -c %u new")
        #expect(touched.status == 0 && touched.output == "501", "\(touched)")
        for (script, isRefused) in [
            ("touch new", true), ("exec 3>held; touch held", false), ("exec 3>held2; touch -d @1 held2", true),
            ("exec 3>held3; chmod 777 held3", true),
            ("exec 3>held4; '\(MountTesting.program("aclfs"))' chflags hidden held4", true),
        ] {
            let result = try bob(script)
            #expect((result.status != 0) == isRefused, "\(script): \(result)")
        }
        // Nobody else gains by an open handle, and flags bind it.
        let holder = try ActingProcess(.bob)
        try holder.must("hold", "1", fixture.path("in/mine"), String(O_WRONLY | O_CREAT), "0644")
        #expect(try TestUser(uid: 503, gid: 30, groups: [30]).shell("touch \(fixture.path("in/mine"))").status != 0)
        #expect(try bob("touch mine").status == 0)
        try root.must("setxattr", fixture.path("in/mine"), "system.aclfs.flags", "uchg")
        #expect(try bob("touch mine").status != 0)
        try root.must("setxattr", fixture.path("in/mine"), "system.aclfs.flags", "-")
        #expect(try bob("touch mine").status == 0)
        try holder.must("close", "1")
        // The kernel tells of a close late.
        #expect(try eventually { try bob("touch mine").status != 0 })
    }
}
