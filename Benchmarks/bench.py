#!/usr/bin/env python3
"""What a mount of aclfs costs, against its backing file system and against other file systems in user space.

Every option has a variable for `make bench`: BENCH_ROUNDS and so on. docs/internals/performance.md says how to read the tables.
"""
import argparse
import json
import os
import resource
import shutil
import signal
import sys
import tempfile

import felt
import fixtures
import machine
import markdown
import peers
import places
import plot
import scale
import tables
import trees
import workloads
from rounds import Rounds


def arguments(words):
    def variable(name, default, kind=str):
        text = os.environ.get("BENCH_" + name.upper(), "")
        try:
            return kind(text) if text else default
        except ValueError:
            sys.exit(f"bench: BENCH_{name.upper()}={text}: not {kind.__name__}")

    quick = "--quick" in words
    only = variable("only", "") or any(word.partition("=")[0] == "--only" for word in words)
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer workloads and shorter rounds: about two minutes")
    add("--rounds", type=int, default=variable("rounds", 3 if quick else 5, int), help="interleaved rounds")
    add("--seconds", type=float, default=variable("seconds", 0.07 if quick else 0.5, float), help="of each loop")
    add("--data-mib", type=int, default=variable("data_mib", 64 if quick else 256, int), help="size of the data file")
    add("--objects", type=int, default=variable("objects", 0 if quick else 1_000_000, int), help="for the rows of scale and of commands on trees; 0 = none")
    add("--tiny", action="store_true", help="small fixtures, for a test of this program: the figures mean nothing")
    add("--starts", type=int, default=variable("starts", 5 if quick else 10, int), help="how often the start is timed; 0 = not")
    add("--only", default=variable("only", ""), help="workloads, joined by commas")
    add("--skip", default=variable("skip", ""), help="workloads that are left out")
    add("--conditions", default=variable("conditions", "acl,again,home"), help="of acl, again and home, or - for none")
    add("--felt", default=variable("felt", "no" if quick or only else "too"), help="whole commands after a rest: no, too or only")
    add("--files", type=int, default=variable("files", 600 if quick else 6_700, int), help="of the repository of whole commands; 0 = none")
    add("--sources", type=int, default=variable("sources", 200 if quick else 2_000, int), help="files of the source tarball; 0 = none")
    add("--photos", type=int, default=variable("photos", 20 if quick else 200, int), help="of the folder; 0 = none")
    add("--entries", type=int, default=variable("entries", 10_000 if quick else 200_000, int), help="of the large directory; 0 = none")
    add("--rest", type=float, default=variable("rest", 0.2 if quick else 2.0, float), help="seconds before each whole command")
    add("--as", dest="who", default=variable("as", "root,user"), help="root, user or both")
    add("--uid", type=int, default=variable("uid", 1000, int), help="the ordinary user's uid and gid")
    add("--cpu", default=variable("cpu", ""), help="the processor that clients are kept to, by its number; servers go where they like")
    add("--servers", default=variable("servers", "apart"), help="apart: each in a session of its own; together: in the clients'")
    add("--dir", default=variable("dir", os.environ.get("TMPDIR") or "/tmp"), help="where; decides the backing file system")
    add("--options", default=variable("options", ""), help="mount options of aclfs")
    add("--built", default=variable("built", ",".join(peers.NAMES)), help="peers that are mounted here; - for none")
    add("--peers", default=variable("peers", ""), help="other mounts, LABEL=DIRECTORY, separated by blanks")
    add("--examples", default=variable("examples", ""), help="directory of libfuse's examples")
    add("--aclfs", default=os.environ.get("ACLFS") or "aclfs", help="the program (ACLFS)")
    add("--load", default=os.environ.get("ACLFS_LOAD") or "aclfs-load", help="the program of the loops (ACLFS_LOAD)")
    add("--micro", default=os.environ.get("ACLFS_MICROBENCH") or "", help="the program of the microbenchmarks, if they are to run")
    add("--json", default=variable("json", ""), help="write every sample here")
    add("--markdown", default=variable("markdown", ""), help="write the tables into this document")
    add("--svg", default=variable("svg", ""), help="write a plot of the whole commands here")
    add("--from", dest="source", help="measure nothing, show results that --json wrote")
    add("--list", action="store_true", help="list the workloads")
    return parser.parse_args(words)


def words_of(text):
    return [word for word in text.replace(",", " ").split() if word != "-"]


def check(settings):
    if os.geteuid() != 0:
        raise places.Failure("needs root: it mounts for all users and measures as root and as an ordinary one")
    if not os.path.exists("/dev/fuse"):
        raise places.Failure("there is no /dev/fuse here")
    for program in (settings.aclfs, settings.load, settings.micro):
        if program and not shutil.which(program):
            raise places.Failure(f"{program}: not found (make bench builds it)")
    for word, known in ((settings.who, ("root", "user")), (settings.conditions, ("acl", "again", "home")), (settings.built, peers.NAMES)):
        for each in words_of(word):
            if each not in known:
                raise places.Failure(f"{each}: must be one of {', '.join(known)}, or - for none")
    if settings.servers not in ("apart", "together"):
        raise places.Failure(f"--servers {settings.servers}: must be apart or together")
    if settings.felt not in ("no", "too", "only"):
        raise places.Failure(f"--felt {settings.felt}: must be no, too or only")
    if settings.felt != "no":
        if settings.rest < 0 or min(felt.sizes_of(settings).values()) < 0:
            raise places.Failure("--rest and the sizes of whole commands must not be negative")
        if not felt.chosen(felt.sizes_of(settings)):
            raise places.Failure("--felt: all sizes are 0, so there is no command; BENCH_FELT=no leaves them out")
        for program in felt.PROGRAMS:
            if not shutil.which(program):
                raise places.Failure(f"{program}: not found, whole commands need it; BENCH_FELT=no leaves them out")
    elif settings.svg:
        raise places.Failure("--svg shows whole commands, and --felt no leaves them out")
    if settings.cpu and (not settings.cpu.isdigit() or int(settings.cpu) not in os.sched_getaffinity(0)):
        raise places.Failure(f"--cpu {settings.cpu}: must be one of {sorted(os.sched_getaffinity(0))}")
    if not 0 < settings.uid < 2**32 - 1:
        raise places.Failure("--uid: an ordinary user's")
    settings.aclfs, settings.load = (os.path.abspath(shutil.which(each)) for each in (settings.aclfs, settings.load))


def client(settings):
    """What the loops are started with."""
    return (["taskset", "--cpu-list", settings.cpu] if settings.cpu else []) + [settings.load]


def measure_as(who, settings, chosen, scratch, tarball, result):
    """One user's rounds, on mounts of their own. Whether somebody wanted them to end early."""
    mounts = places.Mounts(scratch, who, settings.aclfs, settings.options, words_of(settings.built), settings.peers.split(),
                           settings.examples, settings.servers == "apart")
    try:
        result["paths"], result["missing"] = mounts.status()["paths"], mounts.missing
        uid = 0 if who == "root" else settings.uid
        rounds = Rounds(mounts, fixtures.make(mounts, uid, client(settings), words_of(settings.conditions)), chosen, settings, tarball)
        rounds.prepare()
        for fixture in rounds.fixtures:
            if fixture.label == "aclfs+acl":
                fixtures.check_inheritance(fixture)
        rounds.run(who)
        result["identities"][who if who == "root" else f"user {uid}"] = rounds.result()
        return rounds.stopped
    finally:
        mounts.end()


def measure(settings, chosen):
    check(settings)
    # The examples of libfuse keep a descriptor for each object that the kernel knows.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    result = {
        "machine": machine.describe(settings.aclfs, os.path.realpath(settings.dir)), "load_before": machine.load(),
        "settings": {name: getattr(settings, name) for name in ("rounds", "seconds", "data_mib", "objects", "options", "quick", "cpu", "servers", "only", "skip", "built")},
        "identities": {}, "missing": [], "paths": {},
    }
    done = settings.felt == "only"
    if settings.micro and not done:
        result["micro"] = json.loads(places.must(settings.micro, *(["--quick"] if settings.quick else [])))
    scratch = places.Scratch(os.path.realpath(settings.dir))
    try:
        if settings.felt != "no":
            # First: other workloads fill the kernel's caches with objects that no user has there.
            result["felt"] = felt.measure(scratch, settings, client(settings), words_of(settings.who), words_of(settings.built))
            done = result["felt"].pop("stopped") or done
        tarball = f"{scratch.top}/tree.tar"
        fixtures.make_tarball(tarball)
        for who in [] if done else words_of(settings.who):
            done = measure_as(who, settings, chosen, scratch, tarball, result)
            if done:
                break
        if settings.starts and not done:
            result["start"] = scale.starts(scratch, settings.aclfs, settings.options, settings.starts)
        if settings.objects and not done:
            result["scale"] = scale.measure(scratch, settings.aclfs, settings.options, settings.load, settings)
            result["trees"] = trees.measure(scratch, settings.aclfs, settings.options, settings.load, settings)
    finally:
        if scratch.end():
            raise places.Failure("could not clean up; see above")
    result["load_after"] = machine.load()
    return result


def show(result):
    if result.get("felt"):
        print("\n".join(tables.whole_summary(result)))
        for title, rows in tables.whole_of(result):
            print(f"\nWhole commands, times native's time (less is better). {title}\n{tables.aligned(rows)}")
        if not tables.has_others(result):
            return
        print()
    print("\n".join(tables.summary(result)))
    for title, rows in tables.all_of(result):
        print(f"\n{title}\n{tables.aligned(rows)}")


def end_if_stopped(lost):
    """A signal that comes while the interpreter finalizes an object: what its handler raises is dropped there."""
    if issubclass(lost.exc_type, SystemExit):
        os._exit(lost.exc_value.code)
    sys.__unraisablehook__(lost)


def main(words):
    settings = arguments(words)
    if settings.list:
        for each in workloads.ALL:
            print(f"{each.name:12} {each.what}")
        print("\nWhole commands, after a rest:")
        for each in felt.ALL:
            print(f"{each.name:16} {felt.title(each, felt.sizes_of(settings))}")
        return 0
    # A stop ends like an interruption: what was mounted is taken away before the process ends.
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, lambda number, _: sys.exit(128 + number))
    sys.unraisablehook = end_if_stopped
    # Whoever started this may have blocked them, for itself.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        if settings.tiny:
            workloads.Sizes.many, workloads.Sizes.files = 50, 40
        chosen = workloads.chosen(settings.only, settings.skip, settings.quick)
        if settings.source:
            with open(settings.source, encoding="utf-8") as file:
                result = json.load(file)
        else:
            result = measure(settings, chosen)
        # Before anything is shown: a closed terminal must not lose what was measured.
        if settings.json and not settings.source:
            with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(os.path.abspath(settings.json)), delete=False) as file:
                json.dump(result, file, indent=1)
            os.replace(file.name, settings.json)
        show(result)
        if settings.svg:
            plot.write(settings.svg, result)
        if settings.markdown:
            markdown.write(settings.markdown, result, settings.svg)
        failed = felt.failures(result["felt"]) if result.get("felt") and not settings.source else []
        if failed:
            names = ", ".join(each.partition(": ")[0] for each in failed)
            raise places.Failure(f"this is no measurement, because a command failed: {names}")
    except (places.Failure, ValueError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
