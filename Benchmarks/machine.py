"""What a figure means nothing without: the machine, the versions, the load."""
import os
import platform
import re
import time

from places import Failure, run


def describe(aclfs, directory):
    processors = _read("/proc/cpuinfo")
    model = re.search(r"^model name\s*:\s*(.*)$", processors, re.M)
    memory = re.search(r"^MemTotal:\s*(\d+)", _read("/proc/meminfo"), re.M)
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": commit(),
        "aclfs": _first(aclfs, "--version"),
        "processor": model.group(1) if model else platform.machine(),
        "processors": os.cpu_count(),
        "memory_gib": round(int(memory.group(1)) / 2**20) if memory else None,
        "virtual": "hypervisor" in processors,
        "kernel": platform.release(),
        "libfuse": _first("pkg-config", "--modversion", "fuse3"),
        "bindfs": _first("bindfs", "--version"),
        "autogroup": _read("/proc/sys/kernel/sched_autogroup_enabled").strip() or None,
        "backing": backing(directory),
    }


def commit():
    here = os.path.dirname(os.path.abspath(__file__))
    name = _first("git", "-C", here, "rev-parse", "--short=10", "HEAD")
    if not name:
        return "no commit"
    try:
        dirty = run("git", "-C", here, "diff", "--quiet", "HEAD")[0]
    except Failure:
        return name
    return f"{name} with changes" if dirty else name


def backing(directory):
    """Type and options of the file system that holds a directory."""
    best = ("", "unknown", "")
    device = os.stat(directory).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as table:
        for line in table:
            words = line.split()
            end = words.index("-")
            if words[2] == wanted and len(words[4]) >= len(best[0]) and (directory + "/").startswith(words[4].rstrip("/") + "/"):
                best = (words[4], words[end + 1], words[5])
    return {"type": best[1], "options": best[2]}


def load():
    """The average of the last minute, and how many of how many threads run."""
    return {"average": round(os.getloadavg()[0], 2), "running": _read("/proc/loadavg").split()[3]}


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _first(*words):
    try:
        code, output, _ = run(*words)
    except Failure:
        return None
    return output.splitlines()[0] if code == 0 and output else None
