import TestSupport
import Testing

/// The daemon is killed, and no program notices.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct DeathTests {
    private func run(_ script: String) throws {
        let result = try MountNamespace().run(UpgradeTests.setup + script)
        #expect(result.output == "done", "\(result)")
    }

    /// Three users at work while the daemon is killed again and again.
    @Test(
        arguments: MountTesting.isLong
            ? ["passthrough=auto", "passthrough=off", "cache=strict", "cache=exclusive", "dirsync"] : ["passthrough=auto"])
    func nobodyNotices(_ option: String) throws {
        try run(
            #"""
            chmod 755 "$T/back"; "$A" mount -o "transport=dev,restarts=99,$1" "$T/back" "$T/mnt" 2>/dev/null; M=$T/mnt
            for u in 0 61751 61752; do mkdir "$M/$u"; chown $u:$u "$M/$u"; done
            for u in 0 61751 61752; do load "$M/$u" $u "$T/stop" >"$T/said.$u"; done
            for i in $(seq 1000); do [ -e "$M/0/f3" ] || [ -e "$M/0/h3" ] && break; sleep 0.01; done
            keeper=$(kept "$M" | grep -vxF "$(daemon "$M")"); device=$(stat -c %d "$M"); killed=0
            while [ $killed -lt $2 ]; do
                child=$(cat /proc/$keeper/task/$keeper/children); [ "$child" ] || continue
                kill -9 $child && killed=$((killed + 1)); sleep 0.$((RANDOM % 2))$((RANDOM % 10))
            done
            for i in $(seq 500); do timeout 5 stat -f "$M" >/dev/null 2>&1 && break; sleep 0.02; done
            touch "$T/stop"; wait
            for u in 0 61751 61752; do is "user $u" 'wrong 0 [] rounds many' "$(cat "$T/said.$u")"; done
            is 'the same mount' "$device" "$(stat -c %d "$M")"; is 'one mount' 1 "$(mounted "$M")"
            is 'the keeper' "$keeper" "$(kept "$M" | grep -vxF "$(daemon "$M")")"
            is unmounted 0 "$("$A" unmount "$M" 2>&1; echo $?)"; is 'both have ended' '' "$(kept "$M")"
            """#.replacing("$1", with: option).replacing("$2", with: MountTesting.isLong ? "90" : "20"))
    }

    /// Programs that people use, each under a hundred deaths: what they wrote is there, once, and none of them says a word.
    @Test(.enabled(if: MountTesting.isLong, "with ACLFS_TEST_LONG=1"), arguments: ["git", "sqlite", "rsync", "make", "postgres", "verify"])
    func ofManyPrograms(_ program: String) throws {
        try run(
            #"""
            chmod 755 "$T/back"; "$A" mount -o transport=dev,restarts=99 "$T/back" "$T/mnt" 2>/dev/null; M=$T/mnt; export M T HOME=$T
            keeper=$(kept "$M" | grep -vxF "$(daemon "$M")"); mkdir "$M/p"; chown 61751:61751 "$M/p"
            have() { command -v "$@" >/dev/null || { echo done; exit; }; }
            as() { setpriv --reuid=61751 --regid=61751 --clear-groups "$@"; }
            kill_on() { while [ ! -e "$T/stop" ]; do
                child=$(cat /proc/$keeper/task/$keeper/children); [ "$child" ] && kill -9 $child && echo x >>"$T/deaths"; sleep 0.6$((RANDOM % 10)); done; }
            # Again and again, until there were enough deaths.
            many() { : >"$T/deaths"; kill_on & killer=$!; round=0
                while [ $(wc -l <"$T/deaths") -lt 100 ]; do round=$((round + 1)); "$@" || { echo "round $round: $?"; break; }; done
                touch "$T/stop"; wait $killer 2>/dev/null; }
            cd "$M/p"
            case $1 in
            git)
                have git; mkdir "$T/repo"; chown 61751 "$T/repo"; cd "$T/repo"; as git init -q .; as git config user.email a@b; as git config user.name n
                for i in $(seq 300); do mkdir -p d$((i % 17)); seq $((i * 7)) >d$((i % 17))/f$i; done; chown -R 61751 .; as git add -A; as git commit -qm one
                cloned() { cd "$M/p" && rm -rf c && as git clone -q "$T/repo" c && cd c && as git fsck --strict >/dev/null 2>"$T/said" && [ -z "$(as git status --porcelain)" ] &&
                    diff -r --exclude=.git . "$T/repo"; }
                many cloned ;;
            sqlite)
                inserted() { python3 -c 'if True:
                    import os, sqlite3
                    if os.path.exists("db"): [os.unlink(n) for n in os.listdir(".") if n.startswith("db")]
                    d = sqlite3.connect("db", timeout=60); d.execute("pragma journal_mode=wal"); d.execute("create table t (n integer primary key, t text)")
                    for n in range(3000): d.execute("insert into t values (?, ?)", (n, "x" * (n % 500))); d.commit()
                    assert d.execute("pragma integrity_check").fetchone()[0] == "ok"
                    assert d.execute("select count(*), sum(n), sum(length(t)) from t").fetchone() == (3000, 4498500, sum(n % 500 for n in range(3000)))'; }
                many inserted ;;
            rsync)
                have rsync; mkdir -p "$T/from"; for i in $(seq 400); do mkdir -p "$T/from/d$((i % 23))"; seq $((i * 11)) >"$T/from/d$((i % 23))/f$i"; done
                copied() { rm -rf to && rsync -a "$T/from/" to && diff -r "$T/from" to && touch "$T/from/d1/f$round" && rsync -a --delete "$T/from/" to && diff -r "$T/from" to; }
                many copied ;;
            make)
                have gcc; have make; mkdir src; for i in $(seq 40); do printf 'int f%d(int a) { return a + %d; }\n' $i $i >src/f$i.c; done
                { for i in $(seq 40); do echo "int f$i(int);"; done; echo 'int main(void) { int s = 0;'; for i in $(seq 40); do echo "s += f$i(0);"; done; echo 'return s == 820 ? 0 : 1; }'; } >src/main.c
                printf 'o := $(patsubst %%.c,%%.o,$(wildcard *.c))\nprog: $o\n\tgcc -o $@ $^\nclean:\n\trm -f *.o prog\n' >src/Makefile
                built() { make -s -C src clean && make -s -j2 -C src && ./src/prog; }
                many built ;;
            postgres)
                have initdb; have pg_ctl; bench=$(ls /usr/lib/postgresql/*/bin/pgbench 2>/dev/null | head -1); [ "$bench" ] || { echo done; exit; }
                chmod 711 "$T"; mkdir "$T/sock"; chown 61751 "$T/sock"; as initdb -k -D "$M/p/pg" >/dev/null 2>&1 || echo initdb
                as pg_ctl -s -w -D "$M/p/pg" -l "$T/sock/log" -o "-k $T/sock -c listen_addresses= -c fsync=on" start || { echo start; tail -3 "$T/sock/log"; }
                as $bench -q -i -s 2 -h "$T/sock" postgres >/dev/null 2>&1 || echo init
                benched() { as $bench -n -c 4 -j 2 -T 5 -h "$T/sock" postgres >"$T/bench" 2>&1 && grep -q 'number of failed transactions: 0' "$T/bench" || { cat "$T/bench"; return 1; }; }
                many benched
                as pg_ctl -s -w -m fast -D "$M/p/pg" stop || echo stop; ! grep -E 'ERROR|PANIC|FATAL' "$T/sock/log" | grep -v 'starting up'
                as "$(dirname "$(readlink -f "$(command -v initdb)")")/pg_checksums" --check -D "$M/p/pg" >/dev/null 2>&1 || echo checksums ;;
            verify)
                verified() { python3 -c 'if True:
                    import os, random, zlib
                    random.seed(); f = os.open("v", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600); sums = {}
                    for i in range(1500):
                        n = random.randrange(400); data = os.urandom(4096); assert os.pwrite(f, data, n * 4096) == 4096; sums[n] = zlib.crc32(data)
                        if i % 50 == 0: os.fsync(f)
                        k = random.choice(list(sums)); assert zlib.crc32(os.pread(f, 4096, k * 4096)) == sums[k]
                    for n, s in sums.items(): assert zlib.crc32(os.pread(f, 4096, n * 4096)) == s
                    os.close(f)'; }
                many verified ;;
            esac
            cd /; is 'one mount' 1 "$(mounted "$M")"; is unmounted 0 "$("$A" unmount "$M" 2>&1; echo $?)"
            """#.replacing("$1", with: program))
    }
}
