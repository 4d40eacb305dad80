import Foundation
import TestSupport
import Testing

/// Isolation by `aclfs sandbox run` from what reaches beyond files: signals, the control of connections, the log of denials.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxIsolationTests {
    /// Another user, who may mount.
    private static let zed = #"""
        cp /etc/passwd "$T/passwd"; echo 'zed:x:64321:64321::/nonexistent:/bin/sh' >>"$T/passwd"
        mount --bind "$T/passwd" /etc/passwd
        mknod -m 666 "$T/fuse" c 10 229; mount --bind "$T/fuse" /dev/fuse
        zed() { "$ACT" 64321 64321 - -- "$@"; }

        """#

    private func run(_ script: String) throws -> CommandResult {
        try SandboxRunScript.run(#""$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; treasures"# + "\n" + script)
    }

    /// If one of these came out, this script would be gone before it says `done`.
    @Test(arguments: ["ann", "as_root"]) func aSignalReachesNoProcessOutside(_ who: String) throws {
        let result = try run(
            #"""
            # Of the same user, one in this process group and one in a group of its own.
            (exec "$ACT" $ANN $ANN - -- sleep 1005) & near=$!
            (exec setsid "$ACT" $ANN $ANN - -- sleep 1006) & far=$!
            await '[ "$(cat /proc/$near/comm /proc/$far/comm | xargs)" = "sleep sleep" ]'
            daemon=$(server)
            is 'its group' 137 "$(run WHO -- sh -c 'kill -KILL 0'; echo $?)"
            is 'everybody' 0 "$(run WHO -- sh -c 'sleep 1000 & kill -KILL -1'; echo $?)"
            is 'whoever started it' 'nobody' "$(run WHO -- sh -c 'kill -KILL -- $PPID -$PPID; echo nobody' 2>/dev/null)"
            for number in $near $far $$ -$$ $daemon 1; do
                run WHO -- sh -c "kill -KILL -- $number" >/dev/null 2>&1
            done
            # A child that tries to come back into the group from which all this was started.
            run WHO -- sh -c "sh -c 'kill -KILL 0' & wait; kill -TERM 0" >/dev/null 2>&1
            is 'they live' "$near $far $daemon" "$(for p in $near $far $daemon; do kill -0 $p && echo $p; done 2>/dev/null | xargs)"
            is 'the session' "$(ps -o sid= -p $$ | xargs)" "$(ps -o sid= -p $near | xargs)"
            own=$(run WHO -- sh -c 'set -- $(cat /proc/self/stat); echo "$5 $6"')
            outside="$(ps -o pgid= -p $$ | xargs) $(ps -o sid= -p $$ | xargs)"
            is 'a session of its own' yes "$([ "${own% *}" != "${outside% *}" ] && [ "${own#* }" != "${outside#* }" ] && echo yes)"
            kill $near $far; wait 2>/dev/null; settle 1
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    @Test(arguments: ["ann", "as_root"]) func theControlOfConnectionsIsCovered(_ who: String) throws {
        let result = try run(
            #"""
            mkdir "$T/control"; mount -t fusectl fusectl "$T/control" || echo 'no fusectl here'
            mount -t fusectl fusectl /sys/fs/fuse/connections 2>/dev/null
            # A connection's number is that of its device.
            number=$(($(stat -c %d "$SHARE") & 0xff | ($(stat -c %d "$SHARE") >> 12 & 0xfff00)))
            for place in "$T/control" /sys/fs/fuse/connections; do
                is "outside $place" 0 "$(status test -e "$place/$number/abort")"
                is "inside $place" '' "$(run WHO -- ls -A "$place" 2>&1)"
                run WHO -- sh -c "echo 1 >$place/$number/abort" >/dev/null 2>&1
                run WHO -- sh -c "umount -l $place; echo 1 >$place/$number/abort" >/dev/null 2>&1
            done
            run WHO -- unshare -Urm sh -c "mount -t fusectl x /mnt && echo 1 >/mnt/$number/abort" >/dev/null 2>&1
            run WHO -- sh -c "mount -t fusectl x $SCRATCH && echo 1 >$SCRATCH/$number/abort" >/dev/null 2>&1
            is 'still served' treasure "$(cat "$SHARE/secret")"
            settle 1
            # What that would have done.
            echo 1 >"$T/control/$number/abort"; is 'from outside' 1 "$(status cat "$SHARE/secret")"
            umount "$T/control"
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// A control group that is delegated to the user: what it could be ended or frozen by.
    @Test(arguments: ["ann", "as_root"]) func controlGroupsAreCovered(_ who: String) throws {
        let result = try run(
            #"""
            mkdir "$T/groups" "$T/part" "$T/anew"; mount -t cgroup2 none "$T/groups" || { echo 'no cgroup2 here'; exit; }
            G=aclfs-test-$$; mkdir "$T/groups/$G"; chown -R $ANN:$ANN "$T/groups/$G"; mount --bind "$T/groups/$G" "$T/part"
            trap 'echo 1 >"$T/groups/$G/cgroup.kill"; for i in $(seq 1500); do rmdir "$T/groups/$G" 2>/dev/null && break; sleep 0.02; done; leave' EXIT
            (exec "$ACT" $ANN $ANN - -- sleep 1007) & near=$!; await '[ "$(cat /proc/$near/comm)" = sleep ]'
            echo $near >"$T/groups/$G/cgroup.procs"
            # A process inside begins in the same group.
            within() { sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$T/groups/$G" "$ACT" $WHO_ID $WHO_ID - --                 "$A" sandbox run "$P" --bundle "$BUNDLE" --home /home --mount "$SHARE" -- "$@"; }
            is 'outside' 0 "$(status ann test -w "$T/part/cgroup.kill")"
            for place in "$T/groups" "$T/part" "$T/groups/$G" /sys/fs/cgroup/unified; do
                is "inside $place" '' "$(run WHO -- sh -c "ls -A $place | grep cgroup" 2>/dev/null)"
                run WHO -- sh -c "echo 1 >$place/cgroup.kill; echo 1 >$place/$G/cgroup.kill; umount -l $place; echo 1 >$place/cgroup.kill" >/dev/null 2>&1
            done
            is 'it runs' ran "$(within echo ran 2>&1)"
            within unshare -UrmC sh -c "mount -t cgroup2 none $T/anew && echo 1 >$T/anew/cgroup.kill" >/dev/null 2>&1
            within unshare -Urm sh -c "mount -t cgroup2 none $T/anew && echo 1 >$T/anew/$G/cgroup.kill" >/dev/null 2>&1
            is 'it sleeps on' S "$(sed 's/.*) //' "/proc/$near/stat" | cut -c 1)"
            settle 1
            # What that would have done.
            { ann sh -c "echo 1 >$T/part/cgroup.kill"; wait $near; code=$?; } 2>/dev/null; is 'from outside' 137 $code
            """#.replacing("WHO_ID", with: who == "ann" ? "ANN" : "UID").replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// As a changed root has one; also a bind mount of a part.
    @Test(arguments: ["ann", "as_root"]) func aSecondProcIsCovered(_ who: String) throws {
        let result = try run(
            #"""
            mkdir -p "$T/jail/proc" "$T/part" "$T/closed/proc"; mount -t proc proc "$T/jail/proc"; mount -t proc proc "$T/closed/proc"; chmod 700 "$T/closed"
            (exec "$ACT" $ANN $ANN - -- sleep 1008) & near=$!; await '[ "$(cat /proc/$near/comm)" = sleep ]'
            mount --bind "/proc/$near" "$T/part"; touch "$T/file"; mount --bind "/proc/$near/oom_score_adj" "$T/file"
            is 'outside' sleep "$(WHO cat "$T/jail/proc/$near/comm")"
            for place in "$T/jail/proc/$near" "$T/part" "$T/closed/proc/$near"; do
                is "inside $place" 'nothing' "$(run WHO -- sh -c "cat $place/comm $place/status; echo nothing" 2>/dev/null)"
                run WHO -- sh -c "echo 900 >$place/oom_score_adj; umount -l $T/jail/proc $place; echo 900 >$place/oom_score_adj" >/dev/null 2>&1
            done
            run WHO -- sh -c "echo 900 >$T/file" >/dev/null 2>&1
            is 'as it was' 0 "$(cat "/proc/$near/oom_score_adj")"
            is 'its own' sh "$(run WHO -- sh -c 'cat /proc/$$/comm')"
            settle 1; umount "$T/file" "$T/part" "$T/jail/proc" "$T/closed/proc"; kill $near; wait 2>/dev/null
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// Whichever user asks first: the daemon's threads have the restricted fsuid.
    @Test func theStoreOfGrantsIsMadeAsRoots() throws {
        let result = try run(
            #"""
            is 'none yet' 0 "$(ls -A /var/lib | wc -l)"
            is 'it runs' ran "$(run as_root -- echo ran </dev/null 2>&1)"
            is 'owner and mode' '0 755 0 700' "$(stat -c '%u %a' /var/lib/aclfs /var/lib/aclfs/grants | xargs)"
            settle 1
            is 'grants are kept there' '' "$("$A" sandbox grant add --bundle org.example.App --read-only "$SHARE/sub" 2>&1)"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Also where it lies on a file system of its own: with the directory above moved away, another could be made.
    @Test(arguments: ["nothing", "a mount"]) func thePathOfTheStoreStays(_ between: String) throws {
        let result = try run(
            #"""
            state=$SCRATCH/local/state; ann mkdir -p "$state"
            [ "BETWEEN" = nothing ] || mount -t tmpfs -o mode=755,uid=$ANN tmpfs "$state"
            export XDG_STATE_HOME=$state
            said=$(run ann -- sh -c "mv $SCRATCH/local $SCRATCH/gone; mkdir -p $state/aclfs/grants; touch $state/aclfs/grants/x; echo ran" 2>&1)
            holds 'it runs' "$said" ran
            is 'it stays' "$SCRATCH/local" "$(echo "$SCRATCH"/*)"
            is 'nothing in it' "" "$(ls -A "$state/aclfs/grants")"
            settle 1
            """#.replacing("BETWEEN", with: between))
        #expect(result.output == "done", "\(result)")
    }

    /// In /tmp any user makes any name: it leads to no socket.
    @Test(arguments: ["touch NAME", "ln -s /tmp NAME", "ln -s nowhere NAME", "mkdir -m 700 NAME", "mkfifo NAME"])
    func aNameInTmpStopsNoSandbox(_ squatting: String) throws {
        let result = try run(
            #"""
            name=/tmp/aclfs-$ANN; "$ACT" 64321 64321 - -- sh -c 'SQUAT'
            is 'it runs' ran "$(run ann -- sh -c "ls -d $SHARE >/dev/null && echo ran" 2>&1)"
            rm -rf "$name"; settle 1
            """#.replacing("SQUAT", with: squatting.replacing("NAME", with: "'$name'")))
        #expect(result.output == "done", "\(result)")
    }

    /// On a directory of that user on the share, which the view does not show.
    @Test(arguments: ["ann", "as_root"]) func anothersMountOnTheShareStopsNoSandbox(_ who: String) throws {
        let result = try run(
            Self.zed
                + #"""
                mkdir "$SHARE/evil" "$T/his" "$T/home"; chown 64321:64321 "$SHARE/evil" "$T/his" "$T/home"; chmod 700 "$T/his"
                for place in "$SHARE/evil" "$T/home"; do
                    is 'his mount' 0 "$(zed "$A" mount "$T/his" "$place" 2>&1 | grep -v 'metadata is kept'; echo ${PIPESTATUS[0]})"
                    is "$place: it runs" ran "$(run WHO -- echo ran 2>&1)"
                    # Not one that could be meant.
                    is "$place: without a name" ran "$(cd / && WHO "$A" sandbox run "$P" -- echo ran 2>&1)"
                    is 'not inside' '' "$(run WHO -- ls "$place" 2>/dev/null)"
                    zed "$A" unmount "$place"
                done
                settle 1; rm -rf /tmp/aclfs-64321
                """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// The user who mounted chose the names.
    @Test func whatIsSaidOfMountsActsOnNoTerminal() throws {
        let result = try run(
            Self.zed + #"""
                echo user_allow_other >"$T/fuse.conf"; mount --bind "$T/fuse.conf" /etc/fuse.conf
                red=$'red\n\e[31m'; mkdir "$T/behind" "$T/$red" "$T/his" "$T/his$red"; chown 64321:64321 "$T/his" "$T/his$red"
                "$A" mount "$T/behind" "$T/$red" 2>/dev/null; is 'another' 0 $?
                said=$(cd / && ann "$A" sandbox run "$P" -- true 2>&1); is 'which' 2 $?
                holds 'which' "$said" "with --mount: $SHARE, $T/red\\x0a\\x1b[31m"
                mkdir "$T/$red/sub"; holds 'not its top' "$(ann "$A" sandbox run "$P" --mount "$T/$red/sub" -- true 2>&1)" "; use --mount $T/red\\x0a\\x1b[31m"
                zed "$A" mount -o allow_other "$T/his" "$T/his$red" 2>/dev/null; is 'his' 0 $?
                holds 'his' "$(ann "$A" sandbox run "$P" --mount "$T/his$red" -- true 2>&1)" "his${red:0:3}\\x0a\\x1b[31m is the mount of user"
                zed "$A" unmount "$T/his$red"; "$A" unmount "$T/$red"; rm -rf /tmp/aclfs-64321
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Which do not answer, one in the other: a walk through the outer one would wait for ever.
    @Test(arguments: ["ann", "as_root"]) func anothersStoppedMountsStopNoSandbox(_ who: String) throws {
        let result = try run(
            Self.zed
                + #"""
                echo user_allow_other >"$T/fuse.conf"; mount --bind "$T/fuse.conf" /etc/fuse.conf
                mkdir "$T/his" "$T/his/sub" "$T/other" "$T/home"; chown -R 64321:64321 "$T/his" "$T/other" "$T/home"; chmod 700 "$T/his" "$T/other"
                zed "$A" mount -o allow_other "$T/his" "$T/home" 2>/dev/null; is 'the outer' 0 $?
                zed "$A" mount -o allow_other "$T/other" "$T/home/sub" 2>/dev/null; is 'the inner' 0 $?
                stopped="$(daemon "$T/home") $(daemon "$T/home/sub")"; kill -STOP $stopped
                (run WHO -- echo ran >"$T/said" 2>&1) & running=$!
                await '[ -s "$T/said" ]'; is 'it runs' ran "$(cat "$T/said")"
                kill -CONT $stopped; wait $running
                is 'neither is seen' '' "$(run WHO -- find "$T/home" -mindepth 1 2>/dev/null)"
                zed "$A" unmount "$T/home/sub"; zed "$A" unmount "$T/home"
                settle 1; rm -rf /tmp/aclfs-64321
                """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// Views that are refused again and again push out nothing that the share and other views refused; once they have ended
    /// they take no more room than one that lives.
    @Test func aFloodOfDenialsHidesNoOthers() throws {
        let result = try run(
            #"""
            echo private >"$SHARE/private"; chmod 600 "$SHARE/private"
            "$ACT" 64321 64321 - -- cat "$SHARE/private" >/dev/null 2>&1
            BUNDLE=org.quiet.App run ann -- sh -c "cat $SHARE/home/letter" >/dev/null 2>&1
            seen() { "$A" explain --json --last ${1:-3000} "$SHARE" | tr '{' '\n'; }
            # The quiet one alone so far; of the loud ones each is refused 1500 requests.
            quiet() { seen | grep '"stage":"sandbox' | grep -c "\"inode\":\"$(stat -c %i "$SHARE/home")\""; }
            strangers() { seen | grep -c '"uid":64321,.*open-read'; }
            is 'before' 1 "$(strangers)"; before=$(quiet); is 'the quiet one' yes "$([ "$before" -gt 0 ] && echo yes)"
            flood='n=0; while [ $n -lt 1500 ]; do [ -e PLACE ]; n=$((n+1)); done'
            for i in 1 2 3; do BUNDLE=org.loud.App$i run ann -- sh -c "${flood//PLACE/$SHARE/sub/secret}" & done; wait
            is 'it was a flood' 1000 "$(seen | grep -c '"stage":"sandbox')"
            is 'the share' 1 "$(strangers)"; is 'the quiet one still' "$before" "$(quiet)"
            is 'the newest of all' "$(seen | head -n 13)" "$(seen 12 | sed 's/]$/,/')"
            settle 1; mkdir "$SHARE/later"; BUNDLE=org.later.App run ann -- sh -c "${flood//PLACE/$SHARE/later/x}"
            later=$(seen | grep '"stage":"sandbox' | grep -c "\"$SHARE/later[/\"]")
            is 'half the room' yes "$([ "$later" -ge 490 ] && echo yes || echo "$later")"
            is 'the quiet one even then' "$before" "$(quiet)"
            settle 1
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
