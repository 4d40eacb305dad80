"""Writes results into a document, between two marks that name the section, and leaves the rest alone."""
import os

import tables

# The section of whole commands, which docs/internals/performance.md begins with; there is one in each document.
WHOLE = "whole commands"


def name(result):
    """The backing file system, the options of aclfs if there were some, and what is unusual about where all of them ran."""
    settings = result["settings"]
    parts = [result["machine"]["backing"]["type"], settings.get("options"), "clients on one processor" if settings.get("cpu") else "",
             "one session" if settings.get("servers") == "together" else ""]
    return ", ".join(filter(None, parts))


def section(result):
    parts = [f"### {name(result)}", "", *[f"- {line}" for line in tables.summary(result)], ""]
    for title, rows in tables.all_of(result):
        parts += [f"#### {title}", "", *_table(rows), ""]
    return "\n".join(parts).rstrip() + "\n"


def whole_section(result, image=""):
    """image: the plot, relative to the document."""
    parts = [f"### Whole commands on {name(result)}", ""]
    if image:
        parts += [f"![Whole commands, times native's time]({image})", ""]
    parts += ["The time of each command divided by native's: the median of the rounds' ratios, their range, and the median time.",
              "Less is better.", ""]
    for title, rows in tables.whole_of(result):
        parts += [f"#### {title}", "", *_table(rows), ""]
    return "\n".join(parts + [f"- {line}" for line in tables.whole_summary(result)]) + "\n"


def _table(rows):
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return ["| " + " | ".join(row) + " |" for row in cells[:1]] + ["|" + "---|" * len(rows[0])] + [
        "| " + " | ".join(row) + " |" for row in cells[1:]]


def placed(document, name, text):
    """The document with the section of this name replaced, or added at its end."""
    begin, end = f"<!-- bench:begin {name} -->\n", f"<!-- bench:end {name} -->\n"
    if document.count(begin) > 1 or document.count(end) != document.count(begin):
        raise ValueError(f"the marks of section {name} do not stand once and in pairs")
    if begin not in document:
        return document.rstrip("\n") + f"\n\n{begin}\n{text}\n{end}"
    head, _, rest = document.partition(begin)
    if end not in rest:
        raise ValueError(f"the marks of section {name} stand in the wrong order")
    return f"{head}{begin}\n{text}\n{end}{rest.partition(end)[2]}"


def write(path, result, image=""):
    """image: the path of the plot, if one was written."""
    try:
        with open(path, encoding="utf-8") as file:
            document = file.read()
    except FileNotFoundError:
        document = f"# Results: {name(result)}\n"
    if result.get("felt"):
        beside = os.path.relpath(image, os.path.dirname(os.path.abspath(path))) if image else ""
        document = placed(document, WHOLE, whole_section(result, beside))
    if tables.has_others(result) or not result.get("felt"):
        document = placed(document, name(result), section(result))
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(document)
    os.replace(path + ".new", path)
