import Foundation
import TestSupport
import Testing

/// What `aclfs sandbox run` starts, with what, and on which systems.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxRunStartTests {
    private func run(_ script: String) throws -> CommandResult {
        try SandboxRunScript.run(#""$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; treasures"# + "\n" + script)
    }

    /// A directory of PATH that the view refuses, or that is closed to the caller, is passed over.
    @Test(arguments: ["ann", "as_root"]) func theProgramIsLookedForAsShellsDo(_ who: String) throws {
        let result = try run(
            #"""
            mkdir -p "$SHARE/home/ann/.local/bin" "$T/closed" "$T/plain" "$T/here" "$T/dir/ls" "$T/odd"; chown -R $ANN:$ANN "$BACK/home"
            chmod 700 "$T/closed"; touch "$T/plain/ls" "$T/plain/kept"; ln -s loop "$T/odd/ls"; ln -s ls "$T/odd/loop"
            printf 'echo "script $1"\n' >"$T/here/text"; printf '#!/nowhere\n' >"$T/here/broken"; chmod +x "$T/here"/*
            HIS=$SHARE/home/ann/.local/bin; USUAL=/usr/bin:/bin; start() { PATH=$1; shift; run WHO -- "$@"; }
            for path in "$HIS:$USUAL" "$USUAL:$HIS" "$T/closed:$USUAL" "$T/none:$USUAL" "$T/plain:$USUAL" "$T/dir:$USUAL" "$T/odd:$USUAL"; do
                is "$path" /etc "$(start "$path" ls -d /etc 2>&1)"
                said=$(start "$path" nosuch 2>&1); is "$path: its code" 127 $?; holds "$path: what is missing" "$said" 'nosuch: No such file'
            done
            said=$(start "$HIS:$T/plain:$USUAL" kept 2>&1); is 'what cannot be run' 126 $?; holds 'its reason' "$said" 'kept: Permission denied'
            said=$(start "$T/here" broken 2>&1); is 'without its interpreter' 127 $?; holds 'the reason' "$said" 'broken: No such file'
            is 'a text' 'script a' "$(start "$HIS:$T/here:$USUAL" text a 2>&1)"
            is 'the working directory' 'script b' "$(cd "$T/here"; start ":$USUAL" text b 2>&1)"
            is 'a path' 'script c' "$(cd "$T/here"; start "$USUAL" ./text c 2>&1)"
            is 'no name' 127 "$(start "$USUAL" '' 2>/dev/null; echo $?)"
            is 'without PATH' /etc "$(unset PATH; run WHO -- ls -d /etc 2>&1)"
            settle 1
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// From who has one that notes times of access in one way the kernel keeps a /proc that does in another.
    @Test(arguments: ["noatime", "strictatime", "nodiratime", "noatime,nodiratime", "strictatime,nodiratime", "relatime"])
    func procIsMountedWithTheSameTimes(_ options: String) throws {
        let result = try run(
            #"""
            mount -o remount,bind,OPTIONS /proc || echo 'no such mount'
            times() { grep ' /proc proc ' /proc/self/mounts | tail -n 1 | tr ' ' '\n' | grep -o -w 'noatime\|nodiratime\|relatime'; }
            for who in ann as_root; do
                is "$who runs" sh "$(run $who -- sh -c 'cat /proc/$$/comm' 2>&1)"
                is "$who: the same" "$(times)" "$(run $who -- bash -c "$(declare -f times); times" 2>&1)"
            done
            settle 1
            """#.replacing("OPTIONS", with: options))
        #expect(result.output == "done", "\(result)")
    }

    /// A ring of io_uring holds files of the share open, and the kernel may make more of the kind.
    @Test(arguments: ["io_uring", "eventpoll", "pidfd", "inotify", "eventfd", "mnt:", "user:"])
    func anObjectOfTheKernelIsNotHandedOn(_ kind: String) throws {
        let result = try run(
            #"""
            command -v python3 >/dev/null || { echo 'python3 is missing'; exit; }
            cat >"$T/give.py" <<'END'
            import ctypes, os, sys
            kind, number, file, command = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
            libc = ctypes.CDLL(None, use_errno=True)
            if kind == 'io_uring':
                given = libc.syscall(425, 4, ctypes.create_string_buffer(120))
                shared = ctypes.c_int(os.open(file, os.O_RDWR))
                if given < 0 or libc.syscall(427, given, 2, ctypes.byref(shared), 1):
                    print('no io_uring here')
                    sys.exit(3)
            elif kind == 'eventpoll': given = libc.epoll_create1(0)
            elif kind == 'pidfd': given = os.pidfd_open(os.getpid())
            elif kind == 'inotify': given = libc.inotify_init()
            elif kind == 'eventfd': given = libc.eventfd(0, 0)
            else: given = os.open('/proc/self/ns/' + kind[:-1], os.O_RDONLY)
            os.dup2(given, number)
            os.execv(command[0], command)
            END
            for file in "$SHARE/secret" "$BACK/secret"; do
                said=$(ann python3 "$T/give.py" KIND 0 "$file" "$A" sandbox run "$P" --mount "$SHARE" -- echo ran 2>&1); is 'nothing is run' 2 $?
                holds 'input' "$said" 'standard input is a kernel object'; holds 'its kind' "$said" 'KIND'
            done
            ann python3 "$T/give.py" KIND 1 "$SHARE/secret" "$A" sandbox run "$P" --mount "$SHARE" -- echo ran 2>"$T/said"; is 'its code' 2 $?
            holds 'output' "$(cat "$T/said")" 'standard output is a kernel object'
            settle 1
            """#.replacing("KIND", with: kind))
        if kind == "io_uring", result.output.contains("no io_uring here") { return }
        #expect(result.output == "done", "\(result)")
    }

    /// The memory of a process outside is one.
    @Test(arguments: ["ann", "as_root"]) func aFileThatControlsTheOutsideIsNotHandedOn(_ who: String) throws {
        let result = try run(
            #"""
            mkdir "$T/control" "$T/groups" "$T/proc" "$T/hidden"; mount -t proc proc "$T/proc"
            (exec "$ACT" $ANN $ANN - -- sleep 1009) & near=$!; await '[ "$(cat /proc/$near/comm)" = sleep ]'
            refused() { local said; said=$(run WHO -- echo ran 2>&1 <"$1"); is "$1" 2 $?; holds "$1" "$said" 'standard input is a kernel file'; }
            refused "/proc/$near/mem"; refused "$T/proc/$near/maps"; refused /proc/cpuinfo
            # A mount that is seen nowhere any more.
            exec 5<"$T/proc/$near/maps"; umount -l "$T/proc"; refused /proc/self/fd/5; exec 5<&-
            said=$(run WHO -- echo 900 2>&1 >"/proc/$near/oom_score_adj"); is 'output' 2 $?; holds 'output' "$said" 'standard output is a kernel file'
            is 'as it was' 0 "$(cat "/proc/$near/oom_score_adj")"
            mount -t cgroup2 none "$T/groups" && { refused "$T/groups/cgroup.procs"; umount "$T/groups"; }
            number=$(($(stat -c %d "$SHARE") & 0xff | ($(stat -c %d "$SHARE") >> 12 & 0xfff00)))
            mount -t fusectl fusectl "$T/control" && { refused "$T/control/$number/waiting"; umount "$T/control"; }
            is 'through a pipe' sleep "$(cat "/proc/$near/comm" | run WHO -- cat 2>&1)"
            settle 1; kill $near; wait 2>/dev/null
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// It could be entered.
    @Test func aNamespaceThatIsMountedIsNotHandedOn() throws {
        let result = try run(
            #"""
            touch "$T/space" "$T/away"; mount --bind /proc/self/ns/net "$T/space"; mount --bind /proc/self/ns/uts "$T/away"
            exec 5<"$T/away"; umount -l "$T/away"
            for file in "$T/space" /proc/self/fd/5; do
                said=$(run ann -- echo ran 2>&1 <"$file"); is "$file" 2 $?; holds "$file" "$said" 'standard input is'
            done
            settle 1; umount "$T/space"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whatLeadsToTheProcessAtTheOtherEndIsHandedOn() throws {
        let result = try run(
            #"""
            command -v python3 >/dev/null || { echo 'python3 is missing'; exit; }
            mkfifo "$T/pipe"; chmod 666 "$T/pipe"; (echo text >"$T/pipe") &
            is 'a named pipe' text "$(run ann -- cat <"$T/pipe" 2>&1)"
            is 'a pipe' text "$(echo text | run ann -- cat 2>&1 | cat)"
            is 'a socket' text "$(python3 -c 'import socket, subprocess, sys
            ours, theirs = socket.socketpair(); ours.sendall(b"text"); ours.shutdown(socket.SHUT_WR)
            subprocess.run(sys.argv[1:], stdin=theirs)' "$ACT" $ANN $ANN - -- "$A" sandbox run "$P" --mount "$SHARE" -- cat 2>&1)"
            is 'nothing' '' "$(run ann -- cat </dev/null 2>&1)"
            is 'closed' ran "$(run ann -- echo ran <&- 2>&1)"
            is 'memory' text "$(python3 -c 'import os, sys
            given = os.memfd_create("x", 0); os.write(given, b"text"); os.lseek(given, 0, 0); os.dup2(given, 0)
            os.execv(sys.argv[1], sys.argv[1:])' "$ACT" $ANN $ANN - -- "$A" sandbox run "$P" --mount "$SHARE" -- cat 2>&1)"
            settle 1
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A disk in /dev that the user may open, could open, or might: the command gets a few devices alone.
    @Test(arguments: [
        "mknod -m 660 /dev/x b 7 250; chgrp $ANN /dev/x", "mknod -m 000 /dev/x b 7 250; chown $ANN /dev/x",
        "mkdir -m 700 /dev/x; mknod -m 666 /dev/x/disk b 7 250; chown 64321 /dev/x",
        "mkdir -m 000 /dev/1; chown $ANN /dev/1; touch /dev/1/x; mknod -m 666 $T/node b 7 250; mount --bind $T/node /dev/1/x",
        "mkdir -m 711 /dev/x; mknod -m 666 /dev/x/disk b 7 250", "mkdir -m 000 /dev/x; chown $ANN /dev/x",
        "mkdir -p /dev/1/2/3/4/5; mknod -m 666 /dev/1/2/3/4/5/x b 7 250", "mkdir -p /dev/a/pts; mknod -m 666 /dev/a/pts/x b 7 250",
        "mkdir /dev/bsg; mknod -m 666 /dev/bsg/0:0 c 7 250", "mknod -m 666 /dev/nvme0 c 7 250",
        "mknod -m 666 /dev/x c 21 250", "mknod -m 604 /dev/x c 1 1",
        "mknod -m 666 /dev/x c $(awk '$2 == \"bsg\" { print $1 }' /proc/devices) 250",
        "mkdir /dev/1; mount -t tmpfs -o mode=755 tmpfs /dev/1; touch /dev/1/x; mknod -m 666 $T/node b 7 250; mount --bind $T/node /dev/1/x",
    ]) func whoMayOpenADiskGetsFewDevices(_ disk: String) throws {
        let result = try run(
            #"""
            mount -t tmpfs -o mode=755 tmpfs /dev; mkdir /dev/pts /dev/shm; mknod -m 666 /dev/null c 1 3; mknod -m 666 /dev/zero c 1 5; mknod -m 666 /dev/ptmx c 5 2
            mknod -m 600 /dev/fuse c 10 229; mknod -m 600 /dev/sda b 7 251; mkdir -m 700 /dev/roots; mknod -m 666 /dev/roots/x b 7 250
            is 'none' roots "$(run ann -- ls /dev 2>&1 | grep roots)"
            DISK; is 'one' '' "$(run ann -- ls -R /dev 2>&1 | grep 'roots\|x\|disk\|0:0\|nvme' | grep -v ptmx)"; is 'some' 4 "$(run ann -- head -c 4 /dev/zero | wc -c)"
            settle 1; umount -l /dev
            """#.replacing("DISK", with: disk))
        #expect(result.output == "done", "\(result)")
    }

    /// A node of a disk where some other root directory has its /dev. What is mounted in /dev keeps no more than terminals and single
    /// devices.
    @Test(arguments: ["ann", "as_root"]) func devicesAreOpenedInDevAlone(_ who: String) throws {
        let result = try run(
            #"""
            mkdir "$T/jail" "$T/closed"; mount -t tmpfs -o mode=755 tmpfs "$T/jail"; mount -t tmpfs -o mode=755 tmpfs "$T/closed"
            mount -t tmpfs -o mode=1777 tmpfs /dev/shm; mkdir "$T/jail/dev"
            for place in "$T/jail/dev" "$T/closed" /dev/shm; do mknod -m 666 "$place/zero" c 1 5; mknod -m 666 "$place/disk" b 7 250; done
            opened() { sh -c 'exec <"$1" && echo opened' - "$1" 2>&1; }
            chmod 700 "$T/closed"; is 'outside' opened "$(opened "$T/jail/dev/zero")"
            [ WHO = as_root ] || is 'outside, in /dev' opened "$(opened /dev/shm/zero)"
            for place in "$T/jail/dev" /dev/shm; do
                for node in zero disk; do
                    said=$(run WHO -- sh -c "exec <$place/$node && echo opened" 2>&1 </dev/null)
                    case $said in *opened* | '') echo "$place/$node: <$said>" ;; esac
                done
            done
            said=$(run WHO -- sh -c "read x; exec <$T/closed/zero && echo opened" 2>&1 < <(sleep 1; chmod 755 "$T/closed"; echo))
            case $said in *opened* | '') echo "opened later: <$said>" ;; esac
            # One that is mounted alone, as all are in a container.
            touch "$T/random"; mknod -m 666 "$T/one" c 1 9; mount --bind "$T/one" /dev/urandom
            is 'devices' '0 4 4 4 4' "$(run WHO -- sh -c 'cd /dev; for one in null zero full random urandom; do head -c 4 $one | wc -c; done' 2>&1 | xargs)"
            is 'written' '' "$(run WHO -- sh -c 'echo text >/dev/null' 2>&1)"
            is 'memory' text "$(run WHO -- sh -c 'echo text >/dev/shm/mine && cat /dev/shm/mine' 2>&1)"
            is 'terminals' ran "$(run WHO -- python3 -c 'import os, pty, sys
            sys.exit(pty.spawn(["sh", "-c", "test -t 0 && : >/dev/tty && : <$(tty) && echo ran"]))' 2>&1 </dev/null | tr -d '\r')"
            settle 1; umount /dev/urandom /dev/shm "$T/jail" "$T/closed"
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }
}
