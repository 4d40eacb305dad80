import Foundation
import Glibc
import TestSupport
import Testing

private enum Samba {
    static let isPossible =
        MountTesting.isLong && MountTesting.isPossible
        && (try? Spawn.run(["sh", "-c", "command -v smbd smbcacls smbclient nfs4_getfacl"]))?.status == 0
}

/// Samba on a mount, with the settings of docs/nfs4.md: it stores lists of its clients, and aclfs enforces them.
@Suite(
    .serialized,
    .enabled(if: Samba.isPossible, "long, and needs root, /dev/fuse, nfs4-acl-tools and Debian's samba, smbclient and samba-vfs-modules"))
struct NFS4SambaTests {
    // It ends before the namespace that it is in.
    private let fixture: MountFixture
    private let accounts: PrivateAccounts

    init() throws {
        accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502, "carol": 503, "nobody": 65_534],
            groups: [20: .init(name: "staff", members: ["alice", "bob", "carol"]), 65_534: .init(name: "nogroup", members: [])])
        fixture = try MountFixture(within: accounts.within)
    }

    /// The share of the document.
    private func settings() throws -> String {
        let text = try String(contentsOf: Repository.top.appendingPathComponent("docs/nfs4.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## Samba\n").last)
        let lines = section.split(separator: "\n").filter { $0.hasPrefix("    ") }
        try #require(lines.count == 10)
        return lines.joined(separator: "\n").replacingOccurrences(of: "/srv/share", with: fixture.mountpoint)
    }

    private func script() throws -> String {
        let top = fixture.top
        let general = """
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
            private dir = \(top)/smb/private
            lock directory = \(top)/smb
            state directory = \(top)/smb
            cache directory = \(top)/smb
            pid directory = \(top)/smb
            ncalrpc dir = \(top)/smb/ncalrpc
            log file = \(top)/smb/log
            """
        mkdir(top + "/smb", 0o755)
        mkdir(top + "/smb/private", 0o700)
        try (general + "\n" + settings() + "\n").write(toFile: top + "/smb.conf", atomically: true, encoding: .utf8)
        return #"""
            conf=$1/smb.conf; mnt=$1/mnt; act=$2
            is() { [ "$2" = "$3" ] || echo "$1: expected <$2>, got <$3>"; }
            as() { "$act" "$1" 20 20 -- sh -c "$2 >/dev/null 2>&1"; echo $?; }
            shown() { nfs4_getfacl "$1" | sed '/^#/d; /^$/d' | tr '\n' ' '; }
            entries() { getfattr --absolute-names --only-values -n system.aclfs.acl "$1"; }
            acl() { smbcacls --query-security-info=4 --set-security-info=4 -s "$conf" -U alice%pw //127.0.0.1/share "$@"; }
            client() { smbclient -s "$conf" -U alice%pw //127.0.0.1/share -c "$1" >/dev/null 2>&1; }
            for user in alice bob carol; do printf 'pw\npw\n' | smbpasswd -c "$conf" -s -a "$user" >/dev/null; done
            ip link set lo up
            # When it ends it signals its process group, which must not be that of the tests.
            setsid smbd -F --no-process-group -s "$conf" >"$1/smb/out" 2>&1 & server=$!
            trap 'kill $server' EXIT
            for i in $(seq 100); do acl f >/dev/null 2>&1 && break; sleep 0.1; done
            is 'the mode' 'ACL:SRV\alice:ALLOWED/0x0/RWP' "$(acl f | grep alice)"
            is 'a deny' 0 "$(acl f -a 'ACL:SRV\bob:DENIED/0x0/R' >/dev/null; echo $?)"
            is 'as an entry' D::bob:rtncy "$(nfs4_getfacl "$mnt/f" | sed -n 2p)"
            is 'of aclfs' 'user:bob deny' "$(entries "$mnt/f" | sed -n '1s/ read.*//p')"
            is 'bob' 1 "$(as 502 "cat $mnt/f")"; is 'carol' 0 "$(as 503 "cat $mnt/f")"
            is 'the mode stays' 644 "$(stat -c %a "$mnt/f")"
            is 'read back' 'ACL:SRV\bob:DENIED/0x0/R' "$(acl f | grep bob)"
            is 'removed' 0 "$(acl f -D 'ACL:SRV\bob:DENIED/0x0/R' >/dev/null; echo $?)"
            is 'bob again' 0 "$(as 502 "cat $mnt/f")"
            # What is inherited through Samba counts for all.
            client 'mkdir d'
            is 'inheritable' 0 "$(acl d -a 'ACL:SRV\bob:ALLOWED/OI|CI/FULL' >/dev/null; echo $?)"
            client "cd d; put $conf new"; chmod 600 "$mnt/d/new"
            is 'bob reads' 0 "$(as 502 "cat $mnt/d/new")"; is 'carol does not' 1 "$(as 503 "cat $mnt/d/new")"
            """#
    }

    @Test func listsOfItsClientsAreEnforced() throws {
        chmod(fixture.backing, 0o755)
        chown(fixture.backing, 501, 20)
        try "text\n".write(toFile: fixture.backing + "/f", atomically: false, encoding: .utf8)
        chown(fixture.backing + "/f", 501, 20)
        let result = try Spawn.run(
            accounts.within
                + ["unshare", "-n", "bash", "-uc", script() + "\necho done", "script", fixture.top, MountTesting.program("aclfs-act")])
        #expect(result.output == "done", "\(result)")
    }
}
