/// For scripts of `MountNamespace`: users as useradd(8) makes them, with subordinate ids, in an /etc of their own, and a program that acts as
/// many of these ids at once.
enum SubordinateAccounts {
    /// What the scripts need beyond the mount namespace.
    static let programs = ["/usr/bin/newuidmap", "/usr/bin/newgidmap", "/usr/sbin/useradd", "/usr/bin/python3"]

    /// mallory and bert with 65 536 ids each. `as_mallory WHAT COUNT FILE...` runs `many.py`.
    static let prelude = #"""
        # Its helpers are not needed here, and useradd is there.
        umount /usr/sbin
        cp -a /etc "$T/etc"; mount --bind "$T/etc" /etc
        echo >/etc/subuid; echo >/etc/subgid
        groupadd -g 5600 crew; groupadd -g 5601 payroll
        useradd -u 5501 -G crew mallory; useradd -u 5502 -G crew bert
        [ -x "$(command -v useradd)" ] || echo 'no useradd'
        is 'ranges of useradd' "$(cut -d: -f1,3 /etc/subuid | grep . | tr '\n' ' ')" 'mallory:65536 bert:65536 '
        cat >"$T/many.py" <<'END'
        \#(many)
        END
        as_mallory() { runuser -u mallory -- /usr/bin/python3 "$T/many.py" "$@"; }
        wait_for_held() { for i in $(seq 100); do [ -s "$T/held" ] && return; sleep 0.1; done; echo 'nothing is held'; }

        """#

    /// In a user namespace with the user's own ids as 0 and the subordinate ones from 1 on: `groups INSIDE FILE...` without supplementary
    /// groups as the id INSIDE: which files can be read; `run INSIDE COMMAND...` as it; `hold COUNT DIRECTORY` as COUNT ids, each of which opens a file until it cannot;
    /// `ask COUNT SOCKET` as COUNT ids, each of which keeps ten connections busy. The last two hold what they have until their input ends.
    private static let many = #"""
        import ctypes, os, pwd, socket, subprocess, sys
        what, number, rest = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
        def become(i):
            os.setgroups([]); os.setresgid(i, i, i); os.setresuid(i, i, i)
        def read(files):
            for name in files:
                try: open(name).read(); print(os.path.basename(name), end=" ")
                except OSError: pass
            print(flush=True)
        def hold(directory):
            held = []
            try:
                while len(held) < 500: held.append(os.open(directory + "/f", os.O_RDONLY))
            except OSError: pass
            return held
        def ask(path):
            held = []
            for _ in range(10):
                try:
                    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(5); s.connect(path)
                    s.send(b'{"v":1,"command":"version"}')
                    if b"error" not in s.recv(65536): held.append(s)
                except OSError: pass
            return held
        def busy(held):
            for s in held:
                try: s.send(b'{"v":1,"command":"version"}'); s.recv(65536)
                except OSError: pass
        def inside():
            if what == "run":
                become(number); os.execvp(rest[0], rest)
            if what == "groups":
                become(number); read(rest); os._exit(0)
            ends = []
            for i in range(1, number + 1):
                r, w = os.pipe()
                if os.fork() == 0:
                    import select
                    become(i)
                    held = hold(rest[0]) if what == "hold" else ask(rest[0])
                    os.write(w, b"%d\n" % len(held)); os.close(w)
                    while not select.select([0], [], [], 0.3)[0]:
                        if what == "ask": busy(held)
                    os._exit(0)
                os.close(w); ends.append(r)
            print(sum(int(os.read(r, 99)) for r in ends), flush=True)
            sys.stdin.read(); os._exit(0)
        outside, within = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            if ctypes.CDLL(None).unshare(0x10000000): os._exit(9)
            os.write(outside[1], b"x"); os.read(within[0], 1); inside()
        os.read(outside[0], 1)
        name = pwd.getpwuid(os.getuid()).pw_name
        for kind in "ug":
            first = [l.split(":")[1] for l in open("/etc/sub%sid" % kind) if l.startswith(name + ":")][0]
            own = str(os.getuid() if kind == "u" else os.getgid())
            subprocess.check_call(["new%sidmap" % kind, str(child), "0", own, "1", "1", first, "65536"])
        os.write(within[1], b"x"); os.waitpid(child, 0)
        """#
}
