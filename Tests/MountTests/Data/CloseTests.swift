import TestSupport
import Testing

/// close(2) waits for the daemon only where something is left to do: for gaps that may be there (docs/internals/zerofill.md).
@Suite(.enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct CloseTests {
    private static let cases = [
        ("<", "", "closed"), (">>", "", "waits"), (">>", "zerofill=off", "closed"), ("<>", "zerofill=off", "closed"),
    ]

    /// - Parameter redirection: how the shell opens the file.
    @Test(arguments: ["", ",transport=dev"], cases)
    func asksTheDaemonOnlyWhereItMustKnow(_ transport: String, _ each: (redirection: String, option: String, outcome: String)) throws {
        let option = each.option.isEmpty ? "zerofill=write" : each.option
        let result = try MountNamespace().run(
            #"""
            echo text >"$T/back/f"; mkfifo "$T/go"
            "$A" mount -o \#(option)\#(transport) "$T/back" "$T/mnt"; server=$(daemon "$T/mnt")
            bash -c 'exec 8\#(each.redirection)"$1"; echo ready; read -r _ <"$2"; exec 8<&-; echo closed' - "$T/mnt/f" "$T/go" >"$T/said" &
            for i in $(seq 500); do grep -qs ready "$T/said" && break; sleep 0.02; done
            kill -STOP $server
            for i in $(seq 500); do cat /proc/$server/task/*/status 2>/dev/null | grep '^State' | grep -qv T || break; sleep 0.02; done
            echo go >"$T/go"
            for i in $(seq 50); do grep -q closed "$T/said" && break; sleep 0.02; done
            is 'while nobody serves' \#(each.outcome) "$(grep closed "$T/said" || echo waits)"
            kill -CONT $server; wait; is 'at last' closed "$(tail -n 1 "$T/said")"; "$A" unmount "$T/mnt"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
