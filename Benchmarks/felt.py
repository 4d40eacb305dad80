"""Whole commands, as a user feels them: each is a process of its own, started after a rest, on trees as users have them.

The loops of the other tables show what one operation costs while nothing else happens. A user waits for a command: it begins
when the kernel's caches have not been used for a moment, and it mixes operations."""
import io
import os
import random
import shutil
import sys
import tarfile
import time
from collections import namedtuple

import fixtures
import peers
import places
import servers
from places import Failure, run

# name: in results and failures. what: for readers. part: of the settings, the size of the tree that it needs; 0 leaves it out.
# words: the command. kind: "reads", "creates" or "removes" a target. goal: at most so many times native's time. before: a command
# that runs before the rest, untimed; its status does not matter.
Command = namedtuple("Command", "name what part words kind target goal fine before")


def _command(name, what, part, words, goal=None, kind="reads", target=None, fine=(0,), before=None):
    return Command(name, what, part, words, kind, target, goal, fine, before)


def _shell(script, *words):
    # The places are words of their own: so quoting is the shell's, and the reaper finds the process by them.
    return ["sh", "-c", script, "sh", *words]


ALL = [
    _command("git-status", "git status", "files", ["git", "-C", "{tree}", "status"], 1.6),
    _command("touch-git-status", "touch one file, git status", "files",
             _shell('touch "$1/$2" && exec git -C "$1" status', "{tree}", "{file}"), 1.7),
    _command("du", "du -s", "files", ["du", "-s", "{tree}"], 1.8),
    _command("find", "find -size +1", "files", ["find", "{tree}", "-size", "+1"], 1.8),
    _command("ls-lR", "ls -lR", "files", ["ls", "-lR", "{tree}"], 4),
    # 1 is grep's answer that no line matches.
    _command("grep-r", "grep -r", "files", ["grep", "-r", "no-such-word", "{tree}"], 6, fine=(1,)),
    # A read moves access times as far as the kernel knows, so it asks for the attributes of each file again.
    _command("read-git-status", "grep -r, then git status", "files", ["git", "-C", "{tree}", "status"],
             before=["grep", "-r", "no-such-word", "{tree}"]),
    _command("cp-r", "cp -r", "files", ["cp", "-r", "{tree}", "{top}/copy"], 6, "creates", "copy"),
    _command("rm-rf", "rm -rf of the copy", "files", ["rm", "-rf", "{top}/copy"], 3, "removes", "copy"),
    _command("tar-x", "tar -x of {sources} source files", "sources", ["tar", "-xf", "{tarball}", "-C", "{top}"], None, "creates", "source"),
    _command("photos-ls", "ls -lR of {photos} photos", "photos", ["ls", "-lR", "{top}/photos"]),
    _command("photos-cp", "cp -r of {photos} photos", "photos", ["cp", "-r", "{top}/photos", "{top}/album"], None, "creates", "album"),
    _command("many-create", "create {entries} files in a directory", "entries",
             _shell('mkdir "$1" && seq -f "$1/entry%06.0f" "$2" | xargs touch', "{top}/many", "{count}"), 3, "creates", "many"),
    _command("many-ls", "ls -l of {entries} entries", "entries", ["ls", "-l", "{top}/many"], 3, target="many"),
    _command("many-rm", "rm -r of {entries} entries", "entries", ["rm", "-r", "{top}/many"], 3, "removes", "many"),
]
BY_NAME = {each.name: each for each in ALL}
PROGRAMS = ["git", "touch", "du", "find", "ls", "grep", "cp", "rm", "tar", "mkdir", "seq", "xargs", "sh"]
SIZES = ["files", "sources", "photos", "entries"]
# passthrough_ll is left out: of the examples passthrough_hp is the one for use.
PEERS = ["bindfs", "passthrough_hp"]
EXCLUSIVE = "aclfs+exclusive"
# A failure of a peer leaves a gap in the table; a failure of one of these is an error of the run.
OWN = ["native", "aclfs", EXCLUSIVE]


def chosen(sizes):
    """The commands whose trees have a size."""
    return [each for each in ALL if sizes[each.part]]


def blocks(commands):
    """The commands that are measured together: those that make, use and remove the same target."""
    made = {}
    for each in commands:
        made.setdefault(each.target or each.name, []).append(each)
    return list(made.values())


def title(command, sizes):
    """What readers call it; sizes are those of the run."""
    return command.what.format(**{name: f"{size:,}".replace(",", " ") for name, size in sizes.items()})


def rotated(items, number):
    """Each round and each command begins with another one."""
    turn = number % len(items) if items else 0
    return items[turn:] + items[:turn]


def exclusive(options):
    """The mount options with cache=exclusive instead of another cache."""
    return ",".join([word for word in options.split(",") if word and not word.startswith("cache=")] + ["cache=exclusive"])


def environment(home):
    """What decides how git behaves is the same for every user and on every machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "bench"), ("EMAIL", "bench@localhost"), ("DATE", "2020-09-13T12:26:40Z"))}
    return {**kept, **who, "HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


class Place:
    """A directory of one user on one file system. `behind` is where its trees are made if the user can make nothing through
    the file system itself."""

    def __init__(self, label, path, uid, load, home, behind=None):
        self.label, self.path, self.uid, self.behind, self.home = label, path, uid, behind, home
        self.as_root = load
        self.load = load + (["-u", str(uid)] if uid else [])
        # Targets that the commands of this round have made.
        self.made = set()
        # Commands that would measure something else here.
        self.left_out = set()

    def runs(self, command):
        return command.name not in self.left_out and not (self.behind and command.kind != "reads")

    def timed(self, words, fine=(0,)):
        """The seconds that a command takes; its output is lost."""
        # The directory of the caller may be one that the user cannot read, which find complains about.
        code, output, errors = run(*self.load, "run", *words, env=environment(self.home), cwd=self.home)
        if code not in fine or not output:
            # What follows the first message is often its consequence.
            raise Failure(f"exit {code}: {errors.partition(chr(10))[0][:300] or 'without a message'}")
        return float(output.split()[0])

    def make(self, archives, entries):
        """The trees, by the user's own commands."""
        if self.behind:
            # No command makes its directory there.
            maker = Place(self.label, self.behind, 0, self.as_root, self.home)
            maker.make(archives, 0)
            if entries:
                maker.timed(filled(BY_NAME["many-create"].words, maker, "", "", entries))
            self.timed_as_root("chown", "-R", f"{self.uid}:{self.uid}", self.behind)
            return
        for name in ("repository", "photos"):
            if name in archives:
                self.timed(["tar", "-xf", archives[name], "--no-same-owner", "-C", self.path])
        if "repository" in archives:
            # Git begins to pack in the background when it likes: not while the clock runs.
            off = ["-c", "gc.auto=0", "-c", "maintenance.auto=false"]
            git = ["git", "-C", f"{self.path}/repository", *off, "-c", "init.defaultBranch=main"]
            for words in (["init", "-q"], ["config", "gc.auto", "0"], ["add", "."], ["commit", "-q", "-m", "bench"]):
                self.timed(git + words)

    def timed_as_root(self, *words):
        return Place(self.label, self.path, 0, self.as_root, self.home).timed(words)

    def check_repository(self):
        """Files that git finds changed would make it read them: something else would be measured."""
        script = 'changed=$(git -C "$1" status --porcelain) || exit; test -z "$changed" || { echo "git status lists changes" >&2; exit 1; }'
        self.timed(_shell(script, f"{self.path}/repository"))

    def remove(self, target):
        self.timed(["rm", "-rf", f"{self.path}/{target}"])


def filled(words, place, tarball, file, count):
    values = {"top": place.path, "tree": f"{place.path}/repository", "tarball": tarball, "file": file, "count": count}
    return [word.format(**values) for word in words]


class Rounds:
    """All rounds of a command come before the next command: what a tree has gone through then is the same, and a user who
    repeats a command is the rule. Each round runs it in every place, beginning with another place each time. Before each there
    is a rest. Commands that make, use and remove the same target take turns."""

    def __init__(self, all_places, archives, file, settings):
        self.places, self.archives, self.file, self.settings = all_places, archives, file, settings
        self.labels = [place.label for place in all_places]
        self.commands = chosen(sizes_of(settings))
        # By command and label: seconds for each round, None where it failed.
        self.samples = {each.name: {} for each in self.commands}
        self.failures = []
        self.complete = 0
        self.stopped = False

    def prepare(self):
        ready = []
        for place in self.places:
            try:
                place.make(self.archives, self.settings.entries)
                ready.append(place)
            except Failure as error:
                self._failed("prepare", place, error)
                if place.label in OWN:
                    raise Failure(f"the trees on {place.label}: {error}") from None
        self.places = ready
        # The trees are written once. Before each command it would be another measurement: no user calls sync, and ext4 takes
        # many times as long to remove a copy that is written as one that is only in memory.
        os.sync()
        self._rest()
        # A user's caches are warm: each tree is used once before a clock runs. Directories of entries are made anew each time.
        for command in self.commands:
            for place in self.places:
                if place.runs(command) and (command.part != "entries" or place.behind):
                    self._run(command, place)
        if "repository" in self.archives:
            for place in self.places:
                self._check_repository(place)

    def _check_repository(self, place):
        try:
            place.check_repository()
        except Failure as error:
            self._failed("prepare", place, error)
            if place.label in OWN:
                raise Failure(f"the repository on {place.label}: {error}") from None
            place.left_out = {"git-status", "touch-git-status"}

    def _rest(self):
        time.sleep(self.settings.rest)

    def _run(self, command, place, rest=False):
        """The seconds; None if it, or the command that makes what it needs, failed."""
        needed = None if command.kind == "creates" or place.behind else command.target
        if needed and needed not in place.made:
            return None
        try:
            if command.kind == "creates":
                place.remove(command.target)
            if command.before:
                place.timed(filled(command.before, place, "", self.file, 0), range(256))
            if rest:
                self._rest()
            words = filled(command.words, place, self.archives.get("source"), self.file, self.settings.entries)
            taken = place.timed(words, command.fine)
            if command.kind == "creates":
                place.made.add(command.target)
                if not any(each.kind == "removes" and each.target == command.target for each in self.commands):
                    place.remove(command.target)
            elif command.kind == "removes":
                place.made.discard(command.target)
                if os.path.lexists(f"{place.path}/{command.target}"):
                    raise Failure(f"{command.target} is still there")
            return taken
        except Failure as error:
            place.made.discard(command.target)
            self._failed(command.name, place, error)
            return None

    def run(self, who):
        for block in blocks(self.commands):
            try:
                for number in range(self.settings.rounds):
                    self._run_round(block, number)
            except KeyboardInterrupt:
                print(f"bench: interrupted at {block[0].what}; what was measured so far counts", file=sys.stderr)
                self.stopped = True
                return
            self.complete = self.settings.rounds
            print(f"bench: whole commands, {who}: {', '.join(each.name for each in block)}, {time.strftime('%H:%M:%S')}, "
                  f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)

    def _run_round(self, block, number):
        for index, command in enumerate(block):
            for place in rotated([each for each in self.places if each.runs(command)], number + index):
                samples = self.samples[command.name].setdefault(place.label, [])
                samples.extend([None] * (number + 1 - len(samples)))
                samples[number] = self._run(command, place, rest=True)

    def _failed(self, what, place, error):
        line = f"{what} on {place.label}: {error}"
        if line not in self.failures:
            print(f"bench: {line}", file=sys.stderr)
            self.failures.append(line)

    def result(self):
        return {"rounds": self.complete, "labels": self.labels, "samples": self.samples, "failures": self.failures}


def sizes_of(settings):
    return {name: getattr(settings, name) for name in SIZES}


def make_archives(scratch, settings):
    """The trees as archives, and the path of a file of the repository."""
    archives, file = {}, ""
    if settings.files:
        archives["repository"] = f"{scratch.top}/repository.tar"
        fixtures.make_tarball(archives["repository"], settings.files, 21, "repository")
        with tarfile.open(archives["repository"]) as archive:
            file = next(each.name for each in archive if each.isreg()).partition("/")[2]
    if settings.sources:
        archives["source"] = f"{scratch.top}/source.tar"
        fixtures.make_tarball(archives["source"], settings.sources, 22, "source")
    if settings.photos:
        archives["photos"] = f"{scratch.top}/photos.tar"
        make_photos(archives["photos"], settings.photos)
    return archives, file


def make_photos(path, count):
    """The same folder every time: files of one to four MB that no file system can compress, in a folder for each month."""
    source = random.Random(23)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for index in range(count):
            data = source.randbytes(source.randint(1_000_000, 4_000_000))
            entry = tarfile.TarInfo(f"photos/2020-{index * 12 // count + 1:02d}/IMG_{index:04d}.JPG")
            entry.mtime, entry.mode, entry.size = 1_600_000_000, 0o644, len(data)
            archive.addfile(entry, io.BytesIO(data))
    os.chmod(path, 0o644)


def mount(scratch, who, settings, built):
    """All file systems, aclfs with cache=exclusive as the last."""
    mounts = places.Mounts(scratch, who, settings.aclfs, settings.options, [name for name in built if name in PEERS],
                           settings.peers.split(), settings.examples, settings.servers == "apart")
    back, point = scratch.new(f"private/{who}/exclusive"), scratch.new(f"{who}/exclusive")
    words = [settings.aclfs, "mount", "--foreground", "-o", exclusive(settings.options), back, point]
    try:
        servers.mount(words, point, scratch, settings.servers == "apart")
        mounts.at[EXCLUSIVE] = point
    except servers.Failed as error:
        mounts.end()
        raise Failure(str(error)) from None
    return mounts


def measure_as(who, settings, load, built, scratch, archives, file, result):
    """One user's rounds, on mounts of their own. Whether somebody wanted them to end early."""
    name = f"whole-{who}"
    mounts = mount(scratch, name, settings, built)
    try:
        result["paths"], result["missing"] = mounts.status()["paths"], mounts.missing
        uid = 0 if who == "root" else settings.uid
        rounds = Rounds([_place(mounts, label, uid, load, scratch.top) for label in mounts.at], archives, file, settings)
        rounds.prepare()
        rounds.run(who)
        result["identities"][who if who == "root" else f"user {uid}"] = rounds.result()
        return rounds.stopped
    finally:
        mounts.end()
        # The trees of the next user need the room.
        for path in (f"{scratch.top}/private/{name}", mounts.at["native"]):
            shutil.rmtree(path, ignore_errors=True)


def _place(mounts, label, uid, load, home):
    path = f"{mounts.at[label]}/uid{uid}"
    os.mkdir(path)
    os.chown(path, uid, uid)
    behind = f"{mounts.behind[label]}/uid{uid}" if uid and label in peers.CREATES_AS_ROOT else None
    return Place(label, path, uid, load, home, behind)


def measure(scratch, settings, load, whos, built):
    """All tables of whole commands, an ordinary user's first: that is how most users meet them."""
    shown = {**sizes_of(settings), "rest": settings.rest, "rounds": settings.rounds}
    result = {"settings": shown, "identities": {}, "missing": [], "paths": {}, "stopped": False}
    if not whos:
        return result
    print("bench: making the trees of whole commands", file=sys.stderr)
    archives, file = make_archives(scratch, settings)
    for who in sorted(whos, key=lambda each: each == "root"):
        result["stopped"] = measure_as(who, settings, load, built, scratch, archives, file, result)
        if result["stopped"]:
            break
    for path in archives.values():
        os.unlink(path)
    return result


def failures(result):
    """What failed on native or aclfs: the run is no measurement then."""
    return [line for identity in result["identities"].values() for line in identity["failures"]
            if line.partition(" on ")[2].partition(": ")[0] in OWN]
