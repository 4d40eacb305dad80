"""The other file systems that aclfs is compared with: bindfs, and the examples of libfuse, built here."""
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys

import servers

NAMES = ["bindfs", "passthrough_ll", "passthrough_hp"]
EXAMPLES = "/usr/share/doc/libfuse3-dev/examples"
# What others create there is root's: their fixtures are made in the directory behind it, and what creates is left out.
CREATES_AS_ROOT = {"passthrough_hp"}
SOURCES = {"passthrough_ll": ("passthrough_ll.c", "cc"), "passthrough_hp": ("passthrough_hp.cc", "c++")}


class Missing(Exception):
    """Why one of them is not measured."""


def mount(name, back, point, scratch, examples, own_session):
    """Mounts it for all users; returns when it is mounted."""
    if name == "bindfs":
        program = shutil.which("bindfs")
        if not program:
            raise Missing("not installed (apt install bindfs)")
        words = [program, "-f", "--multithreaded", "-o", "allow_other", back, point]
    else:
        program = build(name, scratch, [place for place in (examples, EXAMPLES) if place])
        if name == "passthrough_ll":
            words = [program, "-f", "-o", f"source={back},allow_other,xattr", point]
        else:
            # Before 3.15 it never leaves the foreground, and only whoever mounts it may use it.
            known = subprocess.run([program, "--help"], stdout=subprocess.PIPE, check=False, text=True).stdout
            stays = ["--foreground"] if "--foreground" in known else []
            for_all = ["-o", "allow_other"] if re.search(r"^ *-o\b", known, re.MULTILINE) else []
            words = [program, *stays, back, point, *for_all]
    servers.mount(words, point, scratch, own_session)


def build(name, scratch, examples):
    source, compiler = SOURCES[name]
    place = f"{scratch.top}/private/{name}.build"
    if os.path.exists(f"{place}/{name}"):
        return f"{place}/{name}"
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place)
    candidates = [os.path.join(each, source + suffix) for each in examples for suffix in ("", ".gz")]
    packed = next(filter(os.path.exists, candidates), None)
    if not packed:
        raise Missing(f"{source} is not in {' or '.join(examples)} (BENCH_EXAMPLES names another directory)")
    with (gzip.open if packed.endswith(".gz") else open)(packed, "rb") as file, open(f"{place}/{source}", "wb") as copy:
        shutil.copyfileobj(file, copy)
    if not shutil.which(compiler) or not shutil.which("pkg-config"):
        raise Missing(f"{compiler} and pkg-config are needed to build it")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], stdout=subprocess.PIPE, check=False, text=True)
    standard = ["-std=c++17"] if compiler == "c++" else []
    made = subprocess.run([compiler, "-O2", *standard, "-D_GNU_SOURCE", *[f"-I{each}" for each in examples], f"{place}/{source}", "-o",
                           f"{place}/{name}", *shlex.split(flags.stdout), "-lpthread"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    if made.returncode:
        print(made.stdout[-2000:], file=sys.stderr)
        raise Missing("does not build here")
    return f"{place}/{name}"
