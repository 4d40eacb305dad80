import Foundation
import TestSupport
import Testing

/// Mounts of another user whose servers do not answer: no other user waits for them.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxOtherUserTests {
    private func run(_ script: String) throws -> CommandResult {
        try SandboxRunScript.run(
            SandboxSocketTests.users + #"""
                mkdir "$T/his" "$T/other" "$T/home" "$T/home/sub"; chown -R $ZED:$ZED "$T/his" "$T/other" "$T/home"; chmod 700 "$T/his" "$T/other"
                # finishes NAME COMMAND… : what it says is in said.
                finishes() { local name=$1; shift; rm -f "$T/over"; ("$@" >"$T/said" 2>&1; echo $? >"$T/over") & await '[ -s "$T/over" ]'; [ -s "$T/over" ] || echo "$name hangs"; }
                stop() { stopped=$(daemon "$1"); is 'it is served' 1 "$(echo "$stopped" | wc -w)"; kill -STOP $stopped; }
                go_on() { kill -CONT $stopped; wait; }

                """# + script)
    }

    private static let mounted = #"""
        "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; treasures

        """#

    /// The table of mounts does not tell that the outer one was mounted later.
    @Test(arguments: ["ann", "as_root"], ["", "-o allow_other"])
    func overAMountOfAnotherUser(_ who: String, _ options: String) throws {
        let result = try run(
            Self.mounted
                + #"""
                zed "$A" mount OPTIONS "$T/his" "$T/home/sub" 2>/dev/null; is 'the inner' 0 $?
                zed "$A" mount -o allow_other "$T/other" "$T/home" 2>/dev/null; is 'the outer' 0 $?
                stop "$T/home"
                finishes 'it' run WHO -- echo ran; is 'it runs' ran "$(cat "$T/said")"
                go_on
                is 'neither is seen' '' "$(run WHO -- find "$T/home" -mindepth 1 2>/dev/null)"
                settle 1; zed fusermount3 -u "$T/home"; zed fusermount3 -u "$T/home/sub"
                """#.replacing("OPTIONS", with: options).replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// What such a mount hides is moved away by another path, as what anything else hides: a mount that has died, a directory that is
    /// closed, a mount of that user that has to be closed because it bears the share, too.
    @Test(
        arguments: ["ann", "as_root"],
        ["his", "dead", "closed", "bearing"].flatMap { how in ["BACK", "SHARE"].map { (how, $0) } })
    func overAPlaceOfTheShare(_ who: String, _ hiding: (how: String, what: String)) throws {
        let result = try run(
            Self.mounted
                + #"""
                mkdir -p "$T/home/b/m" "$T/second" "$T/q"; chmod 777 "$T/home" "$T/home/b" "$T/q"; mount --bind "$T" "$T/second"
                mount --bind "WHAT" "$T/home/b/m"; chown $ZED:$ZED "$T/home"
                case HOW in
                    his) zed "$A" mount "$T/his" "$T/home" 2>/dev/null ;;
                    dead) "$A" mount "$T/his" "$T/home" 2>/dev/null; killed=$(daemon "$T/home"); kill_now $(kept "$T/home"); await '! [ -d /proc/$killed ]' ;;
                    closed) mount -t tmpfs -o mode=700 tmpfs "$T/home" ;;
                    bearing) mkdir "$T/his/s"; chmod 755 "$T/his" "$T/his/s"; zed "$A" mount -o allow_other "$T/his" "$T/home" 2>/dev/null; mount --bind "$SHARE" "$T/home/s" ;;
                esac
                is 'it is hidden' 0 $?
                holds 'it is named' "$(run WHO -- sh -c "mv $T/second/home/b $T/second/q/b; cat $T/q/b/m/secret" 2>&1)" "$T/home/b/m shows the share or its backing directory and is hidden"
                umount -l "$T/home"; is 'seen, it is covered' '' "$(run WHO -- sh -c "mv $T/second/home/b $T/second/q/b; cat $T/q/b/m/secret" 2>/dev/null)"
                settle 1
                """#.replacing("HOW", with: hiding.how).replacing("WHO", with: who).replacing("WHAT", with: "$" + hiding.what))
        #expect(result.output == "done", "\(result)")
    }

    @Test(arguments: ["ann", "as_root"], ["$Z", "/run/user/$ZED"])
    func overTheControlSocketsOfThatUser(_ who: String, _ place: String) throws {
        let result = try run(
            #"""
            mount -t tmpfs -o mode=755 tmpfs /run; mkdir -p "/run/user/$ZED"; chown $ZED:$ZED "/run/user/$ZED"
            """# + "\n" + Self.mounted
                + #"""
                zed "$A" mount -o allow_other "$T/his" "$T/home" 2>/dev/null; is 'his mount' 0 $?
                zed "$A" mount -o allow_other "$T/other" "PLACE" 2>/dev/null; is 'over it' 0 $?
                stop "PLACE"
                finishes 'run' run WHO -- echo ran; is 'it runs' ran "$(cat "$T/said")"
                finishes 'list' WHO "$A" sandbox list
                finishes 'grant list' WHO "$A" sandbox grant list
                go_on; settle 1; zed fusermount3 -u "PLACE"; zed fusermount3 -u "$T/home"
                """#.replacing("PLACE", with: place).replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// In which each sandbox looks for devices.
    @Test(arguments: ["ann", "as_root"]) func inDev(_ who: String) throws {
        let result = try run(
            Self.mounted
                + #"""
                command -v python3 >/dev/null || { echo 'python3 is missing'; exit; }
                mount -t tmpfs -o mode=1777 tmpfs /dev/shm; mkdir -p /dev/shm/home/sub; mount -t tmpfs tmpfs /dev/shm/home/sub
                # Not even the kernel's first question is answered.
                python3 -c 'import ctypes, os, sys, time
                device = os.open("/dev/fuse", os.O_RDWR)
                words = f"fd={device},rootmode=40000,user_id={sys.argv[1]},group_id={sys.argv[1]},allow_other"
                if ctypes.CDLL(None).mount(b"silent", b"/dev/shm/home", b"fuse", 0, words.encode()) == 0: print("ready", flush=True)
                time.sleep(1000)' $ZED >"$T/silent" & silent=$!
                await 'grep -q ready "$T/silent"'
                finishes 'it' run WHO -- echo ran; is 'it runs' ran "$(cat "$T/said")"
                { kill -9 $silent; wait; } 2>/dev/null; umount -l /dev/shm/home; umount /dev/shm/home/sub; umount /dev/shm; settle 1
                """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// The other user was first in /tmp.
    @Test func whereHerControlSocketsWouldLie() throws {
        let result = try run(
            #"""
            zed mkdir "$D"; zed "$A" mount -o allow_other "$T/other" "$D" 2>/dev/null; is 'his mount' 0 $?
            stop "$D"
            finishes 'mount' ann "$A" mount "$BACK" "$SHARE"; is 'it is refused' 2 "$(cat "$T/over")"
            holds 'why' "$(cat "$T/said")" "$D is a mount that another user serves"
            mkdir -m 700 "$T/hers"; chown $ANN:$ANN "$T/hers"; export XDG_RUNTIME_DIR=$T/hers
            finishes 'mount elsewhere' ann "$A" mount "$BACK" "$SHARE"; is 'it is mounted' home "$(ann ls "$SHARE" | grep home)"
            finishes 'status' ann "$A" status "$SHARE"
            finishes 'run' run ann -- echo ran; is 'it runs' ran "$(cat "$T/said")"
            go_on; settle 1; ann fusermount3 -u -z "$SHARE"; zed fusermount3 -u "$D"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// However many there are: each is looked at twice and not once for each of the others. System calls are counted, since time tells of other
    /// programs, too.
    @Test(.enabled(if: CrashTesting.isPossible, "needs strace that may trace")) func overManyMounts() throws {
        let result = try run(
            Self.mounted + #"""
                zed "$A" mount "$T/his" "$T/home" 2>/dev/null; is 'his mount' 0 $?
                traced() { strace -f -qq -c -o "$T/calls" "$ACT" $ANN $ANN - -- "$@"; }
                calls() { run traced -- true; awk '$NF == "total" { print $4 }' "$T/calls"; }
                more() { for i in $(seq $1 $2); do mkdir "$T/many$i"; mount --bind "$T/home" "$T/many$i"; done; }
                few=$(calls); more 1 100; some=$(calls); more 101 200; many=$(calls)
                is "$few calls, with 100 more mounts $some, with 200 $many" yes \
                    "$([ "$few" -gt 100 ] && [ "$some" -gt "$few" ] && [ $((many - some)) -lt $(((some - few) * 5 / 4 + 100)) ] && echo yes)"
                is 'none is seen' '' "$(run ann -- sh -c "ls $T/many1 $T/many200" 2>&1 | grep -v : | xargs)"
                settle 1; for i in $(seq 200); do umount "$T/many$i"; done; zed fusermount3 -u "$T/home"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A file is replaced, and what is mounted on it falls; not so the top of a file system.
    @Test(arguments: ["ann", "as_root"]) func aFileWithAMountOfAnotherUserStopsNoSandbox(_ who: String) throws {
        let result = try run(
            Self.mounted
                + #"""
                zed touch "$T/his/f"; chmod 755 "$T/his"
                (exec "$ACT" $ZED $ZED - -- "$ESCAPE" unserved "$T/his/f" subtype=aclfs,allow_other) & server=$!; await 'grep -q " $T/his/f " /proc/self/mounts'
                is 'it runs' ran "$(run WHO -- echo ran 2>&1)"
                is 'covered, it is not asked' '' "$(run WHO -- timeout 20 cat "$T/his/f" 2>/dev/null; [ $? != 124 ] || echo 'it is waited for')"
                # What stands on its top stays as well.
                mount --bind /dev/null "$T/his/f"; is 'hidden' ran "$(run WHO -- echo ran 2>&1)"; umount "$T/his/f"
                kill $server; wait 2>/dev/null; umount -l "$T/his/f"; settle 1
                """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// Only that user could confine a command on it.
    @Test(arguments: ["ann", "as_root"]) func aMountOfAnotherUserIsNeverMeant(_ who: String) throws {
        let result = try run(
            Self.mounted
                + #"""
                cd /; zed "$A" mount -o allow_other "$T/his" "$T/home" 2>/dev/null; is 'his mount' 0 $?
                is 'it is seen' sub "$(mkdir "$T/his/sub"; ls "$T/home" | grep sub)"
                unnamed() { WHO "$A" sandbox run "$P" -- "$@"; }
                is 'it runs' "Operation not permitted" "$(unnamed cat "$SHARE/secret" 2>&1 | sed 's/.*: //')"
                stop "$T/home"
                finishes 'it' unnamed echo ran; is 'nobody asks him' ran "$(cat "$T/said")"
                go_on; settle 1; "$A" unmount "$SHARE"
                finishes 'his alone' unnamed true; is 'status' 2 "$(cat "$T/over")"
                holds 'his alone' "$(cat "$T/said")" "no aclfs mount that root or you mounted is visible here"
                zed fusermount3 -u "$T/home"
                """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }
}
