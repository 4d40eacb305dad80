import TestSupport
import Testing

/// 65 535 zones are the most that a table keeps apart: a profile with more is refused before it confines anything.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxZoneLimitTests {
    private static let prelude =
        SandboxProfileTests.prelude + #"""
            # Paths of 249 names, each name on the way a zone and one more for what is not named there.
            wide() {
                tail=$(printf '/x%.0s' $(seq 248))
                profile "$1" files.user-selected.read-write '<true/>' temporary-exception.files.absolute-path.read-only \
                    "<array>$(seq -f "<string>/p%g$tail/</string>" "$2")</array>"
            }

            """#

    @Test func aProfileWithTooManyPlaces() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                wide many 132
                said=$("$A" sandbox check "$T/many.entitlements" 2>&1); is 'checked' 1 $?
                holds 'why' "$said" 'it names more places than can be kept apart (65 535)'
                said=$("$A" mount -o "sandbox=$T/many.entitlements,bundle=org.example.App" "$T/back" "$T/mnt" 2>&1); is 'mounted' 32 $?
                holds 'why not' "$said" 'it names more places than can be kept apart (65 535)'
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
