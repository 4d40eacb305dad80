import Foundation
import TestSupport
import Testing

/// A backing directory whose server judges, or stores less than it says (docs/mounting.md "Several hosts").
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
