import TestSupport
import Testing

/// The kernel opens FIFOs, sockets and devices without asking the file system, so the look-up is denied to callers who may not
/// open them (docs/reference/security.md "What the kernel decides without asking").
@Suite(.enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SpecialFileGateTests {
    private static let ways = ["", "-o transport=dev", "-o cache=strict"]

    private static func script(_ option: String, _ body: String) -> String {
        #"""
        mkdir -m 755 "$T/back/d"; chmod 755 "$T/back"; D=$T/mnt/d
        "$A" mount \#(option) "$T/back" "$T/mnt" 2>/dev/null
        alice() { setpriv --reuid 61790 --regid 61790 --clear-groups "$@"; }
        bob() { setpriv --reuid 61791 --regid 61791 --groups 61792 "$@"; }
        fifo() { mkfifo -m "$1" "$D/$2"; chown 61790:61792 "$D/$2"; }
        socket() {
            python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])' "$D/$2"
            chmod "$1" "$D/$2"; chown 61790:61792 "$D/$2"
        }
        # A reader and a writer at once never wait.
        opens='import os, sys; os.close(os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK))'

        """# + body + "\n\"$A\" unmount \"$T/mnt\"\n"
    }

    /// Both rights are asked for a FIFO, because either of them gives the other's data or a hang.
    @Test(arguments: ways) func fifo(_ option: String) throws {
        let result = try MountNamespace().run(
            Self.script(
                option,
                #"""
                for mode in 600 640 620 660 606 666; do fifo $mode p$mode; done
                for p in p600 p640 p620 p606; do
                    is "bob looks up $p" 1 "$(status bob stat "$D/$p")"; is "bob opens $p" 1 "$(status bob timeout 20 python3 -c "$opens" "$D/$p")"
                    is "the owner looks up $p" 0 "$(status alice stat "$D/$p")"; is "root looks up $p" 0 "$(status stat "$D/$p")"
                done
                holds 'the errno' "$(bob stat "$D/p600" 2>&1)" 'Permission denied'
                for p in p660 p666; do is "bob looks up $p" 0 "$(status bob stat "$D/$p")"; done
                is 'bob opens' 0 "$(status bob timeout 20 python3 -c "$opens" "$D/p660")"
                # An entry gives what the mode does not, and takes what it gives.
                setfattr -n system.aclfs.acl -v 'user:61791 allow read,write' "$D/p600"; is 'by an entry' 0 "$(status bob stat "$D/p600")"
                setfattr -n system.aclfs.acl -v 'user:61791 deny write' "$D/p666"; is 'denied by an entry' 1 "$(status bob stat "$D/p666")"
                # What was looked up before does not help behind a revocation.
                bob stat "$D/p660" >/dev/null; chmod 600 "$D/p660"; is 'after a revocation' 1 "$(status bob stat "$D/p660")"
                # A listing tells names, and no more.
                is 'names' 6 "$(bob ls "$D" | wc -l)"; holds 'no attributes' "$(bob ls -l "$D" 2>&1)" '? p640'
                holds 'explain' "$("$A" explain --as 61791 stat "$D/p640" 2>&1)" special
                """#))
        #expect(result.output == "done", "\(option): \(result)")
    }

    @Test(arguments: ways) func socket(_ option: String) throws {
        let result = try MountNamespace().run(
            Self.script(
                option,
                #"""
                for mode in 600 640 620 602 666; do socket $mode s$mode; done
                # The group class decides about bob: 602 gives him nothing.
                for s in s600 s640 s602; do
                    is "bob looks up $s" 1 "$(status bob stat "$D/$s")"; is "the owner looks up $s" 0 "$(status alice stat "$D/$s")"
                done
                for s in s620 s666; do is "bob looks up $s" 0 "$(status bob stat "$D/$s")"; done
                connect='import socket, sys
                try: socket.socket(socket.AF_UNIX).connect(sys.argv[1])
                except OSError as e: print(e.strerror)'
                connect=$(printf '%s\n' "$connect" | sed 's/^                //')
                # Nobody listens: that is what those learn who may connect.
                is 'bob connects' 'Connection refused' "$(bob timeout 20 python3 -c "$connect" "$D/s620" 2>/dev/null)"
                is 'bob does not' 'Permission denied' "$(bob timeout 20 python3 -c "$connect" "$D/s640" 2>/dev/null)"
                """#))
        #expect(result.output == "done", "\(option): \(result)")
    }

    /// With `special=open` it is as on other file systems: all is looked up, and the kernel judges nothing.
    @Test func open() throws {
        let result = try MountNamespace().run(
            Self.script(
                "-o special=open",
                #"""
                fifo 600 p; socket 600 s
                for f in p s; do is "bob looks up $f" 0 "$(status bob stat "$D/$f")"; done
                holds 'attributes' "$(bob ls -l "$D/p" 2>&1)" 'prw-------'
                """#))
        #expect(result.output == "done", "\(result)")
    }

    /// Devices are behind the gate where the kernel opens them: on a mount with `dev`.
    @Test func device() throws {
        let result = try MountNamespace().run(
            Self.script(
                "-o dev",
                #"""
                mknod -m 600 "$D/null" c 1 3; mknod -m 666 "$D/all" c 1 3; mknod -m 644 "$D/read" c 1 3; chown 61790 "$D/null"
                for f in null read; do is "bob looks up $f" 1 "$(status bob stat "$D/$f")"; done
                is 'bob looks up all' 0 "$(status bob stat "$D/all")"; is 'the owner' 0 "$(status alice stat "$D/null")"
                mkdir "$T/second"; "$A" mount "$T/back" "$T/second" 2>/dev/null
                is 'where no device is opened' 0 "$(status bob stat "$T/second/d/null")"; "$A" unmount "$T/second"
                """#))
        #expect(result.output == "done", "\(result)")
    }
}
