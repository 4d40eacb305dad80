"""What commands on whole trees cost: objects a second on a mount and on the backing directory, and the memory of the command."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from fixtures import Fixture
from places import Failure, must

OBJECTS_A_SECOND = 20_000
MIB = 64
ENTRY = "user:1500 allow read,file_inherit,directory_inherit"


def timed(words):
    """Seconds and the largest resident memory in bytes of a program that must succeed."""
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        taken = time.perf_counter() - begin
        if child.returncode:
            output.seek(0)
            raise Failure(f"{' '.join(words[:2])} …: exit {child.returncode}: {output.read().decode('utf-8', 'replace')[-300:]}")
    return taken, usage.ru_maxrss * 1024


def measure(scratch, aclfs, options, load, settings):
    """A tree that is made on the backing directory, and mounted afterwards."""
    back, point = scratch.new("private/trees"), scratch.new("trees")
    print(f"bench: making {settings.objects} objects for commands on trees", file=sys.stderr)
    must(*Fixture("native", back, 0, [load]).load, "prepare-objects", back, str(settings.objects))
    count = sum(len(names) + len(files) for _, names, files in os.walk(back))
    result = {"objects": count, "rows": {}, "memory": 0}

    def row(name, words):
        taken, memory = timed(words)
        result["rows"][name] = count / taken
        result["memory"] = max(result["memory"], memory)

    must(aclfs, "mount", *(["-o", options] if options else []), back, point)
    try:
        must(aclfs, "chmod", "+a", ENTRY, point)
        row("propagate, every list changes", [aclfs, "propagate", point])
        row("propagate, no list changes", [aclfs, "propagate", point])
        row("strip -R", [aclfs, "strip", "-R", point])
        must(aclfs, "chmod", "+a", ENTRY, point)
        row("propagate with an undo file", [aclfs, "propagate", "--undo-file", f"{scratch.top}/undo", point])
        row("restore", [aclfs, "restore", f"{scratch.top}/undo"])
    finally:
        must("umount", point)
    row("propagate offline, every list changes", [aclfs, "propagate", back])
    shutil.rmtree(back, ignore_errors=True)
    return result
