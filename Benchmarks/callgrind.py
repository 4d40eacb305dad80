"""Instructions that a daemon takes outside the kernel, counted by valgrind's callgrind."""
import os
import re
import shutil
import signal
import subprocess
import time

import commands
import fixtures
import places
import reaper
import workloads

# What was asked less often says nothing.
FEW = 20


class Daemon:
    """One in valgrind's hands, and its mount."""

    def __init__(self, label, scratch, settings):
        back, self.point = scratch.new(f"private/{label}.counted"), scratch.new(f"{label}.counted")
        self.file = f"{scratch.top}/private/{label}.callgrind"
        if label == "bindfs":
            words = [shutil.which("bindfs"), "-f", "--multithreaded", "-o", "allow_other", back, self.point]
        else:
            # What a static library says of its sources is more than valgrind reads.
            program = f"{scratch.top}/private/aclfsd"
            # What serves, and not the command that becomes it: valgrind loses a process that executes another program.
            places.must("strip", "--strip-debug", "-o", program, f"{settings.aclfs}d")
            # Valgrind runs one thread at a time, and does not let go of one that waits in a ring.
            options = ",".join(filter(None, ["transport=dev", settings.options]))
            words = [program, "mount", "-f", "-o", options, back, self.point]
        self.process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.file}", *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        patience = time.monotonic() + 120
        while not os.path.ismount(self.point) and self.process.poll() is None and time.monotonic() < patience:
            time.sleep(0.1)
        if not os.path.ismount(self.point):
            raise places.Failure(f"{label}: not mounted by valgrind")

    def run(self, words, **more):
        """What the command said, all instructions meanwhile, and those of each kind of request."""
        self._tell("--zero")
        code, output, errors = places.run(*words, **more)
        # 1 is grep's answer that no line matches.
        if code not in (0, 1):
            raise places.Failure(f"{' '.join(words[:4])}: exit {code}: {errors[-300:]}")
        before = set(self._dumps())
        self._tell("--dump")
        for new in set(self._dumps()) - before:
            with open(new, encoding="ascii", errors="replace") as file:
                lines = file.read().splitlines()
            totals = [line.split()[1] for line in lines if line.startswith("totals:")]
            if totals:
                return output, int(totals[-1]), requests(lines)
        raise places.Failure("valgrind wrote no count")

    def _tell(self, what):
        places.must("callgrind_control", what, str(self.process.pid))

    def _dumps(self):
        directory, name = os.path.split(self.file)
        return [f"{directory}/{each}" for each in os.listdir(directory) if each.startswith(name + ".")]

    def end(self):
        if not reaper.quiet("umount", self.point):
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def requests(lines):
    """By the shim's functions `on_lookup` and so on: how often each was called, and what it took with all that it called."""
    names, found, callee, calls = {}, {}, None, 0
    for line in lines:
        named = re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line)
        if named:
            if named[3]:
                names[named[2]] = named[3]
            if named[1]:
                callee = named[2]
        elif line.startswith("calls="):
            calls = int(line[6:].split()[0])
        elif calls:
            # The line behind a call is its whole cost.
            name = names.get(callee, "")
            if name.startswith("on_"):
                before = found.get(name[3:], (0, 0))
                found[name[3:]] = (before[0] + calls, before[1] + int(line.split()[1]))
            calls = 0
    return found


def count_commands(daemon, label, path, scratch, settings, names):
    """The names of whole commands, and their instructions for each file."""
    if not names:
        return
    archive = commands.Archive(f"{scratch.top}/repository.tar", settings.files)
    tree = commands.Tree(label, path, settings.uid, [settings.load], archive, settings.rest)
    tree.prepare()
    for name in names:
        tree.make_ready(name)
        _, total, _ = daemon.run(tree.words(name), **tree.surroundings)
        yield name, total / tree.count(name)


def count(settings, names, command_of):
    """For each operation by its name and label; and for each kind of request that aclfs was sent, how many and their
    instructions. Only of the loops, whose operations can be few, and of whole commands for each file."""
    scratch = places.Scratch(os.path.realpath(settings.dir))
    outside, by_request = {}, {}
    try:
        for label in ["aclfs", *(["bindfs"] if "bindfs" in settings.built else [])]:
            daemon = Daemon(label, scratch, settings)
            try:
                path = f"{daemon.point}/user"
                os.mkdir(path)
                os.chown(path, settings.uid, settings.uid)
                fixture = fixtures.Fixture(label, path, settings.uid, [settings.load])
                fixture.prepare({"names"}, 1, "")
                for name in names:
                    if name not in workloads.BY_NAME or workloads.BY_NAME[name].kind != "load":
                        continue
                    output, total, sent = daemon.run(command_of(name, fixture, "", max(settings.seconds, 1))[0])
                    outside[name, label] = total / float(output.split()[1])
                    for request, (calls, cost) in sent.items():
                        before = by_request.get(request, (0, 0))
                        by_request[request] = (before[0] + calls, before[1] + cost)
                for name, count in count_commands(daemon, label, path, scratch, settings, commands.of(names)):
                    outside[name, label] = count
            finally:
                daemon.end()
        return outside, {name: each for name, each in by_request.items() if each[0] >= FEW}
    finally:
        scratch.end()
