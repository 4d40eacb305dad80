import Foundation
import Glibc
import TestSupport
import Testing

/// Two mounts of aclfs on two clients of a GlusterFS volume, which runs in a network of its own (docs/reference/mounting.md "Several hosts").
@Suite(.serialized, .enabled(if: GlusterVolume.isPossible, "long, and needs root, /dev/fuse and Debian's glusterfs-server"))
struct GlusterTests {
    private let volume: GlusterVolume

    init() throws { volume = try GlusterVolume() }

    /// The recipe makes it exact: no waiting anywhere.
    @Test func aDenyHoldsOnTheOtherAtOnce() throws {
        let root = try ActingProcess(.root)
        let bob = try ActingProcess(.bob)
        let (one, other) = (volume.mounts[0], volume.mounts[1])
        try root.must("mkdir", one + "/d", "0755", "0")
        for number in 0..<50 {
            let name = "/d/f\(number)"
            try root.must("create", one + name, "0644", "0")
            #expect(try bob.call("open", other + name, "0").word == "ok", "\(number)")
            try root.must("setxattr", one + name, "system.aclfs.acl", "user:#502 deny read")
            #expect(try bob.call("open", other + name, "0").word == "EACCES", "\(number)")
            try root.must("removexattr", other + name, "system.aclfs.acl")
            #expect(try bob.call("open", one + name, "0").word == "ok", "\(number)")
            try root.must("chmod", one + name, String(0o600))
            #expect(try bob.call("open", other + name, "0").word == "EACCES", "\(number)")
        }
        // A directory, too.
        #expect(try bob.call("stat", other + "/d/f0").isOK)
        try root.must("setxattr", one + "/d", "system.aclfs.acl", "user:#502 deny search")
        #expect(try bob.call("stat", other + "/d/f0").word == "EACCES")
        try root.must("removexattr", one + "/d", "system.aclfs.acl")
        #expect(try bob.call("stat", other + "/d/f0").isOK)
    }

    @Test(arguments: ["file", "directory"]) func twoHostsLoseNothingOfEachOther(_ kind: String) throws {
        try checkRecordChanges(on: kind, from: volume.mounts[0], and: volume.mounts[1], count: 200)
    }

    /// One host leaves a gap and closes; in it lies what the other wrote and synchronised meanwhile.
    @Test func aGapKeepsWhatTheOtherWrote() throws {
        let here = try ActingProcess(.root)
        let there = try ActingProcess(.root)
        for number in 0..<20 {
            let name = "/gap\(number)"
            try here.must("hold", "1", volume.mounts[0] + name, String(O_RDWR | O_CREAT), "0644")
            try here.must("pwrite", "1", String(8 << 20), "end")
            try there.must("hold", "1", volume.mounts[1] + name, String(O_RDWR | O_SYNC), "0")
            for place in 1...7 { try there.must("pwrite", "1", String(place << 20), "theirs") }
            try here.must("close", "1")
            for place in 1...7 { try there.must("pwrite", "1", String(place << 20 | 4096), "more") }
            try there.must("close", "1")
        }
        try volume.untilNothingWaits()
        for number in 0..<20 {
            for mount in volume.mounts {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(mount)/gap\(number)"))
                for place in 1...7 {
                    #expect(bytes[(place << 20)..<(place << 20 + 6)].elementsEqual("theirs".utf8))
                    #expect(bytes[(place << 20 | 4096)..<(place << 20 | 4096 + 4)].elementsEqual("more".utf8))
                }
            }
        }
    }
}

/// A volume of two copies, its servers and two clients with the settings that `docs/reference/mounting.md` names. Everything that runs for it is in a
/// network of its own, and is found by that at the end.
final class GlusterVolume {
    static let isPossible =
        MountTesting.isPossible && MountTesting.isLong
        && (try? Spawn.run(["sh", "-c", "command -v glusterd && command -v gluster && command -v glusterfs"]))?.status == 0

    private let top: String
    private let keeper: pid_t
    let mounts: [String]

    init() throws {
        var template = Array("/var/tmp/aclfs-gluster.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw FixtureError("mkdtemp: errno \(errno)") }
        top = String(cString: made)
        chmod(top, 0o755)
        mounts = [top + "/m1", top + "/m2"]
        keeper = try Spawn.start(["unshare", "-n", "sleep", "7200"], descriptors: [-1, -1, -1])
        let result = try Spawn.run(["bash", "-uc", Self.script, "script", top, String(keeper), MountTesting.program("aclfs")])
        guard result.output.hasSuffix("ready") else {
            end()
            throw FixtureError("no volume: \(result)")
        }
    }

    deinit { end() }

    private func end() {
        for mount in mounts { _ = try? Spawn.run([MountTesting.program("aclfs"), "unmount", mount]) }
        for mount in mounts + [top + "/c1", top + "/c2"] where MountFixture.isMounted(mount) {
            _ = try? Spawn.run(["umount", "-l", mount])
        }
        // Whatever runs in its network was started for it.
        func network(_ pid: pid_t) -> String? { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/ns/net") }
        let own = network(keeper)
        if let own, own != network(getpid()) {
            let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            for pid in all.compactMap({ pid_t($0) }) where pid != keeper && network(pid) == own { kill(pid, SIGKILL) }
        }
        kill(keeper, SIGKILL)
        _ = Spawn.wait(keeper)
        eventually(within: 5) { (try? Spawn.run(["rm", "-rf", "--one-file-system", top]))?.status == 0 }
    }

    func untilNothingWaits() throws {
        for mount in mounts {
            let ended = try eventually {
                try Spawn.run([MountTesting.program("aclfs"), "status", mount]).output.contains("files_waiting 0")
            }
            if !ended { throw FixtureError("there are still files whose gaps wait") }
        }
    }

    private static let script = #"""
        T=$1 K=$2 A=$3 N="nsenter -t $2 -n"
        fail() { echo "$1"; tail -n 20 "$T"/gl/*.log; exit 1; }
        mkdir -p "$T/gl/wd" "$T/gl/run" "$T/b1" "$T/b2" "$T/c1" "$T/c2" "$T/m1" "$T/m2"
        for i in $(seq 500); do
            [ "$(readlink /proc/$K/ns/net)" != "$(readlink /proc/self/ns/net)" ] && break; sleep 0.02
        done
        $N ip link set lo up && $N ip addr add 10.77.0.1/24 dev lo || fail 'no network'
        cat >"$T/gl/glusterd.vol" <<END
        volume management
            type mgmt/glusterd
            option working-directory $T/gl/wd
            option run-directory $T/gl/run
            option transport-type socket
            option transport.socket.bind-address 10.77.0.1
            option glusterd-sockfile $T/gl/run/glusterd.socket
        end-volume
        END
        $N glusterd -f "$T/gl/glusterd.vol" -p "$T/gl/glusterd.pid" -l "$T/gl/glusterd.log" || fail 'no glusterd'
        g() { $N gluster --glusterd-sock="$T/gl/run/glusterd.socket" --mode=script --log-file="$T/gl/cli.log" "$@" >>"$T/gl/out.log" 2>&1; }
        for i in $(seq 150); do g volume list && break; sleep 0.2; done
        g volume create aclfs replica 2 "10.77.0.1:$T/b1" "10.77.0.1:$T/b2" force || fail 'no volume'
        g volume set aclfs performance.stat-prefetch off && g volume set aclfs performance.quick-read off || fail 'no setting'
        g volume start aclfs || fail 'no start'
        for n in 1 2; do
            $N glusterfs --volfile-server=10.77.0.1 --volfile-id=aclfs --attribute-timeout=0 --entry-timeout=0 -l "$T/gl/c$n.log" "$T/c$n" || fail 'no client'
            for i in $(seq 150); do grep -q " $T/c$n fuse.glusterfs" /proc/mounts && stat "$T/c$n" >/dev/null && break; sleep 0.2; done
            "$A" mount -o cache=strict "$T/c$n" "$T/m$n" >>"$T/gl/out.log" 2>&1 || fail 'no aclfs'
        done
        grep -q 'performance.quick-read off' "$T/gl/out.log" || fail 'the line at mount does not name the settings'
        printf ready
        """#
}
