import Foundation
import Glibc
import TestSupport
import Testing

/// A backing directory that other hosts may change, too (docs/reference/mounting.md "Several hosts"); bindfs stands for a network file system.
@Suite(.serialized, .enabled(if: TwoHosts.isPossible, "needs root, /dev/fuse and bindfs"))
struct SharedBackingTests {
    private let record = "trusted.aclfs"
    private let lock = "trusted.aclfs.lock"

    @Test func itIsRecognisedAndSaid() throws {
        let hosts = try TwoHosts(mountsOther: false)
        let here = hosts.here
        let status = try Spawn.run([MountTesting.program("aclfs"), "status", here.mountpoint]).output
        #expect(status.contains("changed by other hosts: perhaps (fuse)"), "\(status)")
        #expect(try here.unmount().status == 0)
        let said = try here.mount("cache=auto").output
        for part in [
            "lies on fuse", "zerofill=write acts as allocate", "under a lock", "cache=strict here", "timeouts at 0",
            "docs/reference/mounting.md",
        ] {
            #expect(said.contains(part), "\(part) is not in: \(said)")
        }
        #expect(said.split(separator: "\n").count { $0.contains("other hosts") } == 1, "\(said)")
        #expect(try here.unmount().status == 0)
        let refused = try Spawn.run([MountTesting.program("aclfs"), "mount", "-o", "cache=exclusive", here.backing, here.mountpoint])
        #expect(refused.status == 32 && refused.output.contains("cache=exclusive is refused on fuse"), "\(refused)")
        #expect(!MountFixture.isMounted(here.mountpoint))
        // Of this host alone: nothing of this.
        let own = try MountFixture(options: nil)
        #expect(try own.mount("cache=exclusive").output.contains("other hosts") == false)
    }

    @Test func noZerosAreWritten() throws {
        let hosts = try TwoHosts(mountsOther: false)
        let alice = try ActingProcess(.root)
        try alice.must("hold", "1", hosts.here.path("f"), String(O_RDWR | O_CREAT), "0644")
        try alice.must("pwrite", "1", String(4 << 20), "x")
        try alice.must("close", "1")
        try hosts.here.untilNothingWaits()
        let status = try Spawn.run([MountTesting.program("aclfs"), "status", hosts.here.mountpoint]).output
        #expect(status.contains("written_bytes 0,"), "\(status)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: hosts.real + "/f")).count == (4 << 20) + 1)
    }

    /// Another host holds the record, changes it, and releases it: its change is there afterwards, and so is that of this host.
    @Test(arguments: ["file", "directory", "symlink"]) func aChangeWaitsForAnotherHosts(_ kind: String) throws {
        let hosts = try TwoHosts(mountsOther: false)
        let here = hosts.here
        let root = try ActingProcess(.root)
        try root.must("create", here.path("model"), "0644", "0")
        try root.must("setxattr", here.path("model"), "system.aclfs.acl", "user:#502 deny read")
        let model = try #require(hosts.stored(record, of: "model"))
        for attempt in 0..<10 {
            // On a machine that stands still for seconds the other host counts as dead: once more then.
            let name = "it\(attempt)"
            let start = Date()
            let (real, path) = ("\(hosts.real)/\(name)", here.path(name))
            var descriptor: Int32 = -1
            defer { if descriptor >= 0 { close(descriptor) } }
            switch kind {
            case "file":
                try root.must("create", path, "0644", "0")
                descriptor = open(real, O_RDONLY | O_CLOEXEC)
                #expect(flock(descriptor, LOCK_EX) == 0)
            default:
                #expect(kind == "directory" ? mkdir(real, 0o755) == 0 : symlink("model", real) == 0)
                try hosts.store(lock, Array("another host".utf8), of: name)
            }
            try root.begin(["setxattr", path, "system.aclfs.flags", "uchg"])
            usleep(300_000)
            try hosts.store(record, model, of: name)
            if descriptor >= 0 { flock(descriptor, LOCK_UN) } else { try? hosts.remove(lock, of: name) }
            let result = try root.end().word
            if Date().timeIntervalSince(start) > 4 { continue }
            #expect(result == "ok")
            #expect(try root.call("getxattr", path, "system.aclfs.flags").value.hasPrefix("uchg"))
            let list = try root.must("getxattr", path, "system.aclfs.acl")
            #expect(String(decoding: unescaped(list), as: UTF8.self).contains(" deny "), "\(list)")
            #expect(hosts.stored(lock, of: name) == nil, "nothing stays behind")
            return
        }
        Issue.record("the machine is too slow to tell")
    }

    /// A host that died with a lock that is an attribute stops the others for some seconds only. No caller of a mount sees or touches it.
    @Test func theLockOfADeadHostIsBroken() throws {
        let hosts = try TwoHosts(mountsOther: false)
        let root = try ActingProcess(.root)
        try root.must("mkdir", hosts.here.path("d"), "0755", "0")
        try hosts.store(lock, Array("a dead host".utf8), of: "d")
        #expect(try root.call("listxattr", hosts.here.path("d")).value.contains("lock") == false)
        #expect(try root.call("removexattr", hosts.here.path("d"), lock).isOK == false)
        #expect(try eventually { try root.call("setxattr", hosts.here.path("d"), "system.aclfs.acl", "user:#502 deny list").isOK })
        #expect(hosts.stored(lock, of: "d") == nil)
    }

    @Test(.enabled(if: MountTesting.isLong, "takes ten seconds")) func whatAnotherHostNeverReleasesIsBusy() throws {
        let hosts = try TwoHosts(mountsOther: false)
        let root = try ActingProcess(.root)
        try root.must("create", hosts.here.path("f"), "0644", "0")
        let descriptor = open(hosts.real + "/f", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX) == 0)
        #expect(try root.call("setxattr", hosts.here.path("f"), "system.aclfs.flags", "uchg").word == "EBUSY")
        // Others go on meanwhile and after it.
        #expect(flock(descriptor, LOCK_UN) == 0)
        try root.must("setxattr", hosts.here.path("f"), "system.aclfs.flags", "uchg")
    }

    /// Each host changes another part of the same record, over and over: none of the changes is lost.
    @Test(arguments: ["file", "directory"]) func twoHostsLoseNothingOfEachOther(_ kind: String) throws {
        let hosts = try TwoHosts()
        try checkRecordChanges(on: kind, from: hosts.here.mountpoint, and: hosts.other, count: MountTesting.isLong ? 200 : 20)
    }
}

/// A list is set through one mount and a flag through the other at the same time, on `count` objects: both must be there afterwards.
func checkRecordChanges(on kind: String, from one: String, and another: String, count: Int) throws {
    let first = try ActingProcess(.root)
    let second = try ActingProcess(.root)
    for number in 0..<count {
        let name = "\(kind)-\(number)"
        if kind == "file" {
            try first.must("create", "\(one)/\(name)", "0644", "0")
        } else {
            try first.must("mkdir", "\(one)/\(name)", "0755", "0")
        }
        try eventually { try second.call("stat", "\(another)/\(name)").isOK }
        try first.begin(["setxattr", "\(one)/\(name)", "system.aclfs.acl", "user:#502 deny readattr"])
        try second.begin(["setxattr", "\(another)/\(name)", "system.aclfs.flags", "hidden"])
        let results = [try first.end().word, try second.end().word]
        #expect(results == ["ok", "ok"], "\(name)")
    }
    for number in 0..<count {
        for mount in [one, another] {
            let path = "\(mount)/\(kind)-\(number)"
            #expect(try first.call("getxattr", path, "system.aclfs.acl").value.contains("readattr"), "\(path)")
            #expect(try first.call("getxattr", path, "system.aclfs.flags").value.contains("hidden"), "\(path)")
        }
    }
}
