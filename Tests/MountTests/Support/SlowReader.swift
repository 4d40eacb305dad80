import TestSupport

/// For scripts in a `MountNamespace`: somebody who holds directories by reading them into memory that does not answer, the
/// page of a file on a mount whose daemon is stopped. Any user can do that.
enum SlowReader {
    /// `slow DIRECTORY…`, below `$T`, returns when each is held; `go_on` when nobody holds them any more. With `plainly` set
    /// the kernel asks for names without objects, by reading a little beforehand.
    static let prelude = #"""
        command -v python3 >/dev/null || { echo 'python3 is missing'; exit; }
        mkdir -m 700 "$T/back2" "$T/slow"; head -c 4096 /dev/zero >"$T/back2/memory"
        "$A" mount -o passthrough=off "$T/back2" "$T/slow"; server=$(daemon "$T/slow"); readers=
        prepare() { # NUMBER DIRECTORY
            mkfifo "$T/go-$1"
            python3 -c 'if True:
                import ctypes, mmap, os, sys
                memory = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096)
                place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
                listed = os.open(sys.argv[2], os.O_RDONLY | os.O_DIRECTORY)
                if sys.argv[4]: ctypes.CDLL(None).syscall(ctypes.c_long(217), listed, ctypes.create_string_buffer(64), 64)
                print("ready", flush=True); open(sys.argv[3]).read(1)
                ctypes.CDLL(None).syscall(ctypes.c_long(217), listed, ctypes.c_void_p(place), 4096)
            ' "$T/slow/memory" "$T/$2" "$T/go-$1" "${plainly-}" >"$T/said-$1" & readers="$readers $!"
            for i in $(seq 1500); do grep -qs ready "$T/said-$1" && break; sleep 0.02; done
        }
        slow() {
            number=0
            for directory in "$@"; do number=$((number + 1)); prepare $number "$directory"; done
            kill -STOP $server
            for i in $(seq 1500); do cat /proc/$server/task/*/status 2>/dev/null | grep '^State' | grep -qv T || break; sleep 0.02; done
            for number in $(seq $#); do echo x >"$T/go-$number"; done
            # Until each waits for a page, and so holds the directory.
            for reader in $readers; do
                for i in $(seq 1500); do grep -q '_fault' /proc/$reader/stack && break; sleep 0.02; done
                is "$reader waits" 0 "$(grep -q _fault /proc/$reader/stack; echo $?)"
            done
        }
        go_on() { kill -CONT $server; wait $readers; }

        """#
}
