import TestSupport
import Testing

/// A daemon that does not get what it needs to serve leaves no mount behind, and the command says so.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct UnservedMountTests {
    @Test func aMountAnswersOrIsNotThere() throws {
        let result = try MountNamespace().run(
            UserMountTests.setup + #"""
                # Dead processes count until their parent has asked for their status, hence the last number.
                for limit in $(seq 2 2 40) 400; do
                    said=$(zed bash -c 'ulimit -u $0; exec "$@"' $limit "$A" mount "$T/zed/back" "$T/mnt" 2>&1); status=$?
                    if [ $status = 0 ]; then
                        is "$limit: it answers" 0 "$(zed timeout 20 ls "$T/mnt" >/dev/null 2>&1; echo $?)"
                        is "$limit: umount" 0 "$(zed "$A" unmount "$T/mnt" 2>&1; echo $?)"
                    fi
                    [ $status = 0 ] || holds "$limit: why" "$said" 'aclfs: '
                    is "$limit: nothing stays" 0 "$(mounted "$T/mnt")"
                    umount -l "$T/mnt" 2>/dev/null
                    [ $status = 0 ] && break
                done
                is 'with enough' 0 $status
                rm -rf /tmp/aclfs-61745
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
