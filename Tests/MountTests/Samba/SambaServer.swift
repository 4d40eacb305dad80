import Foundation
import Glibc
import TestSupport
import Testing

/// smbd with the shares of docs/guide/samba.md, on the loopback of a network of its own, with the accounts alice, bob and carol.
struct SambaServer {
    static let isPossible = isPossible(with: "smbd smbcacls smbclient nfs4_getfacl setfattr")
    static let missing: Comment =
        "needs root, /dev/fuse, nfs4-acl-tools and Debian's samba, smbclient, samba-vfs-modules and samba-testsuite"

    static let missingInLongRun: Comment = "with ACLFS_TEST_LONG=1, and what SambaTests need"

    static func isPossible(with programs: String) -> Bool {
        guard MountTesting.isPossible else { return false }
        // `command -v` succeeds if one of several is there.
        let all = programs.split(separator: " ").map { "command -v \($0)" }.joined(separator: " && ")
        return (try? Spawn.run(["sh", "-c", all]))?.status == 0
    }

    // They end before the namespace that they are in.
    let fixture: MountFixture
    private let accounts: PrivateAccounts
    /// An empty directory beside the mount, for a share with Samba's own lists.
    let plain: String

    init() throws {
        accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502, "carol": 503, "nobody": 65_534],
            groups: [
                20: .init(name: "staff", members: ["alice", "bob"]), 30: .init(name: "interns", members: ["carol"]),
                65_534: .init(name: "nogroup", members: []),
            ])
        fixture = try MountFixture(within: accounts.within)
        plain = fixture.top + "/plain"
        mkdir(plain, 0o755)
        for path in [fixture.backing, plain] {
            chmod(path, 0o755)
            chown(path, 501, 20)
        }
    }

    /// A share of the document, with its heading, for a directory.
    static func share(_ name: String, as other: String? = nil, of path: String) throws -> String {
        let text = try String(contentsOf: Repository.top.appendingPathComponent("docs/guide/samba.md"), encoding: .utf8)
        let lines = text.components(separatedBy: "\n")
        let start = try #require(lines.firstIndex(of: "    [\(name)]"), "no share \(name)")
        let settings = lines[(start + 1)...].prefix { $0.hasPrefix("    ") }
        try #require(settings.contains("      path = /srv/share"))
        return (["[\(other ?? name)]"] + settings).joined(separator: "\n")
            .replacingOccurrences(of: "path = /srv/share", with: "path = \(path)")
    }

    private func settings(_ shares: [String]) -> String {
        let state = fixture.top + "/smb"
        return """
            [global]
            workgroup = W
            netbios name = SRV
            interfaces = 127.0.0.1/8
            bind interfaces only = yes
            server role = standalone server
            disable netbios = yes
            smb ports = 445
            load printers = no
            passdb backend = tdbsam
            private dir = \(state)/private
            lock directory = \(state)
            state directory = \(state)
            cache directory = \(state)
            pid directory = \(state)
            ncalrpc dir = \(state)/ncalrpc
            log file = \(state)/log

            """ + shares.joined(separator: "\n") + "\n"
    }

    /// Runs a script of bash while smbd serves shares. It says what is not as expected, by `is`, and nothing else.
    /// - Parameters:
    ///   - shares: what stands below the general settings.
    ///   - arguments: from `$3` on; `$1` is the directory of the fixture, `$2` the program that acts as a user.
    func run(_ shares: [String], _ script: String, _ arguments: [String] = []) throws -> CommandResult {
        let top = fixture.top
        mkdir(top + "/smb", 0o755)
        mkdir(top + "/smb/private", 0o700)
        try settings(shares).write(toFile: top + "/smb.conf", atomically: true, encoding: .utf8)
        let words = ["script", top, MountTesting.program("aclfs-act"), MountTesting.program("aclfs")] + arguments
        return try Spawn.run(
            accounts.within + ["unshare", "-n", "bash", "-uc", Self.prelude + script + "\necho done"] + words, isTrimmed: true)
    }

    private static let prelude = #"""
        export LC_ALL=C.UTF-8
        top=$1; conf=$1/smb.conf; mnt=$1/mnt; act=$2; aclfs=$3; share=share
        is() { [ "$2" = "$3" ] || echo "$1: expected <$2>, got <$3>"; }
        # With a user's name: a command here, one of smbclient, and smbcacls. `share` names the share.
        as() { user=$1; shift; case $user in alice) set -- 501 20 "$@" ;; bob) set -- 502 20 "$@" ;; carol) set -- 503 30 "$@" ;; esac
            "$act" "$1" "$2" "$2" -- sh -c "$3 >/dev/null 2>&1"; echo $?; }
        smb() { smbclient -s "$conf" -U "$1%pw" "//127.0.0.1/$share" -c "$2" 2>&1; }
        # `ok`, or the status that the server gave.
        client() { said=$(smb "$1" "$2"); case $said in *NT_STATUS_*) echo "$said" | grep -o 'NT_STATUS_[A-Z_]*' | head -1 ;; *) echo ok ;; esac; }
        cacls() { user=$1; shift; smbcacls -s "$conf" -U "$user%pw" "//127.0.0.1/$share" "$@" 2>&1; }
        change() { cacls "$@" >/dev/null 2>&1; echo $?; }
        # Without the revision and the owner, in one line.
        list() { cacls "$@" | sed -n 's/^ACL:SRV.//p; s/^ACL:Unix Group.//p; s/^ACL:\([EC]\)/\1/p' | tr '\n' ' ' | sed 's/ $//'; }
        entries() { getfattr --absolute-names --only-values -n system.aclfs.acl "$mnt/$1" 2>/dev/null | tr '\n' ';'; }
        mode() { stat -c %a "$mnt/$1"; }
        make() { echo text >"$mnt/$1"; chown 501:20 "$mnt/$1"; chmod "$2" "$mnt/$1"; }
        makedir() { mkdir "$mnt/$1"; chown 501:20 "$mnt/$1"; chmod "$2" "$mnt/$1"; }
        for user in root alice bob carol; do printf 'pw\npw\n' | smbpasswd -c "$conf" -s -a "$user" >/dev/null 2>&1; done
        ip link set lo up
        # When it ends it signals its process group, which must not be that of the tests.
        setsid smbd -F --no-process-group -s "$conf" >"$1/smb/out" 2>&1 & server=$!
        # Helpers of smbd outlive it. Each has the path of the settings on its command line, which is nobody else's.
        stop() {
            kill $server
            # In a file: a search for it shall not find itself.
            printf %s "$conf" >"$top/pattern"
            for i in $(seq 100); do
                left=$(grep -lsFf "$top/pattern" /proc/[0-9]*/cmdline)
                [ -n "$left" ] || return 0
                for file in $left; do file=${file#/proc/}; kill "${file%/cmdline}" 2>/dev/null; done
                sleep 0.1
            done
            echo "still there: $left"
        }
        trap stop EXIT
        ready() { smbclient -s "$conf" -U alice%pw '//127.0.0.1/IPC$' -c exit >/dev/null 2>&1; }
        for i in $(seq 100); do ready && break; sleep 0.1; done
        ready || { echo "smbd does not answer"; tail -n 5 "$1/smb/out" "$1/smb/log"; }

        """#
}
