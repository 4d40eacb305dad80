import Foundation
import TestSupport
import Testing

/// Commands that change one object at the same time: no change is lost (docs/reference/control.md "A change of what was read").
@Suite(.serialized, .enabled(if: MountTesting.isPossible && isInstalled("getfattr"), "needs root, /dev/fuse, attr"))
struct ParallelChangeTests {
    private let tree: TreeFixture
    init() throws {
        tree = try TreeFixture()
        _ = try tree.go(to: .mount)
    }

    @Test func everyEntryIsKept() throws {
        let count = MountTesting.isLong ? 100 : 30
        let run = try tree.shell(
            """
            touch f; mkdir d; chown 501 f d
            for i in $(seq \(count)); do
                aclfs chmod +a "user:$((4096 + i)) allow read" f & setpriv --reuid 501 --clear-groups '\(MountTesting.program("aclfs"))' chmod +a "user:$((8192 + i)) deny write" d &
            done; wait
            for i in $(seq \(count)); do aclfs chmod -a "user:$((4096 + i)) allow read" f & aclfs chmod +a "user:$((12288 + i)) allow read" f & done; wait
            for file in f d; do for part in 1 2 3; do getfattr --only-values -n system.aclfs.acl $file | grep -c "AAAA0000${part}0"; done; done
            """)
        #expect(run.output == "0\n0\n\(count)\n0\n\(count)\n0", "\(run)")
    }

    @Test func flagsAndWholeTrees() throws {
        let run = try tree.shell(
            """
            mkdir d; aclfs chmod +a 'user:501 allow read,file_inherit' d
            for round in 1 2 3; do
                rm -rf d/f; touch d/f; aclfs chmod -N d/f
                for flag in hidden nodump opaque; do aclfs chflags $flag d/f & done
                for i in {1..8}; do aclfs chmod +a "user:$((600 + i)) allow read" d/f & aclfs propagate -v d > out.$i & done; wait
                aclfs ls -lO d/f | grep -o 'nodump\\|hidden\\|opaque' | wc -l; getfattr --only-values -n system.aclfs.acl d/f | grep -c .
            done
            """)
        #expect(run.output == "3\n9\n3\n9\n3\n9", "\(run)")
    }

    /// A backing directory has no daemon: the commands lock the object.
    @Test func settingsOfABackingDirectory() throws {
        let backing = try tree.go(to: .backing)
        let run = try tree.shell(
            """
            for i in {1..15}; do
                aclfs volume --reset . > out; aclfs volume . noacl > out 2>&1 & aclfs volume . noowners > out 2>&1 & wait; aclfs volume .
            done | sort | uniq -c
            """, in: backing)
        let rows: [String] = run.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        #expect(rows == ["15 acl: noacl", "15 owners: noowners"], "\(run)")
    }

    /// The request itself: what is not as it was read stays, and the rights are those of any change.
    @Test(.enabled(if: isInstalled("python3"), "needs python3")) func aStaleListIsRefused() throws {
        let run = try tree.shell(
            """
            touch f; cat > try.py <<'END'
            import errno, os, sys
            name = 'system.aclfs.exchange'
            def send(old, new):
                try: os.setxattr('f', name, bytes([1, 1]) + len(old).to_bytes(2, 'little') + old + new); return 'ok'
                except OSError as error: return errno.errorcode[error.errno]
            none = os.getxattr('f', name)
            os.system("'\(MountTesting.program("aclfs"))' chmod +a 'user:501 allow read' f")
            one = os.getxattr('f', name)
            print(send(none, none), send(one, none), send(none, one), send(one, one), send(one[:-1], none))
            def other():
                os.setgid(20); os.setuid(501)
                print(send(one, none), send(none, one), send(none, none), os.getxattr('f', name) == one)
            sys.stdout.flush()
            if os.fork() == 0:
                other(); sys.stdout.flush(); os._exit(0)
            os.wait()
            END
            python3 try.py
            aclfs chmod +a 'user:501 deny readsecurity' f; setpriv --reuid 501 --clear-groups getfattr -n system.aclfs.exchange f 2>&1 | grep -c denied
            getfattr -d -m - f | grep -c exchange
            """)
        #expect(run.output == "ECANCELED ok ok ok EINVAL\nEPERM ECANCELED EPERM True\n1\n0", "\(run)")
    }
}
