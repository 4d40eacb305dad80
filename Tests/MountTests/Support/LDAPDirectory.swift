import Foundation
import Glibc
import TestSupport

/// A directory service of the distribution on loopback: slapd, which nslcd asks for the C library, in a mount namespace and a network of
/// their own. The machine's nsswitch.conf stays as it is. The group `outer` has the group `inner` as its only member, and that has dora.
final class LDAPDirectory {
    static let outer: UInt32 = 5602
    static let isInstalled = ["/usr/sbin/slapd", "/usr/sbin/nslcd", "/usr/bin/ldapmodify"].allSatisfy { (path: String) in
        access(path, X_OK) == 0
    }

    private let directory: ScratchDirectory
    private var top: String { directory.path }
    private let holder: pid_t
    private var server: pid_t = 0
    private var resolver: pid_t = 0

    /// What stands before a command that shall run inside.
    var within: [String] { ["nsenter", "--mount=/proc/\(holder)/ns/mnt", "--net=/proc/\(holder)/ns/net", "--"] }

    init() throws {
        directory = try ScratchDirectory("ldap")
        let top = directory.path
        let ready = try Spawn.pipe()
        defer { close(ready.reading) }
        holder = try Spawn.start(
            ["unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", Self.setup, "sh", top],
            descriptors: [-1, ready.writing, 2])
        close(ready.writing)
        var word = [UInt8](repeating: 0, count: 6)
        guard read(ready.reading, &word, 6) == 6 else { throw FixtureError("no namespace with a directory service") }
        try startServer()
        try startResolver()
        guard try eventually({ try groups(of: "dora").contains(Self.outer) }) else {
            throw FixtureError("the directory service does not answer")
        }
    }

    deinit {
        for pid in [resolver, server, holder] where pid > 0 {
            kill(pid, SIGKILL)
            _ = Spawn.wait(pid)
        }
    }

    /// The groups of a user as the C library says inside.
    func groups(of user: String) throws -> [UInt32] {
        let result = try Spawn.run(within + ["timeout", "10", "id", "-G", user])
        return result.output.split(separator: " ").compactMap { UInt32($0) }
    }

    func startServer() throws {
        server = try Spawn.start(
            within + ["slapd", "-f", "\(top)/slapd.conf", "-h", "ldap://127.0.0.1:3890/", "-d", "0"], descriptors: [-1, -1, -1])
    }

    func startResolver() throws { resolver = try Spawn.start(within + ["nslcd", "-n"], descriptors: [-1, -1, -1]) }

    /// The server keeps its connections and answers nothing, until `goOn`.
    func stop() { kill(server, SIGSTOP) }
    func goOn() { kill(server, SIGCONT) }

    func killServer() {
        kill(server, SIGKILL)
        _ = Spawn.wait(server)
        server = 0
    }

    func killResolver() {
        kill(resolver, SIGKILL)
        _ = Spawn.wait(resolver)
        resolver = 0
    }

    /// Changes whether the group in the group has dora.
    func setMember(_ isMember: Bool) throws {
        let change = "dn: cn=inner,dc=test\nchangetype: modify\n\(isMember ? "add" : "delete"): member\nmember: uid=dora,dc=test\n"
        let words =
            within + ["sh", "-c", "printf %s \"$1\" | ldapmodify -x -H ldap://127.0.0.1:3890 -D cn=admin,dc=test -w secret", "sh", change]
        let result = try Spawn.run(words)
        guard result.status == 0 else { throw FixtureError("ldapmodify: \(result)") }
    }

    private static let setup = #"""
        set -e
        mkdir "$1/db"
        cat >"$1/slapd.conf" <<X
        include /etc/ldap/schema/core.schema
        include /etc/ldap/schema/cosine.schema
        include /etc/ldap/schema/nis.schema
        objectclass ( 1.3.6.1.4.1.4203.666.11.1 NAME 'nestedGroup' SUP top AUXILIARY MAY member )
        modulepath /usr/lib/ldap
        moduleload back_mdb
        pidfile $1/slapd.pid
        database mdb
        suffix dc=test
        rootdn cn=admin,dc=test
        rootpw secret
        directory $1/db
        X
        user() { printf 'dn: uid=%s,dc=test\nobjectClass: account\nobjectClass: posixAccount\nuid: %s\ncn: %s\nuidNumber: %s\ngidNumber: %s\nhomeDirectory: /\n\n' $1 $1 $1 $2 $2; }
        group() { printf 'dn: cn=%s,dc=test\nobjectClass: posixGroup\nobjectClass: nestedGroup\ncn: %s\ngidNumber: %s\nmember: %s,dc=test\n\n' $1 $1 $2 $3; }
        {
            printf 'dn: dc=test\nobjectClass: domain\ndc: test\n\n'
            user dora 5501; user emil 5502; group inner 5601 uid=dora; group outer 5602 cn=inner
            # Somebody else, so that the group in the group never is empty.
            printf 'dn: uid=zoe,dc=test\nobjectClass: account\nuid: zoe\n\n'
        } >"$1/tree.ldif"
        cat >"$1/nslcd.conf" <<X
        uid root
        gid root
        uri ldap://127.0.0.1:3890/
        base dc=test
        nss_nested_groups yes
        reconnect_sleeptime 1
        reconnect_retrytime 1
        X
        chmod 600 "$1/nslcd.conf"
        sed -E 's/^(passwd|group):.*/\1: files ldap/' /etc/nsswitch.conf >"$1/nsswitch.conf"
        mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf
        mount --bind "$1/nslcd.conf" /etc/nslcd.conf
        mkdir -p /run/nslcd; mount -t tmpfs -o mode=755 tmpfs /run/nslcd
        ip link set lo up
        slapadd -f "$1/slapd.conf" -l "$1/tree.ldif"
        echo ready
        exec sleep 900 >/dev/null
        """#
}
