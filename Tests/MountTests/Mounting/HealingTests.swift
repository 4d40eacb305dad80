import TestSupport
import Testing

/// A dead mount is healed without a moment in which the path leads to what it covers.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct HealingTests {
    /// A user whom an entry denies the file asks for it in a loop, and tries to make another one in the bare directory.
    private static let setup = #"""
        cat >"$T/reader" <<'END'
        import errno, os, sys
        shared, begun, stop, found = sys.argv[1:]
        os.setgroups([]); os.setgid(61751); os.setuid(61751)
        seen = {}
        while not os.path.exists(stop):
            for name, flags in (("f", os.O_RDONLY), ("new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)):
                try:
                    descriptor = os.open(f"{shared}/{name}", flags, 0o600)
                    os.close(descriptor)
                    what = "opened " + name
                except OSError as error:
                    what = errno.errorcode[error.errno]
                seen[what] = seen.get(what, 0) + 1
            if len(begun) > 0: open(begun, "w").close(); begun = ""
        # All other errors say that the mount is dead, or is dying.
        for what in seen:
            if what.startswith("opened") or what in ("ENOENT", "EEXIST", "ENOTDIR"): print(what, seen[what])
        print("denied" if seen.get("EACCES") else "never denied")
        END
        install -d -m 777 "$T/scratch"
        reading() { rm -f "$T/scratch/"*; python3 "$T/reader" "$1" "$T/scratch/begun" "$T/scratch/stop" x >"$T/seen" 2>&1 & reader=$!
            for i in $(seq 1500); do [ -e "$T/scratch/begun" ] && return; sleep 0.02; done; echo 'no reader'; }
        # Called in a subshell, which has no children to wait for: the reader's last line tells that it has ended.
        seen() { touch "$T/scratch/stop"
            for i in $(seq 1500); do grep -qx 'denied\|never denied' "$T/seen" && break; sleep 0.02; done; cat "$T/seen"; }
        dead() { stat "$1" 2>&1 | grep -q 'not connected' && echo dead; }

        """#

    private func run(_ script: String) throws -> CommandResult { try MountNamespace().run(Self.setup + script) }

    /// - Parameter propagation: of the mount that the mount point lies on.
    @Test(arguments: ["over", "separate", "below", "handed"], ["private", "shared"])
    func nothingIsOpenWhileItIsHealed(_ how: String, _ propagation: String) throws {
        let result = try run(
            "how=\(how); rounds=\(MountTesting.isLong ? 100 : 5); mount --make-\(propagation) \"$T\"\n"
                + #"""
                S=$T/back M=$T/mnt; chmod 777 "$T/mnt"; chmod 755 "$T/back"; mkdir -p "$T/back/sub" "$T/other"
                case $how in over) M=$S ;; below) S=$T/back/sub M=$T/back; chmod 777 "$T/back" ;; esac
                echo secret >"$S/f"; chmod 644 "$S/f"
                mounting() { "$A" mount "$S" "$M" 2>&1 | grep -v 'can be reached directly'; }
                [ $how = handed ] && "$A" mount "$S" "$T/other" 2>/dev/null
                mounting; is 'who may not' 0 "$(status "$A" chmod +a 'user:61751 deny read' "$M/f")"
                reading "$M"
                for round in $(seq $rounds); do
                    kill_now $(kept "$M") $(kept "$T/other")
                    for i in $(seq 1500); do [ "$(dead "$M")" ] && break; sleep 0.02; done
                    [ $how = handed ] && "$A" mount "$S" "$T/other" 2>/dev/null
                    mounting
                    is "$round: it serves" secret "$(cat "$M/f" 2>&1)"; is "$round: one mount" 1 "$(mounted "$M")"
                done
                is 'what was seen' denied "$(seen)"
                is 'not busy' 0 "$("$A" unmount "$M" 2>&1; echo $?)"; is 'nothing stays' 0 "$(mounted "$M")"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// What fails, early or late, leaves the dead mount: closed, and one.
    @Test func aFailureLeavesItClosed() throws {
        let result = try run(
            #"""
            echo secret >"$T/back/f"; chmod 755 "$T/back"
            "$A" mount "$T/back" "$T/back"; "$A" chmod +a 'user:61751 deny read' "$T/back/f"
            reading "$T/back"; kill_daemon "$T/back"
            failing() { said=$("$A" mount -o "$1" "$T/back" "$T/back" 2>&1); is "$1" $2 $?; holds "$1" "$said" "$3"
                is "$1: it stays dead" dead "$(dead "$T/back")"; is "$1: one" 1 "$(mounted "$T/back")"; }
            for round in 1 2 3; do
                failing sandbox=/none.entitlements 32 none.entitlements
                failing audit=denied,audit_log=/nonexistent/log 32 audit_log
            done
            said=$("$A" mount "$T/none" "$T/back" 2>&1); is 'no source' 32 $?
            holds 'no source' "$said" "source $T/none: No such file or directory (ENOENT)"
            is 'it stays dead' dead "$(dead "$T/back")"
            is healed 0 "$("$A" mount "$T/back" "$T/back" 2>&1; echo $?)"; is served secret "$(cat "$T/back/f")"
            is 'what was seen' denied "$(seen)"
            "$A" unmount "$T/back"; is 'nothing stays' 0 "$(mounted "$T/back")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A command that is killed at any moment leaves a dead mount, or two: the next one heals both.
    @Test func aKilledHealingIsHealed() throws {
        let result = try run(
            #"""
            echo secret >"$T/back/f"; chmod 755 "$T/back"
            "$A" mount "$T/back" "$T/back"; "$A" chmod +a 'user:61751 deny read' "$T/back/f"
            reading "$T/back"
            for pause in 0 0.01 0.02 0.05 0.1; do
                kill_daemon "$T/back"
                "$A" mount -f "$T/back" "$T/back" 2>/dev/null & healing=$!; sleep $pause; 
                # A keeper may have made its daemon in the moment in between.
                while left=$(kill -0 $healing 2>/dev/null && echo $healing; kept "$T/back"); [ "$left" ]; do kill_now $left; wait $healing 2>/dev/null; done
                for i in $(seq 1500); do [ "$(dead "$T/back")" ] && break; sleep 0.02; done
                is "$pause: healed" 0 "$("$A" mount "$T/back" "$T/back" 2>&1; echo $?)"
                is "$pause: served" secret "$(cat "$T/back/f")"; is "$pause: one" 1 "$(mounted "$T/back")"
            done
            is 'what was seen' denied "$(seen)"
            "$A" unmount "$T/back"; is 'nothing stays' 0 "$(mounted "$T/back")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whereTheKernelCannotItIsSaid() throws {
        let result = try run(
            #"""
            echo text >"$T/back/f"; "$A" mount "$T/back" "$T/back"; kill_daemon "$T/back"
            said=$("$A" mount -o kernel_features=-beneath "$T/back" "$T/back" 2>&1); is mounted 0 $?
            holds 'it is said' "$said" "$T/back: the dead mount is unmounted before the new one is attached"
            holds why "$said" 'hidden by kernel_features'
            is served text "$(cat "$T/back/f")"; is one 1 "$(mounted "$T/back")"
            "$A" unmount "$T/back"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
