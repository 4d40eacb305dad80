import Foundation
import Glibc
import TestSupport
import Testing

/// Samba on a mount, with the shares of docs/guide/samba.md: clients see and set lists, which are enforced for them and for local users.
@Suite(.serialized, .enabled(if: SambaServer.isPossible, SambaServer.missing))
struct SambaTests {
    private let server: SambaServer

    init() throws { server = try SambaServer() }

    private func run(_ script: String, share: String = "share") throws {
        let shares = [try SambaServer.share(share, as: "share", of: server.fixture.mountpoint)]
        let result = try server.run(shares, script)
        #expect(result.output == "done", "\(result)")
    }

    @Test(.enabled(if: MountTesting.isLong, "with ACLFS_TEST_LONG=1")) func theExamplesOfTheDocument() throws {
        let section = try #require(DocumentExamples("docs/guide/samba.md").sections.first { $0.heading == "A look at it" })
        #expect(section.examples.count == 5)
        let commands = section.examples.map { example in
            example.command.replacingOccurrences(of: "//server/", with: "-s \"$conf\" //127.0.0.1/")
                .replacingOccurrences(of: "-U alice", with: "-U alice%pw")
        }
        let shares = [try SambaServer.share("share", of: server.fixture.mountpoint)]
        let result = try server.run(
            shares,
            """
            make notes 644; echo milk >"$mnt/notes"; cd "$mnt"; aclfs() { "$aclfs" "$@"; }
            { \(commands.joined(separator: "\n")); } 2>&1
            """)
        func comparable(_ lines: [String]) -> [String] {
            lines.map {
                $0.split(separator: " ").joined(separator: " ")
                    .replacingOccurrences(of: "[A-Z][a-z][a-z] [0-9]+ [0-9]+:[0-9]+", with: "TIME", options: .regularExpression)
            }
        }
        let expected = section.examples.flatMap(\.output) + ["done"]
        #expect(comparable(result.output.components(separatedBy: "\n")) == comparable(expected), "\(result)")
    }

    /// Each of the two shares by itself, as the document says to use them.
    @Test(.enabled(if: MountTesting.isLong && isInstalled("testparm"), "with ACLFS_TEST_LONG=1 and testparm"), arguments: ["share", "mac"])
    func sambaWarnsOfNoneOfTheShares(_ name: String) throws {
        let file = server.fixture.top + "/\(name).conf"
        try SambaServer.share(name, of: server.fixture.mountpoint).write(toFile: file, atomically: true, encoding: .utf8)
        let result = try Spawn.run(["testparm", "-s", file])
        // smbd makes its own directories when it starts.
        let warnings = result.output.split(separator: "\n").filter { $0.hasPrefix("WARNING") && !$0.hasSuffix("does not exist") }
        #expect(result.status == 0 && warnings.isEmpty, "\(result)")
    }

    @Test func entriesAllowBeyondTheMode() throws {
        try run(
            #"""
            denied=NT_STATUS_ACCESS_DENIED
            make f 600; is 'closed' $denied "$(client bob 'get f /dev/null')"
            $aclfs chmod +a 'user:bob allow read' "$mnt/f"
            is 'read' ok "$(client bob 'get f /dev/null')"; is 'read here' 0 "$(as bob "cat $mnt/f")"
            is 'not to write' $denied "$(client bob "put $conf f")"; is 'carol' $denied "$(client carol 'get f /dev/null')"
            $aclfs chmod +a 'user:bob allow write' "$mnt/f"
            is 'written' ok "$(client bob "put $conf f")"; is 'as it was' 0 "$(cmp "$conf" "$mnt/f" >/dev/null; echo $?)"
            is 'not to delete' $denied "$(client bob 'rm f')"
            $aclfs chmod +a 'user:bob allow delete' "$mnt/f"; is 'deleted' ok "$(client bob 'rm f')"; is 'gone' 1 "$(as alice "test -e $mnt/f")"
            makedir d 700; is 'not to list' $denied "$(client bob 'ls d/*')"
            $aclfs chmod +a 'user:bob allow list,search' "$mnt/d"; is 'listed' ok "$(client bob 'ls d/*')"
            is 'not to make' $denied "$(client bob "put $conf d/x")"
            $aclfs chmod +a 'user:bob allow add_file' "$mnt/d"; is 'made' ok "$(client bob "put $conf d/x")"
            is 'no directory' $denied "$(client bob 'mkdir d/y')"
            $aclfs chmod +a 'user:bob allow add_subdirectory' "$mnt/d"; is 'a directory' ok "$(client bob 'mkdir d/y')"
            make f 600; $aclfs chmod +a 'user:bob allow delete' "$mnt/f"
            is 'moved' ok "$(client bob 'rename f d/z')"; is 'there' 0 "$(as alice "test -e $mnt/d/z")"
            """#)
    }

    @Test func deniesAndFlagsBind() throws {
        try run(
            #"""
            denied=NT_STATUS_ACCESS_DENIED; chmod 777 "$mnt"
            make f 666; $aclfs chmod +a 'user:bob deny read' "$mnt/f"
            is 'read' $denied "$(client bob 'get f /dev/null')"; is 'carol reads' ok "$(client carol 'get f /dev/null')"
            make g 666; $aclfs chmod +a 'user:bob deny write' "$mnt/g"
            is 'written' $denied "$(client bob "put $conf g")"; is 'read' ok "$(client bob 'get g /dev/null')"
            make h 666; $aclfs chmod +a 'user:bob deny delete' "$mnt/h"
            is 'deleted' $denied "$(client bob 'rm h')"; is 'renamed' $denied "$(client bob 'rename h i')"
            is 'there' 0 "$(as bob "test -e $mnt/h")"; is 'here' 1 "$(as bob "rm -f $mnt/h")"; is 'carol' ok "$(client carol 'rm h')"
            makedir d 777; $aclfs chmod +a 'user:bob deny delete_child' "$mnt/d"; make d/x 666
            is 'of a directory' $denied "$(client bob 'rm d/x')"; is 'carol' ok "$(client carol 'rm d/x')"
            make u 666; $aclfs chflags uchg "$mnt/u"
            for user in root alice bob; do
                is "uchg for $user" "$denied $denied $denied" "$(client $user "put $conf u") $(client $user 'rm u') $(client $user 'rename u v')"
            done
            is 'attributes' '' "$(smb alice 'allinfo u' | sed -n 's/^attributes: *\([A-Z]*\).*/\1/p')"
            smb alice 'setmode u +r' >/dev/null
            is 'are not set' '' "$(smb alice 'allinfo u' | sed -n 's/^attributes: *\([A-Z]*\).*/\1/p')"
            make a 666; $aclfs chflags uappnd "$mnt/a"; is 'uappnd' $denied "$(client alice "put $conf a")"; is 'read' ok "$(client alice 'get a /dev/null')"
            # The attributes of DOS are Samba's own and no flags.
            make r 644; smb alice 'setmode r +rh' >/dev/null; is 'read-only' $denied "$(client alice "put $conf r")"
            is 'not here' 0 "$(as alice "echo x >$mnt/r")"; is 'no flag' - "$(getfattr --absolute-names --only-values -n system.aclfs.flags "$mnt/r")"
            """#)
    }

    @Test(.enabled(if: MountTesting.isLong, "with ACLFS_TEST_LONG=1")) func listsAreShownAndSet() throws {
        try run(
            #"""
            make f 640; is 'the mode' 'alice:ALLOWED/0x0/RWPO staff:ALLOWED/0x0/R' "$(list alice f)"
            is 'nothing is stored' '' "$(entries f)"
            is 'an entry' 0 "$(change alice f -a 'ACL:SRV\bob:DENIED/0x0/R')"
            is 'is of aclfs' 'user:bob deny read,readattr,readextattr,readsecurity,synchronize;' "$(entries f)"
            is 'and the mode the same' 640 "$(mode f)"; is 'bob' '1 NT_STATUS_ACCESS_DENIED' "$(as bob "cat $mnt/f") $(client bob 'get f /dev/null')"
            is 'is shown' 'bob:DENIED/0x0/R alice:ALLOWED/0x0/RWPO staff:ALLOWED/0x0/R' "$(list alice f)"
            is 'removed' 0 "$(change alice f -D 'ACL:SRV\bob:DENIED/0x0/R')"; is 'nothing' '' "$(entries f)"; is 'bob' 0 "$(as bob "cat $mnt/f")"
            # What is taken away is away.
            make g 644; is 'everyone' 'alice:ALLOWED/0x0/RWPO Everyone:ALLOWED/0x0/R' "$(list alice g)"
            is 'removed' 0 "$(change alice g -D 'ACL:Everyone:ALLOWED/0x0/R')"; is 'mode' 600 "$(mode g)"; is 'list' '' "$(entries g)"
            is 'carol' '1 NT_STATUS_ACCESS_DENIED' "$(as carol "cat $mnt/g") $(client carol 'get g /dev/null')"
            is 'given' 0 "$(change alice g -a 'ACL:Everyone:ALLOWED/0x0/R')"; is 'mode again' 644 "$(mode g)"; is 'carol' ok "$(client carol 'get g /dev/null')"
            is 'a group' 0 "$(change alice g -a 'ACL:Unix Group\interns:DENIED/0x0/R')"
            is 'carol' '1 NT_STATUS_ACCESS_DENIED' "$(as carol "cat $mnt/g") $(client carol 'get g /dev/null')"
            # An edit beside it leaves an entry that allows less than it is shown with.
            make h 600; $aclfs chmod +a 'user:bob allow read' "$mnt/h"; is 'shown as' 'bob:ALLOWED/0x0/R alice:ALLOWED/0x0/RWPO' "$(list alice h)"
            is 'beside it' 0 "$(change alice h -a 'ACL:SRV\carol:DENIED/0x0/P')"
            is 'it stays' 'user:bob allow read;' "$(entries h | tr ';' '\n' | grep bob | tr '\n' ';')"
            is 'full' 0 "$(change alice h -a 'ACL:SRV\carol:ALLOWED/0x0/FULL')"; is 'carol deletes' ok "$(client carol 'rm h')"
            # Who may change it.
            make i 644; is 'bob' 1 "$(change bob i -a 'ACL:SRV\bob:ALLOWED/0x0/FULL')"; is 'unchanged' '' "$(entries i)"
            $aclfs chmod +a 'user:bob allow writesecurity' "$mnt/i"
            is 'with the right' 0 "$(change bob i --query-security-info=4 --set-security-info=4 -a 'ACL:SRV\carol:DENIED/0x0/R')"
            is 'carol' NT_STATUS_ACCESS_DENIED "$(client carol 'get i /dev/null')"
            # The owner.
            make o 644; is 'given away' 1 "$(change alice o -C 'bob')"; is 'not' 501 "$(stat -c %u "$mnt/o")"
            $aclfs chmod +a 'user:bob allow chown,readsecurity,readattr' "$mnt/o"; is 'taken' 0 "$(change bob o -C 'bob')"; is 'bob' 502 "$(stat -c %u "$mnt/o")"
            # An account that no host knows, by its number.
            make n 600; $aclfs chmod +a 'user:4711 deny read' "$mnt/n"; $aclfs chmod +a '12345678-9ABC-4DEF-8123-456789ABCDEF deny write' "$mnt/n"
            is 'changed' 0 "$(change alice n -a 'ACL:SRV\bob:ALLOWED/0x0/R')"
            is 'both stay' 2 "$(entries n | tr ';' '\n' | grep -c '^12345678.* deny write\|^user:#4711 deny read\|^FFFFEEEE.*1267 deny read')"
            """#)
    }

    @Test(.enabled(if: MountTesting.isLong, "with ACLFS_TEST_LONG=1")) func inheritanceIsTheSameOverSMB() throws {
        try run(
            #"""
            makedir d 750; is 'set' 0 "$(change alice d -a 'ACL:SRV\bob:ALLOWED/OI|CI/R')"
            is 'set' 0 "$(change alice d -a 'ACL:SRV\carol:DENIED/OI|CI|IO/D')"
            client alice "cd d; put $conf s; mkdir sd" >/dev/null; as alice "echo x >$mnt/d/l; mkdir $mnt/d/ld" >/dev/null
            is 'file' "$(entries d/l | tr ';' '\n' | sort)" "$(entries d/s | tr ';' '\n' | sort)"
            is 'directory' "$(entries d/ld | tr ';' '\n' | sort)" "$(entries d/sd | tr ';' '\n' | sort)"
            is 'marked' 2 "$(entries d/s | tr ';' '\n' | grep -c ' inherited ')"; is 'shown' 'bob:ALLOWED/I/R' "$(list alice d/s | tr ' ' '\n' | grep bob)"
            # Only who is named: Samba creates with 0666.
            is 'modes' '600 700' "$(mode d/s) $(mode d/sd)"; is 'mode here' 644 "$(mode d/l)"
            is 'bob reads' ok "$(client bob 'get d/s /dev/null')"; is 'and here' 0 "$(as bob "cat $mnt/d/s")"
            is 'alice writes' ok "$(client alice "put $conf d/s")"
            chmod 777 "$mnt/d"; is 'deny delete' 'NT_STATUS_ACCESS_DENIED 1' "$(client carol 'rm d/s') $(as carol "rm -f $mnt/d/s")"
            # In the second generation, too.
            client alice "put $conf d/sd/deep" >/dev/null; is 'deep' "$(entries d/s)" "$(entries d/sd/deep)"
            # Entries for one kind of object alone.
            makedir e 755; $aclfs chmod +a 'user:bob allow list,directory_inherit' "$mnt/e"
            client alice "cd e; put $conf s; mkdir sd" >/dev/null; is 'no file' '600 ' "$(mode e/s) $(entries e/s)"; is 'a directory' 700 "$(mode e/sd)"
            is 'its entry' 1 "$(entries e/sd | grep -c 'user:bob inherited allow')"
            # Without anything to inherit, as the directory is.
            makedir p 750; client alice "cd p; put $conf s; mkdir sd" >/dev/null; is 'as the directory' '640 750' "$(mode p/s) $(mode p/sd)"
            # What a client marks as inherited stays so, and a protected list stays protected.
            is 'CREATOR OWNER' 0 "$(change alice d -a 'ACL:Creator Owner:ALLOWED/OI|CI|IO/D')"
            client alice "put $conf d/own" >/dev/null; is 'the creator' 1 "$(entries d/own | tr ';' '\n' | grep -c 'CDEF0000000A inherited allow delete\|owner@ inherited allow delete')"
            """#)
    }

    @Test(.enabled(if: MountTesting.isLong, "with ACLFS_TEST_LONG=1")) func aShareForMacs() throws {
        try run(
            #"""
            denied=NT_STATUS_ACCESS_DENIED
            make f 600; $aclfs chmod +a 'user:bob allow read' "$mnt/f"; is 'read' ok "$(client bob 'get f /dev/null')"; is 'carol' $denied "$(client carol 'get f /dev/null')"
            is 'shown' 'bob:ALLOWED/0x0/R alice:ALLOWED/0x0/RWPO' "$(list alice f)"; is 'set' 0 "$(change alice f -a 'ACL:SRV\carol:ALLOWED/0x0/R')"
            is 'carol' ok "$(client carol 'get f /dev/null')"
            # Streams and resource forks.
            head -c 60 /dev/urandom >"$1/info"; head -c 200 /dev/urandom >"$1/fork"
            for stream in com.apple.quarantine:info AFP_Resource:fork; do
                smb alice "put $1/${stream#*:} f:${stream%:*}" >/dev/null; smb alice "get f:${stream%:*} $1/back" >/dev/null
                is "$stream" 0 "$(cmp "$1/${stream#*:}" "$1/back" >/dev/null 2>&1; echo $?)"
            done
            is 'stored as' 'user.DOSATTRIB user.DosStream.com.apple.quarantine:$DATA' \
                "$(getfattr --absolute-names -d -m '^user.D' "$mnt/f" | sed -n 's/=.*//p' | sort | tr '\n' ' ' | sed 's/ $//')"
            is 'a fork' 0 "$(as alice "test -e $mnt/._f")"; is 'hidden' 0 "$(smb alice ls | grep -c '\._f')"
            # With the entries of the file.
            is 'bob reads' ok "$(client bob 'get f /dev/null')"; is 'but no attribute' $denied "$(client bob "put $1/info f:other")"
            # The state of backups is no stream, and stays.
            make b 644; $aclfs backup exclude "$mnt/b"; is 'no stream' 0 "$(smb alice 'allinfo b' | grep -c 'stream: .*backup')"
            is 'renamed' ok "$(client alice 'rename b c')"; is 'still' 1 "$($aclfs backup status "$mnt/c" | grep -c Excluded)"
            makedir d 755; $aclfs chmod +a 'user:bob allow read,file_inherit,directory_inherit' "$mnt/d"
            client alice "cd d; put $conf s" >/dev/null; is 'inherited' 1 "$(entries d/s | grep -c 'user:bob inherited allow read')"; is 'closed' 600 "$(mode d/s)"
            make u 644; $aclfs chflags uchg "$mnt/u"; is 'uchg' "$denied $denied" "$(client alice "put $conf u") $(client alice "put $1/info u:x")"
            """#, share: "mac")
    }

    @Test(.enabled(if: MountTesting.isLong, "with ACLFS_TEST_LONG=1")) func attributesAreThoseOfTheMount() throws {
        try run(
            #"""
            make f 644; is 'set' ok "$(client alice 'setea f xdg.robots.backup false')"; is 'excluded' 1 "$($aclfs backup status "$mnt/f" | grep -c Excluded)"
            is 'shown' 1 "$(smb alice 'geteas f' | grep -c '^xdg.robots.backup ')"
            $aclfs chmod +a 'user:bob deny write' "$mnt/f"; is 'entries' 1 "$(smb alice 'geteas f' | grep -c '^com.apple.acl.text ')"
            denied=NT_STATUS_ACCESS_DENIED; is 'the record' "$denied $denied" "$(client alice 'setea f aclfs x') $(client alice 'setea f com.apple.system.x x')"
            is 'bob' $denied "$(client bob 'setea f x y')"
            $aclfs chmod +a 'user:bob allow writeextattr' "$mnt/f"; is 'with the right' ok "$(client bob 'setea f x y')"
            """#)
    }

    /// The form of nfs4_setfacl serves Samba as well, without what clients expect of it.
    @Test(.enabled(if: MountTesting.isLong, "with ACLFS_TEST_LONG=1")) func theFormOfNfs4Setfacl() throws {
        let plain = """
            [share]
            path = \(server.fixture.mountpoint)
            read only = no
            vfs objects = nfs4acl_xattr
            nfs4acl_xattr:encoding = nfs
            nfs4acl_xattr:version = 40
            """
        let result = try server.run(
            [plain],
            #"""
            make f 644
            is 'a deny' 0 "$(change alice f --query-security-info=4 --set-security-info=4 -a 'ACL:SRV\bob:DENIED/0x0/R')"
            is 'as an entry' D::bob:rtncy "$(nfs4_getfacl "$mnt/f" | sed -n 2p)"; is 'of aclfs' 'user:bob deny' "$(entries f | sed 's/ read.*//')"
            is 'bob' '1 NT_STATUS_ACCESS_DENIED' "$(as bob "cat $mnt/f") $(client bob 'get f /dev/null')"; is 'carol' ok "$(client carol 'get f /dev/null')"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
