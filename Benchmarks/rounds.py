"""Interleaved rounds: each round runs each workload on every file system before the next one begins, so that a slow
minute of the machine falls on all of them. The order is drawn anew each time: what runs first, or behind a certain other
one, runs better or worse for it."""
import os
import random
import sys
import time

import workloads
from places import Failure


class Rounds:
    def __init__(self, mounts, fixtures, chosen, settings, tarball):
        self.mounts, self.fixtures, self.chosen, self.settings, self.tarball = mounts, fixtures, chosen, settings, tarball
        # By workload and label: a sample for each round, None where it failed.
        self.samples = {each.name: {} for each in chosen}
        self.decisions = {each.name: {} for each in chosen}
        self.failures = []
        self.complete = 0
        self.stopped = False

    def places_of(self, workload):
        for fixture in self.fixtures:
            left_out = fixture.label == "aclfs-home" and workload.name not in workloads.AT_HOME
            if not left_out and not (fixture.behind and workload.name in workloads.CREATING):
                yield fixture

    def prepare(self):
        needs = {each.need for each in self.chosen}
        ready = []
        for fixture in self.fixtures:
            try:
                fixture.prepare(needs, self.settings.data_mib, self.tarball)
                ready.append(fixture)
            except Failure as error:
                self._failed("prepare", fixture, error)
        self.fixtures = ready
        os.sync()

    def run(self, who):
        for number in range(self.settings.rounds):
            try:
                for workload in self.chosen:
                    places = list(self.places_of(workload))
                    random.shuffle(places)
                    for fixture in places:
                        self._sample(workload, fixture, number)
            except KeyboardInterrupt:
                print(f"bench: interrupted in round {number + 1}; what was measured so far counts", file=sys.stderr)
                self.stopped = True
                return
            self.complete = number + 1
            print(f"bench: {who}: round {number + 1} of {self.settings.rounds}, {time.strftime('%H:%M:%S')}, "
                  f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)

    def _sample(self, workload, fixture, number):
        samples = self.samples[workload.name].setdefault(fixture.label, [])
        samples.extend([None] * (number + 1 - len(samples)))
        counts = fixture.label.startswith("aclfs") and workload.kind == "load"
        try:
            before = self.mounts.decisions() if counts else 0
            samples[number], done = fixture.measure(workload, self.settings.seconds, self.tarball)
            if counts and done:
                each = (self.mounts.decisions() - before) / done
                self.decisions[workload.name].setdefault(fixture.label, []).append(each)
        except Failure as error:
            self._failed(workload.name, fixture, error)

    def _failed(self, what, fixture, error):
        line = f"{what} on {fixture.label}: {error}"
        if line not in self.failures:
            print(f"bench: {line}", file=sys.stderr)
            self.failures.append(line)

    def result(self):
        least = {work: {label: min(values) for label, values in by.items()} for work, by in self.decisions.items()}
        return {"rounds": self.complete, "samples": self.samples, "decisions": least, "failures": self.failures}
