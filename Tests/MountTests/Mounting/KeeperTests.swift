import TestSupport
import Testing

/// A daemon that dies is replaced by its keeper. The mount is closed to everybody until the new one answers.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct KeeperTests {
    private static let setup = #"""
        # The kernel answers stat(2) by itself for a while, statfs(2) never.
        answers() { for i in $(seq 1000); do [ "$(mounted "$1")$(mounted "$(dirname "$1")")" != 00 ] && break; sleep 0.01; done
            for i in $(seq 1000); do timeout 5 stat -f "$1" >/dev/null 2>&1 && return; sleep 0.01; done; echo "$1 does not answer"; }
        # Kills the daemon alone, and waits for the next one.
        die() {
            old=$(daemon "$1"); kill -${2:-KILL} $old
            for i in $(seq 1000); do new=$(daemon "$1"); [ "$new" ] && [ "$new" != "$old" ] && break; sleep 0.01; done
            answers "$1"
        }
        dead() { stat -f "$1" 2>&1 | grep -q 'not connected' && echo dead; }
        await_dead() { for i in $(seq 1000); do [ "$(dead "$1")" ] && return; sleep 0.01; done; echo "$1 is not dead"; }

        """#

    private func run(_ script: String) throws {
        let result = try MountNamespace().run(Self.setup + script)
        #expect(result.output == "done", "\(result)")
    }

    /// Twice in a row, by every signal of a crash, for a user who is denied as for one who is not; what remounts changed stays. In the same
    /// connection, and where the kernel sends no request again.
    @Test(arguments: ["", "-okernel_features=-resend"]) func aDeadDaemonIsReplaced(_ words: String) throws {
        try run(
            #"""
            echo text >"$T/back/f"; chmod 755 "$T/back"; chmod 644 "$T/back/f"
            "$A" mount $1 "$T/back" "$T/back" 2>/dev/null; M=$T/back
            "$A" chmod +a 'user:61751 deny read' "$M/f"; mount -o remount,securelevel=1 "$M"
            cat >"$T/reader" <<'END'
            import os, sys
            path, stop = sys.argv[1:]
            os.setgroups([]); os.setgid(61751); os.setuid(61751)
            opened = 0
            while not os.path.exists(stop):
                try: os.close(os.open(path, os.O_RDONLY)); opened += 1
                except OSError: pass
            print("opened", opened)
            END
            python3 "$T/reader" "$M/f" "$T/stop" >"$T/seen" & reader=$!
            keeper=$(kept "$M" | grep -vxF "$(daemon "$M")"); is 'a keeper and a daemon' 2 "$(kept "$M" | wc -l)"
            for signal in KILL KILL ABRT SEGV; do
                die "$M" $signal
                is "$signal: served" text "$(cat "$M/f")"; is "$signal: one mount" 1 "$(mounted "$M")"
                is "$signal: the keeper" "$keeper" "$(kept "$M" | grep -vxF "$(daemon "$M")")"
                holds "$signal: remounted" "$("$A" status "$M")" securelevel=1
            done
            # What remounts have changed is not said again with each death.
            memory=$(ls -l /proc/$keeper/fd 2>/dev/null | sed -n 's,.* \([0-9]*\) -> /memfd:aclfs-kept.*,\1,p')
            is 'the state does not grow' yes "$([ "$(grep -ao securelevel= /proc/$keeper/fd/$memory | wc -l)" -le 2 ] && echo yes)"
            holds 'the status' "$("$A" status "$M")" "daemon: process $(daemon "$M"), deaths survived 4, longest wait"
            holds 'for programs' "$("$A" status --json "$M")" '"deaths":4,'
            touch "$T/stop"; wait $reader; is 'who is denied' 'opened 0' "$(cat "$T/seen")"
            mount -o remount,ro "$M"; die "$M"; is 'read-only' 1 "$(status touch "$M/new")"; holds ro "$(options "$M")" ro,
            is unmounted 0 "$("$A" unmount "$M" 2>&1; echo $?)"; is 'both have ended' '' "$(kept "$M")"; is 'nothing is left' 0 "$(mounted "$M")"
            """#.replacing("$1", with: words))
    }

    /// All mounts of a daemon, with their options; also after a kill in the middle of the replacement.
    @Test func allItsMountsAreServed() throws {
        try run(
            #"""
            mkdir "$T/other" "$T/back/sub" "$T/third"; echo text >"$T/back/sub/f"
            "$A" mount "$T/back" "$T/mnt"; "$A" mount -o noexec "$T/back" "$T/other"; "$A" mount -o ro "$T/back/sub" "$T/third"
            is 'one daemon' 1 "$(daemon "$T/mnt" | wc -l)"; is 'of all' '' "$(daemon "$T/other")"
            # For a moment the keeper is alone.
            child() { kept "$T/mnt" | grep -vxF "$keeper"; }; keeper=$(kept "$T/mnt" | grep -vxF "$(daemon "$T/mnt")")
            for pause in - 0.005 0.01 0.02; do
                die "$T/mnt"
                [ $pause = - ] || { kill -9 $(child); sleep $pause; kill -9 $(child) 2>/dev/null; }
                for m in mnt other third; do answers "$T/$m"; done
                is "$pause: the first" text "$(cat "$T/mnt/sub/f")"; is "$pause: the second" text "$(cat "$T/other/sub/f")"
                is "$pause: the third" text "$(cat "$T/third/f")"; is "$pause: ro" 1 "$(status touch "$T/third/new")"
                holds "$pause: noexec" "$(options "$T/other")" noexec
                is "$pause: one" '1 1 1' "$(mounted "$T/mnt") $(mounted "$T/other") $(mounted "$T/third")"
                # No more than five in a minute.
                [ $pause != 0.005 ] || { for m in mnt other third; do "$A" unmount "$T/$m"; done
                    "$A" mount "$T/back" "$T/mnt"; "$A" mount -o noexec "$T/back" "$T/other"; "$A" mount -o ro "$T/back/sub" "$T/third"
                    keeper=$(kept "$T/mnt" | grep -vxF "$(daemon "$T/mnt")"); }
            done
            for m in other mnt third; do is "$m is unmounted" 0 "$("$A" unmount "$T/$m" 2>&1; echo $?)"; done
            is 'both have ended' '' "$(kept "$T/mnt")"
            """#.replacing(
                "for pause in - 0.005 0.01 0.02", with: MountTesting.isLong ? "for pause in - 0.005 0.01 0.02" : "for pause in - 0.005"))
    }

    /// A thread that sleeps in the kernel keeps the device open: the keeper does not wait for it, and its callers are freed.
    @Test func aSleepingThreadHoldsNobody() throws {
        let result = try MountNamespace().run(
            HeldFile.prelude + Self.setup
                + #"""
                backing ext4; "$A" mount "$B" "$T/mnt"; F=$T/mnt/dir/held
                hold direct "$F"; try setfattr setfattr -n user.x -v y "$F"
                for i in $(seq 1000); do grep -qs '^State:.D' /proc/$(daemon "$T/mnt")/task/*/status && break; sleep 0.01; done
                die "$T/mnt"; tried setfattr 'status 1'
                timeout 20 mkdir "$T/mnt/other/new" || echo "mkdir: $?"; is 'held still' 1 "$(status timeout 20 setfattr -n user.x -v y "$F")"
                go_on
                for i in $(seq 500); do timeout 20 setfattr -n user.x -v z "$F" 2>/dev/null && break; sleep 0.02; done
                holds 'changed' "$(getfattr --only-values -n user.x "$F" 2>/dev/null)" z
                is unmounted 0 "$("$A" unmount "$T/mnt" 2>&1; echo $?)"; is 'all have ended' '' "$(kept "$T/mnt")"
                "$A" unmount "$T/slow"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// More deaths in a minute than the option says, and what asks for none: the mount is dead and closed, and can be mounted again.
    @Test func thereIsAnEnd() throws {
        try run(
            #"""
            echo text >"$T/back/f"
            "$A" mount -f -o restarts=2 "$T/back" "$T/mnt" 2>"$T/said" & front=$!; answers "$T/mnt/f"
            die "$T/mnt"; die "$T/mnt"; is 'after two' text "$(cat "$T/mnt/f")"
            kill -9 $(daemon "$T/mnt"); wait $front; is 'its status' 2 $?; await_dead "$T/mnt"; is 'no process' '' "$(kept "$T/mnt")"
            holds 'it is said' "$(cat "$T/said")" 'died more than 2 times in a minute (restarts=2)'
            holds 'each death' "$(cat "$T/said")" 'died by signal 9 (Killed); death 2'
            "$A" mount -o restarts=0 "$T/back" "$T/mnt"; is 'served again' text "$(cat "$T/mnt/f")"
            is 'no keeper' 1 "$(kept "$T/mnt" | wc -l)"; kill -9 $(daemon "$T/mnt"); await_dead "$T/mnt"; "$A" unmount "$T/mnt"
            is 'too many' 1 "$(status "$A" mount -o restarts=100 "$T/back" "$T/mnt")"
            """#)
    }

    /// Where no mount can be put beneath a dead one, the dead one stays.
    @Test func whereItCannotBeReplacedItStaysDead() throws {
        try run(
            #"""
            echo secret >"$T/back/f"; chmod 755 "$T/back"; chmod 644 "$T/back/f"
            "$A" mount -f -o kernel_features=-beneath:-resend "$T/back" "$T/back" 2>"$T/said" & front=$!
            answers "$T/back/f"
            kill -9 $(daemon "$T/back"); wait $front; await_dead "$T/back"
            is 'closed' 1 "$(status cat "$T/back/f")"; is 'one mount' 1 "$(mounted "$T/back")"
            holds 'it is said' "$(cat "$T/said")" 'the mount stays dead, and closed to everybody, until it is mounted again'
            "$A" unmount "$T/back"
            """#)
    }

    /// The program that is there at the death is run; if there is none, the one that ran before.
    @Test func theProgramAtTheTimeOfTheDeath() throws {
        try run(
            #"""
            mkdir "$T/own"; cp "$A" "${A}d" "$T/own/"; echo text >"$T/back/f"; "$T/own/aclfs" mount "$T/back" "$T/mnt"; D=$T/own/aclfsd
            started() { kill -9 $(daemon "$T/mnt" "$1"); sleep 0.1; for i in $(seq 500); do [ "$(daemon "$T/mnt" "$2")" ] && break; sleep 0.01; done; answers "$T/mnt/f"; }
            cp "$D" "$T/own/new"; mv "$T/own/new" "$D"; started "$D (deleted)" "$D"
            is 'the new program' text "$(cat "$T/mnt/f")"; is 'is run' "$D" "$(readlink /proc/$(daemon "$T/mnt" "$D")/exe)"
            rm "$D"; started "$D (deleted)" "$D (deleted)"; is 'the old program' text "$(cat "$T/mnt/f")"
            "$A" unmount "$T/mnt"; cp "${A}d" "$D"
            "$T/own/aclfs" mount -f "$T/back" "$T/mnt" 2>"$T/said" & front=$!; answers "$T/mnt/f"; chmod -x "$D"
            kill -9 $(daemon "$T/mnt" "$D"); wait $front 2>/dev/null; await_dead "$T/mnt"
            holds 'it cannot be run' "$(cat "$T/said")" "the daemon died, and $D cannot be run: Permission denied"; "$A" unmount "$T/mnt"
            """#)
    }

    /// What is mounted on a dead mount hides something, too: it is not taken away with it.
    @Test func aMountWithAnotherOneOnItStaysDead() throws {
        try run(
            #"""
            mkdir "$T/back/sub"; echo hidden >"$T/back/sub/f"; chmod 755 "$T/back" "$T/back/sub"
            "$A" mount -f "$T/back" "$T/mnt" 2>"$T/said" & front=$!; answers "$T/mnt/sub"; mount -t tmpfs -o mode=700 none "$T/mnt/sub"
            kill -9 $(daemon "$T/mnt"); wait $front 2>/dev/null; await_dead "$T/mnt"; is 'hidden still' 1 "$(status cat "$T/mnt/sub/f")"
            holds 'it is said' "$(cat "$T/said")" "something is mounted on it ($T/mnt/sub)"; umount -l "$T/mnt"
            """#)
    }

    /// The path leads to the dead mount, and what ran before lies beneath it. Nobody waits for the dead mount.
    @Test func aProgramOnItsOwnMount() throws {
        try run(
            #"""
            cp "$A" "${A}d" "$T/back/"; chmod 755 "$T/back"; "$T/back/aclfs" mount "$T/back" "$T/back" 2>/dev/null; answers "$T/back/aclfs"
            old=$(daemon "$T/back" "$T/back/aclfsd"); kill -9 $old
            for i in $(seq 1000); do [ -d /proc/$old ] || break; sleep 0.01; done
            answers "$T/back"; timeout 20 "$A" unmount "$T/back"; is 'unmounted' 0 $?
            """#)
    }

    /// What a remount allows again stays allowed, a source is free when its mount has ended, and no standard descriptor is needed.
    @Test func afterADeathAllIsAsBefore() throws {
        try run(
            #"""
            "$A" mount -o ro,noexec,noatime "$T/back" "$T/mnt" <&- >&- 2>&-; mkdir "$T/back/below" "$T/second"; mount -t tmpfs none "$T/back/below"
            "$A" mount "$T/back/below" "$T/second"; mount -o remount,rw,exec,atime "$T/mnt"; before=$(options "$T/mnt")
            die "$T/mnt"; answers "$T/second"; is 'its options' "$before" "$(options "$T/mnt")"; is 'writable' 0 "$(status touch "$T/mnt/f")"
            is 'one has ended' 0 "$("$A" unmount "$T/second" 2>&1; echo $?)"; is 'its source is free' 0 "$(umount "$T/back/below" 2>&1; echo $?)"
            # A signal to end that comes when the daemon has just died is not lost.
            d=$(daemon "$T/mnt"); k=$(kept "$T/mnt" | grep -vxF "$d"); kill -STOP $k; kill -9 $d; kill $k; kill -CONT $k
            for i in $(seq 1000); do [ "$(kept "$T/mnt")$(mounted "$T/mnt")" = 0 ] && break; sleep 0.01; done
            is 'both have ended' '' "$(kept "$T/mnt")"; is 'unmounted' 0 "$(mounted "$T/mnt")"
            # Another namespace has another program at the same path.
            unshare -m --propagation private sleep 100 & other=$!
            for i in $(seq 100); do [ "$(readlink /proc/$other/ns/mnt)" != "$(readlink /proc/self/ns/mnt)" ] && break; sleep 0.02; done
            "$T/sbin/mount.aclfs" "$T/back" "$T/mnt" -N /proc/$other/ns/mnt; is 'no keeper there' 1 "$(kept "$T/mnt" | wc -l)"
            nsenter -m -t $other umount "$T/mnt"; kill $other
            for i in $(seq 1000); do [ "$(kept "$T/mnt")" ] || break; sleep 0.01; done; is 'it has ended' '' "$(kept "$T/mnt")"
            """#)
    }

    /// Signals to either of the two end both, and unmount.
    @Test(arguments: ["keeper", "daemon", "both"]) func signalsEndBoth(_ whom: String) throws {
        try run(
            #"""
            "$A" mount -f "$T/back" "$T/mnt" 2>/dev/null & front=$!; answers "$T/mnt"; for i in $(seq 500); do "$A" status "$T/mnt" >/dev/null 2>&1 && break; sleep 0.02; done
            case WHOM in keeper) kill $front ;; daemon) kill $(daemon "$T/mnt") ;; both) kill -INT $front $(daemon "$T/mnt") ;; esac
            wait $front; is 'its status' 0 $?; is 'unmounted' 0 "$(mounted "$T/mnt")"; is 'both have ended' '' "$(kept "$T/mnt")"
            """#.replacing("WHOM", with: whom))
    }

    /// What a caller may hand over as a dead daemon's state.
    @Test func aForeignStateIsRefused() throws {
        try run(
            #"""
            holds 'no number' "$("${A}d" keep x 2>&1)" 'use aclfs mount'; holds 'none' "$("${A}d" keep 2>&1)" 'use aclfs mount'
            holds 'not open' "$("${A}d" keep 77 2>&1)" 'descriptor 77 is not the state'
            holds 'a file' "$("${A}d" keep 7 7<"$T/fstab" 2>&1)" 'descriptor 7 is not the state'
            cat >"$T/forge" <<'END'
            import os, struct, sys
            program, name, size, head = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
            memory = os.memfd_create(name, 0); os.ftruncate(memory, size)
            os.pwrite(memory, head.encode() + b"\0" * (8 - len(head)), 0)
            if len(sys.argv) > 5: os.pwrite(memory, struct.pack("<I", int(sys.argv[5])), 8)
            if len(sys.argv) > 6: os.pwrite(memory, os.urandom(4096), 4096); os.pwrite(memory, struct.pack("<i", 99), 4096 - 2000)
            os.execv(program, [program, "keep", str(memory)])
            END
            whole=$((4096 + 2 * 1048576))
            forged() { python3 "$T/forge" "${A}d" "$@" 2>&1; }
            holds 'another name' "$(forged other $whole aclfskpt 2)" 'is not the state'
            holds 'cut' "$(forged aclfs-kept 4096 aclfskpt 2)" 'is not the state'; holds 'longer' "$(forged aclfs-kept 9999999 aclfskpt 2)" 'is not the state'
            holds 'no mark' "$(forged aclfs-kept $whole nonsense 1)" 'is damaged'
            holds 'newer' "$(forged aclfs-kept $whole aclfskpt 3)" 'has version 3, and this program understands 2'
            holds 'empty' "$(forged aclfs-kept $whole aclfskpt 2)" 'is damaged'
            for i in 1 2 3; do holds 'random' "$(forged aclfs-kept $whole aclfskpt 2 random)" 'the state that the daemon left'; done
            """#)
    }
}
