import Foundation
import TestSupport
import Testing

/// `aclfs sandbox run` by root and by an ordinary user, on a mount of root's.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxRunTests {
    private static let mounted = #"""
        "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; treasures

        """#

    private func run(_ script: String) throws -> CommandResult { try SandboxRunScript.run(Self.mounted + script) }

    @Test(arguments: ["ann", "as_root"]) func theViewStandsWhereTheShareWas(_ who: String) throws {
        let result = try run(
            #"""
            P=$T/downloads.entitlements
            is 'outside of its places' 1 "$(run WHO -- cat "$SHARE/secret" >/dev/null 2>&1; echo $?)"
            is 'what is refused' 'Operation not permitted' "$(run WHO -- cat "$SHARE/secret" 2>&1 | sed 's/.*: //')"
            holds 'outside it is said why' "$("$A" explain --last 5 "$SHARE" 2>&1)" 'no key reaches this place'
            is 'once for each place' '' "$(run WHO -- "$A" status 2>&1 | sort | uniq -d)"
            holds 'inside nobody says' "$(run WHO -- "$A" explain --last 5 "$SHARE" 2>&1)" 'no daemon can be asked'
            is 'in Downloads' text "$(run WHO -- sh -c "echo text >$SHARE/home/Downloads/new; cat $SHARE/home/Downloads/new" 2>&1)"
            is 'seen by others' text "$(cat "$SHARE/home/Downloads/new")"
            is 'a child' 1 "$(run WHO -- sh -c "sh -c 'sh -c \"cat $SHARE/secret\"'" >/dev/null 2>&1; echo $?)"
            # The container is made, and home.
            is 'its directories' 'Documents Library tmp' "$(run WHO -- sh -c 'ls $HOME | xargs' 2>&1)"
            is 'home' "$SHARE/$CONTAINER" "$(run WHO -- sh -c 'echo $HOME')"
            is 'temporary files' "$SHARE/$CONTAINER/tmp" "$(run WHO -- sh -c 'echo $TMPDIR')"
            is 'written in it' mine "$(run WHO -- sh -c 'echo mine >$HOME/Documents/a; cat $HOME/Documents/a')"
            # Where the command starts.
            is 'the same directory' "$SHARE/home/Downloads" "$(cd "$SHARE/home/Downloads"; run WHO -- pwd)"
            is 'no longer his' "$SHARE/$CONTAINER" "$(cd "$SHARE/sub"; run WHO -- pwd 2>&1)"
            is 'off the share' "$T/bin" "$(cd "$T/bin"; run WHO -- pwd)"
            settle 1
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    @Test func itEndsAsTheCommandDoes() throws {
        let result = try run(
            #"""
            is 'its code' 7 "$(run ann -- sh -c 'exit 7'; echo $?)"
            is 'a signal' 143 "$(run ann -- sh -c 'kill $$'; echo $?)"
            is 'not found' 127 "$(run ann -- /nonexistent/program 2>/dev/null; echo $?)"
            is 'not executable' 126 "$(run ann -- "$P" 2>/dev/null; echo $?)"
            is 'arguments' 'a  b|c' "$(run ann -- sh -c 'echo "$1|$2"' - 'a  b' c)"
            # Signals are as the caller left them, but for ends that the caller does not wait for.
            left() { python3 -c 'import os, signal as s, sys; s.signal(s.SIGPIPE, s.SIG_DFL); s.signal(s.SIGCHLD, s.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])' \
                "$A" sandbox run "$P" --mount "$SHARE" -- "$@"; }
            is 'a pipe that nobody reads' '' "$(left bash -c 'yes | head -1 >/dev/null' 2>&1)"
            is 'ends that he does not wait for' 7 "$(left sh -c 'exit 7'; echo $?)"
            is 'input and output' text "$(echo text | run ann -- cat | cat)"
            # Signals go on to the command.
            (become -- sh -c 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done' >"$T/said") & pid=$!
            await 'grep -q ready "$T/said"'
            kill $pid; wait $pid; is 'a signal to the caller' 9 $?
            # Its code is not lost if it ends while the init of the sandbox has more to read, because it waits for the stop to work, and
            # the process that was called comes late.
            late=$((${EPOCHREALTIME%.*} + 2))
            (become -- bash -c 'trap "" TSTP USR1; until [[ $EPOCHREALTIME > $1 ]]; do :; done; exit 7' - $late) & pid=$!
            until [[ $EPOCHREALTIME > $((late - 1)).85 ]]; do sleep 0.01; done
            # On a busy machine the command may have ended already.
            { kill -TSTP $pid; sleep 0.04; kill -USR1 $pid; sleep 0.04; kill -STOP $pid; } 2>/dev/null
            (sleep 1; while kill -CONT $pid; do sleep 0.05; done) 2>/dev/null & wait $pid; is 'while there was more to read' 7 $?
            # A process that is left behind keeps the view, and the caller does not wait for it.
            is 'in the background' 0 "$(run ann -- sh -c 'sleep 1000 >/dev/null 2>&1 &'; echo $?)"
            is 'the view stays' 2 "$(sessions)"
            pkill -u $ANN -x sleep; settle 1
            # A signal from a process ends the command alone; what ends its process group is run inside.
            is 'in time, inside' 124 "$(run ann -- timeout 1 sh -c 'sleep 1003; :'; echo $?)"; settle 1
            is 'in time, killed' 137 "$(timeout -s KILL 2 "$ACT" $ANN $ANN - -- "$A" sandbox run "$P" --mount "$SHARE" -- sh -c 'sleep 1004; :' >/dev/null 2>&1; echo $?)"; settle 1
            # Killed with everything in it.
            (become -- sh -c 'sleep 1001; :') & pid=$!
            await 'pgrep -u $ANN -x sleep >/dev/null'
            kill -9 $pid; wait $pid 2>/dev/null; settle 1
            # The last of them may be ending still.
            await '[ -z "$(ps -o pid=,stat= -u $ANN | grep -v " Z")" ]'
            is 'nobody is left' '' "$(ps -o pid=,stat=,args= -u $ANN | grep -v ' Z')"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Killed before what it started has asked to end with it.
    @Test func noCommandStartsForACallerThatHasEnded() throws {
        let result = try run(
            #"""
            for i in 1 2 3 4 5 6 7 8; do
                become -- sleep 5$i$$ & pid=$!
                until init=$(cat /proc/$pid/task/$pid/children) && init=${init% } && [ -n "$init" ]; do [ -d /proc/$pid ] || break; done
                kill -STOP "$init"; kill -9 $pid; wait $pid 2>/dev/null; kill -CONT "$init"
                await '! [ -d /proc/$init ] || grep -q "^State:.Z" /proc/$init/status'
                is "command $i" '' "$(pgrep -u $ANN -x sleep)"
            done 2>/dev/null
            settle 1
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Whatever the environment says, and if it says nothing.
    @Test func theUsualPlaceOfSocketsIsCovered() throws {
        let result = try SandboxRunScript.run(
            #"""
            mount -t tmpfs -o mode=755 tmpfs /run; mkdir -p "/run/user/$ANN/aclfs" "$T/own/aclfs"
            touch "/run/user/$ANN/aclfs/1-2.sock" "$T/own/aclfs/1-2.sock"; chown -R $ANN:$ANN "/run/user/$ANN" "$T/own"
            """# + "\n" + Self.mounted + #"""
                unset XDG_RUNTIME_DIR
                is 'unset' '' "$(run ann -- ls "/run/user/$ANN/aclfs" 2>&1)"
                is 'seen outside' 1-2.sock "$(ann ls "/run/user/$ANN/aclfs")"
                export XDG_RUNTIME_DIR=$T/own
                is 'elsewhere' '' "$(run ann -- ls "/run/user/$ANN/aclfs" "$T/own/aclfs" 2>&1 | grep sock)"
                export XDG_RUNTIME_DIR=/run/user/$ANN
                is 'as usual' '' "$(run ann -- ls "/run/user/$ANN/aclfs" 2>&1)"
                settle 1
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whatIsSeenElsewhereIsCoveredToo() throws {
        let result = try run(
            #"""
            mkdir "$T/copy" "$T/part" "$T/second" "$T/below" "$T/door" "$T/proc" "$T/holder2" "$T/back2"
            mount --bind "$BACK" "$T/copy"; mount --bind "$T/holder" "$T/holder2"
            mount --bind "$BACK/sub" "$T/back2"; mount -t proc proc "$T/proc"
            "$A" mount "$BACK" "$T/second" 2>/dev/null; "$A" mount "$BACK/sub" "$T/below" 2>/dev/null
            (exec "$ACT" $ANN $ANN - -- sleep 1002 9<"$SHARE") & outsider=$!
            await '[ "$(cat /proc/$outsider/comm)" = sleep ]'
            for who in ann as_root; do
                for path in "$SHARE" "$BACK" "$T/copy" "$T/second" "$T/holder2/inner/back" "$T/below" "$T/back2" \
                    "$T/holder2/inner/back/sub" "$T/proc/$outsider/root$SHARE" "$T/proc/$outsider/fd/9"; do
                    is "outside $path" treasure "$(cat "$path/secret")"
                    is "$who $path" 'nothing' "$(run $who -- sh -c "cat $path/secret; echo nothing" 2>/dev/null)"
                    is "$who $path new" 1 "$(run $who -- touch "$path/new" >/dev/null 2>&1; echo $?)"
                done
                # Where the whole share stands, the view does.
                for path in "$SHARE" "$BACK" "$T/copy" "$T/second" "$T/holder2/inner/back"; do
                    is "$who view $path" 0 "$(run $who -- ls "$path/$CONTAINER/Documents" >/dev/null 2>&1; echo $?)"
                done
            done
            # A revocation takes away what is mounted on a name of the share, a cover too.
            mount --bind "$SHARE/sub" "$T/part"
            for who in ann as_root; do holds "$who a part" "$(run $who -- true 2>&1)" 'would not stay there'; done
            umount "$T/part"
            kill $outsider; wait 2>/dev/null; settle 3
            # A directory above it that is closed now stays closed, whatever becomes of its mode.
            mkdir -p "$T/closed/deep"; mount --bind "$T/holder" "$T/closed/deep"; chmod 700 "$T/closed"
            run ann -- sh -c "read x; cat $T/closed/deep/inner/back/secret" >"$T/said" 2>&1 < <(sleep 1; chmod 755 "$T/closed"; echo)
            holds 'opened later' "$(cat "$T/said")" 'No such file'
            settle 3
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func viewsKnowNothingOfOneAnotherAndFollowTheMount() throws {
        let result = try run(
            #"""
            other() { BUNDLE=org.other.App run ann "$@"; }
            OTHER=home/Library/Containers/org.other.App/Data
            run ann -- sh -c 'echo one >$HOME/Documents/a'; other -- sh -c 'echo two >$HOME/Documents/a'
            mkfifo "$T/go"; chmod 666 "$T/go"
            (become -- sh -c "echo ready; read x <$T/go; cat $SHARE/$OTHER/Documents/a; cat \$HOME/Documents/a; touch \$HOME/b" \
                >"$T/said" 2>&1) & pid=$!
            await 'grep -q ready "$T/said"'
            is 'the other at the same time' two "$(other -- sh -c "cat $SHARE/$CONTAINER/Documents/a; cat \$HOME/Documents/a" 2>/dev/null)"
            is 'both are served' 2 "$(sessions)"
            # What counts for the share counts for its views, and so do their writers.
            (become -- sh -c "exec 5>\$HOME/held; echo ready; read x <$T/go2" >"$T/said2" 2>&1) & writer=$!
            mkfifo "$T/go2"; chmod 666 "$T/go2"; await 'grep -q ready "$T/said2"'
            holds 'a writer inside' "$(mount -o remount,ro "$SHARE" 2>&1)" 'open for writing'
            echo >"$T/go2"; wait $writer; settle 2
            mount -o remount,ro "$SHARE"; echo >"$T/go"; wait $pid
            is 'the first' "ready one" "$(grep -v cat: "$T/said" | grep -v touch: | xargs)"
            holds 'read-only' "$(cat "$T/said")" 'Read-only file system'
            holds 'refused' "$(cat "$T/said")" 'Operation not permitted'
            settle 1
            # A daemon that is told to end ends, with the commands that are confined on its shares.
            (become -- sh -c "sleep 0.1; echo ready; read x <$T/go; ls $SHARE; ls \$HOME" >"$T/said" 2>&1) & pid=$!
            await 'grep -q ready "$T/said"'
            kill $(server); await '[ -z "$(server)" ]'; echo >"$T/go"; wait $pid
            is 'nothing without a daemon' 2 "$(grep -c -e 'not connected' -e 'connection abort' "$T/said")"
            is 'unmounted' 0 "$(mounted "$SHARE")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whatCannotBeDoneIsSaid() throws {
        let result = try run(
            #"""
            refused() { local said; said=$(eval "$3" 2>&1); is "$1" 2 $?; holds "$1" "$said" "$2"; }
            refused 'a directory' 'standard input is a directory' 'run ann -- true <"$T"'
            refused 'a device' 'standard input is a device that is not a terminal' 'run ann -- true <>/dev/fuse'
            refused 'output on the share' 'standard output is a file on the share' 'run ann -- echo >"$SHARE/out"'
            refused 'output behind it' 'standard output is a file in the backing directory' 'run ann -- echo >"$BACK/out"'
            is 'output elsewhere' 0 "$(run ann -- echo >"$T/out"; echo $?)"
            refused 'no command' 'write it after --' 'ann "$A" sandbox run "$P" --mount "$SHARE"'
            refused 'no mount' 'not on an aclfs mount' 'ann "$A" sandbox run "$P" --mount "$T/bin" -- true'
            refused 'not its top' 'not a mount point' 'ann "$A" sandbox run "$P" --mount "$SHARE/sub" -- true'
            mkdir "$T/part" "$SHARE/sub/deep"; mount --bind "$SHARE/sub" "$T/part"
            for path in part part/deep; do
                refused "$path" "$T/$path: not a mount point of the whole share; use --mount $SHARE" 'ann "$A" sandbox run "$P" --mount "$T/$path" -- true'
            done
            umount "$T/part"
            refused 'no profile' "no profile 'nothing'" 'ann "$A" sandbox run nothing --mount "$SHARE" -- true'
            refused 'a setting' 'user.max_user_namespaces=0' \
                'unshare -Ur sh -c "echo 0 >/proc/sys/user/max_user_namespaces; \"$A\" sandbox run \"$P\" --mount \"$SHARE\" -- true"'
            refused 'another setting' 'user.max_pid_namespaces=0' \
                'unshare -Ur sh -c "echo 0 >/proc/sys/user/max_pid_namespaces; \"$A\" sandbox run \"$P\" --mount \"$SHARE\" -- true"'
            # From another user namespace nothing is answered but the version.
            refused 'in a sandbox' 'inside aclfs sandbox run it is 0' 'run ann -- "$A" sandbox run "$P" -- true'
            refused 'in a namespace' 'another user namespace' 'unshare -Ur "$A" status "$SHARE"'
            mkdir "$T/jail"; mount --rbind / "$T/jail"
            refused 'a changed root' 'chroot' 'unshare --root="$T/jail" "$A" sandbox run "$P" --mount "$SHARE" -- true'
            umount -l "$T/jail"
            refused 'a process namespace of others' 'add --fork to --pid' 'unshare --pid "$A" sandbox run "$P" --mount "$SHARE" -- true'
            mount --bind /proc/sys /proc/sys
            for who in ann as_root; do refused 'a part of /proc' 'hidden by mounts on /proc/sys, and' 'run $who -- true'; done
            umount /proc/sys
            mkdir "$T/house"; chown $ANN "$T/house"; ln -s /nowhere "$T/house/.local"
            refused 'a link' "$T/house/.local is a symbolic link that leads to no directory" 'HOME=$T/house run ann -- true'
            rm "$T/house/.local"; mkdir "$T/house/.local"; touch "$T/house/.local/state"; chown -R $ANN "$T/house"
            refused 'a file' "$T/house/.local/state is not a directory" 'HOME=$T/house run ann -- true'
            # A few at a time for one user.
            settle 1
            for i in 1 2 3 4 5 6 7 8; do (become -- sleep 1003) & done
            await '[ "$(pgrep -u $ANN -x sleep | wc -l)" = 8 ]'
            refused 'one too many' '8 sandboxes' 'run ann -- true'
            is 'root may' 0 "$(run as_root -- true; echo $?)"
            pkill -u $ANN -x sleep; wait; settle 1
            """#)
        #expect(result.output == "done", "\(result)")
    }
    /// Moved out of what the bind mount shows that they were opened through, files have no path any more: / is told of them.
    @Test(arguments: ["ann", "as_root"]) func aFileThatWasMovedBehindTheShare(_ who: String) throws {
        let result = try run(
            #"""
            mkdir "$T/bound"; mount --bind "$SCRATCH" "$T/bound"; echo treasure >"$SCRATCH/file"; chmod 666 "$SCRATCH/file"
            exec 5<>"$T/bound/file"; is 'before' treasure "$(run WHO -- cat <"$T/bound/file" 2>&1)"
            mv "$SCRATCH/file" "$BACK/sub/file"
            said=$(run WHO -- sh -c 'cat; echo planted >&0' <&5 2>&1); is 'nothing is run' 2 $?
            holds 'moved' "$said" 'a file that has no path here'
            is 'as it was' treasure "$(cat "$SHARE/sub/file")"
            exec 5<&-; settle 1; umount "$T/bound"
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// As on a btrfs whose subvolume @ is the root directory: there / is a path below the mount.
    @Test func aFileThatWasMovedOutOfTheRootDirectory() throws {
        let result = try SandboxRunScript.run(
            #"""
            # Where pivot_root is.
            umount /usr/sbin
            mkdir "$T/top" "$T/top/old"; mount --bind "$T/top" "$T/top"
            for place in /*; do
                if [ -L "$place" ]; then cp -a "$place" "$T/top/"
                elif [ -d "$place" ]; then mkdir "$T/top$place"; mount --rbind "$place" "$T/top$place"
                fi
            done
            cd "$T/top" && pivot_root . old && cd / && umount -l /old || echo 'no other root directory'

            """# + Self.mounted + #"""
                echo treasure >/file; chmod 666 /file; exec 5<>/file; is 'before' treasure "$(run as_root -- cat </file 2>&1)"
                # Within one mount.
                mkdir "$T/door"; mount --bind "$T" "$T/door"; mv "$T/door/top/file" "$T/door/holder/inner/back/sub/file"; umount "$T/door"
                is 'it has no path' / "$(readlink /proc/self/fd/5)"
                said=$(run as_root -- sh -c 'cat; echo planted >&0' <&5 2>&1); is 'nothing is run' 2 $?
                holds 'moved' "$said" 'a file that has no path here'
                is 'as it was' treasure "$(cat "$SHARE/sub/file")"
                exec 5<&-; settle 1
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func aFileThatWasMovedToTheGrants() throws {
        let result = try run(
            #"""
            mkdir /var/lib/part "$T/bound"; mount --bind /var/lib/part "$T/bound"; echo granted >/var/lib/part/file
            exec 5<>"$T/bound/file"; is 'before' granted "$(run as_root -- cat <"$T/bound/file" 2>&1)"
            mv /var/lib/part/file /var/lib/aclfs/grants/file
            said=$(run as_root -- sh -c 'cat; echo forged >&0' <&5 2>&1); is 'nothing is run' 2 $?
            holds 'moved' "$said" 'a file that has no path here'
            is 'as it was' granted "$(cat /var/lib/aclfs/grants/file)"
            exec 5<&-; settle 1; umount "$T/bound"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
