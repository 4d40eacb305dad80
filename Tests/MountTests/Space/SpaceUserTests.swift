import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// As whom root's daemon acts, that it can still do everything, and what a crash leaves.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SpaceUserTests {
    private func status(_ path: String) -> [String: [String]] {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        var fields: [String: [String]] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { fields[String(parts[0])] = parts[1].split(whereSeparator: \.isWhitespace).map(String.init) }
        }
        return fields
    }

    private func hasRecord(_ path: String) -> Bool {
        path.withCString { (try? Syscall.getxattr(.path($0), "trusted.aclfs"))?.isEmpty == false }
    }

    private func threads(_ fixture: MountFixture) throws -> [[String: [String]]] {
        let daemon = try #require(MountFixture.daemons(of: fixture.mountpoint).first)
        // The first one stays as it was: it waits for the others' end and touches no file.
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task").filter { $0 != "\(daemon)" }
        // Some end on their own, once they have done what they were started for.
        return threads.map { status("/proc/\(daemon)/task/\($0)/status") }.filter { !$0.isEmpty }
    }

    @Test func everyThreadIsNobodyForFileSystemsAndKeepsWhatItNeeds() throws {
        // As from a login of root's that has groups.
        let fixture = try MountFixture(options: nil)
        let words = [MountTesting.program("aclfs-act"), "0", "0", "0,6,600", "--"]
        let result = try Spawn.run(words + [MountTesting.program("aclfs"), "mount", fixture.backing, fixture.mountpoint])
        #expect(result.status == 0, "\(result)")
        defer { _ = try? fixture.unmount() }
        let own = status("/proc/self/status")
        let threads = try threads(fixture)
        #expect(threads.count >= 4)
        for thread in threads {
            #expect(thread["Uid"] == ["0", "0", "0", "4294967294"])
            #expect(thread["Groups"] == [])
            for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
                let had = try #require(UInt64(own[set]?.first ?? "", radix: 16))
                let has = try #require(UInt64(thread[set]?.first ?? "", radix: 16))
                #expect(has == had & 0x2_982C_43DF, "\(set)")
            }
        }
    }

    @Test func theCapabilityIsGivenUpWhereItIsThere() throws {
        // In a user namespace of its own root has all of them, whatever the machine lets the tests have.
        let fixture = try MountFixture(options: nil)
        let script = """
            grep -q '^CapEff:.*ffffffff$' /proc/self/status || exit 3
            "$1" mount -f -o metadata=user "$2" "$3" & for i in $(seq 100); do
            for p in $(cat /proc/*/task/*/children 2>/dev/null); do
            if tr '\\0' ' ' </proc/$p/cmdline 2>/dev/null | grep -q "mount -f .*$3 $" && grep -q "$3 fuse.aclfs" /proc/mounts; then
            grep -E 'Cap(Prm|Eff|Bnd)' /proc/$p/status; umount "$3"; exit 0; fi; done; sleep 0.05; done; exit 4
            """
        let arguments = ["unshare", "-Urm", "sh", "-c", script, "sh", MountTesting.program("aclfs"), fixture.backing, fixture.mountpoint]
        let result = try Spawn.run(arguments)
        try #require(result.status == 0, "\(result)")
        let sets = result.output.split(separator: "\n").filter { $0.hasPrefix("Cap") }
        #expect(sets.count == 3)
        for line in sets {
            let set = try #require(UInt64(line.split(whereSeparator: \.isWhitespace)[1], radix: 16))
            // Neither CAP_SYS_RESOURCE, nor CAP_KILL and CAP_SYS_MODULE, which serving does not need.
            #expect(set & (1 << 24 | 1 << 5 | 1 << 16) == 0 && set & 0x5F == 0x5F, "\(line)")
        }
    }

    @Test func theControlSocketIsRoots() throws {
        let fixture = try MountFixture()
        let table = ProcFile.text("/proc/self/mountinfo")
        let line = try #require(table.split(separator: "\n").first { $0.contains(" \(fixture.mountpoint) ") })
        let number = line.split(separator: " ")[2].replacingOccurrences(of: ":", with: "-")
        var socket = stat()
        #expect(stat("/run/aclfs/\(number).sock", &socket) == 0 && socket.st_uid == 0)
        var place = stat()
        #expect(stat("/run/aclfs", &place) == 0 && place.st_uid == 0)
    }

    @Test func whatNeedsCapabilitiesStillWorks() throws {
        let fixture = try MountFixture(options: "suid,dev")
        let root = try ActingProcess(.root)
        let alice = try ActingProcess(.alice)
        let bob = try ActingProcess(.bob)
        let top = fixture.path("d")
        try root.must("mkdir", top, "0777", "0")
        // Made by another, in directories that only their owner may search.
        try alice.must("mkdir", top + "/a", "0700", "0")
        try alice.must("create", top + "/a/f", "0600", "0")
        #expect(try alice.must("stat", top + "/a/f").hasPrefix("501 "))
        for (call, words) in [("chmod", ["02755"]), ("chown", ["502", "20"]), ("chmod", ["02755"]), ("utimes", ["explicit"])] {
            #expect(try root.call([call, top + "/a/f"] + words).isOK, "\(call)")
        }
        // The set-group-id bit of a group that nobody here is in.
        try root.must("chown", top + "/a/f", "501", "777")
        try root.must("chmod", top + "/a/f", "02750")
        #expect(try root.must("stat", top + "/a/f").hasPrefix("501 777 2750"))
        #expect(try root.call("mknod", top + "/null", "0666", "0", "chr").isOK)
        #expect(try alice.call("mkfifo", top + "/a/fifo", "0600", "0").isOK)
        #expect(try alice.call("symlink", "f", top + "/a/link").isOK)
        #expect(try alice.must("stat", top + "/a/link").hasPrefix("501 "))
        // A file without a name that gets one, and a second name of a file that is not the linker's.
        try alice.must("hold", "1", top + "/a", String(0x410000 | O_RDWR), "0600")
        #expect(try alice.call("linkheld", "1", top + "/a/named").isOK)
        #expect(try alice.must("stat", top + "/a/named").hasPrefix("501 "))
        #expect(try root.call("link", top + "/a/f", top + "/a/second").isOK)
        // An attribute that only root can store, here the record, on an object of alice's.
        #expect(try alice.call("setxattr", top + "/a", "system.aclfs.acl", "user:#502 allow search,list").isOK)
        #expect(try bob.call("list", top + "/a").isOK)
        // In a sticky directory, what protected_regular asks for O_CREAT of an existing file is the kernel's affair
        // on the mount, and never reaches the backing file.
        try root.must("chmod", top, "01777")
        try alice.must("create", top + "/mine", "0666", "0")
        #expect(try bob.call("unlink", top + "/mine").word != "ok")
        #expect(try alice.call("unlink", top + "/mine").isOK)
        #expect(try root.call("setxattr", top + "/a/f", "trusted.x", "y").isOK)
    }

    @Test func groupsAreReadWhereProcessesAreHidden() throws {
        let fixture = try MountFixture(options: nil)
        let script = """
            mount -t proc -o hidepid=2 proc /proc && "$1" mount "$3" "$4" || exit 9
            mkdir "$4/d"; chown 0:601 "$4/d"; chmod 0770 "$4/d"
            "$2" 502 20 601 -- touch "$4/d/f"; echo $?; "$2" 501 20 600 -- touch "$4/d/g" 2>/dev/null; echo $?
            umount "$4"
            """
        let result = try Spawn.run([
            "unshare", "-m", "sh", "-c", script, "sh", MountTesting.program("aclfs"), MountTesting.program("aclfs-act"),
            fixture.backing, fixture.mountpoint,
        ])
        #expect(result.output == "0\n1", "\(result)")
    }

    /// Killed while it creates: each object is as it should be, or belongs to an id that nobody has and is closed.
    @Test func aCrashLeavesNothingHalfOpen() throws {
        let fixture = try MountFixture(options: nil)
        mkdir(fixture.backing + "/d", 0o777)
        chmod(fixture.backing + "/d", 0o777)
        func names() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: fixture.backing + "/d")) ?? [] }
        var halfMade: [String] = []
        var whole = 0
        for round in 0..<(MountTesting.isLong ? 200 : 10) {
            // Nothing replaces the daemon.
            try fixture.mount("restarts=0")
            let root = try ActingProcess(.root)
            if round == 0 {
                try root.must("setxattr", fixture.path("d"), "system.aclfs.acl", "user:#503 deny read,file_inherit,directory_inherit")
            }
            let before = names().count
            let script = "cd \(fixture.path("d")); touch $(seq -f f\(round).%g 5000) & mkdir $(seq -f d\(round).%g 5000); wait"
            let worker = try Spawn.start(TestUser.alice.arguments + ["--", "sh", "-c", script], descriptors: [-1, -1, -1])
            let daemon = try #require(MountFixture.daemons(of: fixture.mountpoint).first)
            // It is at work, however slow the machine is.
            #expect(eventually(every: 1000) { names().count > before + 25 })
            usleep(UInt32(round) * 137)
            kill(daemon, SIGKILL)
            _ = Spawn.wait(worker)
            _ = try Spawn.run(["umount", "-l", fixture.mountpoint])
            // What it left is the next mount's to remove, when it has gone.
            #expect(eventually { !FileManager.default.fileExists(atPath: "/proc/\(daemon)") })
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: fixture.backing + "/d") {
            let path = fixture.backing + "/d/" + name
            var object = stat()
            #expect(lstat(path, &object) == 0)
            let mode = object.st_mode & 0o7777
            if object.st_uid == 501, hasRecord(path), mode == (name.hasPrefix("d") ? 0o755 : 0o644) {
                whole += 1
            } else if object.st_uid == 501 {
                // Given to its owner, its mode still to come.
                #expect(mode & 0o077 == 0 && hasRecord(path), "\(name)")
            } else {
                #expect(object.st_uid == 4_294_967_294 && mode & 0o077 == 0, "\(name)")
                halfMade.append(name)
            }
        }
        #expect(whole > 100)
        print("a crash left \(halfMade.count) objects half made, \(whole) whole")
        try fixture.mount()
        // Of earlier rounds the next mount has removed it, of the last round this one.
        let left = try Spawn.run(["find", fixture.backing, "-uid", "4294967294"])
        #expect(left.status == 0 && left.output.isEmpty, "\(left)")
        for name in halfMade {
            var object = stat()
            #expect(lstat(fixture.backing + "/d/" + name, &object) != 0, "\(name)")
        }
    }
}
