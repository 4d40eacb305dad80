"""What is measured, in the order in which it runs, and what each row is held to."""
from collections import namedtuple

# kind: "load" is an operation of aclfs-load, "tool" a program. need: the part of the fixture that it uses.
Workload = namedtuple("Workload", "name kind operation workers unit need target what")

# The targets: a share of native's rate, which no other file system may beat as well where `leads` is set; or to be
# ahead of every other file system, by half where requests travel through io_uring.
OfNative = namedtuple("OfNative", "share leads")
Ahead = namedtuple("Ahead", "")

AHEAD = Ahead()
DATA = OfNative(0.95, False)


def _load(name, unit, need, target, what, operation=None, workers=1):
    return Workload(name, "load", operation or name, workers, unit, need, target, what)


def _tool(name, what):
    return Workload(name, "tool", name, 1, "files/s", "tree", AHEAD, what)


ALL = [
    _load("stat", "op/s", "names", OfNative(0.65, True), "lstat of cached paths below nine directories"),
    _load("stat-2p", "op/s", "names", OfNative(0.65, True), "the same by two processes", "stat", 2),
    _load("stat-miss", "op/s", "names", OfNative(0.7, False), "lstat of names that do not exist"),
    _load("open", "op/s", "names", AHEAD, "open and close of an existing file"),
    _load("open-2p", "op/s", "names", AHEAD, "the same by two processes", "open", 2),
    _load("open-64p", "op/s", "names", AHEAD, "the same by 64 processes", "open", 64),
    _load("readfile", "op/s", "names", AHEAD, "open, read 4 KiB, close"),
    _load("create", "op/s", "names", AHEAD, "create, close and unlink an empty file"),
    _load("createwrite", "op/s", "names", AHEAD, "the same with 4 KiB written"),
    _load("mkdir", "op/s", "names", AHEAD, "mkdir and rmdir"),
    _load("rename", "op/s", "names", AHEAD, "rename within a directory"),
    _load("chmod", "op/s", "names", AHEAD, "chmod of existing files"),
    _load("getxattr", "op/s", "names", AHEAD, "getxattr of an attribute that is there"),
    _load("readdir", "entries/s", "many", None, "readdir of 10 000 entries"),
    _load("ls-l", "entries/s", "many", OfNative(0.65, True), "readdir of 10 000 entries and lstat of each"),
    _tool("tar-x", "tar -x of 100 directories and 2 000 files"),
    _tool("find", "find that stats each file, walked just before"),
    _tool("grep", "grep -r, read just before"),
    _tool("rm-r", "rm -r of the same tree"),
    _load("seq-read", "MiB/s", "data", DATA, "128 KiB reads in order, cached"),
    _load("seq-write", "MiB/s", "data", DATA, "128 KiB writes in order, without fsync"),
    _load("rand-read", "op/s", "data", DATA, "4 KiB reads at random, cached"),
    _load("rand-write", "op/s", "data", DATA, "4 KiB writes at random, without fsync"),
    _load("mmap-read", "MiB/s", "data", DATA, "one touch of each page of a new mapping"),
    _load("pwrite-1", "op/s", "data", OfNative(1 / 1.5, False), "pwrite of one byte"),
]
BY_NAME = {each.name: each for each in ALL}
QUICK = [
    "stat", "stat-miss", "open", "readfile", "create", "rename", "chmod", "getxattr", "ls-l", "tar-x", "find", "grep",
    "rm-r", "seq-read", "seq-write", "rand-write", "mmap-read", "pwrite-1",
]
# Names and attributes of a listing are kept for a second, by us and by others: a loop must go on for longer than that.
LONGER = {"ls-l": 8, "readdir": 8}
# So many processes, one after the other, share the time of a loop: where the scheduler puts one of them decides more than
# what is measured, and it may stay there for as long as it runs.
STARTS = 5
# Below a home directory that only its owner may search: what walks paths, and how many each operation walks.
AT_HOME = {"stat": 1, "stat-miss": 1, "open": 1, "readfile": 1, "create": 2, "find": 1}
# What an ordinary user cannot do where everything that is created is root's.
CREATING = {"create", "createwrite", "mkdir", "tar-x", "rm-r"}


class Sizes:
    """Of the fixtures. A test of the harness itself makes them smaller; the figures then mean nothing."""

    many = 10_000
    files = 2_000
    files_in_directory = 20


def chosen(only, skipped, quick):
    """The workloads by their names; a name that does not exist is said with those that do."""
    words = [word for word in only.split(",") if word] or (QUICK if quick else [each.name for each in ALL])
    left_out = [word for word in skipped.split(",") if word]
    for word in words + left_out:
        if word not in BY_NAME:
            raise ValueError(f"no workload {word}; there are: {' '.join(BY_NAME)}")
    return [each for each in ALL if each.name in words and each.name not in left_out]
