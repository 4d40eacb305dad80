"""What the program says of its commands, for the scripts that make pages and completions of it."""
import os
import re
import subprocess
import sys


def run(program, words):
    """What the program prints for these words, as on a terminal of 80 columns."""
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    result = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {program} {' '.join(words)} ends with {result.returncode}: {result.stderr.strip()}")
    return result.stdout


# The help of a command, taken apart.

class Help:
    """Forms of the command line, an overview, tables and examples, in the order of the text."""

    def __init__(self, text):
        self.text = text
        self.forms, self.overview, self.tables, self.examples, self.remarks = [], "", [], [], []
        blocks = [block.split("\n") for block in re.split(r"\n\s*\n", text.strip("\n")) if block.strip()]
        heading = None
        for block in blocks:
            first = block[0]
            if re.match(r"usage:", first, re.I):
                self.forms = self.lines_of_usage(block)
            elif first.startswith("OVERVIEW:"):
                self.overview = " ".join(line.strip() for line in block)[len("OVERVIEW:"):].strip()
            elif re.fullmatch(r"(ARGUMENTS|OPTIONS):", first):
                self.tables.append((first[:-1], "", self.table(block[1:], 26)))
            elif first.startswith("  ") and heading and heading.rstrip(":").lower() == "examples":
                self.examples += [line.strip() for line in block]
                heading = None
            elif first.startswith("  "):
                title, remark = self.title(heading)
                self.tables.append((title, remark, self.table(block, None)))
                heading = None
            else:
                self.remark(heading)
                heading = " ".join(line.strip() for line in block)
        self.remark(heading)

    def remark(self, text):
        """A paragraph that is no heading. It belongs to the table above it."""
        if text and self.tables:
            self.tables[-1][2].append((None, [text]))
        elif text:
            self.remarks.append(text)

    @staticmethod
    def lines_of_usage(block):
        forms = []
        for line in block:
            # A form begins in the eighth column, what follows a break is further to the right.
            body = line[7:] if re.match(r"(usage|USAGE): ", line) or line.startswith("       ") else line.strip()
            if body.startswith(" ") and forms:
                forms[-1] += " " + body.strip()
            else:
                forms.append(body.strip())
        return forms

    @staticmethod
    def title(heading):
        """What a section is called, and what its first paragraph says."""
        if heading is None:
            return "OPTIONS", ""
        subject = re.match(r"([A-Z]{3,}) (is|are) ", heading)
        if subject:
            return subject[1], heading
        return re.split(r"[,:]", heading)[0].upper(), "" if re.fullmatch(r"[^,:]*:|.*with an example:", heading) else heading

    @staticmethod
    def table(block, column):
        """Rows of a term and paragraphs. A row without a term is an example below the table."""
        if column is None:
            gaps = [match.end() for line in block for match in [re.match(r"  \S.*?  +(?=\S)", line)] if match]
            column = max(set(gaps), key=gaps.count) if gaps else 200
        rows = []
        for line in block:
            if line.startswith("  aclfs "):
                rows.append(("", [line.strip()]))
            elif line.startswith("  ") and line[2:3] not in ("", " "):
                if len(line) > column and line[column - 1] == " " and line[column] != " ":
                    rows.append((line[2:column].strip(), [line[column:].strip()]))
                else:
                    # The term is wider than its column.
                    term, _, text = line.strip().partition("  ")
                    rows.append((term.strip(), [text.strip()] if text else []))
            elif rows:
                rows[-1][1].append(line.strip())
        return rows

    def find(self, name):
        for title, remark, rows in self.tables:
            if title.startswith(name.upper()):
                return remark, rows
        sys.exit(f"{os.path.basename(sys.argv[0])}: the help has no table '{name}'")


class Program:
    """The help of each command. `commands` are their names, with what the list of commands says of them."""

    def __init__(self, program):
        self.program = os.path.abspath(program)
        self.helps = {}
        rows = Help(run(self.program, ["--help"])).find("Commands")[1]
        self.commands = [(name, texts[0]) for name, texts in rows if name]

    def help(self, *words):
        if words not in self.helps:
            self.helps[words] = Help(run(self.program, [*words, "--help"]))
        return self.helps[words]

    def subcommands(self, words):
        """The further words of a command that have a help of their own."""
        found = []
        for form in self.help(*words).forms:
            rest = form.split()[1 + len(words):]
            for word in rest[0].split("|") if rest and re.fullmatch(r"[a-z][a-z|-]*", rest[0]) else []:
                path = (*words, word)
                if path not in found and self.help(*path).text != self.help(*words).text:
                    found.append(path)
        return found

    def leaves(self, words):
        below = self.subcommands(words)
        return [leaf for path in below for leaf in self.leaves(path)] if below else [words]
