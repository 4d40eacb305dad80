#!/usr/bin/env python3
"""What one user can do to another: the time of another user's stat, open, mkdir and getxattr, alone and while sixteen processes of one uid attack.

Each attack has a fresh mount. Times alone and attacked come from turns of one run, and the victim and the server have more priority than the
attackers, so that what else the machine does concerns all alike. Each figure is the median of several rounds. The limit is a 99th percentile of at
most five times that of the same round without an attack. Needs root. `make bench-attack` builds and runs it; docs/reference/security.md has the figures.
"""
import argparse
import os
import shutil
import subprocess
import sys

import peers
import places

LIMIT = 5
# What a server without rules can do, too: no list, no flag, no question.
PLAIN = ["stat", "create", "rename", "chmod", "listing-links", "listing-files", "miss", "miss-open", "locks", "inotify"]
NICE = -15


def threads_of(pid):
    return [int(word) for word in os.listdir(f"/proc/{pid}/task")]


def raise_priority(server):
    for thread in threads_of(server):
        os.setpriority(os.PRIO_PROCESS, thread, NICE)


def be_one_group():
    """The scheduler compares priorities within a session only, where it counts each session as a group of its own."""
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    try:
        os.setsid()
    except PermissionError:
        # It leads a group of processes already.
        pass
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write(str(NICE))
    except OSError:
        pass


def server_of(point):
    """The process that serves what is mounted there, by its command line."""
    for word in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{word}/cmdline", "rb") as file:
                if point.encode() in file.read().split(b"\0") and int(word) != os.getpid():
                    return int(word)
        except OSError:
            continue
    raise places.Failure(f"the server of {point} is not among the processes")


def socket_of(point):
    device = os.stat(point).st_dev
    return f"/run/aclfs/{os.major(device)}-{os.minor(device)}.sock"


def measure(settings, name, label, scratch, number):
    who = f"{label}{number}"
    mounts = places.Mounts(scratch, who, settings.aclfs, settings.options, [label] if label in peers.NAMES else [], [], "", own_session=False)
    try:
        if label not in mounts.at:
            raise places.Failure("; ".join(mounts.missing))
        point = mounts.at[label]
        if label != "native":
            raise_priority(server_of(point))
        os.chmod(point, 0o755)
        words = [settings.load, "attack", name, point, str(settings.rounds), str(settings.seconds), str(settings.uid), str(settings.uid + 1),
                 socket_of(point)]
        # Attackers that hang are an answer, too.
        try:
            output = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=settings.patience)
        except subprocess.TimeoutExpired:
            raise places.Failure(f"no end after {settings.patience:g} s") from None
        if output.returncode:
            raise places.Failure(output.stderr.strip()[-300:])
        return dict((line.split()[0], [float(word) for word in line.split()[1:]]) for line in output.stdout.splitlines())
    finally:
        mounts.end()


def row(name, label, figures):
    """One line of the table, and whether each call keeps the limit."""
    cells, fine = [], True
    for call, (_, alone, _, attacked) in [(each, figures[each]) for each in ("stat", "open", "mkdir", "getxattr")]:
        # None began: another call of the victim took all the time.
        if not attacked:
            cells.append(f"{alone:.0f} → none")
            continue
        fine = fine and attacked <= LIMIT * alone
        cells.append(f"{alone:.0f} → {attacked:.0f} ({attacked / alone:.1f})")
    rate, failures = figures["attacks"]
    return f"| {name} | {label} | {' | '.join(cells)} | {rate:.0f}{' !' if failures else ''} |", fine


def main(words):
    parser = argparse.ArgumentParser(prog="attack", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--aclfs", default=os.environ.get("ACLFS") or "aclfs", help="the program (ACLFS)")
    add("--load", default=os.environ.get("ACLFS_LOAD") or "aclfs-load", help="the program of the loops (ACLFS_LOAD)")
    add("--dir", default=os.environ.get("BENCH_DIR") or "/dev/shm", help="where; decides the backing file system")
    add("--built", default="", help="peers, joined by commas, on which the attacks that need no rules are made, too; native: without a server")
    add("--only", default=os.environ.get("BENCH_ONLY", ""), help="attacks, joined by commas")
    add("--options", default=os.environ.get("BENCH_OPTIONS", ""), help="mount options of aclfs")
    add("--uid", type=int, default=1000, help="of the attacker; the next one is the victim's")
    add("--rounds", type=int, default=7)
    add("--seconds", type=float, default=0.3, help="of each half of a round")
    add("--patience", type=float, default=120, help="seconds for one attack")
    settings = parser.parse_args(words)
    if os.geteuid() != 0:
        print("attack: needs root", file=sys.stderr)
        return 2
    settings.aclfs, settings.load = (os.path.abspath(shutil.which(each) or each) for each in (settings.aclfs, settings.load))
    known = places.must(settings.load, "attacks").split()
    names = [word for word in settings.only.split(",") if word] or known
    unknown = next((name for name in names if name not in known), None)
    if unknown:
        print(f"attack: there is no '{unknown}', only {', '.join(known)}", file=sys.stderr)
        return 2
    be_one_group()
    scratch = places.Scratch(os.path.realpath(settings.dir))
    result = 0
    print("| attack | file system | stat | open | mkdir | getxattr | attacks a second |\n|---|---|---|---|---|---|---|", flush=True)
    try:
        for number, name in enumerate(names):
            for label in ["aclfs", *[word for word in settings.built.split(",") if word and name in PLAIN]]:
                try:
                    line, fine = row(name, label, measure(settings, name, label, scratch, number))
                except (places.Failure, OSError) as error:
                    print(f"attack: {name} on {label}: {error}", file=sys.stderr)
                    result = 2
                    continue
                print(line, flush=True)
                if label == "aclfs" and not fine:
                    result = result or 1
    finally:
        scratch.end()
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
