import Foundation
import TestSupport
import Testing

/// Homes, runtime directories and mounts that are another user's, dead, or not what they seem: they stop no sandbox, and hide nothing
/// that has to be covered.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxOddPlaceTests {
    private func run(_ script: String) throws {
        let result = try SandboxRunScript.run(
            SandboxSocketTests.users + SandboxClosedTests.moody + #"""
                "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1
                # moody USER PLACE [OPTIONS]
                moody() { python3 "$T/moody" "$2" "$T/dead" "${ERROR:-107}" "${3-}" "$1" & serving=$!; await "grep -q ' $2 ' /proc/self/mounts"; }
                gone() { umount "$1"; wait $serving; }
                runs() { is "$1" ran "$(run ann -- echo ran 2>&1)"; }

                """# + script)
        #expect(result.output == "done", "\(result)")
    }

    /// As su and sudo leave it in the environment: zed's, which ann may not enter.
    @Test(arguments: ["HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"]) func anothersHomeInTheEnvironment(_ name: String) throws {
        try run(
            #"""
            mkdir -p "$T/var/home/zed" "$T/own"; chown $ANN:$ANN "$T/own"; chmod 700 "$T/var/home/zed"; ln -s var/home "$T/home"; ln -s "$T/home/zed" "$T/zed"
            export HOME=$T/own; ln -s ../var/./home "$T/own/up"
            (export NAME=$T/var/home/zed; runs 'closed'); (export NAME=$T/home/zed; runs 'through a link'); (export NAME=$T/zed; runs 'through two')
            (export NAME=$T/own/up/zed; runs 'through one that leads up')
            chown $ZED "$T/var/home/zed"; moody $ZED "$T/var/home/zed" ''; (export NAME=$T/var/home/zed; runs 'a mount for himself')
            (export NAME=$T/zed; runs 'the same through links'); gone "$T/var/home/zed"
            for odd in /dev/null "$P" "$T/nowhere"; do ln -sf /nonexistent "$T/nowhere"; (export NAME=$odd; runs "$odd"); done
            settle 1
            """#.replacing("NAME", with: name))
    }

    /// Her own account's, while the environment names a local place.
    @Test(arguments: MountTesting.isLong ? ["107", "116", "5", "112"] : ["116"]) func aDeadHomeIsDoneWithout(_ error: String) throws {
        try run(
            #"""
            mkdir -p "$T/hers" "$T/state"; chown $ANN:$ANN "$T/hers" "$T/state"; export ERROR=ERRNO XDG_STATE_HOME=$T/state HOME=$T/hers
            sed "s#^ann:.*#ann:x:$ANN:$ANN::$T/hers:/bin/sh#" "$T/passwd" >"$T/accounts"; cat "$T/accounts" >/etc/passwd; runs 'alive'
            moody $ANN "$T/hers"; touch "$T/dead"; runs 'dead'
            unset XDG_STATE_HOME; holds 'no other' "$(run ann -- echo ran 2>&1)" 'cannot make or open the directory of grants'; rm "$T/dead"; gone "$T/hers"; settle 1
            """#.replacing("ERRNO", with: error))
    }

    /// Only root enters it.
    @Test(arguments: ["$BACK", "/proc"]) func whatLiesBelowRootsOwnMount(_ what: String) throws {
        try run(
            #"""
            echo treasure >"$BACK/secret"; chmod 644 "$BACK/secret"; moody 0 "$T/fs" ''; mount --bind "WHAT" "$T/fs/sub"
            runs 'ann'; is 'root' ran "$(run as_root -- sh -c "cat $T/fs/sub/secret; ls $T/fs/sub | grep self; echo ran" 2>/dev/null)"
            umount "$T/fs/sub"; gone "$T/fs"; settle 1
            """#.replacing("WHAT", with: what))
    }

    /// The kernel says so of what it has dropped from its caches, too.
    @Test(arguments: ["ann", "as_root"]) func whatIsCalledDeletedIsCovered(_ who: String) throws {
        try run(
            #"""
            umount "$SHARE"; export VALID=0; moody 0 "$T/fs" ,allow_other; mkdir "$BACK/media"; mount --bind "$T/fs/sub" "$BACK/media"
            "$A" mount "$BACK" "$SHARE" 2>/dev/null; holds 'called so' "$(run WHO -- echo ran 2>&1)" 'would not stay there'
            touch "$T/moved"; ls "$T/fs/sub" >/dev/null 2>&1; rm "$T/moved"; grep -q "/sub//deleted $BACK/media " /proc/self/mountinfo || echo 'it is not called so'
            said=$(run WHO -- sh -c "ls -d $T/fs/sub/sub; echo ran" 2>&1); is "status: $said" 2 "$(status run WHO -- true)"
            holds 'why' "$said" 'would not stay there'; "$A" unmount "$SHARE"; umount "$BACK/media"; gone "$T/fs"
            """#.replacing("WHO", with: who))
    }

    /// A name of the backing directory leads to what is mounted on the top of an aclfs mount there, dead or alive.
    @Test(arguments: ["ann", "as_root"], [true, false]) func whatIsMountedOnAnAclfsMountIsCovered(_ who: String, _ isAlive: Bool) throws {
        try run(
            #"""
            umount "$SHARE"; mkdir -p "$T/srv/c" "$T/behind" "$T/shown" "$BACK/c" "$T/disk"; chmod 755 "$T/srv"; echo treasure >"$BACK/secret"; echo treasure >"$T/disk/secret"
            chmod 666 "$BACK/secret" "$T/disk/secret"
            for at in "$T/srv/c" "$BACK/c"; do "$A" mount "$T/behind" "$at" 2>/dev/null; [ ALIVE = true ] || kill_daemon "$at"; done
            mount --bind "$BACK" "$T/srv/c"; mount --bind "$T/disk" "$BACK/c"; "$A" mount "$T/srv" "$T/shown" 2>/dev/null; "$A" mount "$BACK" "$SHARE" 2>/dev/null
            is 'outside' 'treasure treasure' "$(cat "$T/shown/c/secret" "$SHARE/c/secret" | xargs)"
            is 'through another share' ran "$(run WHO -- sh -c "cat $T/shown/c/secret; echo planted >>$T/shown/c/secret; echo ran" 2>/dev/null)"
            is 'where it lies' ran "$(run WHO -- sh -c "cat $T/disk/secret; echo planted >>$T/disk/secret; echo ran" 2>/dev/null)"
            is 'as it was' 'treasure treasure' "$(cat "$BACK/secret" "$T/disk/secret" | xargs)"
            umount -l "$T/srv/c"; mount -t proc proc "$T/srv/c"
            is 'processes' '' "$(run WHO -- ls "$T/shown/c" 2>/dev/null)"; "$A" unmount "$SHARE"; "$A" unmount "$T/shown"
            umount -l "$T/srv/c" "$BACK/c"; [ ALIVE = false ] || { "$A" unmount "$T/srv/c"; "$A" unmount "$BACK/c"; }
            await '[ -z "$(pgrep -f "^${A}d mount")" ]'
            """#.replacing("WHO", with: who).replacing("ALIVE", with: "\(isAlive)"))
    }

    /// What is mounted below its directory it does not show.
    @Test func aShareThatFollowsNoMountsIsSeen() throws {
        try run(
            #"""
            mkdir -p "$T/srv/jail/proc" "$T/srv/part" "$T/shown"; chmod 755 "$T/srv"; echo text >"$T/srv/file"; mount -t proc proc "$T/srv/jail/proc"
            mount --bind "$BACK" "$T/srv/part"; echo treasure >"$BACK/secret"; chmod 644 "$BACK/secret"
            "$A" mount -o nocrossmounts "$T/srv" "$T/shown" 2>/dev/null
            is 'seen' 'text' "$(run ann -- sh -c "cat $T/shown/file $T/shown/part/secret $T/shown/jail/proc/self/comm" 2>/dev/null)"
            "$A" unmount "$T/shown"; "$A" mount "$T/srv" "$T/shown" 2>/dev/null
            is 'with its mounts it is not' '' "$(run ann -- sh -c "cat $T/shown/file $T/shown/part/secret" 2>/dev/null)"
            "$A" unmount "$T/shown"; umount "$T/srv/part" "$T/srv/jail/proc"; settle 1
            """#)
    }
}
