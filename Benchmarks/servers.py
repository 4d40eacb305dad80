"""How file systems in user space are started here: all in the foreground, so that it is the same for all of them in
which session they run. The scheduler may count each session as a group of its own (sched_autogroup_enabled), and whether
client and server are of one group decides where it puts a client that is woken: docs/internals/performance.md "Where the
scheduler puts the client"."""
import os
import subprocess
import time

PATIENCE = 20


class Failed(Exception):
    """Why nothing is mounted."""


def mount(words, point, scratch, own_session):
    """Returns when something is mounted at the point. The server ends with its mount, or with the scratch directory."""
    name = os.path.basename(words[0])
    log = f"{scratch.top}/private/{name}.log"
    with open(log, "ab") as output:
        started = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=own_session)
    patience = time.monotonic() + PATIENCE
    while not os.path.ismount(point) and time.monotonic() < patience:
        if started.poll() is not None:
            with open(log, encoding="utf-8", errors="replace") as file:
                raise Failed(f"{name}: exit {started.returncode}: {file.read().strip()[-300:]}")
        time.sleep(0.02)
    if not os.path.ismount(point):
        raise Failed(f"{name} was started, but nothing is mounted after {PATIENCE} seconds")
