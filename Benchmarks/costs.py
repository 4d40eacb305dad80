#!/usr/bin/env python3
"""What one operation costs, and a whole command for each file: requests that the kernel sends, system calls of the daemon, and its
instructions.

Counts do not depend on what else the machine does, so this can be run at any time; times are the least of several runs.
Needs root, perf, and the trace points: mount -t tracefs none /sys/kernel/tracing (in a namespace of one's own: unshare -m).
With valgrind the instructions of the daemon outside the kernel are counted, too, on a second pair of mounts.
`make bench-costs` builds and runs it; docs/internals/performance.md "What one operation costs", says how to read it.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

import callgrind
import commands
import fixtures
import peers
import places
import workloads

TRACE = "/sys/kernel/tracing/events"
ROWS = ["stat-miss", "open", "readfile", "create", "createwrite", "mkdir", "rename", "chmod", "getxattr", "find", "grep",
        "tar-x", "rm-r", *commands.ROWS]
# How a request is taken and answered, and how threads wait for it, whatever it asks. This depends on the load, and is not counted.
CARRYING = {"read", "writev", "write", "splice", "vmsplice", "io_uring_enter", "poll", "ppoll"}


def opcodes():
    """Numbers and names of requests, as the kernel's own trace point lists them."""
    with open(f"{TRACE}/fuse/fuse_request_send/format", encoding="ascii") as file:
        named = re.findall(r'\{(\d+), "FUSE_([A-Z0-9_]+)"\}', file.read())
    return {int(number): name for number, name in named}


def connection(point):
    """The number that the kernel gives the connection of a mount."""
    return os.stat(point).st_dev


def calls():
    wanted = CARRYING | {
        "openat", "close", "statx", "newfstatat", "fstat", "lstat", "fstatfs", "statfs", "getxattr", "lgetxattr", "fgetxattr",
        "getxattrat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "removexattrat",
        "listxattr", "llistxattr", "name_to_handle_at", "open_by_handle_at", "unlinkat", "unlink", "rmdir", "mkdir", "mkdirat",
        "rename", "renameat2", "fchmodat2", "fchmodat", "chmod", "fchmod", "fchownat", "lchown", "chown", "fchown", "utimensat",
        "ioctl", "fcntl",
        "lseek", "getdents64", "pread64", "pwrite64", "fallocate", "ftruncate", "truncate", "futex", "setfsuid", "setfsgid",
        "setgroups", "faccessat2", "access", "readlink", "readlinkat", "dup", "mmap", "munmap", "madvise", "mprotect", "brk",
        "flock", "linkat", "newlstat", "newstat", "newfstat", "pidfd_open", "mremap", "sched_yield",
        "capget", "capset", "symlinkat", "mknodat", "copy_file_range",
    }
    return sorted(name for name in wanted if os.path.isdir(f"{TRACE}/syscalls/sys_enter_{name}"))


def event_name(word):
    """`openat` of `syscalls:sys_enter_openat`; `sys_enter` stands for all calls."""
    return word.rpartition(":")[2].removeprefix("sys_enter_")


class Counter:
    """Runs a command and says what happened in a daemon and on its mount meanwhile."""

    def __init__(self, pid, point, scratch):
        self.pid, self.connection, self.scratch = pid, connection(point), scratch
        self.calls, self.opcodes = calls(), opcodes()

    def run(self, words, **more):
        requests, system = f"{self.scratch}/requests.csv", f"{self.scratch}/calls.csv"
        # One event for each kind of request would be as many as there are kinds; recording needs one.
        trace = f"{self.scratch}/requests.data"
        outer = ["perf", "record", "-q", "-a", "-o", trace, "-e", "fuse:fuse_request_send", "--filter",
                 f"connection=={self.connection}", "--"]
        events = [f"syscalls:sys_enter_{name}" for name in self.calls]
        inner = ["perf", "stat", "-x,", "-o", system, "-p", str(self.pid), "-e", ",".join(
            ["raw_syscalls:sys_enter", "task-clock", "context-switches"] + events), "--"]
        code, output, errors = places.run(*outer, *inner, *words, **more)
        if code not in (0, 1):
            raise places.Failure(f"{' '.join(words[:4])}: exit {code}: {errors[-300:]}")
        counted = {}
        with open(system, encoding="ascii") as file:
            for line in file:
                fields = line.split(",")
                if len(fields) > 2 and re.fullmatch(r"[\d.]+", fields[0]):
                    counted[event_name(fields[2])] = float(fields[0])
        listed = places.must("perf", "script", "-i", trace, "-F", "trace")
        sent = {}
        for number in re.findall(r"opcode (\d+)", listed):
            name = self.opcodes.get(int(number), number)
            sent[name] = sent.get(name, 0) + 1
        return output, errors, sent, counted


def command_of(name, fixture, tarball, seconds):
    """The words, and how many operations they are if that is known before."""
    workload = workloads.BY_NAME[name]
    if workload.kind == "load":
        return [*fixture.load, workload.operation, fixture.path, str(seconds), "1"], None
    tree, warm = f"{fixture.path}/tree", f"{fixture.path}/warm"
    tool = {"find": ["find", warm, "-type", "f", "-size", "+1000000k"], "grep": ["grep", "-r", "no-such-word", warm],
            "tar-x": ["tar", "-xf", tarball, "--no-same-owner", "-C", fixture.path], "rm-r": ["rm", "-r", tree]}[name]
    return [*fixture.load, "run", *tool], workloads.Sizes.files


def measure(settings, names):
    scratch = places.Scratch(os.path.realpath(settings.dir))
    try:
        tarball = f"{scratch.top}/tree.tar"
        fixtures.make_tarball(tarball)
        mounts = places.Mounts(scratch, "user", settings.aclfs, settings.options, settings.built.replace(",", " ").split(), [], "")
        for each in mounts.missing:
            print(f"costs: {each}", file=sys.stderr)
        made = {each.label: each for each in fixtures.make(mounts, settings.uid, [settings.load], ["acl"] if settings.lists else [])}
        del made["native"]
        rows, whole = [], commands.of(names)
        archive = commands.Archive(f"{scratch.top}/repository.tar", settings.files) if whole else None
        for label, fixture in made.items():
            loops = [name for name in names if name in workloads.BY_NAME]
            fixture.prepare({workloads.BY_NAME[name].need for name in loops}, 1, tarball)
            point = mounts.at[label.partition("+")[0]]
            counter = Counter(daemon(mounts, label, point), point, scratch.top)
            for name in loops:
                rows.append((name, label, least(name, fixture, tarball, counter, settings)))
                # Not lost if somebody ends the run.
                print(f"costs: {name} on {label}: {listed(rows[-1][2]['requests'])}", file=sys.stderr)
            if not whole:
                continue
            tree = commands.Tree(label, fixture.path, settings.uid, [settings.load], archive, settings.rest)
            tree.prepare()
            for name in whole:
                rows.append((name, label, least_of_command(name, tree, counter, settings)))
                print(f"costs: {name} on {label}: {listed(rows[-1][2]['requests'])}", file=sys.stderr)
        return rows
    finally:
        scratch.end()


def daemon(mounts, label, point):
    if label.startswith("aclfs"):
        return mounts.daemon()
    for word in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{word}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if point.encode() in words:
            return int(word)
    raise places.Failure(f"the daemon of {point} is not among the processes")


def least(name, fixture, tarball, counter, settings):
    """Counts of one run, with the least processor time of all."""
    best = None
    for _ in range(settings.rounds):
        if name == "tar-x":
            places.run("rm", "-rf", f"{fixture.path}/tree")
        elif name == "rm-r" and not os.path.exists(f"{fixture.path}/tree"):
            fixture.extract(tarball)
        words, count = command_of(name, fixture, tarball, settings.seconds)
        output, errors, sent, counted = counter.run(words)
        if count is None:
            try:
                count = float(output.split()[1])
            except (IndexError, ValueError):
                raise places.Failure(f"{name} on {fixture.label}: {errors[-300:]}") from None
        one = {"requests": {key: value / count for key, value in sent.items()},
               "calls": {key: value / count for key, value in counted.items()}}
        if best is None or one["calls"]["task-clock"] < best["calls"]["task-clock"]:
            best = one
    return best


def least_of_command(name, tree, counter, settings):
    """Counts of one run of a whole command for each file: of the one with the fewest calls, for the daemon also asks by itself."""
    best = None
    for _ in range(settings.rounds):
        tree.make_ready(name)
        _, _, sent, counted = counter.run(tree.words(name), **tree.surroundings)
        one = {kind: {key: value / tree.count(name) for key, value in counts.items()}
               for kind, counts in (("requests", sent), ("calls", counted))}
        if best is None or asking(one["calls"]) < asking(best["calls"]):
            best = one
    return best


def asking(counted):
    """The number of calls that do not depend on the load."""
    return counted["sys_enter"] - sum(counted.get(each, 0) for each in CARRYING)


def listed(counts, least_share=0.02):
    """`LOOKUP 1, OPEN 1`, the most frequent first; what hardly happens is left out."""
    named = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {value:.2f}".replace(".00", "") for name, value in named if value >= least_share)


def show(rows, instructions):
    columns = ["operation", "file system", "requests", "calls of the daemon, besides taking requests and answering",
               "instructions outside the kernel", "µs of processor", "switches", "which requests", "which calls"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name, label, one in rows:
        total, counted = asking(one["calls"]), dict(one["calls"])
        _, clock, switches = (counted.pop(key, 0) for key in ("sys_enter", "task-clock", "context-switches"))
        for each in CARRYING:
            counted.pop(each, None)
        outside = instructions.get((name, label))
        shown = commands.title(name) if name in commands.ROWS else name
        print(f"| {shown} | {label} | {sum(one['requests'].values()):.2f} | {total:.1f} | "
              f"{f'{outside / 1000:.1f} k' if outside else '-'} | {clock * 1000:.1f} | {switches:.2f} | "
              f"{listed(one['requests'])} | {listed(counted)} |")


def main(words):
    parser = argparse.ArgumentParser(prog="costs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--aclfs", default=os.environ.get("ACLFS") or "aclfs", help="the program (ACLFS)")
    add("--load", default=os.environ.get("ACLFS_LOAD") or "aclfs-load", help="the program of the loops (ACLFS_LOAD)")
    add("--dir", default=os.environ.get("BENCH_DIR") or "/dev/shm", help="where; decides the backing file system")
    add("--built", default="bindfs", help="peers that are mounted here, joined by commas; - for none")
    add("--only", default="", help="workloads, joined by commas")
    add("--lists", action="store_true", help="also below a directory with 8 inherited entries")
    add("--options", default=os.environ.get("BENCH_OPTIONS", ""), help="mount options of aclfs")
    add("--uid", type=int, default=1000)
    add("--seconds", type=float, default=0.3)
    add("--rounds", type=int, default=3)
    add("--files", type=int, default=300, help="of the tree of whole commands, besides git's objects")
    add("--rest", type=float, default=2, help="seconds before each whole command")
    add("--instructions", choices=["no", "too", "only"], default="too" if shutil.which("valgrind") else "no")
    settings = parser.parse_args(words)
    try:
        counts = settings.instructions != "only"
        if os.geteuid() != 0 or counts and not shutil.which("perf"):
            raise places.Failure("needs root and perf")
        if counts and not os.path.isdir(f"{TRACE}/fuse"):
            raise places.Failure("no trace points: mount -t tracefs none /sys/kernel/tracing, on a kernel that has those of fuse")
        settings.aclfs, settings.load = (os.path.abspath(shutil.which(each) or each) for each in (settings.aclfs, settings.load))
        if settings.built == "-":
            settings.built = ""
        unknown = next((word for word in settings.built.split(",") if word and word not in peers.NAMES), None)
        if unknown:
            raise places.Failure(f"--built: there is no '{unknown}', only - and {', '.join(peers.NAMES)}")
        if "bindfs" in settings.built.split(",") and not shutil.which("bindfs"):
            print("costs: bindfs is not installed (apt install bindfs), so it is left out", file=sys.stderr)
            settings.built = ",".join(each for each in settings.built.split(",") if each != "bindfs")
        names = [word for word in settings.only.split(",") if word] or ROWS
        outside, by_request = callgrind.count(settings, names, command_of) if settings.instructions != "no" else ({}, {})
        if counts:
            show(measure(settings, names), outside)
        else:
            for (name, label), count in outside.items():
                print(f"{name:12} {label:8} {count:10.0f}")
        if by_request:
            print("\n| request | instructions outside the kernel | of so many |\n|---|---|---|")
        for name, (calls, cost) in sorted(by_request.items(), key=lambda item: -item[1][0]):
            print(f"| {name.upper()} | {cost / calls / 1000:.1f} k | {calls} |")
    except (places.Failure, OSError, subprocess.SubprocessError) as error:
        print(f"costs: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
