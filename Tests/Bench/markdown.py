"""Writes results into a document, between two marks that name the section, and leaves the rest alone."""
import os

import tables


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


def write(path, result):
    try:
        with open(path, encoding="utf-8") as file:
            document = file.read()
    except FileNotFoundError:
        document = f"# Results: {name(result)}\n"
    changed = placed(document, name(result), section(result))
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(changed)
    os.replace(path + ".new", path)
