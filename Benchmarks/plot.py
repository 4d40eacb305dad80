"""The whole commands as a picture: for each command a bar for each file system, as a multiple of native's time.

The scale is logarithmic, so that twice as long and half as long are as far from native, and no command makes the others
unreadable. The colours have a second set for readers with a dark background. No fonts or scripts are needed."""
import os
from math import log10
from xml.sax.saxutils import escape

import felt
import tables
from figures import ratio, share

WIDTH, LEFT, RIGHT = 920, 250, 70
BAR, GAP, HEAD, FOOT = 14, 12, 86, 30
# The room that a number takes beside its bar, where no mark of a goal may cross it.
LABEL = 42
# Light and dark, in the order of the bars: aclfs, the others, and aclfs with cache=exclusive, which is akin to the first.
COLOURS = [("#0b5cad", "#5fb0ff"), ("#b5651d", "#e9a15b"), ("#6b7280", "#a3acb9"), ("#7b3fa0", "#c792ea"), ("#2f7d4f", "#6fcf97")]
AKIN = ("#8ab8e0", "#2f6ea8")
STEPS = [10.0 ** power * digit for power in range(-3, 5) for digit in (1, 2, 5)]


def bounds(values):
    """The part of the scale that has all values, native's 1 and some room at both ends."""
    low, high = min([*values, 0.8]), max([*values, 2])
    return max(step for step in STEPS if step <= low or step == STEPS[0]), min(step for step in STEPS if step >= high or step == STEPS[-1])


def svg(title, note, labels, rows):
    """labels: of the bars of each group. rows: name, goal or None, and for each label times native's time, or None where
    nothing was measured."""
    known = [value for _, goal, values in rows for value in [goal, *values] if value]
    low, high = bounds(known)

    def across(value):
        value = min(max(value, low), high)
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (log10(value) - log10(low)) / (log10(high) - log10(low)), 1)

    group = BAR * len(labels) + GAP
    bottom = HEAD + group * len(rows)
    native = across(1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + FOOT}" width="{WIDTH}" height="{bottom + FOOT}"'
        ' role="img">',
        f"<title>{escape(title)}</title>", f"<desc>{escape(note)}</desc>", _style(labels),
        f'<rect class="ground" width="{WIDTH}" height="{bottom + FOOT}"/>',
        _text(14, 24, title, "name big"), _text(14, 43, note, "note"),
    ]
    parts += _legend(labels)
    for step in STEPS:
        if low <= step <= high:
            at = across(step)
            parts.append(f'<line class="{"native" if step == 1 else "step"}" x1="{at}" x2="{at}" y1="{HEAD - 8}" y2="{bottom}"/>')
            parts.append(_text(at, bottom + 17, "native" if step == 1 else f"{step:g} ×", "note", "middle"))
    for number, (name, goal, values) in enumerate(rows):
        top = HEAD + number * group
        parts.append(_text(LEFT - 12, top + group / 2 - 2, name, "name", "end"))
        for index, value in enumerate(values):
            y = top + index * BAR
            if value is None:
                parts.append(_text(native + 5, y + BAR - 3, "-", "note"))
                continue
            begin, end = sorted((native, across(value)))
            # A bar as long as native's has no length; it must be seen all the same.
            width = max(round(end - begin, 1), 2)
            parts.append(f'<rect class="bar{index}" x="{begin}" y="{y + 1}" width="{width}" height="{BAR - 2}">'
                         f"<title>{escape(f'{name}, {labels[index]}: {value:.2f}')}</title></rect>")
            after = max(end, native)
            if goal and index == 0 and after <= across(goal) < after + LABEL:
                after = across(goal)
            parts.append(_text(after + 5, y + BAR - 3, share(value), "note"))
        if goal:
            at = across(goal)
            parts.append(f'<line class="goal" x1="{at}" x2="{at}" y1="{top - 2}" y2="{top + BAR + 2}"/>')
    return "\n".join(parts + ["</svg>"]) + "\n"


def _text(x, y, text, kind, anchor="start"):
    return f'<text class="{kind}" x="{x}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _legend(labels):
    x, parts = 14, []
    for index, label in enumerate(labels):
        parts += [f'<rect class="bar{index}" x="{x}" y="56" width="12" height="11"/>', _text(x + 17, 66, label, "note")]
        # The width of a text is unknown here: seven units for each letter are enough.
        x += 35 + 7 * len(label)
    return parts + [f'<line class="goal" x1="{x + 5}" x2="{x + 5}" y1="54" y2="69"/>', _text(x + 13, 66, "goal of aclfs", "note")]


def _style(labels):
    def colours(dark):
        ground, ink, faint, line = ("#0d1117", "#e6edf3", "#a9b4c0", "#30363d") if dark else ("#ffffff", "#1f2328", "#57606a", "#d8dee4")
        rules = [f".ground{{fill:{ground}}}", f".name{{fill:{ink}}}", f".note{{fill:{faint}}}", f".step{{stroke:{line}}}",
                 f".native{{stroke:{faint};stroke-width:1.5}}", f".goal{{stroke:{ink};stroke-width:2.5}}"]
        for index in range(len(labels)):
            pair = AKIN if index and index == len(labels) - 1 else COLOURS[index % len(COLOURS)]
            rules.append(f".bar{index}{{fill:{pair[dark]}}}")
        return "".join(rules)

    return ("<style>text{font-family:system-ui,sans-serif;font-size:12px}.big{font-size:16px;font-weight:600}"
            f"{colours(0)}@media (prefers-color-scheme:dark){{{colours(1)}}}</style>")


def rows_of(identity, sizes):
    """The names of the bars, and the rows; commands of which nothing is known are left out."""
    labels = ["aclfs", *[label for label in identity["labels"] if label not in felt.OWN], felt.EXCLUSIVE]
    rows = []
    for name, by_label in identity["samples"].items():
        command = felt.BY_NAME[name]
        figures = [ratio(by_label.get(label), by_label.get("native")) for label in labels]
        if any(figures):
            rows.append((felt.title(command, sizes), command.goal, [value.median if value else None for value in figures]))
    return [tables.HEADINGS.get(label, label) for label in labels], rows


def of(result):
    """Of the first user that was measured: the ordinary one, if there is one."""
    whole = result.get("felt")
    if not whole or not whole["identities"]:
        raise ValueError("no whole commands were measured, so there is nothing to plot")
    who, identity = next(iter(whole["identities"].items()))
    labels, rows = rows_of(identity, whole["settings"])
    if not rows:
        raise ValueError("no round of whole commands was complete, so there is nothing to plot")
    note = (f"as {who}, on {result['machine']['backing']['type']}, after a rest of {whole['settings']['rest']:g} s; "
            f"median of {identity['rounds']} rounds, logarithmic scale, shorter is better")
    return svg("Whole commands, times native's time", note, labels, rows)


def write(path, result):
    text = of(result)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)
