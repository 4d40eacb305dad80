#!/bin/sh
# What a mount costs: the same loops on the backing file system and through aclfs, in one run, as ratios.
# The rounds alternate, and the median of each is taken, so that a busy machine weighs on both alike. It measures the
# path of one caller in one thread; it says nothing about throughput with many. ACLFS names the program.
set -eu

aclfs=${ACLFS:-aclfs}
rounds=${ROUNDS:-5}
files=${FILES:-400}
say() { printf '%s\n' "$*" >&2; }

command -v "$aclfs" >/dev/null 2>&1 || { say "bench: $aclfs: not found"; exit 2; }
[ -e /dev/fuse ] || { say 'bench: there is no /dev/fuse here'; exit 2; }

# BENCH_DIR: a directory on the file system to be measured (default: where temporary files go).
top=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
mkdir "$top/native" "$top/back" "$top/mount"
mounted() { grep -qsF " $top/mount fuse" /proc/self/mounts; }
finish() {
    status=$?
    trap - EXIT HUP INT TERM
    cd /
    if mounted; then
        "$aclfs" unmount "$top/mount" 2>/dev/null || umount "$top/mount" 2>/dev/null || umount -l "$top/mount" || :
    fi
    if mounted; then say "bench: $top/mount is still mounted"; exit 1; fi
    rm -rf -- "$top"
    exit "$status"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

"$aclfs" mount "$top/back" "$top/mount"
mounted || { say 'bench: not mounted'; exit 1; }

printf 'kernel %s, backing %s, %s processors, %s rounds of %s files\n' "$(uname -r)" \
    "$(stat -f -c %T "$top/back")" "$(nproc)" "$rounds" "$files"

if command -v python3 >/dev/null 2>&1; then
    python3 - "$top/native" "$top/mount" "$rounds" "$files" <<'PYTHON'
import os, statistics, sys, time

native, mount, rounds, files = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
BLOCK = 128 * 1024
BLOCKS = 256


def names(top):
    return [f"{top}/f{number}" for number in range(files)]


def create(top):
    for name in names(top):
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    return files


def look(top):
    for name in names(top):
        os.stat(name)
    return files


def open_close(top):
    for name in names(top):
        os.close(os.open(name, os.O_RDONLY))
    return files


def list_all(top):
    for _ in range(10):
        with os.scandir(top) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
    return 10 * files


def remove(top):
    for name in names(top):
        os.unlink(name)
    return files


def write_big(top):
    block = b"a" * BLOCK
    descriptor = os.open(f"{top}/big", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
    for _ in range(BLOCKS):
        os.write(descriptor, block)
    os.close(descriptor)
    return BLOCKS


def read_big(top):
    descriptor = os.open(f"{top}/big", os.O_RDONLY)
    while os.read(descriptor, BLOCK):
        pass
    os.close(descriptor)
    return BLOCKS


steps = [
    ("create", create), ("stat", look), ("open and close", open_close), ("list with stat", list_all),
    ("write 128 KiB", write_big), ("read 128 KiB", read_big), ("unlink", remove),
]
times = {name: ([], []) for name, _ in steps}
for number in range(rounds):
    # Whoever goes first in one round goes second in the next.
    order = [(0, native), (1, mount)]
    for side, top in order if number % 2 == 0 else order[::-1]:
        for name, step in steps:
            begin = time.perf_counter_ns()
            count = step(top)
            times[name][side].append((time.perf_counter_ns() - begin) / count / 1000)

print(f"{'operation':<16}{'native µs':>12}{'aclfs µs':>12}{'ratio':>9}")
for name, (plain, ours) in times.items():
    one, other = statistics.median(plain), statistics.median(ours)
    print(f"{name:<16}{one:>12.2f}{other:>12.2f}{other / one:>8.1f}x")
PYTHON
else
    # Only what the shell does by itself, so that no process start hides the difference; its own cost is in both.
    step() {
        case $1 in
        create) for n in $list; do : >"$2/f$n"; done ;;
        stat) for n in $list; do [ -e "$2/f$n" ]; done ;;
        open) for n in $list; do : <"$2/f$n"; done ;;
        read) for n in $list; do read -r _ <"$2/f$n" || :; done ;;
        esac
    }
    middle() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
    list=$(seq "$files")
    printf '%-16s%12s%12s%9s\n' operation 'native us' 'aclfs us' ratio
    for name in create stat open read; do
        : >"$top/native.times"
        : >"$top/mount.times"
        for round in $(seq "$rounds"); do
            sides='native mount'
            [ $((round % 2)) -eq 1 ] || sides='mount native'
            for side in $sides; do
                [ "$name" != create ] || rm -f "$top/$side"/f*
                begin=$(date +%s%N)
                step "$name" "$top/$side"
                echo $((($(date +%s%N) - begin) / files)) >>"$top/$side.times"
            done
        done
        one=$(middle <"$top/native.times")
        other=$(middle <"$top/mount.times")
        awk -v name="$name" -v one="$one" -v other="$other" \
            'BEGIN { printf "%-16s%12.2f%12.2f%8.1fx\n", name, one / 1000, other / 1000, one ? other / one : 0 }'
    done
fi
