import Foundation
import TestSupport
import Testing

/// `aclfs unmount` returns when the daemon has closed the source, and with `-f` whatever the daemon does.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct UnmountTests {
    private func run(_ script: String) throws -> CommandResult { try MountNamespace().run(script) }

    /// - Parameter transport: by a ring the kernel takes the connection apart after the daemon's end.
    @Test(arguments: ["auto", "dev"])
    func theSourceIsFreeWhenItReturns(_ transport: String) throws {
        let result = try run(
            "options=transport=\(transport)\n"
                + #"""
                mkdir "$T/src"
                for round in 1 2 3 4 5 6; do
                    mount -t tmpfs -o mode=700 tmpfs "$T/src"; echo text >"$T/src/f"
                    "$A" mount -o $options "$T/src" "$T/mnt"
                    cat "$T/mnt/f" >/dev/null; echo more >>"$T/mnt/f"; ls -l "$T/mnt" >/dev/null
                    is "$round: unmount" 0 "$("$A" unmount "$T/mnt" 2>&1; echo $?)"
                    is "$round: the source" 0 "$(umount "$T/src" 2>&1; echo $?)"
                done
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A daemon that serves other mounts of the tree goes on, and is not waited for.
    @Test func aDaemonOfSeveralMountsIsNotWaitedFor() throws {
        let result = try run(
            #"""
            mkdir "$T/second"; echo text >"$T/back/f"
            "$A" mount "$T/back" "$T/mnt"; "$A" mount "$T/back" "$T/second"; served=$(daemon "$T/mnt")
            is 'the second' '0' "$("$A" unmount "$T/second" 2>&1; echo $?)"
            is 'the first goes on' text "$(cat "$T/mnt/f" 2>&1)"; is 'its daemon' "$served" "$(daemon "$T/mnt")"
            is 'the last' 0 "$("$A" unmount "$T/mnt" 2>&1; echo $?)"
            is 'it has ended' '' "$(daemon "$T/mnt")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Nor one whose mount is seen in a copy of the mount namespace.
    @Test func aMountThatIsHeldElsewhereIsNotWaitedFor() throws {
        let result = try run(
            #"""
            mount --make-rprivate /; echo text >"$T/back/f"; "$A" mount "$T/back" "$T/mnt"
            mkfifo "$T/go"; unshare -m --propagation private sh -c 'echo ready; cat "$1/go" >/dev/null; cat "$1/mnt/f"' x "$T" >"$T/said" & copy=$!
            for i in $(seq 1500); do [ -s "$T/said" ] && break; sleep 0.02; done
            is unmount '0' "$("$A" unmount "$T/mnt" 2>&1; echo $?)"; is 'here it is gone' 0 "$(mounted "$T/mnt")"
            echo >"$T/go"; wait $copy; is 'there it is not' 'ready text' "$(tr '\n' ' ' <"$T/said" | sed 's/ $//')"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// The daemon is stopped, a program waits for an answer, and a file is open. Over io_uring the kernel (Linux 6.18) does not end a
    /// request that a stopped daemon has not taken from its ring.
    @Test func aStoppedDaemonIsForced() throws {
        let result = try run(
            #"""
            echo text >"$T/back/f"; "$A" mount -o transport=dev "$T/back" "$T/mnt"; served=$(daemon "$T/mnt")
            "$A" mount "$T/back" "$T/mnt" 2>/dev/null; exec 5<"$T/mnt/f"
            kill -STOP $served
            cat "$T/mnt/none" >/dev/null 2>&1 & waiting=$!
            for i in $(seq 1500); do grep -qs 'fuse\|request_wait' "/proc/$waiting/wchan" && break; sleep 0.02; done
            ln -s "$T/mnt" "$T/link"
            said=$(timeout -s KILL 60 "$A" unmount -f "$T/link" 2>&1); is forced 0 $?
            holds 'who holds the source' "$said" "its daemon (process $served) still holds $T/back open"
            wait $waiting; is 'who waited goes on' 1 $?; is 'nothing stays' 0 "$(mounted "$T/mnt")"
            exec 5<&-; kill -CONT $served
            for i in $(seq 1500); do [ "$(daemon "$T/mnt")" ] || break; sleep 0.02; done; is 'it ends' '' "$(daemon "$T/mnt")"
            said=$("$A" unmount -f "$T/mnt" 2>&1); is 'not mounted' 32 $?; holds 'not mounted' "$said" 'nothing is mounted there'
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Its socket takes no more connections, which is no sign that nobody listens: the daemon of another mount namespace may serve the tree.
    @Test func aDaemonWhoseQueueIsFullHasNotEnded() throws {
        let result = try run(
            #"""
            unshare -m --propagation private sh -c '"$1" mount "$2/back" "$2/mnt"' sh "$A" "$T"; served=$(daemon "$T/mnt")
            is 'not mounted here' 0 "$(mounted "$T/mnt")"
            said=$("$A" strip "$T/back" 2>&1); is served 2 $?; holds served "$said" 'for processes in another mount namespace'
            kill -STOP $served
            python3 -c '
            import glob, socket, time
            held = []
            while True:
                s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.setblocking(False)
                try: s.connect(glob.glob("/run/aclfs/*.sock")[0])
                except BlockingIOError: break
                held.append(s)
            print("full", flush=True); time.sleep(1000)' >"$T/said" & filling=$!
            for i in $(seq 1500); do [ -s "$T/said" ] && break; sleep 0.02; done
            holds 'a warning' "$("$A" strip --offline "$T/back" 2>&1)" "a daemon of user 0 does not say whether it serves $T/back"
            kill $filling; wait $filling 2>/dev/null; kill -CONT $served; kill $served
            for i in $(seq 1500); do [ "$(daemon "$T/mnt")" ] || break; sleep 0.02; done
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// One that lives lets the source go, although a file is open and a working directory is there.
    @Test func aLivingDaemonIsForcedToo() throws {
        let result = try run(
            #"""
            mkdir "$T/src"; mount -t tmpfs -o mode=700 tmpfs "$T/src"; mkdir "$T/src/dir"; echo text >"$T/src/f"
            "$A" mount "$T/src" "$T/mnt"; exec 5<"$T/mnt/f"
            (cd "$T/mnt/dir"; exec sleep 1000) & inside=$!
            for i in $(seq 1500); do [ "$(readlink /proc/$inside/cwd)" = "$T/mnt/dir" ] && break; sleep 0.02; done
            said=$("$A" unmount "$T/mnt" 2>&1); is busy 32 $?; holds busy "$said" 'aclfs unmount -f'
            is forced 0 "$("$A" unmount -f "$T/mnt" 2>&1; echo $?)"; is 'nothing stays' 0 "$(mounted "$T/mnt")"
            exec 5<&-; kill $inside; wait $inside 2>/dev/null
            is 'the source' 0 "$(umount "$T/src" 2>&1; echo $?)"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Each way in which a process keeps a mount, named with the process, its command and its user.
    @Test func theHoldersAreNamed() throws {
        let result = try run(
            #"""
            cp "$(readlink -f "$(command -v sleep)")" "$T/back/tool"; echo text >"$T/back/f"; echo text >"$T/back/g"; mkdir "$T/back/dir" "$T/back/on"
            "$A" mount "$T/back" "$T/mnt"
            exec 5<"$T/mnt/f" 6<"$T/mnt/g"
            MAP='import mmap, os, sys, time; f = open(sys.argv[1]); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ);'
            MAP="$MAP os.closerange(3, 64); print(m[:4], flush=True); time.sleep(1000)"
            (exec 5<&- 6<&-; cd "$T/mnt/dir"; exec sleep 1000) & inside=$!
            (exec 5<&- 6<&-; exec "$T/mnt/tool" 1000) & program=$!
            (exec 5<&- 6<&-; exec python3 -c "$MAP" "$T/mnt/f") >"$T/said" & mapping=$!
            for i in $(seq 1500); do
                [ "$(readlink /proc/$inside/cwd)" = "$T/mnt/dir" ] && [ "$(readlink /proc/$program/exe)" = "$T/mnt/tool" ] && [ -s "$T/said" ] && break
                sleep 0.02
            done
            mount -t tmpfs tmpfs "$T/mnt/on"
            said=$(exec 5<&- 6<&-; "$A" unmount "$T/mnt" 2>&1); is busy 32 $?
            holds 'the way out' "$said" 'in use by what is listed below (aclfs unmount -f'
            holds 'open files' "$said" "process $$ (bash, root): open file $T/mnt/f and 1 more"
            holds 'working directory' "$said" "process $inside (sleep, root): working directory $T/mnt/dir"
            holds program "$said" "process $program (tool, root): program $T/mnt/tool and 1 more"
            holds mapping "$said" "process $mapping (python3, root): mapped file $T/mnt/f"
            holds 'a mount' "$said" "another mount on it: $T/mnt/on"
            is 'and nothing else' 6 "$(echo "$said" | grep -vc 'could not be examined')"
            umount "$T/mnt/on"; exec 5<&- 6<&-; kill $inside $program $mapping; wait $inside $program $mapping 2>/dev/null
            is 'then it goes' 0 "$("$A" unmount "$T/mnt" 2>&1; echo $?)"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// An ordinary user sees its own processes and how many are hidden.
    @Test func anOrdinaryUserSeesItsOwnHolders() throws {
        let result = try run(
            UserMountTests.setup
                + #"""
                zed "$A" mount "$T/zed/back" "$T/mnt" 2>/dev/null
                zed sh -c 'cd "$1"; exec sleep 1000' sh "$T/mnt" 2>/dev/null & waiting=$!
                for i in $(seq 1500); do
                    inner=$(cat /proc/$waiting/task/*/children 2>/dev/null | tr -d ' '); grep -qs sleep "/proc/$inner/comm" && break; sleep 0.02
                done
                said=$(zed "$A" unmount "$T/mnt" 2>&1); is busy 32 $?
                holds 'its own' "$said" "process $inner (sleep, zed): working directory $T/mnt"
                holds 'others' "$said" 'processes that could not be examined: '; holds 'others' "$said" '; root sees them'
                kill $inner; wait $waiting 2>/dev/null; is 'then it goes' 0 "$(zed "$A" unmount "$T/mnt" 2>&1; echo $?)"
                rm -rf /tmp/aclfs-61743
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A thread of the daemon sleeps in the kernel, where no signal reaches it: the file system below is frozen.
    @Test(.enabled(if: LoopTesting.isPossible, "needs loop devices and mkfs.ext4"), arguments: ["auto", "off"])
    func aThreadThatSleepsInTheKernelIsNotInTheWay(_ passthrough: String) throws {
        let fixture = try MountFixture(options: nil)
        let loop = try LoopFileSystem(image: fixture.top + "/image", at: fixture.backing, options: ["-b", "4096"])
        try fixture.mount("passthrough=" + passthrough)
        let served = try #require(MountFixture.daemons(of: fixture.mountpoint).first)
        let tasks = "/proc/\(served)/task"
        func isAsleep() throws -> Bool {
            try FileManager.default.contentsOfDirectory(atPath: tasks).contains { task in
                ProcFile.text("\(tasks)/\(task)/stat").split(separator: ")").last?.hasPrefix(" D") == true
            }
        }
        #expect(try Spawn.run(["fsfreeze", "-f", loop.directory]).status == 0)
        defer { _ = try? Spawn.run(["fsfreeze", "-u", loop.directory]) }
        let making = try Process.run(URL(fileURLWithPath: "/bin/mkdir"), arguments: [fixture.path("new")])
        #expect(try eventually { try isAsleep() })
        let result = try Spawn.run(["timeout", "-s", "KILL", "60", MountTesting.program("aclfs"), "unmount", "-f", fixture.mountpoint])
        #expect(result.status == 0, "\(result)")
        #expect(result.output.contains("its daemon (process \(served)) still holds \(fixture.backing) open"), "\(result)")
        #expect(!MountFixture.isMounted(fixture.mountpoint))
        making.waitUntilExit()
        #expect(making.terminationStatus == 1)
    }

    @Test func anOrdinaryUserForcesTheMountThatIsTheUsers() throws {
        let result = try run(
            UserMountTests.setup
                + #"""
                zed "$A" mount "$T/zed/back" "$T/mnt" 2>/dev/null; served=$(daemon "$T/mnt"); kill -STOP $served
                is 'another user' 32 "$(status other "$A" unmount -f "$T/mnt")"; is 'it stays' 1 "$(mounted "$T/mnt")"
                said=$(zed timeout -s KILL 60 "$A" unmount -f "$T/mnt" 2>&1); is forced 0 $?
                is 'nothing stays' 0 "$(mounted "$T/mnt")"
                kill -CONT $served; rm -rf /tmp/aclfs-61743
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Mounting walks to the mount point as root, whom another aclfs mount knows by the file-system user id alone.
    @Test func rootMountsBelowAClosedDirectoryOfAMount() throws {
        let result = try run(
            #"""
            mkdir "$T/inner"; chmod 700 "$T/inner"; echo text >"$T/inner/f"
            "$A" mount "$T/back" "$T/mnt"; mkdir -p "$T/mnt/closed/in"; chmod 700 "$T/mnt/closed"
            is mount 0 "$("$A" mount "$T/inner" "$T/mnt/closed/in" 2>&1; echo $?)"
            is served text "$(cat "$T/mnt/closed/in/f" 2>&1)"
            kill_daemon "$T/mnt/closed/in"
            is healed 0 "$("$A" mount "$T/inner" "$T/mnt/closed/in" 2>&1; echo $?)"
            is 'served again' text "$(cat "$T/mnt/closed/in/f" 2>&1)"
            kill $(daemon "$T/mnt/closed/in")
            for i in $(seq 1500); do [ "$(mounted "$T/mnt/closed/in")" = 0 ] && break; sleep 0.02; done
            is 'by a signal' 0 "$(mounted "$T/mnt/closed/in")"
            "$A" mount "$T/inner" "$T/mnt/closed/in"; is unmount 0 "$("$A" unmount "$T/mnt/closed/in" 2>&1; echo $?)"
            "$A" unmount "$T/mnt"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
