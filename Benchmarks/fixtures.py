"""The directories that the workloads work in: the same on every file system, made through it, by who is measured."""
import io
import os
import random
import tarfile

import peers
import workloads
from places import Failure, must, run

# Eight entries that everything inherits: some allow, some deny, none takes a right from everybody, and whoever is
# measured is in none of the groups, so that each list is read to its end.
ENTRIES = [f"group:{90_001 + index} {words},file_inherit,directory_inherit" for index, words in enumerate([
    "deny delete,chown", "deny writesecurity", "allow read,execute,readattr", "allow read,write,append",
    "allow list,search,readextattr", "allow add_file,add_subdirectory", "allow readsecurity", "allow write,delete_child",
])]


class Fixture:
    """One directory on one file system, of one user; `load` are the words by which the loops are started. `behind` is where
    it is made if the user can make nothing through the file system itself."""

    def __init__(self, label, path, uid, load, behind=None):
        self.label, self.path, self.uid, self.behind = label, path, uid, behind
        self.as_root = load
        self.load = load + (["-u", str(uid)] if uid else [])

    def prepare(self, needs, data_mib, tarball):
        if self.behind:
            Fixture(self.label, self.behind, 0, self.as_root).prepare(needs, data_mib, tarball)
            must("chown", "-R", f"{self.uid}:{self.uid}", self.behind)
            return
        if "names" in needs:
            must(*self.load, "prepare-names", self.path)
        if "many" in needs:
            must(*self.load, "prepare-many", self.path, str(workloads.Sizes.many))
        if "data" in needs:
            must(*self.load, "prepare-data", self.path, str(data_mib))
        if "tree" in needs:
            self.extract(tarball)
            os.rename(f"{self.path}/tree", f"{self.path}/warm")

    def extract(self, tarball):
        return self.timed("tar", "-xf", tarball, "--no-same-owner", "-C", self.path)

    def timed(self, *words, fine=(0,)):
        code, output, errors = run(*self.load, "run", *words)
        if code not in fine:
            raise Failure(f"{words[0]}: exit {code}: {errors[-200:]}")
        return float(output.split()[0])

    def again(self, *words, fine=(0,)):
        """As in the loops, what is first done is not what is measured."""
        self.timed(*words, fine=fine)
        return sum(self.timed(*words, fine=fine) for _ in range(workloads.STARTS)) / workloads.STARTS

    def measure(self, workload, seconds, tarball):
        """The rate, and how many operations there were at all (None if nobody counted)."""
        if workload.kind == "load":
            longer = workloads.LONGER.get(workload.name)
            starts = 1 if longer else workloads.STARTS
            each = seconds * (longer or 1) / starts
            rates = total = 0.0
            for _ in range(starts):
                output = must(*self.load, workload.operation, self.path, str(each), str(workload.workers), "0")
                rate, done = map(float, output.split())
                rates, total = rates + rate, total + done
            return rates / starts, total
        tree = f"{self.path}/tree"
        if workload.name == "tar-x":
            run("rm", "-rf", tree)
            taken = self.extract(tarball)
        elif workload.name == "find":
            taken = self.again("find", f"{self.path}/warm", "-type", "f", "-size", "+1000000k")
        elif workload.name == "grep":
            taken = self.again("grep", "-r", "no-such-word", f"{self.path}/warm", fine=(1,))
        else:
            if not os.path.exists(tree):
                self.extract(tarball)
            taken = self.timed("rm", "-r", tree)
        return workloads.Sizes.files / taken, None


def make(mounts, uid, load, conditions):
    """A fixture for each file system, and on aclfs one for each condition."""
    name = f"uid{uid}"
    fixtures = []
    for label, place in mounts.at.items():
        behind = f"{mounts.behind[label]}/{name}" if uid and label in peers.CREATES_AS_ROOT else None
        fixtures.append(Fixture(label, _directory(f"{place}/{name}", uid, 0o755), uid, load, behind))
    if "acl" in conditions:
        path = _directory(f"{mounts.at['aclfs']}/{name}-acl", uid, 0o755)
        for entry in ENTRIES:
            must(mounts.aclfs, "chmod", "+a", entry, path)
        fixtures.append(Fixture("aclfs+acl", path, uid, load))
    if "again" in conditions:
        # Nothing is different here: what is measured differently is the machine's doing.
        fixtures.append(Fixture("aclfs+again", _directory(f"{mounts.at['aclfs']}/{name}-again", uid, 0o755), uid, load))
    if "home" in conditions:
        path = _directory(f"{mounts.at['aclfs']}/{name}-home", uid, 0o700)
        fixtures.append(Fixture("aclfs-home", path, uid, load))
    return fixtures


def check_inheritance(fixture):
    """An object far below must have all the entries: else something else would be measured."""
    for directory, _, files in os.walk(fixture.path):
        if files:
            text = os.getxattr(f"{directory}/{files[0]}", "system.aclfs.acl").decode()
            if len(text.strip().splitlines()) != len(ENTRIES) or " inherited" not in text:
                raise Failure(f"{directory}/{files[0]} has not inherited {len(ENTRIES)} entries: {text!r}")
            return
    raise Failure(f"{fixture.path}: no file below it")


def _directory(path, uid, mode):
    os.mkdir(path)
    os.chown(path, uid, uid)
    os.chmod(path, mode)
    return path


def make_tarball(path, count=None, seed=20, top="tree"):
    """The same tree every time: text files of some KiB, most of them small."""
    count = count or workloads.Sizes.files
    source = random.Random(seed)
    words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randint(2, 9))) for _ in range(2000)]
    directories = [""]
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        def add(name, data=None):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.mtime, entry.mode = 1_600_000_000, 0o644 if data is not None else 0o755
            entry.type, entry.size = (tarfile.REGTYPE, len(data)) if data is not None else (tarfile.DIRTYPE, 0)
            archive.addfile(entry, io.BytesIO(data) if data is not None else None)

        while len(directories) <= count // workloads.Sizes.files_in_directory:
            above = source.choice(directories)
            if above.count("/") < 6:
                directories.append(f"{above}d{len(directories):03d}/")
                add(directories[-1])
        for index in range(count):
            size = min(int(source.lognormvariate(7.6, 1.1)), 200_000)
            text = " ".join(source.choices(words, k=size // 6 + 1)).encode()[:size]
            add(f"{source.choice(directories)}f{index:04d}.txt", text)
    os.chmod(path, 0o644)
