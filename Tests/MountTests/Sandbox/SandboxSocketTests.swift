import Foundation
import TestSupport
import Testing

/// What a confined command could make of the directories in which control sockets lie, and other users with them.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxSocketTests {
    /// ann and zed may mount. Where ann's sockets lie without a runtime directory no other user's do.
    static let users = #"""
        command -v fusermount3 >/dev/null || { echo 'fusermount3 (package fuse3) is missing'; exit; }
        cp /etc/passwd "$T/passwd"; echo "ann:x:$ANN:$ANN::/nonexistent:/bin/sh" >>"$T/passwd"
        ZED=$((ANN + 20001)); echo "zed:x:$ZED:$ZED::/nonexistent:/bin/sh" >>"$T/passwd"; mount --bind "$T/passwd" /etc/passwd
        mknod -m 666 "$T/fuse" c 10 229; mount --bind "$T/fuse" /dev/fuse
        echo user_allow_other >"$T/fuse.conf"; mount --bind "$T/fuse.conf" /etc/fuse.conf
        zed() { "$ACT" $ZED $ZED - -- "$@"; }
        unset XDG_RUNTIME_DIR XDG_STATE_HOME; D=/tmp/aclfs-$ANN; Z=/tmp/aclfs-$ZED
        HERS=$D; trap 'leave; umount -l "$HERS" "$Z" 2>/dev/null; rm -rf "$HERS" "$Z"' EXIT

        """#

    /// A process that listens there could pose as a daemon later, to callers that are not confined.
    @Test(arguments: ["", "$T/own", "/run/user/$ANN", "$SCRATCH/above/own", "$T/none"])
    func noProcessInsideMakesAPlaceForSockets(_ runtime: String) throws {
        let result = try SandboxRunScript.run(
            Self.users
                + #"""
                mount -t tmpfs -o mode=755 tmpfs /run; mkdir -p "/run/user/$ANN" "$T/own"; chown $ANN:$ANN "/run/user/$ANN" "$T/own"
                ann mkdir -p "$SCRATCH/above/own"
                "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1
                runtime="NAMED"; [ -z "$runtime" ] || { export XDG_RUNTIME_DIR=$runtime; D=$runtime/aclfs; }
                case $runtime in "$SCRATCH"*) above=$SCRATCH/above ;; *) above=$SCRATCH/none ;; esac
                # Neither where it is looked for, nor with a directory above out of the way.
                for place in "$D" "/run/user/$ANN/aclfs" "/tmp/aclfs-$ANN"; do
                    said=$(run ann -- sh -c "mkdir -p $place; echo >$place/0-55.sock; mv $above $SCRATCH/away; mkdir -p $place; echo >$place/0-56.sock; echo ran" 2>/dev/null)
                    is "$place: it runs" ran "$said"
                    is "$place: nothing" '' "$(ls -A "$place" 2>/dev/null)"
                    settle 1
                done
                is 'it is where it was' "$SCRATCH/above" "$(echo "$SCRATCH"/*)"
                """#.replacing("NAMED", with: runtime))
        #expect(result.output == "done", "\(result)")
    }

    /// A name of the share above them, which the view shows, would have to be pinned, and a revocation frees it.
    @Test(arguments: ["ann", "as_root"]) func onAMountBelowTheShareTheyAreNotKept(_ who: String) throws {
        let result = try SandboxRunScript.run(
            Self.users
                + #"""
                "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; P=$T/downloads.entitlements
                mkdir -p "$SHARE/home/Downloads/up/run"; chown -R $ANN:$ANN "$SHARE/home"
                mount -t tmpfs -o mode=755,uid=$ANN tmpfs "$SHARE/home/Downloads/up/run"; D=$SHARE/home/Downloads/up/run/aclfs
                # Before the daemon has noticed it, it may be lost (docs/internals/coherence.md), which is not what is tried here.
                for try in $(seq 100); do "$A" status "$SHARE" | grep -q 'mount stands below' && break; sleep 0.05; done
                # Root's sockets lie in /run whatever the environment says, and a sandbox of root covers no others.
                export XDG_RUNTIME_DIR=$SHARE/home/Downloads/up/run
                said=$(run WHO -- mv "$SHARE/home/Downloads/up" "$SHARE/home/Downloads/away" 2>&1)
                if [ WHO = ann ]; then holds 'refused' "$said" 'would not stay there'; else is 'it runs' '' "$said"; mv "$SHARE/home/Downloads/away" "$SHARE/home/Downloads/up"; fi
                is 'in its place' run "$(ls "$SHARE/home/Downloads/up")"
                unset XDG_RUNTIME_DIR; export XDG_STATE_HOME=$SHARE/home/Downloads/up/run
                if [ WHO = ann ]; then holds 'grants' "$(run ann -- true 2>&1)" 'would not stay there'; fi
                unset XDG_STATE_HOME; settle 1; umount "$SHARE/home/Downloads/up/run"
                """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// What an earlier command left there, to be put out of the way later.
    @Test(arguments: ["touch NAME", "ln -s /tmp NAME", "ln -s nowhere NAME", "mkfifo NAME"])
    func whatIsHersInTheirPlaceStays(_ squatting: String) throws {
        let result = try SandboxRunScript.run(
            Self.users
                + #"""
                "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; ann sh -c 'SQUAT'
                is 'it runs' ran "$(run ann -- sh -c "rm -rf $D; mv $D $D.away; mkdir -p $D; echo >$D/0-55.sock; echo ran" 2>/dev/null)"
                is 'no directory' no "$([ -d "$D" ] && ! [ -L "$D" ] && echo yes || echo no)"
                rm -rf "$D.away"; settle 1
                """#.replacing("SQUAT", with: squatting.replacing("NAME", with: "'$D'")))
        #expect(result.output == "done", "\(result)")
    }

    /// Of the same user, but in a user namespace as a sandbox has one. What it hears without, the first lines show.
    @Test func aProcessThatPosesAsADaemonHearsNothing() throws {
        let result = try SandboxRunScript.run(
            Self.users + #"""
                ann mkdir -m 700 "$D"; touch "$T/heard"; chmod 666 "$T/heard"
                # pose NAME WORD… : the words come before the command.
                pose() { local name=$D/$1; shift; "$ACT" $ANN $ANN - -- "$@" "$ESCAPE" pose "$name" "$T/heard" & posing=$!; await '[ -S "$name" ]'; : >"$T/heard"; }
                silence() { kill $posing; wait $posing 2>/dev/null; }
                pose 0-1.sock
                ann "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; holds 'heard' "$(cat "$T/heard")" '2 {"v":1,"command":"serve"'
                silence; ann fusermount3 -u -z "$SHARE"
                for way in '-Ur' '-Uc'; do
                    pose 0-1.sock unshare $way
                    ann "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; is "$way: it is mounted" home "$(ann ls "$SHARE" | grep home)"
                    is "$way: it heard" '' "$(cat "$T/heard")"
                    silence; rm "$D/0-1.sock"
                    name=$(cd "$D" && ls | grep sock); mv "$D/$name" "$D/away"
                    pose "$name" unshare $way
                    holds "$way: asked" "$(ann "$A" status "$SHARE" 2>&1)" 'another user namespace'
                    holds "$way: a sandbox" "$(run ann -- echo ran 2>&1)" 'another user namespace'
                    is "$way: it heard" '' "$(cat "$T/heard")"
                    silence; mv "$D/away" "$D/$name"
                    is "$way: it runs" ran "$(run ann -- echo ran 2>&1)"
                    ann fusermount3 -u -z "$SHARE"; await '[ -z "$(server)" ]'
                done
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
