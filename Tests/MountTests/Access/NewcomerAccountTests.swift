import Foundation
import Glibc
import TestSupport
import Testing

/// Who becomes somebody else, gets another group, or shares a directory with a group.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct NewcomerAccountTests {
    private static let users: [String: UInt32] = ["alice": 501, "bob": 502]
    private static let groups: [UInt32: PrivateAccounts.Group] = [
        501: .init(name: "alice", members: []), 502: .init(name: "bob", members: []),
        700: .init(name: "project", members: ["alice"]), 701: .init(name: "other", members: []),
    ]

    /// Runs as root where alice is in the group that may use the directory, and bob is not; prints what is not so.
    private func run(_ script: String, options: String = "") throws -> CommandResult {
        let accounts = try PrivateAccounts(users: Self.users, groups: Self.groups)
        let fixture = try MountFixture(options: options, within: accounts.within)
        let prelude = #"""
            D=$1/d; mkdir "$D"; chown 0:700 "$D"; chmod 0770 "$D"; echo text >"$D/f"; chown 0:700 "$D/f"; chmod 0640 "$D/f"
            export PATH=/usr/sbin:/usr/bin:/sbin:/bin
            # su and sudo ask for the accounts' passwords.
            shadow=$2/shadow; { cat /etc/shadow; for u in alice bob; do echo "$u:*:19000:0:99999:7:::"; done; } >"$shadow"
            chmod 600 "$shadow"; mount --bind "$shadow" /etc/shadow
            is() { [ "$2" = "$3" ] || echo "$1: expected <$2>, got <$3>"; }

            """#
        return try Spawn.run(
            accounts.within + ["bash", "-uc", prelude + script + "\necho done", "script", fixture.mountpoint, fixture.top])
    }

    /// A login gives the groups of the database; each way of it.
    @Test(arguments: ["su %s -s /bin/sh -c", "runuser -u %s -- sh -c"])
    func becomingSomebodyElse(_ become: String) throws { try expectGroups(become) }

    @Test(.enabled(if: isInstalled("sudo"), "no sudo (apt install sudo)"))
    func becomingSomebodyElseBySudo() throws { try expectGroups("sudo -n -u %s sh -c") }

    private func expectGroups(_ become: String) throws {
        let result = try run(
            #"""
            as() { $(printf '\#(become)' $1) "$2" 2>&1; }
            is 'alice' text "$(as alice "cat $D/f")"
            is 'bob' refused "$(as bob "cat $D/f" >/dev/null || echo refused)"
            is 'alice, new' '501 700' "$(as alice "touch $D/new && stat -c '%u %g' $D/new && rm $D/new")"
            is 'bob, new' refused "$(as bob "touch $D/new" >/dev/null || echo refused)"
            is 'bob is bob' 502 "$(as bob 'id -u')"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A group that the process has not got counts from the moment that newgrp(1) gives it.
    @Test(.enabled(if: isInstalled("newgrp"), "no newgrp (apt install login)"))
    func takingOnAGroup() throws {
        let result = try run(
            #"""
            as_alice() { setpriv --reuid=501 --regid=501 --clear-groups sh -c "$1" 2>&1; }
            is 'without the group' refused "$(as_alice "cat $D/f" >/dev/null || echo refused)"
            is 'with it' text "$(as_alice "echo 'cat $D/f' | newgrp project")"
            is 'what it makes' '501 700' "$(as_alice "echo 'touch $D/new; stat -c \"%u %g\" $D/new' | newgrp project")"
            mkdir "$1/own"; chmod 0777 "$1/own"
            is 'and elsewhere' '501 700' "$(as_alice "echo 'touch $1/own/new; stat -c \"%u %g\" $1/own/new' | newgrp project")"
            is 'and afterwards' refused "$(as_alice "cat $D/f" >/dev/null || echo refused)"
            """#, options: "nogrpid,groups_cache=0")
        #expect(result.output == "done", "\(result)")
    }

    /// As on Linux with `nogrpid`; by default every directory gives its group, as on macOS.
    @Test(arguments: ["nogrpid", "grpid"])
    func aDirectoryWithSetGroupID(_ options: String) throws {
        let result = try run(
            #"""
            as_alice() { setpriv --reuid=501 --regid=501 --groups=501,700 sh -c "umask 022; $1" 2>&1; }
            chmod 0777 "$1"; mkdir "$1/plain" "$1/shared"; chgrp 701 "$1/plain" "$1/shared"; chmod 0777 "$1/plain"; chmod 02777 "$1/shared"
            for where in plain shared; do
                as_alice "cd $1/$where && touch f && mkdir d && touch d/f && ln -s f l"
                (cd "$1/$where" && stat -c "$where %n %g %a" f d d/f l)
            done
            """#, options: options)
        let plain = options == "grpid" ? 701 : 501
        #expect(
            result.output == """
                plain f \(plain) 644
                plain d \(plain) 755
                plain d/f \(plain) 644
                plain l \(plain) 777
                shared f 701 644
                shared d 701 \(options == "grpid" ? "755" : "2755")
                shared d/f 701 644
                shared l 701 777
                done
                """, "\(result)")
    }
}
