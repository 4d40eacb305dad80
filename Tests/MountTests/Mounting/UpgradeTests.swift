import TestSupport
import Testing

/// `aclfs upgrade`: another process serves the same connection, and no program notices.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct UpgradeTests {
    static let setup = #"""
        # Twice in a row, as most who try it do.
        upgrade() { for i in 1 2; do before=$(daemon "$1"); said=$("$A" upgrade "$1" 2>&1) || echo "upgrade $1: $said"
            [ "$before" != "$(daemon "$1")" ] || echo "$1: the same process"; done; }
        # Many small calls, each of which is checked; it prints how many failed.
        cat >"$T/load" <<'END'
        import errno, fcntl, mmap, os, sys
        top, uid, stop = sys.argv[1], int(sys.argv[2]), sys.argv[3]
        if uid: os.setgroups([]); os.setgid(uid); os.setuid(uid)
        os.chdir(top)
        gone = os.open("gone", os.O_RDWR | os.O_CREAT, 0o600); os.unlink("gone")
        log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        both = os.open("log", os.O_RDONLY)
        fd = os.open("map", os.O_RDWR | os.O_CREAT, 0o600); os.ftruncate(fd, 8192); pages = mmap.mmap(fd, 8192)
        fcntl.lockf(fd, fcntl.LOCK_EX); fcntl.flock(log, fcntl.LOCK_EX)
        rounds = 0; wrong = []
        def must(what, is_so):
            if not is_so: wrong.append(what)
        def refused(number, body):
            try: body()
            except OSError as e: must("errno %s" % e, e.errno == number)
            else: must("no error", False)
        try:
            while not os.path.exists(stop) or rounds < 3:
                n = "%d" % rounds; data = (n * 99).encode()
                f = os.open("f" + n, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
                must("write", os.write(f, data) == len(data)); must("read", os.pread(f, 9999, 0) == data)
                os.fchmod(f, 0o600); os.setxattr("f" + n, "user.n", data[:40]); os.rename("f" + n, "g" + n); os.link("g" + n, "h" + n)
                must("links", os.fstat(f).st_nlink == 2); os.close(f)
                must("again", open("h" + n, "rb").read() == data); must("xattr", os.getxattr("g" + n, "user.n") == data[:40])
                os.mkdir("d"); os.symlink("h" + n, "d/s"); os.rename("g" + n, "d/g")
                must("list", sorted(os.listdir("d")) == ["g", "s"]); os.unlink("d/s"); os.unlink("d/g"); os.rmdir("d")
                refused(errno.ENOENT, lambda: os.stat("g" + n)); refused(errno.EEXIST, lambda: os.mkdir("h" + n)); os.unlink("h" + n)
                os.write(log, data + b"\n"); must("append", os.pread(both, len(data) + 1, os.fstat(both).st_size - len(data) - 1) == data + b"\n")
                os.pwrite(gone, data, 0); must("gone", os.pread(gone, len(data), 0) == data)
                pages[rounds % 8192] = rounds % 251; must("mapped", os.pread(fd, 1, rounds % 8192)[0] == rounds % 251)
                rounds += 1
        except OSError as e: wrong.append("round %d: %s" % (rounds, e))
        lines = open("log").read().split()
        must("lines", lines == ["%d" % n * 99 for n in range(rounds)] if not wrong else True)
        print("wrong", len(wrong), wrong[:3], "rounds", "many" if rounds > 3 else rounds)
        END
        load() { python3 "$T/load" "$@" & }

        """#

    private func run(_ script: String) throws {
        let result = try MountNamespace().run(Self.setup + script)
        #expect(result.output == "done", "\(result)")
    }

    /// Three users at work, with files without names, locks, mappings and working directories.
    @Test(
        arguments: MountTesting.isLong ? ["passthrough=auto", "passthrough=off", "cache=strict", "cache=exclusive"] : ["passthrough=auto"])
    func nobodyNotices(_ option: String) throws {
        try run(
            #"""
            chmod 755 "$T/back"; "$A" mount -o "transport=dev,$1" "$T/back" "$T/mnt" 2>/dev/null; M=$T/mnt
            for u in 0 61751 61752; do mkdir "$M/$u"; chown $u:$u "$M/$u"; done
            for u in 0 61751 61752; do load "$M/$u" $u "$T/stop" >"$T/said.$u"; done
            for i in $(seq 1000); do [ -e "$M/0/f3" ] || [ -e "$M/0/h3" ] && break; sleep 0.01; done
            keeper=$(kept "$M" | grep -vxF "$(daemon "$M")")
            for i in 1 2 3; do upgrade "$M"; done
            touch "$T/stop"; wait
            for u in 0 61751 61752; do is "user $u" 'wrong 0 [] rounds many' "$(cat "$T/said.$u")"; done
            is 'the keeper' "$keeper" "$(kept "$M" | grep -vxF "$(daemon "$M")")"; is 'no death' 0 "$("$A" status --json "$M" | sed 's/.*"deaths":\([0-9]*\).*/\1/')"
            # Nothing gathers in the daemon: its descriptors, and what the kernel holds for it.
            count=$(ls /proc/$(daemon "$M")/fd | wc -l); for i in 1 2; do upgrade "$M"; done
            now=$(ls /proc/$(daemon "$M")/fd | wc -l); [ "$now" -le $((count + 2)) ] || echo "$count descriptors, then $now"
            die=$(daemon "$M"); kill -9 $die; for i in $(seq 500); do cat "$M/0/log" >/dev/null 2>&1 && break; sleep 0.02; done
            is 'after a death' yes "$([ -s "$M/0/log" ] && echo yes)"; upgrade "$M"
            is unmounted 0 "$("$A" unmount "$M" 2>&1; echo $?)"; is 'both have ended' '' "$(kept "$M")"
            """#.replacing("$1", with: option))
    }

    /// What was granted and exposed before is revoked as at any time, for names, attributes and new opens; handles keep what they got.
    @Test func revocationsHold() throws {
        try run(
            #"""
            chmod 755 "$T/back"; "$A" mount -o transport=dev "$T/back" "$T/mnt" 2>/dev/null; M=$T/mnt
            mkdir -p "$M/d/e"; echo text >"$M/d/e/f"; chmod 755 "$M/d" "$M/d/e"; chmod 644 "$M/d/e/f"
            as() { setpriv --reuid=61751 --regid=61751 --clear-groups "$@"; }
            for i in 1 2 3 4 5; do
                as ls -lR "$M/d" >/dev/null; is "$i: read" text "$(as cat "$M/d/e/f")"; is "$i: none" 1 "$(status as stat "$M/d/e/none")"
                exec 5<"$M/d/e/f"
                upgrade "$M"
                case $i in
                    1 | 2) chmod 700 "$M/d" ;;
                    3) chmod 600 "$M/d/e/f" ;;
                    4) "$A" chmod +a 'user:61751 deny search' "$M/d/e" ;;
                    5) "$A" chmod +a 'user:61751 deny read' "$M/d/e/f" ;;
                esac
                is "$i: denied" 1 "$(status as cat "$M/d/e/f")"; is "$i: a handle" text "$(cat <&5)"; exec 5<&-
                upgrade "$M"; is "$i: denied still" 1 "$(status as cat "$M/d/e/f")"
                chmod 755 "$M/d"; chmod 644 "$M/d/e/f"; "$A" chmod -N "$M/d/e" "$M/d/e/f"
            done
            # What remounts have made of it stays, and a file without a right to write is no more open for writing than before.
            mount -o remount,ro "$M"; upgrade "$M"; is ro 1 "$(status touch "$M/new")"; mount -o remount,rw "$M"; is rw 0 "$(status touch "$M/new")"
            """#)
    }

    /// A directory that is being read, and a gap that is closed by another process than the one that saw it.
    @Test(arguments: ["ext4", "tmpfs"]) func whatWasBegunIsEnded(_ kind: String) throws {
        let result = try MountNamespace().run(
            HeldFile.prelude + Self.setup
                + #"""
                backing $1; chmod 755 "$B"; "$A" mount -o transport=dev "$B" "$T/mnt"; M=$T/mnt
                mkdir "$M/many"; (cd "$M/many"; seq 5000 | xargs touch)
                cat >"$T/reader" <<'END'
                import os, subprocess, sys
                many, gap, command = sys.argv[1], sys.argv[2], sys.argv[3:]
                with os.scandir(many) as entries:
                    seen = [next(entries).name for _ in range(700)]
                    f = os.open(gap, os.O_RDWR | os.O_CREAT, 0o600); os.pwrite(f, b"x", 8 << 20)
                    subprocess.run(command, check=True); subprocess.run(command, check=True)
                    os.pwrite(f, b"y", 16 << 20); os.close(f)
                    seen += [entry.name for entry in entries]
                print(len(seen), len(set(seen)))
                END
                is 'each once' '5000 5000' "$(python3 "$T/reader" "$M/many" "$M/gap" "$A" upgrade -q "$M")"
                for i in $(seq 500); do [ $(stat -c %b "$B/gap") -ge 32768 ] && break; sleep 0.02; done
                is 'no hole' yes "$([ $(stat -c %b "$B/gap") -ge 32768 ] && echo yes)"
                # A directory without a name is where somebody works.
                mkdir "$M/here"; (cd "$M/here"; rmdir "$M/here"; "$A" upgrade -q "$M"; is 'removed' 1 "$(status touch new)"; stat . >/dev/null || echo 'no stat')
                "$A" unmount "$M"
                """#.replacing("$1", with: kind))
        #expect(result.output == "done", "\(result)")
    }

    /// What cannot be upgraded is named, and goes on.
    @Test func whatCannotIsNamed() throws {
        try run(
            #"""
            refused() { before=$(daemon "$M"); said=$("$A" upgrade "$M" 2>&1); is "$1: status" 1 $?; holds "$1" "$said" "$2"
                is "$1: it goes on" text "$(cat "$M/f")"; is "$1: the same" "$before" "$(daemon "$M")"; }
            echo text >"$T/back/f"; mkdir "$T/back/sub" "$T/other"; M=$T/mnt
            if [ "$(cat /sys/module/fuse/parameters/enable_uring 2>/dev/null)" = Y ]; then
                "$A" mount "$T/back" "$M"; refused rings 'its requests come over io_uring'
                holds 'the status' "$("$A" status "$M")" 'aclfs upgrade would refuse: its requests come over io_uring'; "$A" unmount "$M"
            fi
            "$A" mount -o transport=dev,restarts=0 "$T/back" "$M"; refused keeper 'it has no keeper, which would run the new program (restarts=0)'; "$A" unmount "$M"
            "$A" mount -o transport=dev "$T/back" "$M"; "$A" mount -o transport=dev "$T/back" "$T/other"; refused two 'its daemon serves 2 mounts'; "$A" unmount "$T/other"
            mount -t tmpfs tmpfs "$M/sub"; refused below 'something is mounted on a directory or file of it'; umount "$M/sub"
            is 'another user' 1 "$(status setpriv --reuid=61751 --regid=61751 --clear-groups "$A" upgrade "$M")"
            is 'no mount' 2 "$(status "$A" upgrade "$T/back")"; is 'nothing named' 2 "$(status "$A" upgrade)"
            # Two at once: one does it, and both are content or one says why.
            for i in 1 2 3 4; do "$A" upgrade "$M" >"$T/said.$i" 2>&1 & done; wait
            is 'it answers' text "$(cat "$M/f")"; is 'one daemon' 1 "$(daemon "$M" | wc -l)"; is 'one keeper' 2 "$(kept "$M" | wc -l)"
            "$A" upgrade -q --all || echo 'all'; "$A" unmount "$M"
            # The program that lies there now.
            mkdir "$T/p"; cp "$A" "${A}d" "$T/p/"; own=$A; A=$T/p/aclfs; "$A" mount -o transport=dev "$T/back" "$M"
            cp "$T/p/aclfsd" "$T/p/kept"; rm "$T/p/aclfsd"; refused gone 'its program is not found'
            printf '#!/bin/sh\nexit 1\n' >"$T/p/aclfsd"; refused 'no program' 'cannot be run'
            chmod 755 "$T/p/aclfsd"; refused older 'does not understand the state of this daemon'
            # It says that it does, and cannot: the mount is made anew, as after a death.
            printf '#!/bin/sh\n[ "$1" = understands ]\n' >"$T/p/aclfsd"; timeout 5 "$A" upgrade "$M" >/dev/null 2>&1
            rm "$T/p/aclfsd"; for i in $(seq 500); do [ "$(stat -f "$M" 2>&1 | grep 'not connected')" ] && break; sleep 0.02; done
            holds 'dead and closed' "$(cat "$M/f" 2>&1)" 'not connected'
            mv "$T/p/kept" "$T/p/aclfsd"; "$A" mount -o transport=dev "$T/back" "$M" 2>/dev/null; upgrade "$M"; is 'mounted again' text "$(cat "$M/f")"; "$A" unmount "$M"
            # On its own mount nobody would answer the kernel that reads it.
            cp "$own" "${own}d" "$T/back/"; A=$T/back/aclfs; "$A" mount -o transport=dev "$T/back" "$T/back"; M=$T/back; refused own 'lies on a mount that it serves'
            umount -l "$M"
            """#)
    }

    /// Nobody would run the new program, it would find no mount, or not what options name.
    @Test func nobodyWouldGoOn() throws {
        try run(
            #"""
            refused() { said=$("$A" upgrade "$M" 2>&1); is "$1: status" 1 $?; holds "$1" "$said" "$2"; is "$1: it goes on" text "$(cat "$M/f")"; }
            echo text >"$T/back/f"; M=$T/mnt; D=-otransport=dev
            export -f refused is holds; export A M T
            "$A" mount $D "$T/back" "$M" 2>/dev/null
            unshare -m --propagation private bash -c 'while [ ! -e "$T/go" ]; do sleep 0.02; done; refused elsewhere "it is not mounted any more where its daemon runs"' &
            sleep 0.3; umount "$M"; touch "$T/go"; wait
            "$A" mount $D "$T/back" "$M" 2>/dev/null; kill -9 $(kept "$M" | grep -vxF "$(daemon "$M")")
            for i in $(seq 500); do [ "$(kept "$M" | wc -l)" = 1 ] && break; sleep 0.02; done
            refused 'no keeper' 'its keeper, which would run the new program, is gone'; "$A" unmount "$M"
            mkdir -m 755 "$T/logs"; "$A" mount $D,audit=denied,audit_log="$T/logs/a" "$T/back" "$M" 2>/dev/null; mv "$T/logs" "$T/gone"
            refused 'the log' "audit_log=$T/logs/a"; mv "$T/gone" "$T/logs"; upgrade "$M"; "$A" unmount "$M"
            # The path counts that the keeper runs, wherever the program of now has gone.
            mkdir "$T/p"; cp "$A" "${A}d" "$T/p/"; A=$T/p/aclfs; "$A" mount $D "$T/back" "$M" 2>/dev/null
            mv "$T/p/aclfsd" "$T/p/old"; printf '#!/bin/sh\nexit 1\n' >"$T/p/aclfsd"; chmod 755 "$T/p/aclfsd"
            refused 'another program' 'does not understand the state of this daemon'; mv "$T/p/old" "$T/p/aclfsd"; upgrade "$M"
            # What one of its mounts is kept from is not the volume's.
            mkdir "$M/sub" "$T/there"; mount --bind "$M/sub" "$T/there"; mount -o remount,bind,ro "$M"; upgrade "$M"
            is 'the bind mount' 0 "$(status touch "$T/there/new")"; mount -o remount,bind,rw "$M"; is 'both' 0 "$(status touch "$M/new")"
            umount "$T/there"; "$A" unmount "$M"
            """#)
    }
}
