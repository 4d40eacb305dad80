import Foundation
import TestSupport
import Testing

/// docs/guide/backup.md "Purging": what `aclfs purge` removes, what it leaves, and when it does nothing.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct PurgeTests {
    /// `container PATH LAYOUT` makes one of alice's with old and new objects. `old PATH…` makes them a week old, as far as times can be set:
    /// the clock of the kernel sets the ctime, so that ages are told by seconds.
    private static let setup = #"""
        S=$T/mnt; "$A" mount "$T/back" "$S" >/dev/null 2>&1; chmod 1777 "$S"
        as() { local who=$1; shift; "$ACT" $who 20 - -- "$@"; }
        container() {
            as 501 sh -ec 'mkdir -p "$1/Documents" "$1/Library/Caches/deep/er" "$1/Library/Preferences" "$1/tmp/empty" "$1/tmp/full"; cd "$1"
                for f in Documents/f Library/f Library/Preferences/f Library/Caches/f Library/Caches/deep/er/f tmp/f tmp/full/f "tmp/a b"; do echo x >"$f"; done
                ln -s ../Documents tmp/link; ln -s ../Documents/f tmp/full/link; mkfifo tmp/fifo' sh "$1"
            [ -z "${2:-}" ] || "$A" backup layout $2 "$1"
        }
        # All that lies there, relative to the container.
        left() { (cd "$1" && find . -mindepth 1 | sort | sed 's,^\./,,' | tr '\n' ' '); }
        # Until the process that was started last sleeps where it belongs.
        asleep() { for i in $(seq 500); do [ "$(cat /proc/$pid/comm)" = sleep ] && break; sleep 0.02; done; }
        purge() { "$A" purge "$@" 2>&1; }
        KEPT='Documents Documents/f Library Library/Caches Library/Preferences Library/Preferences/f Library/f tmp '

        """#

    private func run(_ script: String) throws {
        let result = try MountNamespace().run(Self.setup + script)
        #expect(result.output == "done", "\(result)")
    }

    @Test func itRemovesWhatIsOldBelowPurgeablePlacesOfDeclaredLayouts() throws {
        try run(
            #"""
            container "$S/one" ios; container "$S/users/ann/two" container; container "$S/plain"
            all=$(left "$S/plain")
            # Nothing is old yet.
            is 'young' "removed 0 objects, 0 bytes, in 2 containers" "$(purge "$S")"; is 'all of it' "$all" "$(left "$S/one")"
            sleep 2.1; as 501 sh -c "echo more >>$S/one/tmp/full/f; cat $S/one/Library/Caches/f >/dev/null; touch -a $S/one/Library/Caches/f"
            # They stay new, however long the commands take.
            "$ACT" 501 20 - -- sh -c 'while :; do touch -c "$1"; touch -ac "$2"; sleep 0.1; done' new "$S/one/tmp/full/f" "$S/one/Library/Caches/f" & new=$!
            would=$(purge --dry-run --older-than 2s "$S"); is 'a trial' 0 $?
            is 'nothing is gone' "$all" "$(left "$S/one")"
            holds 'a trial' "$would" "would remove $S/one/tmp/a b"; holds 'a trial' "$would" "would remove $S/one/tmp/empty"
            said=$(purge -v --older-than 2s "$S"); is 'status' 0 $?
            kill $new; wait $new 2>/dev/null
            is 'as the trial said' "$(echo "$would" | sed 's/^would remove/removed/' | sort)" "$(echo "$said" | sort)"
            # What was changed or read stays, with the directories above it.
            is 'one' "Documents Documents/f Library Library/Caches Library/Caches/f Library/Preferences Library/Preferences/f Library/f tmp tmp/full tmp/full/f " "$(left "$S/one")"
            is 'two' "$KEPT" "$(left "$S/users/ann/two")"; is 'without a layout' "$all" "$(left "$S/plain")"
            is 'what links lead to' x "$(cat "$S/one/Documents/f")"
            sleep 1.1; said=$(purge --json --older-than 1s "$S/one" | sed 's/"bytes":[0-9]*/"bytes":N/')
            holds 'json' "$said" '{"path":"'"$S"'/one/Library/Caches/f","action":"removed","bytes":N}'
            is 'one again' "$KEPT" "$(left "$S/one")"
            # Only what is named, by whoever may.
            container "$S/one" ios; sleep 1.1
            said=$(as 502 "$A" purge --older-than 1s "$S/one" 2>&1); is 'of another user' 1 $?
            holds 'of another user' "$said" "$S/one/tmp/f: Permission denied"; is 'all of it' "$all" "$(left "$S/one")"
            said=$(as 501 "$A" purge --older-than 1s "$S/one" 2>&1); is 'her own' 0 $?
            holds 'what she cannot know' "$said" 'only root and the user who mounted may ask'; is 'her own' "$KEPT" "$(left "$S/one")"
            """#)
    }

    /// All owners that are no users have one uid.
    @Test func rootPurgesOnlyWhatTheOwnerOfTheContainerOwns() throws {
        try run(
            #"""
            owns() { setfattr -h -n system.aclfs.owner -v "$1" "${@:2}"; }
            mine=ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000258 another=ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000259 far=12345678-9ABC-4DEF-8123-456789ABCDEF
            mkdir -p "$S/one/tmp/theirs"; for f in mine another far theirs/mine; do echo x >"$S/one/tmp/$f"; done; "$A" backup layout ios "$S/one"
            owns $mine "$S/one" "$S/one/tmp/mine" "$S/one/tmp/theirs/mine"; owns $another "$S/one/tmp/another" "$S/one/tmp/theirs"; owns $far "$S/one/tmp/far"
            is 'one uid' 1 "$(stat -c %u "$S"/one "$S"/one/tmp/* | sort -u | wc -l)"; sleep 1.1
            is 'those of one group' "removed 2 objects" "$(purge --older-than 1s "$S/one" | cut -d, -f1)"; is 'what stays' 'tmp tmp/another tmp/far tmp/theirs ' "$(left "$S/one")"
            """#)
    }

    @Test func itNeverPurgesWhatIsInUse() throws {
        try run(
            #"""
            container "$S/one" ios; container "$S/two" ios; sleep 1.1; all=$(left "$S/one")
            # use NAME COMMAND: a process that holds something of one.
            use() {
                local name=$1; shift
                "$@" & pid=$!; for i in $(seq 500); do [ -e "$T/ready" ] && break; sleep 0.02; done; rm -f "$T/ready"
                said=$(purge --older-than 1s "$S/one"); is "$name: status" 1 $?; holds "$name" "$said" "$S/one: in use, and left as it is:"
                holds "$name: who" "$said" "process $pid ("; is "$name: all of it" "$all" "$(left "$S/one")"
                kill $pid; wait $pid 2>/dev/null
            }
            use 'an open file' python3 -c 'import sys, time; f = open(sys.argv[1]); open(sys.argv[2], "w"); time.sleep(60)' "$S/one/Documents/f" "$T/ready"
            use 'a working directory' python3 -c 'import os, sys, time; os.chdir(sys.argv[1]); open(sys.argv[2], "w"); time.sleep(60)' "$S/one/Library" "$T/ready"
            use 'a mapping' python3 -c 'import mmap, sys, time; f = open(sys.argv[1]); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); f.close(); open(sys.argv[2], "w"); time.sleep(60)' "$S/one/Documents/f" "$T/ready"
            cp "$(readlink -f "$(command -v sleep)")" "$S/one/Documents/run"; sleep 1.1; all=$(left "$S/one")
            touch "$T/ready"; use 'its program' "$S/one/Documents/run" 60
            # On another mount of the directory.
            mkdir "$T/other"; "$A" mount "$T/back" "$T/other" >/dev/null 2>&1
            use 'another mount' python3 -c 'import sys, time; f = open(sys.argv[1]); open(sys.argv[2], "w"); time.sleep(60)' "$T/other/one/tmp/f" "$T/ready"
            "$A" unmount "$T/other"
            # Found from above, it is no failure, and the others are purged.
            (cd "$S/one/tmp" && exec sleep 60) & pid=$!; asleep
            said=$(purge --older-than 1s "$S"); is 'from above' 0 $?; holds 'from above' "$said" "$S/one: in use"
            is 'one' "$all" "$(left "$S/one")"; is 'two' "$KEPT" "$(left "$S/two")"
            # What alice cannot see does not count for her; what she can does.
            said=$(as 501 "$A" purge --dry-run --older-than 1s "$S/one" 2>&1); is 'alice does not see it' 0 $?
            kill $pid; wait $pid 2>/dev/null
            is 'afterwards' 0 "$(status "$A" purge --older-than 1s "$S/one")"; is 'one' "${KEPT/Documents\/f/Documents/f Documents/run}" "$(left "$S/one")"
            """#)
    }

    @Test func aViewInUseCounts() throws {
        let result = try SandboxRunScript.run(
            #"""
            "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; chown -R $ANN:$ANN "$BACK"
            C=$SHARE/$CONTAINER
            is 'the container is made' 0 "$(run ann -- sh -c 'echo x >$HOME/tmp/f'; echo $?)"; "$A" backup layout container "$C"; sleep 1.1
            # An application that has no file open.
            (become -- sh -c 'cd /; echo ready; exec sleep 60' >"$T/said") & pid=$!
            await 'grep -q ready "$T/said"'
            said=$("$A" purge --older-than 1s "$C" 2>&1); is 'running' 1 $?
            holds 'running' "$said" 'aclfs sandbox run, in a view of this mount'; is 'it is there' x "$(cat "$C/tmp/f")"
            holds 'the status' "$("$A" status --json "$SHARE")" '"running_containers":[{"path":"/'"$CONTAINER"'"}]'
            kill $pid; wait $pid 2>/dev/null; settle 1
            # A mounted view, and a process that waits in it.
            mkdir "$T/view"; "$A" mount -o "sandbox=$P,bundle=$BUNDLE,home=/home" "$BACK" "$T/view" >/dev/null 2>&1; sleep 1.1
            (cd "$T/view/$CONTAINER/Documents" && exec sleep 60) & pid=$!; await 'grep -qx sleep /proc/$pid/comm'
            said=$("$A" purge --older-than 1s "$C" 2>&1); is 'a mounted view' 1 $?; holds 'a mounted view' "$said" "process $pid (sleep"
            kill $pid; wait $pid 2>/dev/null
            is 'nothing runs' 0 "$("$A" purge --older-than 1s "$C" >/dev/null 2>&1; echo $?)"; is 'it is gone' '' "$(ls "$C/tmp")"
            "$A" unmount "$T/view"
            # If root cannot learn whether a view is in use, nothing is removed.
            echo x >"$C/tmp/f"; chown $ANN "$C/tmp/f"; sleep 1.1
            # Its own alone: moving the directory would unmount those of other tests.
            socket=/run/aclfs/$(awk -v at="$SHARE" '$5 == at { print $3 }' /proc/self/mountinfo | tr : -).sock; mv "$socket" "$socket-away"
            said=$("$A" purge --older-than 1s "$C" 2>&1); is 'not known' 1 $?; holds 'not known' "$said" 'unknown whether a view uses it'
            mv "$socket-away" "$socket"; is 'known' 0 "$("$A" purge --older-than 1s "$C" >/dev/null 2>&1; echo $?)"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func nothingElseIsReached() throws {
        try run(
            #"""
            # Places that are no directories, or lead elsewhere.
            container "$S/one" ios; container "$S/out"; rm -r "$S/one/tmp" "$S/one/Library/Caches"
            ln -s ../out/tmp "$S/one/tmp"; ln -s ../../out/Library "$S/one/Library/Caches"
            # Deep, and with names of any bytes.
            container "$S/five" ios; (cd "$S/five/tmp"; for i in $(seq 300); do mkdir d && cd d; done; touch "$(printf 'n\n\377')")
            chown -R 501 "$S/five/tmp/d"
            # Another file system, and a mount below.
            container "$S/two" ios; mkdir "$S/two/Library/Caches/m"; for place in tmp Library/Caches/m; do
                mount -t tmpfs tmpfs "$S/two/$place"; touch "$S/two/$place/f"
            done
            # Of others, root removes nothing: bob declares a layout where alice lets him write attributes.
            container "$S/three"; chmod 777 "$S/three/tmp"; as 502 touch "$S/three/tmp/bobs"
            "$A" chmod +a 'user:502 allow writeextattr,readextattr' "$S/three"; as 502 "$A" backup layout ios "$S/three"
            # Entries and flags.
            container "$S/four" ios; "$A" chflags uchg "$S/four/tmp/f"
            "$A" chmod +a 'everyone deny delete_child,add_file' "$S/four/tmp/full"; "$A" chmod +a 'everyone deny delete' "$S/four/tmp/full/f"
            sleep 1.1; all=$(left "$S/out")
            is 'links' "removed 0 objects, 0 bytes, in 1 container" "$(purge --older-than 0s "$S/one")"; is 'out' "$all" "$(left "$S/out")"
            said=$(purge --older-than 0s "$S/two"); is 'mounts' 0 $?
            is 'what is mounted' "f m/f" "$(ls "$S/two/tmp") $(cd "$S/two/Library/Caches"; echo m/*)"; umount "$S/two/tmp" "$S/two/Library/Caches/m"
            is 'only alices' "${KEPT}tmp/bobs " "$(purge --older-than 1s "$S/three" >/dev/null; left "$S/three")"
            # What is not removed is named.
            said=$(as 501 "$A" purge --older-than 1s "$S/four" 2>&1); is 'refused' 1 $?
            holds 'a flag' "$said" "$S/four/tmp/f: Operation not permitted"; holds 'an entry' "$said" "$S/four/tmp/full/f: Permission denied"
            is 'four' "${KEPT}tmp/f tmp/full tmp/full/f " "$(left "$S/four" | sed 's, tmp/full/link,,')"
            said=$(purge --json --older-than 1s "$S/four"); holds 'json' "$said" '{"path":"'"$S"'/four/tmp/f","action":"failed","reason":"'
            is 'deep' 0 "$(status "$A" purge --older-than 1s "$S/five")"; is 'five' "$KEPT" "$(left "$S/five")"
            # What is no place for it.
            is 'not on a mount' 2 "$(status "$A" purge "$T/sbin")"; is 'a file' 2 "$(status "$A" purge "$S/one/Documents/f")"
            is 'missing' 2 "$(status "$A" purge "$S/none")"; is 'no path' 2 "$(status "$A" purge)"; is 'an age' 2 "$(status "$A" purge --older-than 3 "$S")"
            for age in -1d 1y d '' 99999999999999999999d; do is "the age $age" 2 "$(status "$A" purge "--older-than=$age" "$S")"; done
            """#)
    }

    @Test func theUnitRunsIt() throws {
        let unit = Repository.top.appendingPathComponent("mount-helpers/aclfs-purge@.service").path
        try run(
            #"""
            U='UNIT'; container "$S/one" ios; sleep 1.1
            # Its command, as systemd would run it.
            command=$(sed -n 's/^ExecStart=//p' "$U" | sed "s,/usr/bin/aclfs,$A,; s,%f,$S,"); ACLFS_PURGE_AGE=1s
            is 'the command' "removed 12 objects" "$(eval "$command" | sed 's/,.*//')"; is 'one' "$KEPT" "$(left "$S/one")"
            if command -v systemd-analyze >/dev/null; then
                mkdir "$T/units"; for u in service timer; do sed "s,/usr/bin/aclfs,$A,g" "${U%service}$u" >"$T/units/aclfs-purge@srv-share.$u"; done
                is 'systemd reads them' '' "$(systemd-analyze verify --man=no "$T/units/aclfs-purge@srv-share.timer" "$T/units/aclfs-purge@srv-share.service" 2>&1 | grep aclfs-purge)"
                sed -i 's/^Type=oneshot/Type=onshot/' "$T/units/aclfs-purge@srv-share.service"
                holds 'a wrong line' "$(systemd-analyze verify --man=no "$T/units/aclfs-purge@srv-share.service" 2>&1)" onshot
            fi
            """#.replacing("UNIT", with: unit))
    }

    @Test func theExamplesOfTheDocument() throws {
        let document = try DocumentExamples("docs/guide/backup.md")
        let purging = try #require(document.sections.first { $0.heading == "Purging" })
        #expect(purging.examples.count >= 4)
        try DocumentExamples.run(purging.examples, mountpoints: ["/srv/share"])
    }
}
