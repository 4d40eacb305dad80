import TestSupport
import Testing

/// What is hidden already has to stay hidden, and what is covered covered, whatever is renamed, replaced or mounted anew.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxCoverTests {
    private static let mounted = #""$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; treasures"#

    private func run(_ script: String, _ mount: String = Self.mounted) throws {
        let result = try SandboxRunScript.run(mount + "\n" + script)
        #expect(result.output == "done", "\(result)")
    }

    /// An editor's save outside takes away what is mounted on the file.
    @Test(arguments: ["ann", "as_root"]) func aCoverDoesNotStayOnAFile(_ who: String) throws {
        try run(
            #"""
            touch "$T/conf"; mount --bind "$BACK/secret" "$T/conf"
            holds 'refused' "$(run WHO -- cat "$T/conf" 2>&1)" 'would not stay there'
            umount "$T/conf"; is 'without it' ran "$(run WHO -- echo ran)"; settle 1
            """#.replacing("WHO", with: who))
    }

    /// By a mount on a directory above: nothing can be mounted over it, and a rename through another mount of the file system, or outside,
    /// brings it out.
    @Test(arguments: ["ann", "as_root"], ["BACK", "SHARE"]) func aMountThatIsHiddenIsNamed(_ who: String, _ what: String) throws {
        try run(
            #"""
            mkdir -p "$T/home/ann/a/b/m" "$T/second" "$T/home/ann/q"; [ WHO = as_root ] || chown -R $ANN:$ANN "$T/home/ann"
            mount --bind "$T/home" "$T/second"; mount --bind "$WHAT" "$T/home/ann/a/b/m"; mount -t tmpfs -o mode=755 tmpfs "$T/home/ann/a"
            holds 'it is named' "$(run WHO -- true 2>&1)" "$T/home/ann/a/b/m shows the share or its backing directory and is hidden"
            umount "$T/home/ann/a"; is 'seen, it is covered' '' "$(run WHO -- cat "$T/home/ann/a/b/m/secret" 2>/dev/null)"
            is 'also where it would be moved' '' "$(run WHO -- sh -c "mv $T/second/ann/a/b $T/second/ann/q/b; cat $T/home/ann/q/b/m/secret" 2>/dev/null)"
            settle 1
            """#.replacing("WHO", with: who).replacing("$WHAT", with: "$" + what))
    }

    /// Besides the share: what else is covered where it is seen comes out by a rename just so.
    @Test(arguments: ["ann", "as_root"], ["proc", "fusectl", "cgroup2", "grants", "anothers", "over itself"])
    func aHiddenMountOfWhatElseIsCoveredIsNamed(_ who: String, _ what: String) throws {
        try run(
            SandboxSocketTests.users
                + #"""
                export HOME=$T/holder/home; WHO mkdir -p "$HOME"; mkdir -p "$T/second"; mount --bind "$T" "$T/second"
                H=$T/holder/h; WHO mkdir -p "$H/b/m" "$BACK/b/m" "$T/holder/q"
                case "WHAT" in
                    grants) is 'they are kept there' ran "$(run WHO -- echo ran 2>&1)"; [ WHO = ann ] && kept=$HOME || kept=/var/lib; mount --bind "$kept" "$H/b/m" ;;
                    anothers) mkdir "$T/his"; chown $ZED:$ZED "$T/his"; zed "$A" mount -o allow_other "$BACK" "$T/his" 2>/dev/null; mount --bind "$T/his" "$H/b/m" ;;
                    'over itself') mount -t proc proc "$BACK/b/m"; H=$BACK; SHARE=$BACK; cd / ;;
                    *) mount -t WHAT none "$H/b/m" || { echo 'no WHAT here'; exit; } ;;
                esac
                [ "WHAT" = 'over itself' ] || is 'seen, it runs' ran "$(run WHO -- echo ran 2>&1)"
                inside=$(cd "$H" && pwd | sed "s|^$T||")
                [ "WHAT" = 'over itself' ] && { "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; is 'it is mounted' 0 $?; } || mount -t tmpfs -o mode=755 tmpfs "$H"
                said=$(run WHO -- sh -c "mv $T/second$inside/b $T/second/holder/q/b; ls $T/holder/q/b/m" 2>&1); is "status, with $said" 2 "$(status run WHO -- true 2>/dev/null)"
                holds 'it is named' "$said" "$H/b/m"; holds 'it is named' "$said" 'is hidden by another mount'
                umount -l "$H"; [ "WHAT" = anothers ] && { umount "$H/b/m"; zed fusermount3 -u "$T/his"; }; true
                """#.replacing("WHO", with: who).replacing("WHAT", with: what), what == "over itself" ? "" : Self.mounted)
    }

    /// What hides it stands on the top of what bears it, as a second /sys or a tmpfs over a first: it goes where that goes.
    @Test(arguments: ["ann", "as_root"]) func aMountThatStaysHiddenStopsNoSandbox(_ who: String) throws {
        try run(
            #"""
            mkdir -p "$T/low" "$T/second"; mount -t tmpfs -o mode=777 tmpfs "$T/low"; mkdir -m 777 -p "$T/low/a/b"
            for what in '-t proc proc' '-t fusectl none' "--bind $BACK" "--bind $SHARE"; do
                mkdir -p -m 777 "$T/low/a/b/m"; mount $what "$T/low/a/b/m"; mount --bind "$T/low" "$T/second"
                is "$what: seen, it runs" ran "$(run WHO -- echo ran 2>&1)"
                mount -t tmpfs -o mode=755 tmpfs "$T/low"
                is "$what: it runs" ran "$(run WHO -- sh -c "mv $T/second/a/b $T/second/b; ls $T/low/b $T/low/b/m; echo ran" 2>/dev/null)"
                umount "$T/low"; [ -d "$T/low/b" ] && mv "$T/low/b" "$T/low/a/b"; umount "$T/second" "$T/low/a/b/m"
            done
            # Right below what hides it, as homes are that are mounted one by one: there is nothing that could be renamed.
            mount -t proc proc "$T/low/a/b/m"; mount --bind "$T/low" "$T/second"; mount -t tmpfs -o mode=755 tmpfs "$T/low/a/b"
            is 'right below: it runs' ran "$(run WHO -- sh -c "mv $T/second/a/b $T/second/b; mv $T/second/a/b/m $T/second/m; ls $T/low/b $T/low/m; echo ran" 2>/dev/null)"
            mv "$T/second/a" "$T/second/away"; is 'and moved' ran "$(run WHO -- sh -c "mv $T/second/away/b $T/second/b; ls $T/low/b; echo ran" 2>/dev/null)"
            umount "$T/low/away/b" "$T/low/away/b/m" "$T/second"
            settle 1
            """#.replacing("WHO", with: who))
    }

    /// No process of the sandbox may search it now: its group is none of the sandbox's. Its owner opens it, and moves what lies in it.
    @Test(arguments: ["ann", "as_root"], ["BACK", "SHARE"]) func aClosedDirectoryOfOnesOwnIsNamed(_ who: String, _ what: String) throws {
        try run(
            #"""
            mkdir -p "$T/second"; mount --bind "$T" "$T/second"; D=$T/holder/door; WHO mkdir -p "$D/sub/m" "$T/holder/q"; mount --bind "$WHAT" "$D/sub/m"
            out="chmod 755 $T/second/holder/door; mv $T/second/holder/door/sub $T/second/holder/q/sub; cat $T/holder/q/sub/m/secret"
            [ WHO = ann ] && own=$ANN || own=0
            for group in $own 12345; do
                chown $own:$group "$D"; chmod 755 "$D"; is "open, of $group" '' "$(run WHO -- sh -c "$out" 2>/dev/null)"; mv "$T/holder/q/sub" "$D/sub"
            done
            chmod 000 "$D"; said=$(run WHO -- sh -c "$out" 2>&1); is "status, with $said" 2 "$(status run WHO -- true 2>/dev/null)"
            holds 'it is named' "$said" "$D/sub/m shows the share or its backing directory and lies below $D, which you own and cannot search"
            # With a group that is the sandbox's own it keeps nothing from being covered; that of another user is covered itself.
            chown $own:$own "$D"; is 'of its own group' '' "$(run WHO -- sh -c "$out" 2>/dev/null)"; mv "$T/holder/q/sub" "$D/sub"
            chown 12345:12345 "$D"; chmod 700 "$D"; is "somebody else's" ran "$(run WHO -- sh -c "$out; echo ran" 2>/dev/null)"
            umount "$D/sub/m"; settle 1
            """#.replacing("WHO", with: who).replacing("$WHAT", with: "$" + what))
    }

    /// By a mount that stands on its very top: where no cover would stay, that does not stay either. A save outside replaces the file, a rename
    /// on the share takes the name, and with it falls what stands there.
    @Test(arguments: ["ann", "as_root"]) func whatIsHiddenByWhatDoesNotStay(_ who: String) throws {
        try run(
            #"""
            mkdir "$T/x" "$T/n" "$T/m2"; touch "$T/f" "$T/null"; chmod 755 "$T/n"; "$A" mount "$BACK" "$T/m2" 2>/dev/null
            hidden() { mount --bind "$1" "$2"; mount --bind "$3" "$2"; }
            for what in "$SHARE/sub $T/x $T/n" "$SHARE/secret $T/f $T/null" "$BACK/secret $T/f $T/null"; do
                set -- $what; hidden $what
                holds "refused: $1" "$(run WHO -- cat "$2" "$2/secret" 2>&1)" "$2 cannot be hidden for good: a mount over it or over a directory above it would not stay there"
                umount "$2"; umount "$2"
            done
            for what in "$SHARE $T/x $T/n" "$BACK $T/x $T/n" "$BACK/sub $T/x $T/n"; do
                set -- $what; hidden $what
                is "it runs: $1" ran "$(run WHO -- echo ran 2>&1)"
                run WHO -- sh -c "touch $SCRATCH/ready; while [ ! -e $SCRATCH/go ]; do sleep 0.1; done; cat $2/secret $2/sub/secret" >"$T/said" 2>/dev/null & running=$!
                # The kernel itself refuses to move what something is mounted on here.
                await '[ -e $SCRATCH/ready ]'; mv "$T/m2/sub" "$T/m2/away" 2>/dev/null; ls "$2" "$SHARE/sub" >/dev/null 2>&1; touch "$SCRATCH/go"; wait $running
                is "hidden: $1" '' "$(cat "$T/said")"; mv "$T/m2/away" "$T/m2/sub" 2>/dev/null; umount "$2"; umount "$2"; rm "$SCRATCH/ready" "$SCRATCH/go"
            done
            "$A" unmount "$T/m2"; settle 1
            """#.replacing("WHO", with: who))
    }

    /// What a share over its own directory hides: nothing moved, and nothing gets better by trying again.
    @Test(arguments: ["ann", "as_root"], ["disk", "bind", "both"]) func whatAShareOverItselfHides(_ who: String, _ what: String) throws {
        try run(
            #"""
            mkdir -p "$BACK/g" "$BACK/d/e"
            case WHAT in
                disk) mount -t tmpfs -o mode=755 tmpfs "$BACK/g" ;;
                bind) mount --bind "$BACK" "$BACK/g" ;;
                both) mount --bind "$BACK" "$BACK/g"; mount --bind "$BACK/d/e" "$BACK/d" ;;
            esac
            SHARE=$BACK; "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1
            said=$(cd / && run WHO -- true 2>&1)
            holds 'it is said' "$said" 'is hidden by another mount'; holds 'and what to do' "$said" 'at another path'
            """#.replacing("WHO", with: who).replacing("WHAT", with: what), "")
    }

    /// Its path is in the mount table, and something else stands there.
    @Test(arguments: ["ann", "as_root"]) func aShareThatIsHiddenIsNamed(_ who: String) throws {
        try run(
            #"""
            mkdir -p "$T/p/m"; SHARE=$T/p/m; "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; mount --bind "$T/p" "$T/p"
            said=$(run WHO -- true 2>&1); is 'status' 2 "$(status run WHO -- true 2>/dev/null)"
            holds 'it is said' "$said" "$SHARE is hidden by another mount"
            umount "$T/p"; is 'seen' ran "$(run WHO -- echo ran 2>&1)"; settle 1
            """#.replacing("WHO", with: who), "")
    }

    /// The table of mounts is in no order.
    @Test(arguments: ["ann", "as_root"]) func aMountThatWasMovedBelowTheBackingDirectoryIsSeen(_ who: String) throws {
        try run(
            #"""
            mkdir -p "$T/old" "$T/vis" "$BACK/d"; mount -t tmpfs -o mode=777 tmpfs "$T/old"; echo treasure >"$T/old/secret"; mount --bind "$T/old" "$T/vis"
            mount -t tmpfs -o mode=777 tmpfs "$BACK/d"; mkdir "$BACK/d/e"; mount --make-private "$T"; mount --make-private "$BACK/d"
            mount --move "$T/old" "$BACK/d/e"; "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1
            is 'on the share' treasure "$(cat "$SHARE/d/e/secret")"
            is 'not elsewhere' '' "$(run WHO -- sh -c "cat $T/vis/secret; echo planted >>$T/vis/secret" 2>/dev/null)"
            is 'as it was' treasure "$(cat "$T/vis/secret")"; settle 1
            """#.replacing("WHO", with: who), "")
    }

    /// What stands below the backing directory is moved out of it, from under the view.
    @Test(arguments: ["ann", "as_root"], ["mount -t tmpfs -o mode=777 disk", "mount --bind $BACK/common", "mount --bind $SHARE"])
    func aMountBelowTheBackingDirectoryIsCoveredItself(_ who: String, _ mount: String) throws {
        try run(
            #"""
            mkdir -p "$BACK/p/link" "$BACK/common"; chmod 777 "$BACK" "$BACK/p" "$BACK/common"
            "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; MOUNT "$BACK/p/link"; echo treasure >"$BACK/p/link/secret"; chmod 666 "$BACK/p/link/secret"
            run WHO -- sh -c "echo in; read go; cat $T/leaver/link/secret; echo planted >>$T/leaver/link/secret; echo x >$T/leaver/link/new" \
                <"$T/go" >"$T/said" 2>/dev/null & pid=$!
            exec 9>"$T/go"; until grep -qs in "$T/said"; do sleep 0.05; done
            STEP; mv "$BACK/p" "$T/leaver" || fail 'not moved'; echo >&9; exec 9>&-; wait $pid
            is 'nothing was seen' in "$(cat "$T/said")"
            is 'nothing was written' '' "$(cd "$T/leaver/link" 2>/dev/null && ls | grep new; grep -rs planted "$BACK" "$T/leaver")"
            umount -l "$T/leaver/link" 2>/dev/null; settle 1
            """#.replacing("WHO", with: who).replacing("MOUNT", with: mount)
                .replacing("STEP", with: mount.contains("disk") ? #"umount -l "$BACK/p/link""# : ":"), #"mkfifo -m 666 "$T/go""#)
    }

    /// By another user, who may rename what lies above the backing directory.
    @Test func whatIsNotThereForAMomentIsWaitedFor() throws {
        try run(
            #"""
            chmod 777 "$T/holder" "$T/holder/inner"
            cat >"$T/flip" <<'END'
            import os, sys
            a, b = sys.argv[1:]
            while True: os.rename(a, b); os.rename(b, a)
            END
            "$ACT" 64321 64321 - -- python3 "$T/flip" "$T/holder/inner" "$T/holder/away" & flips=$!
            for i in $(seq ROUNDS); do
                run ann -- sh -c "for i in 1 2 3; do cat $T/holder/*/back/secret; done" >>"$T/said" 2>&1
            done
            is 'never read' 0 "$(grep -c treasure "$T/said")"
            kill $flips; wait $flips 2>/dev/null; [ -e "$T/holder/inner" ] || mv "$T/holder/away" "$T/holder/inner"
            is 'at rest' ran "$(run ann -- echo ran 2>&1)"; settle 1
            """#.replacing("ROUNDS", with: MountTesting.isLong ? "100" : "8"))
    }

    /// Read-only for a while, as after an error of the disk.
    @Test func whatIsReadOnlyNowIsPinnedToo() throws {
        try run(
            #"""
            mkdir "$T/fs" "$T/b"; mount -t tmpfs -o mode=755 tmpfs "$T/fs"; mkdir -p "$T/fs/holder/inner/back/home" "$T/fs/holder/scratch"
            chmod 777 "$T/fs/holder" "$T/fs/holder/inner" "$T/fs/holder/scratch"; echo treasure >"$T/fs/holder/inner/back/secret"; chmod 666 "$T/fs/holder/inner/back/secret"
            mount --bind "$T/fs/holder/scratch" "$T/b"; "$A" mount "$T/fs/holder/inner/back" "$SHARE" 2>/dev/null
            mount -o remount,ro "$T/fs"; mount -o remount,bind,rw "$T/fs"
            run ann -- sh -c "touch $SCRATCH/ready; while [ ! -e $SCRATCH/go ]; do sleep 0.1; done; mv $T/fs/holder/inner $T/b/inner; cat $T/b/inner/back/secret" >"$T/said" 2>&1 & running=$!
            await '[ -e $SCRATCH/ready ]'; mount -o remount,rw tmpfs "$T/fs"; touch "$SCRATCH/go"; wait $running
            is 'not read' '' "$(grep treasure "$T/said")"; settle 1; umount "$T/b"
            """#, "")
    }

    /// As after su, with what was root's in the environment; and what is opened meanwhile stays closed inside.
    @Test func whatIsClosedToTheCallerStaysClosedInside() throws {
        try run(
            #"""
            cp /etc/passwd "$T/passwd"; echo "ann:x:$ANN:$ANN::$T/homes/ann:/bin/sh" >>"$T/passwd"; mount --bind "$T/passwd" /etc/passwd
            mkdir -p "$T/homes/ann" "$T/hers" "$T/roots/0"; chown $ANN:$ANN "$T/homes/ann" "$T/hers"; chmod 700 "$T/homes" "$T/roots/0"
            unset XDG_STATE_HOME; export HOME=$T/hers XDG_RUNTIME_DIR=$T/roots/0
            S=$T/homes/ann/.local/state/aclfs/grants
            run ann -- sh -c "touch $SCRATCH/ready; while [ ! -e $SCRATCH/go ]; do sleep 0.1; done; mkdir -p $S $T/roots/0/aclfs; echo forged >$S/forged" >/dev/null 2>&1 & running=$!
            await '[ -e $SCRATCH/ready ]'; chmod 755 "$T/homes"; chmod 777 "$T/roots/0"; touch "$SCRATCH/go"; wait $running
            is 'nothing forged' '' "$(ls -A "$T/homes/ann" "$T/roots/0" | grep -v :)"; settle 1
            """#)
    }

    /// What an administrator does meanwhile: a directory above the backing directory becomes the caller's to change.
    @Test func whatIsOpenedAboveTheBackingDirectoryMeanwhileIsPinned() throws {
        try run(
            #"""
            mkdir -p "$T/srv/proj/pub" "$T/srv/proj/a/back/home" "$T/export"; chmod 755 "$T/srv" "$T/srv/proj" "$T/srv/proj/a"
            chgrp $ANN "$T/srv/proj" "$T/srv/proj/a"; B=$T/srv/proj/a/back; echo treasure >"$B/secret"; chmod 666 "$B/secret"
            chmod 777 "$B" "$B/home" "$T/srv/proj/pub"; mount --bind "$T/srv/proj/pub" "$T/export"; "$A" mount "$B" "$SHARE" >/dev/null 2>&1
            run ann -- sh -c "touch $SCRATCH/ready; while [ ! -e $SCRATCH/go ]; do sleep 0.1; done; mv $T/srv/proj/a $T/srv/proj/pub/a; cat $T/export/a/back/secret" >"$T/said" 2>&1 & running=$!
            await '[ -e $SCRATCH/ready ]'; chmod -R g+w "$T/srv/proj"; touch "$SCRATCH/go"; wait $running
            is 'not read' '' "$(grep treasure "$T/said")"; settle 1; umount "$T/export"
            """#, "")
    }

    /// Many places are no reason to wait, and a mount that hides another one of the share is no reason to refuse.
    @Test(arguments: ["ann", "as_root"]) func aHomeThatIsSeenAtManyPlaces(_ who: String) throws {
        try run(
            #"""
            export HOME=$T/holder/home; mkdir "$HOME"; chown $ANN:$ANN "$HOME"
            for i in $(seq 12); do mkdir "$T/jail$i"; mount --bind "$T/holder" "$T/jail$i"; done
            mkdir -p "$T/holder/inner/z/y/share" "$T/fourth"; mount --bind "$T/holder/inner" "$T/fourth"
            SHARE=$T/holder/inner/z/y/share; "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1
            began=$(date +%s); is 'it runs' ran "$(run WHO -- sh -c "ls -d $T/fourth/z >/dev/null && echo ran" 2>&1)"
            [ $(($(date +%s) - began)) -lt 20 ] || echo 'it takes long'
            is 'nowhere' '' "$(run WHO -- sh -c "cat $T/jail*/inner/back/secret $T/fourth/back/secret" 2>/dev/null)"
            settle 1
            """#.replacing("WHO", with: who), "")
    }

    /// Daemons that are started later in the environment of a login keep them there.
    @Test(arguments: ["-u HOME", "HOME=$T/closed", "HOME=$T/other", "XDG_STATE_HOME=$T/other"])
    func theUsualStoreIsCoveredWhateverTheEnvironmentSays(_ environment: String) throws {
        try run(
            #"""
            cp /etc/passwd "$T/passwd"; echo "ann:x:$ANN:$ANN::$T/hers:/bin/sh" >>"$T/passwd"; mount --bind "$T/passwd" /etc/passwd
            unset XDG_RUNTIME_DIR XDG_STATE_HOME; mkdir "$T/hers" "$T/other" "$T/closed"; chown $ANN:$ANN "$T/hers" "$T/other"; chmod 700 "$T/closed"
            S=$T/hers/.local/state/aclfs/grants; export HOME=$T/hers
            in_it() { "$ACT" $ANN $ANN - -- env ENVIRONMENT "$A" sandbox run "$P" --mount "$SHARE" -- "$@"; }
            is 'it runs' ran "$(in_it echo ran 2>&1)"
            in_it sh -c "mkdir -p $S; echo forged >$S/forged" >/dev/null 2>&1
            is 'nothing forged' '' "$(ls -A "$S")"; settle 1
            """#.replacing("ENVIRONMENT", with: environment.replacing("$T", with: "\"$T\"")))
    }
}

private let hasBindfs = (try? Spawn.run(["sh", "-c", "command -v bindfs"]))?.status == 0

/// Where the names of the file system below do not stay: FUSE asks at each look-up.
@Suite(
    .serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"), .enabled(if: hasBindfs, "needs bindfs"))
struct SandboxCoverOnFUSETests {
    @Test(arguments: ["ann", "as_root"]) func aShareOverItself(_ who: String) throws {
        let result = try SandboxRunScript.run(
            #"""
            mkdir -p "$T/real/back/home" "$T/fs"; chmod 777 "$T/real/back" "$T/real/back/home"
            bindfs -o allow_other,default_permissions "$T/real" "$T/fs"; SHARE=$T/fs/back
            echo treasure >"$SHARE/secret"; "$A" mount "$SHARE" "$SHARE" >/dev/null 2>&1
            holds 'refused' "$(cd / && run WHO -- cat "$SHARE/secret" 2>&1)" 'would not stay there'
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// It admits only its user, so nothing has to be covered.
    @Test(arguments: ["ann", "as_root"]) func aMountOfAnotherUserAloneStopsNoSandbox(_ who: String) throws {
        let result = try SandboxRunScript.run(
            SandboxSocketTests.users
                + #"""
                "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1
                mkdir -p "$T/real/zed/m" "$T/fs" "$T/his"; chown -R $ZED:$ZED "$T/real/zed" "$T/his"; chmod 700 "$T/real/zed" "$T/his"
                bindfs -o allow_other,default_permissions "$T/real" "$T/fs"
                zed "$A" mount "$T/his" "$T/fs/zed/m" 2>/dev/null; is 'it is mounted' 0 $?
                is 'it runs' ran "$(run WHO -- echo ran 2>&1)"
                is 'without a name' ran "$(cd / && WHO "$A" sandbox run "$P" -- echo ran 2>&1)"
                zed "$A" unmount "$T/fs/zed/m"; settle 1
                """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }
}
