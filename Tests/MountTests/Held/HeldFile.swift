import TestSupport

/// For scripts in a `MountNamespace`: a file on a mount that a user holds by a read or write whose buffer is a page of a
/// mount that does not answer (docs/decisions/0020-held-files.md).
enum HeldFile {
    /// `backing KIND` makes the backing file system below `$B` with a file `dir/held`; `hold HOW FILE` returns when the file is held,
    /// `go_on` when it is not any more. `try NAME COMMAND…` does not wait; `tried NAME WORDS` waits for it and expects the words in
    /// what it said, `settled NAME` that it was done or refused. `goes_on DIRECTORY` is work of others.
    static let prelude = #"""
        umount /usr/sbin # mkfs
        command -v python3 >/dev/null || { echo 'python3 is missing'; exit; }
        mkdir -m 700 "$T/back2" "$T/slow" "$T/private"; truncate -s 64M "$T/back2/memory"
        "$A" mount -o passthrough=off "$T/back2" "$T/slow"; server=$(daemon "$T/slow"); B=$T/private/back; mkdir "$B"; holders= tries=
        backing() {
            case $1 in
            tmpfs) mount -t tmpfs none "$B" ;;
            *)
                truncate -s 400M "$T/image"
                case $1 in ext4) mkfs.ext4 -qF -b 4096 "$T/image" ;; *) mkfs.$1 -q "$T/image" >/dev/null 2>&1 ;; esac
                mount -o loop "$T/image" "$B" ;;
            esac
            mkdir "$B/dir" "$B/other"; for name in dir/held dir/free other/file; do head -c 65536 /dev/zero >"$B/$name"; done
            chown -R 61781:61781 "$B/dir"
        }
        # HOW is read, direct or write, or again: direct into one page after the other.
        prepare() {
            number=$((${number:-0} + 1)); mkfifo "$T/go-$number"
            python3 -c 'if True:
                import ctypes, mmap, os, sys
                how, path, go, memory, number = sys.argv[1:]
                pages = 1000 if how == "again" else 1
                page = mmap.mmap(os.open(memory, os.O_RDWR), 4096 * pages, offset=4096 * 1000 * int(number))
                page.madvise(mmap.MADV_RANDOM); place = ctypes.addressof(ctypes.c_char.from_buffer(page))
                os.setgroups([]); os.setresgid(61781, 61781, 61781); os.setresuid(61781, 61781, 61781)
                file = os.open(path, {"read": os.O_RDONLY, "write": os.O_RDWR}.get(how, os.O_RDONLY | os.O_DIRECT))
                print("ready", flush=True); open(go).read(1)
                number = 1 if how == "write" else 0
                for i in range(pages):
                    os.lseek(file, 0, 0); ctypes.CDLL(None).syscall(ctypes.c_long(number), file, ctypes.c_void_p(place + 4096 * i), 4096)
            ' "$1" "$2" "$T/go-$number" "$T/slow/memory" "$number" >"$T/said-$number" & holder=$!; holders="$holders $holder"
            for i in $(seq 1500); do grep -qs ready "$T/said-$number" && break; sleep 0.02; done
        }
        stop() {
            kill -STOP $server
            for i in $(seq 1500); do cat /proc/$server/task/*/status 2>/dev/null | grep '^State' | grep -qv T || break; sleep 0.02; done
        }
        await_hold() {
            for i in $(seq 1500); do grep -q _fault /proc/$holder/stack && return; sleep 0.02; done
            echo "$1 is not held: $(cat /proc/$holder/stack)"
        }
        hold() { prepare "$1" "$2"; stop; echo x >"$T/go-$number"; await_hold "$2"; }
        go_on() { kill -CONT $server; wait $holders; holders=; }
        try() { local name=$1; shift; { timeout -s KILL 60 "$@"; echo "status $?"; } >"$T/out-$name" 2>&1 & }
        # In a subshell nothing can be waited for: the last line tells that it has ended.
        await() { for i in $(seq 3500); do grep -qs '^status' "$T/out-$1" && break; sleep 0.02; done; cat "$T/out-$1"; }
        tried() { holds "$1" "$(await "$1")" "$2"; }
        goes_on() {
            made=$((${made:-0} + 1))
            timeout 20 stat "$1" >/dev/null || echo "stat $1: $?"
            timeout 20 mkdir "$1/new$made" || echo "mkdir in $1: $?"
            timeout 20 ls -l "$1" >/dev/null || echo "ls $1: $?"
            timeout 20 touch "$1/new$made/file" || echo "touch in $1: $?"
            timeout 20 mv "$1/new$made/file" "$1/file$made" || echo "mv in $1: $?"
            timeout 20 rm "$1/file$made" || echo "rm in $1: $?"
        }
        # `while_waiting NAME DIRECTORY COMMAND…`: others are through with their work while the command still waits. Where the machine
        # was too slow for that it is tried again.
        while_waiting() {
            local name=$1 directory=$2 attempt; shift 2
            for attempt in 1 2 3 4 5; do
                try $name-$attempt "$@"; sleep 0.2; goes_on "$directory"
                if ! grep -qs '^status' "$T/out-$name-$attempt"; then tried $name-$attempt "$busy"; return; fi
                tried $name-$attempt "$busy"
            done
            echo "others were through with $directory after $name only"
        }
        # It was done or refused, in these words; nothing else may come of it.
        settled() {
            local said word; said=$(await "$1"); shift
            for word in 'status 0' "$busy" "$@"; do case $said in *"$word"*) return ;; esac; done; echo "neither done nor refused: $said"
        }
        busy='Device or resource busy'
        end() { for m in "$@" "$T/slow"; do "$A" unmount "$m" || echo "unmount $m: $?"; done; }

        """#
}
