import Glibc
import TestSupport
import Testing

/// Callers with a part of root's capabilities, or in a user namespace where they have all (docs/reference/authorization.md 3.12).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct CapabilityMountTests {
    private static let prelude = #"""
        $A mount "$T/back" "$T/mnt" -o groups_cache=0${OPTIONS:+,$OPTIONS} 2>"$T/log" || cat "$T/log"
        cd "$T/mnt"; chmod 755 .
        mkdir -m 700 home; echo secret >home/s; chmod 600 home/s; chown -R 1500:1500 home
        # A user with these capabilities, and root with these alone.
        user() { local caps=$1; shift; setpriv --reuid 1501 --regid 1501 --clear-groups --inh-caps "$caps" --ambient-caps "$caps" "$@"; }
        bare() { setpriv --bounding-set=-all --inh-caps=-all "$@"; }
        docker='-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap'
        contained() { setpriv --bounding-set="$docker" --inh-caps=-all "$@"; }
        last() { $A explain --last 1 "$T/mnt" | tail -1; }

        """#

    private func run(_ script: String, options: String = "", with accounts: String = "") throws {
        let result = try MountNamespace().run("OPTIONS=\(options)\n" + accounts + Self.prelude + script + "\ncd /; $A unmount \"$T/mnt\"")
        #expect(result.output == "done", "\(result)")
    }

    @Test func aBackupUserReadsAllAndWritesNothing() throws {
        try run(
            #"""
            $A chmod +a 'everyone deny read,readattr' home/s
            is 'without' "$(user -all status cat home/s 2>/dev/null; user -all cat home/s 2>&1)" 'cat: home/s: Permission denied'
            is 'read' "$(user +dac_read_search cat home/s 2>&1)" secret
            is 'list' "$(user +dac_read_search ls -l home 2>&1 | awk '{ print $NF }' | tail -1)" s
            is 'write' "$(user +dac_read_search sh -c 'echo x 2>&1 >home/s' 2>&1 | grep -c denied)" 1
            is 'create' "$(user +dac_read_search touch home/n 2>&1 | grep -c denied)" 1
            is 'remove' "$(user +dac_read_search rm -f home/s 2>&1 | grep -c denied)" 1
            is 'chmod' "$(user +dac_read_search chmod 666 home/s 2>&1 | grep -c permitted)" 1
            is 'effective' "$(user +dac_read_search getfattr --only-values -n system.aclfs.effective home/s 2>&1)" \
                read,readattr,readextattr,readsecurity
            holds 'explain' "$(user +dac_read_search $A explain open-read home/s)" capability:dac_read_search
            # An account has no capabilities; a process has.
            holds 'account' "$($A explain --as 1501:1501 open-read home/s | tail -1)" EACCES
            is 'override' "$(user +dac_override sh -c 'echo more >>home/s; mkdir home/d; cat home/s' 2>&1 | tail -1)" more
            is 'fowner' "$(user +fowner,+dac_read_search sh -c 'chmod 640 home/s && stat -c %a home/s' 2>&1)" 640
            is 'chown' "$(user +chown,+dac_read_search sh -c 'chown 1502:1503 home/s && stat -c %u:%g home/s' 2>&1)" 1502:1503
            # What does backups that way, as their documents say.
            chmod 755 "$T"; mkdir "$T/to"; chown 1501 "$T/to"; export HOME="$T/to" LOGNAME=backup BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
            if command -v restic >/dev/null; then
                export RESTIC_PASSWORD=x
                user -all restic -q -r "$T/to/r" init >/dev/null 2>&1
                is restic "$(user +dac_read_search restic -q -r "$T/to/r" backup "$T/mnt" 2>&1; user -all restic -q -r "$T/to/r" dump latest "$T/mnt/home/s" | head -1)" secret
            fi
            if command -v borg >/dev/null; then
                user -all borg init -e none "$T/to/b" 2>/dev/null
                is borg "$(user +dac_read_search borg create "$T/to/b::1" home 2>&1; user -all borg extract --stdout "$T/to/b::1" home/s | head -1)" secret
            fi
            """#)
    }

    @Test func rootWithoutCapabilitiesIsAUserLikeOthers() throws {
        try run(
            #"""
            echo own >own; chmod 600 own
            is 'own' "$(bare cat own 2>&1)" own
            is 'read' "$(bare cat home/s 2>&1)" 'cat: home/s: Permission denied'
            holds 'last' "$(last)" 'root without CAP_DAC_OVERRIDE'
            holds 'audit' "$(cat "$T/audit")" 'root without CAP_DAC_OVERRIDE'
            holds 'explain' "$(bare $A explain search home)" 'root without CAP_DAC_OVERRIDE'
            holds 'account' "$($A explain --as 0 open-read home/s)" root
            for what in 'chown 1500 own' 'chmod 777 home' 'touch home/n' 'mknod d b 7 0' 'setfattr -n trusted.x -v 1 own' 'chown 0 home'; do
                bare $what 2>/dev/null && echo "done without capabilities: $what"
            done
            bare $A chflags schg own 2>/dev/null && echo 'schg without capabilities'
            echo p >prog; chmod 6755 prog; bare truncate -s 1 prog; is 'set-id' "$(stat -c %a prog)" 755
            chmod 6755 prog; truncate -s 0 prog; is 'kept' "$(stat -c %a prog)" 6755
            """#, options: "audit=denied,audit_log=$T/audit")
    }

    @Test func rootOfAContainer() throws {
        try run(
            #"""
            is 'read' "$(contained cat home/s 2>&1)" secret
            contained sh -ec 'chown 1502:7 home/s; chmod 2755 home/s; touch -d 2001-01-01 home/s; mkdir home/d; rm -r home/d; cp -a home/s home/c; rm home/c'
            is 'changed' "$(stat -c '%u:%g %a' home/s)" '1502:7 2755'
            echo k >kept; $A chflags schg kept; $A chflags sappnd home
            is 'schg' "$(contained $A chflags noschg kept 2>&1 | grep -c 'not permitted')" 1
            holds 'last' "$(last)" 'root without CAP_LINUX_IMMUTABLE'
            is 'sappnd' "$(contained $A chflags nosappnd home 2>&1 | grep -c 'not permitted')" 1
            contained $A chflags uchg home/s; contained $A chflags nouchg home/s
            $A chflags nosappnd home; $A chflags noschg kept
            is 'attribute' "$(contained setfattr -n security.x -v 1 kept 2>&1 | grep -c permitted)" 1
            """#)
    }

    /// What a process gives up counts at once with `groups_cache=0`, and access(2) is asked for the real user.
    @Test func capabilitiesOfAThread() throws {
        try run(
            #"""
            cat >"$T/thread.py" <<'END'
            import ctypes, os, sys
            libc = ctypes.CDLL(None, use_errno=True)
            def reads():
                try: return open("home/s").read().strip()
                except PermissionError: return "EACCES"
            def capset(bits):
                head = (ctypes.c_uint32 * 2)(0x20080522, 0)
                data = (ctypes.c_uint32 * 6)(bits & 0xffffffff, 0xffffffff, 0, bits >> 32, 0x1ff, 0)
                caps = (ctypes.c_uint32 * 6)(); libc.capget(head, caps)
                data[1], data[4] = caps[1], caps[4]
                if libc.capset(head, data): sys.exit("capset")
            said = [reads()]
            capset(0); said.append(reads())
            capset(4); said.append(reads())
            capset(1 << 6 | 1 << 7 | 2); os.setresuid(1501, 0, 0); said += [reads(), str(os.access("home/s", os.R_OK))]
            os.setresuid(0, 0, 0); said.append(str(os.access("home/s", os.R_OK)))
            # As smbd does: another effective user has none of the capabilities.
            os.seteuid(1501); said.append(reads()); os.seteuid(0); said.append(reads())
            # The walk of access(2) is by the real ids as well.
            os.setresgid(20, 0, 0); said.append(str(os.access("home/s", os.R_OK)))
            print(*said)
            END
            is 'thread' "$(/usr/bin/python3 "$T/thread.py" 2>&1)" 'secret EACCES secret secret False True EACCES secret True'
            """#)
    }

    /// Where root is an unprivileged user, no other user is more.
    @Test func withRootSquashNoCapabilityCounts() throws {
        let result = try MountNamespace().run(
            #"""
            mkdir -m 700 "$T/back/home"; echo secret >"$T/back/home/s"; chown 1500:1500 "$T/back/home"; chmod 755 "$T/back"
            $A mount "$T/back" "$T/mnt" -o rootsquash 2>"$T/log" || cat "$T/log"
            is 'root' "$(cat "$T/mnt/home/s" 2>&1 | grep -c denied)" 1
            is 'user' "$(setpriv --reuid 1501 --regid 1501 --clear-groups --inh-caps +dac_read_search --ambient-caps +dac_read_search \
                cat "$T/mnt/home/s" 2>&1 | grep -c denied)" 1
            $A unmount "$T/mnt"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func aNamespaceReachesTheIDsThatItMaps() throws {
        for program in SubordinateAccounts.programs where access(program, X_OK) != 0 {
            return print("CapabilityMountTests did not run: \(program) is missing")
        }
        try run(
            #"""
            first=$(grep mallory /etc/subuid | cut -d: -f2)
            mkdir -m 755 m; chown 5501:5501 m
            runuser -u mallory -- sh -c 'echo x >m/own; chmod 600 m/own; echo x >m/held; chmod 644 m/held'
            echo x >m/of-bert; chown 5502:5502 m/of-bert; chmod 600 m/of-bert
            echo x >m/mixed; chown $((first + 3)):5502 m/mixed; chmod 000 m/mixed; $A chflags schg m/held
            cat >"$T/inside.sh" <<'END'
            cd "$1"
            chown 5:5 own && stat -c %u:%g own; cat own; chmod 2640 own
            for what in 'cat of-bert' 'chown 0:0 of-bert' 'cat mixed' 'chmod 777 mixed' "cat ../home/s" 'touch ../home/n' 'rm held'; do
                $what >/dev/null 2>&1 && echo "done: $what"
            done
            "$A" chflags noschg held 2>/dev/null && echo 'schg cleared'
            setfattr -n system.aclfs.owner -v FFFFEEEE-DDDD-CCCC-BBBB-AAAA00000000 own 2>/dev/null && echo 'given to root'
            rm -f own mixed; ls | tr '\n' ' '
            END
            export A
            # As on Linux CAP_FOWNER asks for the owner alone.
            is 'inside' "$(runuser -u mallory -- unshare --map-users=auto --map-groups=auto --map-root-user sh "$T/inside.sh" "$T/mnt/m" 2>&1 | tr '\n' ' ')" \
                '5:5 x done: chmod 777 mixed held of-bert '
            # Own ids alone: nothing but what the user may do.
            runuser -u mallory -- sh -c 'echo x >m/own; chmod 000 m/own'
            is 'own ids' "$(runuser -u mallory -- unshare -r cat m/own 2>&1; runuser -u mallory -- unshare -r cat home/s m/of-bert 2>/dev/null)" x
            if command -v bwrap >/dev/null; then
                is bwrap "$(runuser -u mallory -- bwrap --dev-bind / / --unshare-user --uid 0 --gid 0 --cap-add ALL cat "$T/mnt/m/own" "$T/mnt/home/s" 2>/dev/null)" x
            fi
            # Root of the host, in a namespace that has root's ids alone.
            is 'root inside' "$(unshare -r cat home/s 2>&1)" 'cat: home/s: Permission denied'
            $A chflags noschg m/held
            """#, with: SubordinateAccounts.prelude)
    }
}
