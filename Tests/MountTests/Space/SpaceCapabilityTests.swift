import TestSupport
import Testing

/// A daemon that cannot give root's reserve up does not mount (docs/decisions/0005-space.md).
@Suite(.enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SpaceCapabilityTests {
    @Test(arguments: ["setuid", "setpcap"]) func withoutTheCapabilityTheMountIsRefused(_ capability: String) throws {
        let result = try MountNamespace().run(
            "missing=\(capability)\n"
                + #"""
                without() { setpriv --bounding-set "-$missing" --inh-caps "-$missing" "$@"; }
                said=$(without "$A" mount "$T/back" "$T/mnt" 2>&1); is 'the status' 2 $?
                holds 'the reason' "$said" "cannot protect the space reserved for root on $T/back: Operation not permitted (EPERM)"
                holds 'what is missing' "$said" "this process has no CAP_${missing^^}"
                is 'nothing is mounted' 0 "$(mounted "$T/mnt")"
                without "$A" mount -f "$T/back" "$T/mnt" 2>/dev/null; is 'in the foreground' 2 $?; is 'nothing either' 0 "$(mounted "$T/mnt")"
                is 'with it' 0 "$("$A" mount "$T/back" "$T/mnt" 2>&1; echo $?)"; "$A" unmount "$T/mnt"
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
