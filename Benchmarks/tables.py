"""The results as rows of text, for the terminal and for the document alike."""
import felt
from figures import (at_most, best_of_others, duration, figure, number, ratio, share, shown, verdict, verdict_at_home,
                     verdict_flat, verdict_whole, verdict_with_entries)
from scale import AS_FLAT_AS, BYTES_EACH, START_MS
from trees import MIB, OBJECTS_A_SECOND
from workloads import BY_NAME


def of_workloads(identity, uring):
    """One row for each workload: rates, ratios to native (of aclfs+acl to aclfs), targets and verdicts."""
    labels = []
    for by_label in identity["samples"].values():
        labels += [label for label in by_label if label not in labels]
    peers = [label for label in labels if label != "native" and not label.startswith("aclfs")]
    entries, again = "aclfs+acl" in labels, "aclfs+again" in labels
    rows = [["workload", "unit", "native", "aclfs"] + (["the same again"] if again else []) + (["with 8 entries"] if entries else [])
            + peers + (["of the best"] if peers else []) + ["target", "verdict"] + (["with entries"] if entries else [])]
    for name, by_label in identity["samples"].items():
        workload = BY_NAME[name]
        plain = by_label.get("native")
        row = [name, workload.unit, _rate(plain), _ratio(by_label.get("aclfs"), plain)]
        if again:
            row.append(_of(by_label.get("aclfs+again"), by_label.get("aclfs"), ""))
        if entries:
            row.append(_of(by_label.get("aclfs+acl"), by_label.get("aclfs"), "of aclfs"))
        row += [_ratio(by_label.get(peer), plain) for peer in peers]
        if peers:
            row.append(_of(by_label.get("aclfs"), by_label.get(best_of_others(by_label, peers)), ""))
        judged = verdict(workload, by_label, peers, uring)
        row += [judged.text or "none", shown(judged) or "-"]
        if entries:
            row.append(shown(verdict_with_entries(by_label)) or "-")
        rows.append(row)
    return rows


# In the tables of whole commands; other labels are names already.
HEADINGS = {felt.EXCLUSIVE: "aclfs, cache=exclusive"}


def of_whole(identity, sizes):
    """One row for each whole command: native's seconds, then times native's, for which less is better."""
    others = [label for label in identity["labels"] if label not in felt.OWN]
    labels = ["aclfs", *others, felt.EXCLUSIVE]
    rows = [["command", "native", *[HEADINGS.get(label, label) for label in labels], "goal", "verdict"]]
    for name, by_label in identity["samples"].items():
        plain = by_label.get("native")
        judged = verdict_whole(felt.BY_NAME[name], by_label)
        rows.append([felt.title(felt.BY_NAME[name], sizes), _duration(plain), *[_times(by_label.get(label), plain) for label in labels],
                     judged.text or "none", shown(judged) or "-"])
    return rows


def _duration(samples):
    value = figure(samples)
    return f"{duration(value.median)} [{duration(value.low)}..{duration(value.high)}]" if value else "failed"


def _times(samples, base):
    value, taken = ratio(samples, base), figure(samples)
    if not taken:
        return "-" if samples is None else "failed"
    return f"{share(value.median)} [{share(value.low)}..{share(value.high)}] {duration(taken.median)}" if value else duration(taken.median)


def whole_of(result):
    """Titles and tables of whole commands, in the order in which they are shown."""
    whole = result.get("felt") or {"identities": {}}
    for who, identity in whole["identities"].items():
        yield f"As {who}", of_whole(identity, whole["settings"])


def has_others(result):
    """Whether anything but whole commands was measured."""
    return any(result.get(name) for name in ("identities", "start", "scale", "trees", "micro"))


def of_home(identity):
    """What a home directory of mode 0700 costs, in decisions for each operation."""
    rows = [["workload", "decisions, open to all", "below 0700", "rate, of aclfs", "target", "verdict"]]
    for name, by_label in identity["decisions"].items():
        if "aclfs-home" not in by_label or "aclfs" not in by_label:
            continue
        judged = verdict_at_home(BY_NAME[name], by_label)
        samples = identity["samples"][name]
        rows.append([name, f"{by_label['aclfs']:.2f}", f"{by_label['aclfs-home']:.2f}",
                     _of(samples.get("aclfs-home"), samples.get("aclfs"), ""), judged.text, shown(judged)])
    return rows


def of_start(times):
    value = figure(times)
    judged = at_most(value, START_MS, f"{START_MS} ms")
    return [["start", "median", "range", "target", "verdict"],
            ["mount to first answer", f"{value.median:.0f} ms", f"{value.low:.0f} to {value.high:.0f} ms", judged.text, shown(judged)]]


def of_scale(scale):
    rows = [["with many objects", "native", "aclfs", "of native", "target", "verdict"]]
    for name, both in scale["rows"].items():
        fewer = scale["rows"].get(AS_FLAT_AS.get(name))
        judged = verdict_flat(both, fewer) if fewer else None
        rows.append([f"{name} ({scale['few']:,} and {scale['objects']:,})", _rate(both["native"]), _rate(both["aclfs"]),
                     share(ratio(both["aclfs"], both["native"]).median), judged.text if judged else "none",
                     shown(judged) if judged else "-"])
    each = scale["bytes_each"]
    rows.append(["memory of the daemon per remembered object", "-", f"{each:.0f} bytes", "-", f"{BYTES_EACH} bytes",
                 "met" if each <= BYTES_EACH else "missed"])
    return rows


def of_trees(trees):
    rows = [[f"commands on {trees['objects']:,} objects", "objects a second", "µs of the command each", "of the daemon", "target",
             "verdict"]]
    for name, row in trees["rows"].items():
        held = name == "propagate, every list changes"
        rows.append([name, number(row["rate"]), f"{row['command_us']:.1f}", "-" if row["daemon_us"] is None else f"{row['daemon_us']:.1f}",
                     number(OBJECTS_A_SECOND) if held else "none",
                     ("met" if row["rate"] >= OBJECTS_A_SECOND else "missed") if held else "-"])
    memory = trees["memory"] / 2**20
    rows.append(["most memory of the command", f"{memory:.0f} MiB", "-", "-", f"{MIB} MiB", "met" if memory <= MIB else "missed"])
    return rows


def of_micro(micro):
    rows = [["evaluator and parsers", "ns", "range", "allocations", "target", "verdict"]]
    for one in micro:
        limit = one.get("limit_ns")
        text, outcome = "none", "-"
        if limit is not None:
            text = f"{limit:.0f} ns, no allocation"
            outcome = "met" if one["ns"] <= limit and one["allocations"] == 0 else "missed"
        rows.append([one["name"], f"{one['ns']:.1f}", f"{one['low']:.1f} to {one['high']:.1f}",
                     f"{one['allocations']:.0f}" if one["allocations"] >= 1 else f"{one['allocations']:.2g}", text, outcome])
    return rows


def _rate(samples):
    value = figure(samples)
    return f"{number(value.median)} [{number(value.low)}..{number(value.high)}]" if value else "failed"


def _ratio(samples, base):
    value, rate = ratio(samples, base), figure(samples)
    if not rate:
        return "-" if samples is None else "failed"
    return f"{share(value.median)} [{share(value.low)}..{share(value.high)}] {number(rate.median)}" if value else number(rate.median)


def _of(samples, base, words):
    value = ratio(samples, base)
    return f"{share(value.median)} {words}".strip() if value else "-"


def all_of(result):
    """Titles and tables of the other workloads, in the order in which they are shown."""
    uring = bool(result.get("paths", {}).get("uring", {}).get("used"))
    for who, identity in result.get("identities", {}).items():
        yield f"As {who}", of_workloads(identity, uring)
        home = of_home(identity)
        if len(home) > 1:
            yield f"As {who}, below a home directory of mode 0700", home
    if result.get("start"):
        yield "Start", of_start(result["start"])
    if result.get("scale"):
        yield "Scale", of_scale(result["scale"])
    if result.get("trees"):
        yield "Commands on trees", of_trees(result["trees"])
    if result.get("micro"):
        yield "Microbenchmarks", of_micro(result["micro"])


def aligned(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def summary(result):
    """Sentences on what was measured: machine, versions, paths, what is missing."""
    lines = [_measured(result)]
    if result["identities"]:
        settings = result["settings"]
        lines += _mounted(result, result["paths"])
        lines.insert(3, f"{settings['rounds']} rounds of {settings['seconds']} s, data of {settings['data_mib']} MiB.")
        words = [("only", "Only measured"), ("skip", "Left out"), ("built", "Peers mounted here")]
        lines += [f"{text}: {settings[name].replace(',', ', ')}." for name, text in words if settings.get(name)]
    else:
        lines.append("No mount was measured.")
    return lines + _lacking(result, result["settings"]["rounds"])


def whole_summary(result):
    """The same for whole commands."""
    whole = result["felt"]
    settings = whole["settings"]
    lines = [_measured(result), *_mounted(result, whole["paths"])]
    sizes = [("files", "a repository of {} files"), ("sources", "a tarball of {} source files"), ("photos", "a folder of {} photos"),
             ("entries", "a directory of {} entries")]
    there = [text.format(f"{settings[name]:,}".replace(",", " ")) for name, text in sizes if settings[name]]
    lines.insert(3, f"{settings['rounds']} rounds, with a rest of {settings['rest']:g} s before each command; {', '.join(there)}.")
    return lines + _lacking(whole, settings["rounds"])


def _measured(result):
    machine = result["machine"]
    host = f"{machine['processors']} × {machine['processor']}" + (" (virtual)" if machine["virtual"] else "")
    load = f"Load average before and after: {result['load_before']['average']} and {result['load_after']['average']}."
    return (f"Measured {machine['date']}, commit {machine['commit']}; kernel {machine['kernel']}, libfuse {machine['libfuse']}; "
            f"{host}, {machine['memory_gib']} GiB. {load}")


def _mounted(result, paths):
    machine, settings = result["machine"], result["settings"]
    ways = ", ".join(f"{name} {'on' if way['used'] else 'off'}" for name, way in paths.items() if isinstance(way, dict) and "used" in way)
    lines = [f"Backing file system: {machine['backing']['type']} ({machine['backing']['options']}).",
             f"Paths: {ways}. Mount options: {settings['options'] or 'none'}."]
    groups = "" if machine.get("autogroup") is None else f" (sched_autogroup_enabled is {machine['autogroup']})"
    if settings.get("servers"):
        lines.append({"apart": "Each server ran in a session of its own", "together": "Servers ran in the clients' session"}
                     [settings["servers"]] + f"{groups}.")
    if settings.get("cpu"):
        lines.append(f"Clients were kept to processor {settings['cpu']}, but for the scale rows; servers were not.")
    return lines


def _lacking(measured, rounds):
    lines = [f"Not measured: {each}." for each in measured["missing"]]
    for who, identity in measured["identities"].items():
        if identity["rounds"] < rounds:
            lines.append(f"As {who} only {identity['rounds']} rounds were complete.")
        lines += [f"Failed as {who}: {each}." for each in _told_once(identity["failures"])]
    return lines


def _told_once(failures):
    """What failed for one reason on one file system in one line, and without the places where it lay."""
    workloads = {}
    for each in failures:
        workload, _, rest = each.partition(" on ")
        label, _, reason = rest.partition(": ")
        reason = reason.strip().splitlines()[-1].rpartition(": ")[2] if reason.strip() else "no reason given"
        workloads.setdefault((label, reason), []).append(workload)
    return [f"{', '.join(names)} on {label}: {reason}" for (label, reason), names in workloads.items()]
