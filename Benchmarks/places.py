"""Where is measured: a scratch directory, the mounts in it, and those of others given by path."""
import json
import os
import subprocess
import sys
import tempfile

import peers
import reaper
import servers

HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    """What could not be done, in words for whoever runs it."""


def run(*words, **more):
    """Runs a program to its end; what it says is the message if it fails. Its output goes to files, because a daemon
    that it leaves behind would keep a pipe open."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            code = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, check=False, **more).returncode
        except OSError as error:
            raise Failure(f"{words[0]}: {error.strerror}") from None
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace").strip())
    return code, texts[0], texts[1]


def must(*words, **more):
    code, output, errors = run(*words, **more)
    if code:
        raise Failure(f"{' '.join(words[:3])} …: exit {code}: {errors[-300:] or output[-300:]}")
    return output


class Scratch:
    """A directory that disappears with all mounts in it when this process ends, in whatever way."""

    def __init__(self, parent):
        for left in reaper.abandoned(parent):
            print(f"bench: removing {left}, which an earlier run left", file=sys.stderr)
            reaper.reap(left)
        self.top = tempfile.mkdtemp(prefix=reaper.PREFIX, dir=parent)
        os.chmod(self.top, 0o755)
        with open(f"{self.top}/.run", "w", encoding="ascii") as file:
            file.write(f"{os.getpid()} {reaper.started(os.getpid())}")
        self.reaper = subprocess.Popen([sys.executable, "-B", f"{HERE}/reaper.py", self.top], stdin=subprocess.PIPE,
                                       start_new_session=True, cwd="/")
        os.mkdir(f"{self.top}/private", 0o700)

    def new(self, name):
        path = f"{self.top}/{name}"
        os.mkdir(path, 0o755)
        return path

    def end(self):
        self.reaper.stdin.close()
        return self.reaper.wait()


class Mounts:
    """By label, where each file system shows a directory of its own on the same backing file system. For each user they
    are mounted anew: some hold a descriptor for every object that they have shown."""

    def __init__(self, scratch, who, aclfs, options, wanted, given, examples, own_session=True):
        self.scratch, self.aclfs = scratch, aclfs
        scratch.new(who), scratch.new(f"private/{who}")
        self.at = {"native": scratch.new(f"{who}/native")}
        self.missing = []
        self.others = []
        # By label, the directory that it shows.
        self.behind = {}
        back, point = scratch.new(f"private/{who}/aclfs"), scratch.new(f"{who}/aclfs")
        words = [aclfs, "mount", "--foreground", *(["-o", options] if options else []), back, point]
        try:
            servers.mount(words, point, scratch, own_session)
        except servers.Failed as error:
            raise Failure(str(error)) from None
        self.at["aclfs"] = point
        for name in wanted:
            back, point = scratch.new(f"private/{who}/{name}"), scratch.new(f"{who}/{name}")
            try:
                peers.mount(name, back, point, scratch, examples, own_session)
            except (peers.Missing, servers.Failed) as error:
                self.missing.append(f"{name}: {str(error).partition(chr(10))[0]}")
                continue
            self._add(name, point)
            self.behind[name] = back
        for word in given:
            label, _, path = word.rpartition("=")
            if not os.path.isdir(path):
                raise Failure(f"{path}: not a directory; a peer is given as LABEL=DIRECTORY")
            label = label or os.path.basename(os.path.abspath(path))
            if label in self.at:
                raise Failure(f"two places are called {label}; name one as LABEL=DIRECTORY")
            inside = tempfile.mkdtemp(prefix=reaper.PREFIX, dir=os.path.abspath(path))
            os.chmod(inside, 0o755)
            self._add(label, inside)
        self.given = [self.at[label] for label in self.others if not self.at[label].startswith(scratch.top)]

    def _add(self, label, path):
        self.at[label] = path
        self.others.append(label)

    def status(self):
        return json.loads(must(self.aclfs, "status", "--json", self.at["aclfs"]))[0]

    def decisions(self):
        return self.status()["counters"]["allowed"]

    def daemon(self):
        """The process that serves the mount of aclfs."""
        place, name = self.at["aclfs"].encode(), os.path.basename(self.aclfs).encode()
        for pid in reaper.processes_of(self.scratch.top):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            # aclfsd; a release of before had one program.
            if place in words and os.path.basename(words[0]) in (name, name + b"d"):
                return pid
        raise Failure("the daemon of the mount is not among the processes")

    def end(self):
        """Unmounts, and removes what lies in directories of others; the rest goes with the scratch directory."""
        for path in self.given:
            reaper.quiet("rm", "-rf", "--one-file-system", "--", path)
        for path in set(self.at.values()) - set(self.given) - {self.at["native"]}:
            reaper.quiet("umount", path)


class Alone(Mounts):
    """Only aclfs, on a directory that is there."""

    def __init__(self, scratch, aclfs, options, back, name):
        self.scratch, self.aclfs = scratch, aclfs
        point = scratch.new(name)
        must(aclfs, "mount", *(["-o", options] if options else []), back, point)
        self.at = {"aclfs": point}
