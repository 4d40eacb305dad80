"""Whole commands of felt.py as rows of costs.py: what they cost for each file of a tree."""
import os
import shutil
import time

import felt
import fixtures

# By the name of a row, the command of felt.py that it counts. Not all names are the same: `find` is a row of its own in costs.py.
ROWS = {"git-status": "git-status", "du": "du", "ls-lR": "ls-lR", "find-size": "find", "grep-r": "grep-r", "cp-r": "cp-r", "rm-rf": "rm-rf"}
COPY = felt.BY_NAME["cp-r"].target


def of(names):
    """The rows among these names that are commands; without git its own is left out."""
    return [name for name in names if name in ROWS and (name != "git-status" or has_git())]


def has_git():
    return shutil.which("git") is not None


def title(name):
    return f"{felt.BY_NAME[ROWS[name]].what}, for each file"


class Archive:
    """The tree, as an archive: so many files of some KiB, the same every time."""

    def __init__(self, path, files):
        self.path, self.files = path, files
        fixtures.make_tarball(path, files, 21, "repository")


class Tree:
    """A repository of one user on one file system. Commands run on it as in felt.py: after a rest, on caches that are warm."""

    def __init__(self, label, path, uid, load, archive, rest):
        # Git looks for its settings there, and must not find any.
        home = os.path.dirname(archive.path)
        self.place, self.archive, self.rest = felt.Place(label, path, uid, load, home), archive, rest
        self.files = 0

    def prepare(self):
        if has_git():
            self.place.make({"repository": self.archive.path}, 0)
        else:
            self.place.timed(["tar", "-xf", self.archive.path, "--no-same-owner", "-C", self.place.path])
        self.files = sum(len(files) for _, _, files in os.walk(f"{self.place.path}/repository"))
        for name in of(ROWS):
            self.make_ready(name, rest=0)
            self.place.timed(self._command(name), felt.BY_NAME[ROWS[name]].fine)

    def make_ready(self, name, rest=None):
        """Makes what the command needs, and lets the kernel's entries grow old."""
        kind, copy = felt.BY_NAME[ROWS[name]].kind, f"{self.place.path}/{COPY}"
        if kind == "creates":
            self.place.remove(COPY)
        elif kind == "removes" and not os.path.lexists(copy):
            self.place.timed(self._command("cp-r"))
        time.sleep(self.rest if rest is None else rest)

    def count(self, name):
        """Git's objects are files of the tree, but its status does not read them."""
        return self.archive.files if name == "git-status" else self.files

    def words(self, name):
        return [*self.place.load, "run", *self._command(name)]

    @property
    def surroundings(self):
        """For the process of the command."""
        return {"env": felt.environment(self.place.home), "cwd": self.place.home}

    def _command(self, name):
        return felt.filled(felt.BY_NAME[ROWS[name]].words, self.place, "", "", 0)
