import Foundation
import TestSupport
import Testing

/// What is typed where `aclfs sandbox run` was called.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxRunTerminalTests {
    /// `keys AWAITED TYPED … -- COMMAND…` runs a command on a terminal of its own and types each TYPED when AWAITED has come;
    /// prints all that came, and how it ended.
    private func run(_ script: String) throws -> CommandResult {
        try SandboxRunScript.run(
            #"""
            "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; treasures
            command -v python3 >/dev/null || { echo 'python3 is missing'; exit; }
            cat >"$T/keys.py" <<'END'
            import os, pty, select, signal, sys, time
            end = sys.argv.index('--')
            plan, command = sys.argv[1:end], sys.argv[end + 1:]
            child, terminal = pty.fork()
            if child == 0:
                os.execvp(command[0], command)
            seen, looked, late = b'', 0, time.time() + 60
            while time.time() < late:
                if plan:
                    at = seen.find(plan[0].encode(), looked)
                    if at >= 0:
                        looked = at + len(plan[0])
                        os.write(terminal, plan[1].encode().decode('unicode_escape').encode('latin1'))
                        plan = plan[2:]
                if select.select([terminal], [], [], 0.02)[0]:
                    try:
                        more = os.read(terminal, 4096)
                    except OSError:
                        break
                    if not more:
                        break
                    seen += more
            else:
                os.kill(child, signal.SIGKILL)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            print(seen.decode(errors='replace').replace('\r', ''))
            print('never came:', plan[::2]) if plan else None
            print('status', status)
            END
            keys() { python3 "$T/keys.py" "$@"; }
            # The words of a command line that runs something as ann.
            HERS="$ACT $ANN $ANN - -- $A sandbox run $P --mount $SHARE --"

            """# + script)
    }

    /// It reaches all that the command runs in the foreground, as without a sandbox; a shell that waits for something ends only
    /// with that.
    @Test func ctrlCReachesWhatTheCommandRuns() throws {
        let result = try run(
            #"""
            for shell in sh bash; do
                said=$(keys ready '\x03' -- $HERS $shell -c 'echo ready; sleep 20; echo after')
                holds "$shell" "$said" 'status -2'
                case $said in *after*) echo "$shell went on" ;; esac
            done
            said=$(keys ready '\x1c' -- $HERS sh -c 'ulimit -c 0; echo ready; sleep 20; echo after')
            holds 'told to quit' "$said" 'status 131'
            # Who wants to know of it does.
            said=$(keys ready '\x03' -- $HERS sh -c 'trap "echo heard; exit 9" INT; echo ready; sleep 20')
            holds 'heard' "$said" heard; holds 'its own status' "$said" 'status 9'
            # A loop of the caller's ends as well.
            said=$(keys ready '\x03' -- bash -c "for i in 1 2 3; do $HERS sh -c 'echo ready; sleep 20'; done; echo after")
            case $said in *after*) echo "the loop went on" ;; esac
            # A signal for one process is not one for all.
            (become -- sh -c 'trap "" INT QUIT; (trap "echo got" HUP; trap "exit" USR1; echo ready; while :; do sleep 0.05; done) & trap "echo here" HUP; wait; wait' >"$T/said") & pid=$!
            await 'grep -q ready "$T/said"'
            kill -HUP $pid; await 'grep -q here "$T/said"'; is 'the command alone' '' "$(grep got "$T/said")"
            pkill -u $ANN -USR1 -x sh; wait $pid
            settle 1
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Who is left reading would get what is typed for the caller's shell.
    @Test func noProcessIsLeftAtATerminal() throws {
        let result = try run(
            #"""
            ended=$(keys -- $HERS sh -c 'setsid -f sleep 1005; (trap "" HUP INT; exec 5<&0; while read x <&5; do :; done) & echo done')
            holds 'it ends' "$ended" 'status 0'; is 'nobody is left' '' "$(pgrep -u $ANN -l | grep -v aclfs)"
            settle 1
            # By any of the three.
            keys -- sh -c "exec $HERS setsid -f sleep 1005 </dev/null >/dev/null" >/dev/null; is 'errors' '' "$(pgrep -u $ANN -x sleep)"
            keys -- sh -c "exec $HERS sh -c 'sleep 1005 &' </dev/null >/dev/null 2>&1" >/dev/null; is 'none' 1 "$(pgrep -u $ANN -x sleep | wc -l)"
            pkill -u $ANN -x sleep; settle 1
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// All that is inside stands still before the caller's shell is there again, whatever it makes of the signal.
    @Test(arguments: ["", "trap : TSTP;", #"trap "" TSTP;"#]) func ctrlZStopsAllThatIsInside(_ trap: String) throws {
        let result = try run(
            #"""
            cat >"$T/reader" <<'END'
            TRAP
            # The process that is started last says it: both are bash by now. Without `<&0` it would have nothing to read.
            if [ "$1" ]; then echo ready; else setsid bash "$0" other <&0 & fi
            # A signal that a shell traps can interrupt what it writes: `^Z` is on the screen before the signal comes.
            while read x; do echo "inside:$x" 2>/dev/null || echo "inside:$x"; [ "$x" = end ] && exit 3; done
            END
            cat >"$T/session" <<END
            set -m
            $HERS bash $T/reader
            echo "stopped: \$?"
            for p in \$(pgrep -u $ANN -x bash); do sed 's/.*) //; s/ .*/ is its state/' /proc/\$p/stat; done | sort | uniq -c
            for i in 1 2 3 4 5; do read x; echo "outside:\$x"; done
            fg >/dev/null
            echo "ended: \$?"
            END
            said=$(keys ready '\x1a' 'its state' 'one\n' outside:one 'two\n' outside:two 'three\n' outside:three 'four\n' outside:four 'five\n' \
                outside:five 'end\nend\nend\n' -- bash "$T/session")
            holds 'it stops' "$said" 'stopped: 1'; is 'both' '2 T is its state' "$(echo "$said" | grep 'its state' | sed 's/^ *//')"
            for word in one two three four five; do holds "$word" "$said" "outside:$word"; done
            holds 'it goes on' "$said" inside:end; holds 'it ends' "$said" 'ended: 3'; holds 'so does the session' "$said" 'status 0'
            settle 1
            # Where no shell could continue it, it goes on at once.
            said=$(keys ready '\x1a' '^Z' 'a\n' inside:a 'end\n' -- $HERS bash "$T/reader" other)
            holds 'no shell' "$said" 'status 3'
            """#.replacing("TRAP", with: trap))
        #expect(result.output == "done", "\(result)")
    }
}
