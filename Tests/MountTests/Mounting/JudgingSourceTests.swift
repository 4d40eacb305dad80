import Foundation
import Glibc
import TestSupport
import Testing

/// A backing directory whose server judges, or stores less than it says (docs/reference/mounting.md "Several hosts").
@Suite(.serialized, .enabled(if: TwoHosts.isPossible, "needs root, /dev/fuse and bindfs"))
struct JudgingSourceTests {
    private func shell(_ fixture: MountFixture, _ script: String) throws -> CommandResult {
        let head =
            "cd '\(fixture.mountpoint)' && export LC_ALL=C; aclfs() { '\(MountTesting.program("aclfs"))' \"$@\"; }\n"
            + "as() { local u=$1; shift; setpriv --reuid=$u --regid=$u --clear-groups \"$@\"; }\n"
        return try Spawn.run(["bash", "-uc", head + script])
    }

    private static let opens = """
        echo text > f; chmod 600 f; aclfs chmod +a 'user:1501 allow read,append' f; mkdir -m 700 d; aclfs chmod +a 'user:1501 allow list,search,add_file' d
        as 1501 cat f; as 1501 sh -c 'echo new > d/n; echo more >> f; : > d/n'; as 1501 /usr/bin/python3 -c 'import os; os.open("d/t", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)'
        cat f; ls -n d | cut -d' ' -f1-3,5; rm -r d f; ls
        """

    /// The kernel would open the backing file in the name of the caller.
    @Test(.enabled(if: isInstalled("mergerfs"), "needs mergerfs"), arguments: ["cache=auto", "cache=strict", "transport=dev"])
    func whatAnEntryAllowsIsOpened(_ options: String) throws {
        let fixture = try MountFixture(options: nil)
        let branches = "\(fixture.top)/private/one:\(fixture.top)/private/two"
        let pooled = try Spawn.run(
            [
                "sh", "-c",
                "mkdir \(fixture.top)/private/one \(fixture.top)/private/two; mergerfs -o allow_other,use_ino,xattr=passthrough \(branches) \(fixture.backing)",
            ])
        try #require(pooled.status == 0, "\(pooled)")
        try fixture.mount(options)
        let run = try shell(fixture, Self.opens)
        #expect(run.output == "text\ntext\nmore\ntotal 0\n-rw-r--r-- 1 1501 0\n-rw------- 1 1501 0", "\(run)")
    }

    @Test func dataGoesThroughTheDaemon() throws {
        let hosts = try TwoHosts(mountsOther: false)
        let status = try Spawn.run([MountTesting.program("aclfs"), "status", hosts.here.mountpoint]).output
        #expect(status.contains("the server of SOURCE (fuse) learns which user opens a file"), "\(status)")
        #expect(
            try shell(hosts.here, "echo x > f; cat f; aclfs status . | grep -o 'passthrough 0'").output == "x\npassthrough 0", "\(status)")
    }

    /// Arguments: a directory, where it is bound, and the first and the number of the ids that exist there.
    private static let idMapped = #"""
        import ctypes, os, sys
        libc, first, count = ctypes.CDLL(None, use_errno=True), int(sys.argv[3]), int(sys.argv[4])
        ready, go = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.write(ready[1], b'%d' % libc.unshare(0x10000000)); os.read(go[0], 1); os._exit(0)
        os.read(ready[0], 2)
        for kind in 'uid', 'gid': open('/proc/%d/%s_map' % (child, kind), 'w').write('%d %d %d\n' % (first, first, count))
        space = os.open('/proc/%d/ns/user' % child, os.O_RDONLY)
        tree = libc.syscall(428, -100, sys.argv[1].encode(), 1)
        attributes = (ctypes.c_uint64 * 4)(0x100000, 0, 0, space)
        failed = libc.syscall(442, tree, b'', 0x1000, attributes, 32) or libc.syscall(429, tree, b'', -100, sys.argv[2].encode(), 4)
        os.write(go[1], b'x'); os.waitpid(child, 0)
        sys.exit(os.strerror(ctypes.get_errno()) if failed else 0)
        """#

    /// Root's daemon creates as root, and so needs it.
    @Test(.enabled(if: access("/usr/bin/python3", X_OK) == 0, "needs python3"), arguments: [(1000, false), (0, true)])
    func aSourceWithoutRootIsRefused(_ first: Int, _ isMounted: Bool) throws {
        let fixture = try MountFixture(options: nil)
        let bound = fixture.top + "/private/bound"
        #expect(mkdir(bound, 0o755) == 0 && chown(fixture.backing, 1000, 1000) == 0)
        let made = try Spawn.run(["/usr/bin/python3", "-c", Self.idMapped, fixture.backing, bound, "\(first)", "2000"])
        try #require(made.status == 0, "\(made)")
        defer { _ = try? Spawn.run(["umount", "-l", bound]) }
        let run = try Spawn.run([MountTesting.program("aclfs"), "mount", bound, fixture.mountpoint])
        defer { _ = try? Spawn.run([MountTesting.program("aclfs"), "unmount", fixture.mountpoint]) }
        #expect(run.status == (isMounted ? 0 : 32) && run.output.contains("id-mapped mount without user 0") != isMounted, "\(run)")
        guard isMounted else { return }
        #expect(try shell(fixture, "as 1000 sh -c 'echo x > f'; stat -c '%u %s' f").output == "1000 2")
    }

    /// bindfs stores a number from 2^31 on, says EIO, and then refuses every request of the object.
    @Test func anOwnerThatTheServerDoesNotStoreIsRefused() throws {
        let hosts = try TwoHosts(mountsOther: false)
        let run = try shell(
            hosts.here,
            """
            echo x > g; mkdir d; aclfs owner --group 20 g d; echo $?; ls -A
            sleep 1.1; stat -c '%n %u %g' g d; cat g; aclfs owner --user 501 g; stat -c %u g; rm g; rmdir d; ls
            """)
        #expect(run.output == "aclfs: g: Invalid argument\naclfs: d: Invalid argument\n1\nd\ng\ng 0 0\nd 0 0\nx\n501", "\(run)")
    }
}
