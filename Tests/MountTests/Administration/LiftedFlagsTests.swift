import Foundation
import TestSupport
import Testing

/// Commands lift flags that no call passes, for a moment (docs/reference/security.md "Commands on trees").
@Suite(.serialized, .enabled(if: MountTesting.isPossible && isInstalled("/usr/bin/python3"), "needs root, /dev/fuse, python3"))
struct LiftedFlagsTests {
    @Test func nobodyWritesAFileMeanwhile() throws {
        let tree = try TreeFixture()
        _ = try tree.go(to: .mount)
        let result = try tree.shell(
            #"""
            mkdir d; for i in $(seq 20); do echo original >d/f$i; done; chown -R 501:20 d; aclfs chflags schg d/f*
            writers=
            for start in 1 11; do
                setpriv --reuid 501 --regid 20 --clear-groups /usr/bin/python3 -c 'import itertools, os, sys
            for number in itertools.cycle(range(int(sys.argv[1]), int(sys.argv[1]) + 4)):
                try: file = os.open(f"d/f{number}", os.O_WRONLY | os.O_APPEND)
                except OSError: continue
                os.write(file, b"written\n"); os.close(file)' $start & writers="$writers $!"
            done
            from=0644
            for mode in 0640 0600 0644 0640 0600; do
                aclfs acl export d | sed "s/mode: $from/mode: $mode/" >../export; from=$mode
                rm -f ../undo; aclfs acl import --undo-file ../undo ../export d
            done
            aclfs restore ../undo
            kill $writers; wait 2>/dev/null
            echo "written: $(cat d/* | grep -c written), flags: $(aclfs ls -lO d | grep -c schg)"
            """#)
        #expect(result.output.hasSuffix("written: 0, flags: 20\n") || result.output.hasSuffix("written: 0, flags: 20"), "\(result)")
        // They changed what they were to change.
        #expect(result.output.components(separatedBy: "changed 20 objects").count == 6, "\(result)")
        #expect(result.output.contains("restored 20 objects"), "\(result)")
    }

    /// A lease holds up who opens a file on the same mount, and nobody on another one.
    @Test func onATreeThatIsMountedTwiceTheyStay() throws {
        let tree = try TreeFixture()
        _ = try tree.go(to: .mount)
        let result = try tree.shell(
            #"""
            mkdir d; echo original >d/f; chown 501:20 d/f; aclfs chflags schg d/f; aclfs chflags uchg d
            aclfs acl export d | sed 's/mode: 0644/mode: 0600/; s/mode: 0755/mode: 0750/' >../export
            mkdir ../other; aclfs mount "$(findmnt -no SOURCE .)" ../other 2>/dev/null
            aclfs acl import ../export d; echo "status $?"
            stat -c %a d d/f; aclfs ls -lO d | grep -c schg
            aclfs unmount ../other; aclfs acl import ../export d; echo "status $?"
            stat -c %a d d/f; aclfs ls -lO d | grep -c schg
            """#)
        #expect(result.output.contains("its flags are not lifted while the tree is mounted twice"), "\(result)")
        let numbers = result.output.split(separator: "\n").filter { $0.hasPrefix("status") || $0.allSatisfy(\.isNumber) }
        #expect(numbers == ["status 1", "750", "644", "1", "status 0", "750", "600", "1"], "\(result)")
    }
}
