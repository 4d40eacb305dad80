import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// What is mounted below a mount, in any mount namespace, stays (docs/internals/coherence.md "The price of a bump").
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct MountsBelowTests {
    private func tree(_ options: String) throws -> MountFixture {
        let fixture = try MountFixture(options: options)
        let script = "mkdir -p $0/a/b/c $0/other && touch $0/other/f && stat $0/a/b/c $0/other/f"
        #expect(try Spawn.run(["sh", "-c", script, fixture.mountpoint]).status == 0)
        return fixture
    }

    /// What a revocation by root, and a change directly on the backing directory, would detach.
    private static let bumps = """
        stat $0/other/f >/dev/null; chmod 700 $0/other; touch $1/new; sleep 0.1; chmod 755 $0/other; stat $0/other/f >/dev/null; chmod 700 $0/other
        """

    /// The bump at the end of the time without a mount met the next mount.
    @Test(arguments: ["cache=auto", "cache=exclusive"])
    func aMountRightAfterAnUnmountStays(_ options: String) throws {
        let fixture = try tree(options)
        let place = fixture.path("a/b/c")
        defer { _ = umount2(place, Int32(MNT_DETACH)) }
        var gone = 0
        for _ in 0..<60 {
            #expect(mount("tmpfs", place, "tmpfs", 0, nil) == 0)
            usleep(2000)
            var (here, above) = (stat(), stat())
            if stat(place, &here) != 0 || stat(fixture.path("a/b"), &above) != 0 || here.st_dev == above.st_dev { gone += 1 }
            umount2(place, 0)
            usleep(100)
        }
        #expect(gone == 0)
    }

    /// The first mount in a fresh tree, and each kind of namespace: of root, and of an ordinary user.
    @Test(arguments: ["unshare -m", "unshare -Urm", "setpriv --reuid 502 --regid 20 --clear-groups unshare -Urm"])
    func aMountInAnotherNamespaceStays(_ enter: String) throws {
        let fixture = try tree("cache=auto")
        let script = """
            \(enter) sh -c 'mount -t tmpfs tmpfs $0/a/b && echo ready && read go && mountpoint -q $0/a/b' $0 < $2 > $3 & p=$!
            exec 4>$2; read line < $3; sleep 0.2
            \(Self.bumps)
            echo >&4; wait $p
            """
        let pipes = [fixture.mountpoint + ".in", fixture.mountpoint + ".out"]
        for pipe in pipes {
            #expect(mkfifo(pipe, 0o666) == 0)
            chmod(pipe, 0o666)
        }
        defer { for pipe in pipes { unlink(pipe) } }
        let result = try Spawn.run(["bash", "-c", script, fixture.mountpoint, fixture.backing, pipes[0], pipes[1]])
        #expect(result.status == 0, "\(result)")
    }

    /// What was mounted together with the directory above comes into the namespace as one tree.
    @Test func aTreeOfMountsThatIsBoundElsewhereStays() throws {
        let fixture = try tree("cache=exclusive")
        let script = """
            unshare -m sh -c 'mkdir /tmp/r.$$ && mount -t tmpfs t /tmp/r.$$ && mkdir /tmp/r.$$/x && mount --bind $0/a /tmp/r.$$/x
                mount -t tmpfs tmpfs /tmp/r.$$/x/b; sleep 0.3
                stat $0/other/f >/dev/null; chmod 700 $0/other; sleep 0.1; mountpoint -q /tmp/r.$$/x/b; r=$?
                umount -R /tmp/r.$$; rmdir /tmp/r.$$; exit $r' $0
            """
        #expect(try Spawn.run(["sh", "-c", script, fixture.mountpoint]).status == 0)
    }

    /// One user who toggles an own directory makes others look up their names a bounded number of times.
    @Test func tooManyRevocationsOfOneUserAreNotPaidByOthers() throws {
        let fixture = try MountFixture(options: "cache=exclusive")
        let root = try ActingProcess(.root)
        let (bob, carol) = (try ActingProcess(.bob), try ActingProcess(.carol))
        try root.must("mkdir", fixture.path("bobs"), "0755", "0")
        try root.must("create", fixture.path("bobs/f"), "0644", "0")
        try root.must("chown", fixture.path("bobs"), "502", "20")
        let before = try bumps(fixture)
        for _ in 0..<100 {
            try carol.must("stat", fixture.path("bobs/f"))
            try bob.must("chmod", fixture.path("bobs"), "0700")
            #expect(try carol.call("stat", fixture.path("bobs/f")).word == "EACCES")
            try bob.must("chmod", fixture.path("bobs"), "0755")
        }
        // A few more follow each at a distance.
        #expect(try bumps(fixture) - before < 40)
    }

    private func bumps(_ fixture: MountFixture) throws -> Int {
        let status = try Spawn.run([MountTesting.program("aclfs"), "status", fixture.mountpoint])
        let after = try #require(status.output.range(of: "epoch_bumps "), "\(status)").upperBound
        return try #require(Int(status.output[after...].prefix { $0.isNumber }))
    }

    /// A service that ends takes its namespace along, and the mounts in it: the log says nothing of that, whatever was revoked meanwhile.
    @Test func theEndOfANamespaceIsNoLoss() throws {
        let fixture = try MountFixture(options: nil)
        let script = """
            "$1" mount -f "$2" "$3" 2>"$4" & served=$!
            until mountpoint -q "$3"; do sleep 0.05; done
            mkdir -p "$3/a/deep" "$3/a/secret" "$3/b"
            for round in 1 2; do
                for change in 1 2 3 4 5; do ls -lR "$3" >/dev/null; chmod 700 "$3/b"; chmod 755 "$3/b"; sleep 0.05; done
                sleep 2.5; ls -lR "$3" >/dev/null
                unshare -m sh -c 'mount --bind "$0/a/deep" "$0/a/secret"; sleep 0.6; grep -c a/secret /proc/self/mountinfo' "$3"
                sleep 0.5
            done
            "$1" unmount "$3"; wait $served; grep 'is gone' "$4"
            """
        let result = try Spawn.run([
            "bash", "-c", script, "bash", MountTesting.program("aclfs"), fixture.backing, fixture.mountpoint, fixture.top + "/log",
        ])
        #expect(result.output == "1\n1", "\(result)")
    }
}
