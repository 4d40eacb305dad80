import Foundation
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

    /// Nobody knows what to keep out of reach. A daemon that is dead keeps nothing.
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
