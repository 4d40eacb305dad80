"""What grows with the number of objects, and what must not: costs, memory; and how soon a mount answers."""
import os
import shutil
import sys
import time

from fixtures import Fixture
from places import Alone, must, run

FEW = 1_000
BYTES_EACH = 400
START_MS = 100
# By row, the one with few objects to which it is held. A listing that takes longer than the kernel may keep it is read
# anew each time, so listings are not compared.
AS_FLAT_AS = {name: "open, few remembered" for name in ("open among few, all remembered", "open among all")}


def resident(pid):
    """Bytes of memory that a process has for itself alone or shares with others."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise ValueError("no VmRSS")


def starts(scratch, aclfs, options, count):
    """Milliseconds from the command to the first answer of a mount of its own."""
    back, point = scratch.new("private/start"), scratch.new("start")
    os.mkdir(f"{back}/there")
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        must(aclfs, "mount", *(["-o", options] if options else []), back, point)
        os.lstat(f"{point}/there")
        times.append((time.perf_counter() - begin) * 1000)
        must(aclfs, "unmount", point)
    return times


def measure(scratch, aclfs, options, load, settings):
    """On a mount of its own, so that nothing is remembered yet. The objects are made below it, where it is quick."""
    count = settings.objects // FEW * FEW
    back = scratch.new("private/scale")
    print(f"bench: making {count} objects and a directory of {count} entries", file=sys.stderr)
    make = Fixture("native", back, 0, [load])
    must(*make.load, "prepare-objects", back, str(count))
    must(*make.load, "prepare-many", back, str(count))
    few = scratch.new("private/few")
    must(*make.load, "prepare-many", few, str(FEW))
    must("mv", few, f"{back}/few")
    mounts = Alone(scratch, aclfs, options, back, "scale")
    top = mounts.at["aclfs"]
    native, ours = Fixture("native", back, 0, [load]), Fixture("aclfs", top, 0, [load])

    def rate(fixture, operation, number, where=""):
        words = [*fixture.load, operation, fixture.path + where, str(settings.seconds), "1", str(number)]
        return float(must(*words).split()[0])

    result = {"objects": count, "few": FEW, "rows": {}}
    rows = result["rows"]

    def row(name, operation, number, where=""):
        both = {"native": [], "aclfs": []}
        for turn in range(settings.rounds):
            for fixture in (native, ours) if turn % 2 == 0 else (ours, native):
                both[fixture.label].append(rate(fixture, operation, number, where))
        rows[name] = both

    row("open, few remembered", "open-random", FEW)
    before = resident(mounts.daemon())
    rate(ours, "walk-all", count)
    result["bytes_each"] = (resident(mounts.daemon()) - before) / (count - FEW)
    rate(native, "walk-all", count)
    row("open among few, all remembered", "open-random", FEW)
    row("open among all", "open-random", count)
    row("readdir, few entries", "readdir", 0, "/few")
    row("readdir, all entries", "readdir", 0)
    run("umount", top)
    shutil.rmtree(back, ignore_errors=True)
    return result
