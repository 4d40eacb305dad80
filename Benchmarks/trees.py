"""What commands on whole trees cost: objects a second on a mount and on the backing directory, the processor time of the command and of
the daemon, on which other load has less influence, and the memory of the command."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from fixtures import Fixture
from places import Alone, Failure, must

OBJECTS_A_SECOND = 20_000
MIB = 64
ENTRY = "user:1500 allow read,file_inherit,directory_inherit"


def timed(words):
    """Seconds, those of processors, and the largest resident memory in bytes of a program that must succeed."""
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        taken = time.perf_counter() - begin
        if child.returncode:
            output.seek(0)
            raise Failure(f"{' '.join(words[:2])} …: exit {child.returncode}: {output.read().decode('utf-8', 'replace')[-300:]}")
    return taken, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def processors(pid):
    """Seconds of processors that a process has had."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def measure(scratch, aclfs, options, load, settings):
    """A tree that is made on the backing directory, and mounted afterwards."""
    back = scratch.new("private/trees")
    print(f"bench: making {settings.objects} objects for commands on trees", file=sys.stderr)
    must(*Fixture("native", back, 0, [load]).load, "prepare-objects", back, str(settings.objects))
    count = sum(len(names) + len(files) for _, names, files in os.walk(back))
    result = {"objects": count, "rows": {}, "memory": 0}

    def row(name, words, daemon=None):
        before = processors(daemon) if daemon else 0
        taken, own, memory = timed(words)
        result["rows"][name] = {"rate": count / taken, "command_us": own / count * 1e6,
                                "daemon_us": (processors(daemon) - before) / count * 1e6 if daemon else None}
        result["memory"] = max(result["memory"], memory)
        print(f"bench: {name}: {taken:.0f} s", file=sys.stderr)

    mounts = Alone(scratch, aclfs, options, back, "trees")
    point, daemon = mounts.at["aclfs"], mounts.daemon()
    try:
        must(aclfs, "chmod", "+a", ENTRY, point)
        row("propagate, every list changes", [aclfs, "propagate", point], daemon)
        row("propagate, no list changes", [aclfs, "propagate", point], daemon)
        row("strip -R", [aclfs, "strip", "-R", point], daemon)
        must(aclfs, "chmod", "+a", ENTRY, point)
        row("propagate with an undo file", [aclfs, "propagate", "--undo-file", f"{scratch.top}/undo", point], daemon)
        row("restore", [aclfs, "restore", f"{scratch.top}/undo"], daemon)
    finally:
        # A copy of the mount in another mount namespace would keep the daemon, and nothing is changed offline meanwhile.
        must(aclfs, "unmount", "-f", point)
    row("propagate offline, every list changes", [aclfs, "propagate", "--offline", back])
    shutil.rmtree(back, ignore_errors=True)
    return result
