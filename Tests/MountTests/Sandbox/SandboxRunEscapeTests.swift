import Foundation
import TestSupport
import Testing

/// Every way out of a sandbox that is known, tried by what runs in it.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxRunEscapeTests {
    @Test(arguments: ["ann", "as_root"]) func noProcessGetsOut(_ who: String) throws {
        let result = try SandboxRunScript.run(
            #"""
            "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; treasures
            if [ WHO = ann ]; then (exec "$ACT" $ANN $ANN - -- sleep 1004 9<"$SHARE") & else sleep 1004 9<"$SHARE" & fi
            outsider=$!; await '[ "$(cat /proc/$outsider/comm)" = sleep ]'
            handle=$("$ESCAPE" handle "$BACK/secret")
            words="$SHARE $BACK $SCRATCH $outsider $handle"
            # The tool finds what there is to find where nothing confines it.
            holds 'unconfined' "$(WHO "$ESCAPE" plain $words)" "reached $SHARE/secret"
            holds 'unconfined' "$(WHO "$ESCAPE" plain $words)" "reached $BACK/secret"
            holds 'unconfined' "$(WHO "$ESCAPE" trace $words)" 'signalled'
            holds 'unconfined' "$(WHO "$ESCAPE" sockets $words)" 'saw /run/aclfs/'
            rm -f "$SHARE/planted" "$BACK/planted"
            for way in $("$ESCAPE" ways); do
                # The working directory and a descriptor are the share's own top.
                is "$way" kept "$(cd "$SHARE" && run WHO -- "$ESCAPE" $way $words 9<"$SHARE" 2>&1)"
                is "$way leaves things" '' "$(ls -d "$SHARE"/planted "$BACK"/planted 2>/dev/null)"
                is "$way leaves the share" treasure "$(cat "$SHARE/secret")"
            done
            mkdir "$SCRATCH/dev"; mount --bind /dev "$SCRATCH/dev"
            is 'disks elsewhere' kept "$(run WHO -- "$ESCAPE" disks $words 2>&1)"
            [ WHO = ann ] || holds 'disks unconfined' "$(WHO "$ESCAPE" disks $words)" "opened $SCRATCH/dev/"
            umount "$SCRATCH/dev"
            # What a key, a terminal, a namespace's handle or shared memory from outside would give.
            places="$SHARE $BACK $SCRATCH $outsider"
            other() { WHO "$ESCAPE" with-key "$A" sandbox run "$P" --mount "$SHARE" -- "$ESCAPE" "$@"; }
            is keys kept "$(other keys $words)"
            is 'keys unconfined' 'found a key' "$(WHO "$ESCAPE" with-key "$ESCAPE" keys $words | head -1)"
            memory=$(WHO ipcmk -M 16 -p 0666 | tr -dc 0-9)
            is 'memory' kept "$(other attach-memory $places $memory)"
            holds 'memory unconfined' "$(WHO "$ESCAPE" attach-memory $places $memory)" attached; ipcrm -m $memory
            if namespace=$("$ESCAPE" handle /proc/$outsider/ns/mnt); then
                is 'a namespace' kept "$(other open-namespace $places $namespace)"
            fi
            if command -v script >/dev/null; then
                is 'the terminal' kept "$(WHO script -qec "$A sandbox run $P --mount $SHARE -- $ESCAPE type $words" /dev/null </dev/null | tr -d '\r')"
                [ "$(cat /proc/sys/dev/tty/legacy_tiocsti 2>/dev/null)" = 0 ] ||
                    holds 'the terminal unconfined' "$(WHO script -qec "$ESCAPE type $words" /dev/null </dev/null)" 'typed'
            fi
            # With the commands of the system, too.
            tried() { local name=$1; shift; is "$name" nothing "$(run WHO -- sh -c "($*) 2>/dev/null; cat $SHARE/secret $BACK/secret 2>/dev/null; echo nothing")"; }
            tried umount "umount $SHARE; umount -l $SHARE; umount -l $BACK"
            tried 'aclfs unmount' "$A unmount $SHARE >/dev/null"
            tried nsenter "nsenter -t $outsider -a cat $SHARE/secret; nsenter -t 1 -m cat $SHARE/secret"
            tried unshare "unshare -Urm sh -c 'umount -l $SHARE; umount -l $BACK; cat $SHARE/secret $BACK/secret'"
            tried 'a second mount' "$A mount $BACK $SCRATCH >/dev/null; cat $SCRATCH/secret"
            tried grants "$A sandbox grant add $BUNDLE read-write $SHARE/secret >/dev/null; $A sandbox grant add --bundle $BUNDLE $SHARE >/dev/null"
            tried chmod "$A chmod 777 $SHARE/secret >/dev/null"
            kill $outsider; wait 2>/dev/null; settle 1
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }
    /// A terminal that is no session's controlling one, as under a supervisor or in a container: a process inside can acquire it.
    @Test(arguments: ["ann", "as_root"]) func noProcessTypesIntoATerminal(_ who: String) throws {
        let result = try SandboxRunScript.run(
            #"""
            "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; treasures
            words="$SHARE $BACK $SCRATCH $$ 0"
            is 'a free terminal' kept "$(WHO "$ESCAPE" on-terminal "$A" sandbox run "$P" --mount "$SHARE" -- "$ESCAPE" type $words)"
            # Nor by what the command starts, nor through what is no terminal.
            is 'a child' kept "$(WHO "$ESCAPE" on-terminal "$A" sandbox run "$P" --mount "$SHARE" -- sh -c "sh -c '$ESCAPE type $words'")"
            is 'a pipe' kept "$(echo | run WHO -- "$ESCAPE" type $words 2>&1 | cat)"
            # Everything else that is asked of a terminal is answered.
            is 'its size' '24 80' "$(WHO "$ESCAPE" on-terminal "$A" sandbox run "$P" --mount "$SHARE" -- sh -c 'stty rows 24 cols 80; stty size')"
            settle 1
            said=$(WHO "$ESCAPE" without-filters "$A" sandbox run "$P" --mount "$SHARE" -- echo ran 2>&1); is 'without filters' 2 $?
            holds 'without filters' "$said" 'seccomp filters'
            settle 1
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// That the way above is one.
    @Test(
        .enabled(if: terminalsCanBeTypedInto, "what is typed into a terminal (TIOCSTI) is refused by dev.tty.legacy_tiocsti=0"),
        arguments: ["ann", "as_root"])
    func unconfinedATerminalIsTypedInto(_ who: String) throws {
        let result = try SandboxRunScript.run(
            #"""
            said=$(WHO "$ESCAPE" on-terminal "$ESCAPE" type "$SHARE" "$BACK" "$SCRATCH" $$ 0)
            holds 'typed' "$said" 'typed into the terminal'
            holds 'by a longer request' "$said" 'typed by a longer request'
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }
}

/// Before Linux 6.2 there is no such setting.
private let terminalsCanBeTypedInto =
    (try? String(contentsOfFile: "/proc/sys/dev/tty/legacy_tiocsti", encoding: .utf8)).map { !$0.hasPrefix("0") } ?? true
