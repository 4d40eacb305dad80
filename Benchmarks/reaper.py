"""Takes away what a run made, however the run ended.

It is started as a process of its own and waits until the other end of its standard input is closed, which happens
when the run ends, and also when it is killed. Then it unmounts what is mounted below the run's directory, ends the
processes that served it, and removes the directory.
"""
import os
import signal
import subprocess
import sys
import time

PREFIX = "aclfs-bench."
# Programs that run while the clock does. A shell is among them by its own name, whatever it is called by.
MEASURED = {"aclfs-load", "tar", "find", "grep", "rm", "git", "du", "ls", "cp", "seq", "touch", "sh", "dash", "bash"}


def mounts_below(top):
    """The mount points below a directory, the last mounted first."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        points = [line.split()[4].encode("latin-1", "replace").decode("unicode_escape") for line in table]
    return [point for point in reversed(points) if point.startswith(top + "/")]


def processes_of(top):
    """Processes with an argument below the directory, without this one's kind."""
    found = []
    for word in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{word}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        place = top.encode() + b"/"
        if int(word) != os.getpid() and any(each.startswith(place) or b"=" + place in each for each in words):
            found.append(int(word))
    return found


def quiet(*words):
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def reap(top):
    # What still measures keeps the mounts busy.
    for pid in processes_of(top):
        if program(pid) in MEASURED:
            end(pid)
    for point in mounts_below(top):
        quiet("umount", point) or quiet("umount", "-l", point)
    patience = time.monotonic() + 5
    while processes_of(top) and time.monotonic() < patience:
        time.sleep(0.05)
    for pid in processes_of(top):
        end(pid)
    left = mounts_below(top)
    if left:
        print(f"bench: still mounted: {' '.join(left)}", file=sys.stderr)
        return 1
    # Trees may be deeper than Python can walk.
    quiet("rm", "-rf", "--one-file-system", "--", top)
    if os.path.exists(top):
        print(f"bench: {top} could not be removed", file=sys.stderr)
        return 1
    return 0


def program(pid):
    """Its name, nothing of a process that has ended meanwhile."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def abandoned(parent):
    """Directories of earlier runs whose run and whose reaper were killed."""
    for name in os.listdir(parent):
        top = os.path.join(parent, name)
        if name.startswith(PREFIX) and os.path.isdir(top) and os.stat(top).st_uid == os.geteuid():
            try:
                with open(f"{top}/.run", encoding="ascii") as file:
                    pid, begin = file.read().split()
            except (OSError, ValueError):
                continue
            if started(pid) != begin:
                yield top


def started(pid):
    """When a process started: with its number this says which process it is."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except OSError:
        return None


def main():
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    sys.stdin.buffer.read()
    return reap(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
