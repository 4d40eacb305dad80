"""From samples to figures: medians, ranges, ratios of the same round, verdicts."""
import statistics
from collections import namedtuple

from workloads import AT_HOME, Ahead, OfNative

Figure = namedtuple("Figure", "median low high")
# `text` says what is asked; outcome is "met", "missed", or "" where nothing could be compared. `open` = some rounds
# say the one, some the other.
Verdict = namedtuple("Verdict", "text outcome open")

# What an inherited list may cost.
WITH_ENTRIES = 0.95
# What an operation may lose to native from a thousand objects to all of them.
FLAT = 0.9
# Of the look-ups for one component that not everybody may search: attributes that ran out meanwhile, and what was
# looked up before the clock started.
LOOKUP_SLACK = 0.1


def figure(samples):
    known = [sample for sample in samples or [] if sample is not None]
    return Figure(statistics.median(known), min(known), max(known)) if known else None


def ratio(samples, base):
    """The median of the ratios of each round, never the ratio of medians: a round shares its load."""
    pairs = zip(samples or [], base or [])
    return figure([one / other for one, other in pairs if one is not None and other])


def best_of_others(samples, labels):
    """The label of the fastest of these places, by its median; None if none ran."""
    known = [(figure(samples[label]).median, label) for label in labels if figure(samples.get(label))]
    return max(known)[1] if known else None


def _held(text, value, least):
    return Verdict(text, "met" if value.median >= least else "missed", value.low < least <= value.high)


def verdict(workload, samples, peers, uring):
    """How aclfs stands in one row. samples: by label, among them "native" and "aclfs"; peers: labels of others."""
    ours = samples.get("aclfs")
    if workload.target is None or not figure(ours):
        return Verdict("", "", False)
    best = best_of_others(samples, peers)
    against = ratio(ours, samples[best]) if best else None
    if isinstance(workload.target, Ahead):
        factor = 1.5 if uring else 1.0
        text = "1.5 of the best peer" if uring else "ahead of peers"
        return _held(text, against, factor) if against else Verdict(text, "", False)
    assert isinstance(workload.target, OfNative)
    to_native = ratio(ours, samples.get("native"))
    share, text = workload.target.share, f"{workload.target.share:.2g} of native"
    if workload.target.leads:
        text += ", no peer ahead"
    if not to_native:
        return Verdict(text, "", False)
    held = _held(text, to_native, share)
    if not workload.target.leads or not against:
        return held
    ahead = _held(text, against, 1.0)
    outcome = "met" if held.outcome == ahead.outcome == "met" else "missed"
    return Verdict(text, outcome, held.open or ahead.open)


def verdict_with_entries(samples):
    value = ratio(samples.get("aclfs+acl"), samples.get("aclfs"))
    return _held(f"{WITH_ENTRIES} without", value, WITH_ENTRIES) if value else Verdict("", "", False)


def verdict_at_home(workload, decisions):
    """decisions: for each operation, by label. One look-up more for the one component that is restricted, on each walk."""
    if decisions.get("aclfs-home") is None or decisions.get("aclfs") is None:
        return Verdict("", "", False)
    walks = AT_HOME[workload.name]
    more = decisions["aclfs-home"] - decisions["aclfs"]
    text = "1 look-up more" if walks == 1 else f"{walks} look-ups more"
    return Verdict(text, "met" if more <= walks * (1 + LOOKUP_SLACK) else "missed", False)


def verdict_flat(both, fewer):
    """Whether an operation keeps its ratio to native when there are many more objects. By medians: these rows are not of
    the same rounds."""
    value, base = ratio(both.get("aclfs"), both.get("native")), ratio(fewer.get("aclfs"), fewer.get("native"))
    return _held(f"{FLAT} of the same with few", Figure(*(each / base.median for each in value)), FLAT)


def at_most(value, limit, text):
    """For figures of which less is better."""
    if value is None:
        return Verdict(text, "", False)
    return Verdict(text, "met" if value.median <= limit else "missed", value.low <= limit < value.high)


def verdict_whole(command, samples):
    """Of whole commands: seconds, so less is better, and times native's."""
    if command.goal is None:
        return Verdict("", "", False)
    return at_most(ratio(samples.get("aclfs"), samples.get("native")), command.goal, f"at most {command.goal:g}")


def shown(verdict):
    return verdict.outcome + (" (rounds differ)" if verdict.open else "")


def number(value):
    """Three digits that count, with k and M."""
    for limit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit * 0.9995:
            return f"{value / limit:.3g}{letter}" if value < limit * 999.5 else f"{value / limit:.0f}{letter}"
    return f"{value:.3g}"


def share(value):
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def duration(seconds):
    """Three digits that count, in ms below a second."""
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{seconds * 1000:.3g} ms"
