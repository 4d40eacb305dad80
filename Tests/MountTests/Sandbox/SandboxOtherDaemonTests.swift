import Foundation
import TestSupport
import Testing

/// What the daemons of other mounts keep, and whether they answer, concerns a sandbox too.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxOtherDaemonTests {
    private func run(_ script: String) throws -> CommandResult {
        try SandboxRunScript.run(
            SandboxSocketTests.users + #"""
                "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1
                mkdir "$T/hers" "$T/his"; ann mkdir -p "$SCRATCH/one" "$SCRATCH/two" "$SCRATCH/behind"; chown $ANN:$ANN "$T/hers"

                """# + script)
    }

    /// Whatever the environments of both, and whichever mount namespace the daemon serves.
    @Test(arguments: ["", "unshare -m"]) func theGrantsOfAllHerDaemonsAreOutOfReach(_ namespace: String) throws {
        let result = try run(
            #"""
            S=$SCRATCH/one/aclfs/grants
            XDG_STATE_HOME=$SCRATCH/one NAMESPACE "$ACT" $ANN $ANN - -- "$A" mount "$SCRATCH/behind" "$T/hers" 2>/dev/null
            other=$(daemon "$T/hers"); is 'it is served' 1 "$(echo "$other" | wc -w)"
            said=$(XDG_STATE_HOME=$SCRATCH/two run ann -- sh -c "mkdir -p $S; echo forged >$S/x; mv $SCRATCH/one $SCRATCH/three; mkdir -p $S; echo forged >$S/y; echo ran" 2>/dev/null)
            is 'it runs' ran "$said"; is 'nothing is forged' '' "$(ls -A "$S" | grep -v lock)"; settle 1
            kill $other
            """#.replacing("NAMESPACE", with: namespace))
        #expect(result.output == "done", "\(result)")
    }

    /// By a share that shows nothing of this one's directory: root exports where homes lie, or system files.
    @Test(arguments: ["ann", "as_root"]) func aShareThatShowsTheGrantsIsCovered(_ who: String) throws {
        let result = try run(
            #"""
            mkdir -p "$T/homes/ann" "$T/homes/zed" "$T/bound" "$T/exported" "$T/unrelated" "$T/inner"; chown $ANN:$ANN "$T/homes/ann"
            [ WHO = ann ] && { export HOME=$T/homes/ann; K=$T/homes S=ann/.local/state/aclfs/grants; } || { K=/var/lib S=aclfs/grants; }
            mkdir -p "$K/$S"; [ WHO = as_root ] || chown -R $ANN:$ANN "$T/homes/ann"; chmod 700 "$K/$S"; echo kept >"$K/$S/x.grants"
            chown $(stat -c %u "$K/$S") "$K/$S/x.grants"
            # All of it, a part that a bind mount shows, what lies in it, and something else that lies beside it.
            mount --bind "$K" "$T/bound"
            "$A" mount "$T/bound" "$T/exported" 2>/dev/null; "$A" mount "$K/$S" "$T/inner" 2>/dev/null
            mkdir -p "$K/beside"; echo text >"$K/beside/file"; "$A" mount "$K/beside" "$T/unrelated" 2>/dev/null
            is 'outside' 'kept kept' "$(WHO cat "$T/exported/$S/x.grants" "$T/inner/x.grants" | xargs)"
            for place in "$T/exported/$S" "$T/inner"; do
                said=$(run WHO -- sh -c "cat $place/x.grants; echo forged >$place/x.grants; echo forged >$place/y.grants; mv $place $SCRATCH/away; rm $place/x.grants; echo ran" 2>/dev/null)
                is "$place: it runs" ran "$said"; is "$place: as it was" kept "$(cat "$K/$S"/*.grants)"
            done
            is 'what shows none' text "$(run WHO -- cat "$T/unrelated/file" 2>&1)"
            settle 1; "$A" unmount "$T/exported"; "$A" unmount "$T/inner"; "$A" unmount "$T/unrelated"
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// Removed, one's own mount could not be asked any more.
    @Test(arguments: ["$D", "/run"]) func aShareThatShowsSocketsIsCovered(_ place: String) throws {
        let result = try run(
            #"""
            mkdir "$T/exported"; ann "$A" mount "$SCRATCH/behind" "$T/hers" 2>/dev/null; "$A" mount "PLACE" "$T/exported" 2>/dev/null
            sockets() { find "PLACE" -name '*.sock' | sort | xargs; }; there=$(sockets)
            holds 'outside' "$(ann find "$T/exported" -name '*.sock' 2>/dev/null | xargs)" "$([ "PLACE" = "$D" ] && echo .sock)"
            run ann -- sh -c "find $T/exported -name '*.sock' -exec rm {} +; rm -r $T/exported/* $T/exported/aclfs" >/dev/null 2>&1
            is 'as they were' "$there" "$(sockets)"; is 'something was there' no "$([ -z "$there" ] && echo yes || echo no)"
            is 'nothing is seen' '' "$(run ann -- ls -A "$T/exported" 2>/dev/null)"
            settle 1; "$A" unmount "$T/exported"; ann "$A" unmount "$T/hers"
            """#.replacing("PLACE", with: place))
        #expect(result.output == "done", "\(result)")
    }

    /// A control group that is delegated to the user ends by it whatever runs in it.
    @Test(arguments: ["ann", "as_root"], ["the mount itself", "a directory above it"])
    func aShareThatShowsControlGroupsIsCovered(_ who: String, _ what: String) throws {
        let result = try run(
            #"""
            mkdir -p "$T/sys/groups" "$T/exported" "$T/plain" "$T/shown"; mount -t cgroup2 none "$T/sys/groups" || { echo 'no cgroup2 here'; exit; }
            case 'WHAT' in *itself) source=$T/sys/groups I=. ;; *) source=$T/sys I=groups ;; esac
            G=aclfs-test-$$; mkdir "$T/sys/groups/$G"; chown -R $ANN:$ANN "$T/sys/groups/$G"
            trap 'echo 1 >"$T/sys/groups/$G/cgroup.kill"; for i in $(seq 1500); do rmdir "$T/sys/groups/$G" 2>/dev/null && break; sleep 0.02; done; leave; rm -rf "$D" "$Z"' EXIT
            (exec "$ACT" $ANN $ANN - -- sleep 1011) & near=$!; await '[ "$(cat /proc/$near/comm)" = sleep ]'
            echo $near >"$T/sys/groups/$G/cgroup.procs"; echo text >"$T/plain/file"
            "$A" mount "$source" "$T/exported" 2>/dev/null; "$A" mount "$T/plain" "$T/shown" 2>/dev/null
            is 'outside' 0 "$(status ann test -w "$T/exported/$I/$G/cgroup.kill")"
            is 'what shows none' text "$(run WHO -- cat "$T/shown/file" 2>&1)"
            is 'nothing' '' "$(run WHO -- sh -c "cat $T/exported/$I/$G/cgroup.procs; echo 1 >$T/exported/$I/$G/cgroup.kill" 2>/dev/null)"
            is 'it sleeps on' S "$(sed 's/.*) //' "/proc/$near/stat" | cut -c 1)"
            settle 1; "$A" unmount "$T/exported"; "$A" unmount "$T/shown"; kill $near; wait 2>/dev/null
            """#.replacing("WHO", with: who).replacing("WHAT", with: what))
        #expect(result.output == "done", "\(result)")
    }

    /// What to keep out of reach is unknown. A daemon that is dead keeps nothing.
    @Test(arguments: ["ann", "as_root"]) func onesOwnDaemonThatStandsStillIsNamed(_ who: String) throws {
        let result = try run(
            #"""
            [ WHO = ann ] && other=ann || other=as_root
            $other "$A" mount "$SCRATCH/behind" "$T/hers" 2>/dev/null; daemon=$(daemon "$T/hers")
            is 'it runs' ran "$(run WHO -- echo ran 2>&1)"
            kill -STOP $daemon
            said=$(run WHO -- echo ran 2>&1); is 'its code' 2 $?; holds 'the reason' "$said" "$T/hers"; holds 'the reason' "$said" 'does not say where it keeps grants'
            [ WHO = ann ] || is 'others run' ran "$(run ann -- echo ran 2>/dev/null)"
            kill -CONT $daemon; is 'it runs again' ran "$(run WHO -- echo ran 2>&1)"
            kill_daemon "$T/hers"; is 'without it' ran "$(run WHO -- echo ran 2>&1)"
            settle 1
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// As between the mounting and the daemon's first word.
    @Test func aDaemonThatIsAboutToAnswerIsWaitedFor() throws {
        let result = try run(
            #"""
            as_root "$A" mount "$SCRATCH/behind" "$T/hers" 2>/dev/null
            for socket in /run/aclfs/*.sock; do
                mv "$socket" /run/away; (sleep 0.3; mv /run/away "$socket") & moved=$!
                said=$(run as_root -- echo ran 2>&1)
                case $said in *ran) echo "$socket" >>"$T/waited" ;; esac
                wait $moved
            done
            is 'waited for the other' 1 "$(sort -u "$T/waited" | wc -l)"
            settle 1
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
