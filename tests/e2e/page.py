#!/usr/bin/env python3
"""Runs the commands of a page, and compares what they print with what the page shows.

    page.py PAGE FOLDER [OLD=NEW ...] [--factor F]

Blocks of the page by their fence: ```sh is run by bash in FOLDER, one block after the other, and every command of it must end with 0;
```python and ```r by the first python3 and Rscript of the PATH, each by itself;
```text is some lines of what the block before printed, in its order. Of a block that no ```text follows the exit code alone is compared,
which is said. ```toml FILE is written to FILE. Others are for readers alone. OLD becomes NEW in what is run
and written.

A line of the page matches a line that was printed if their words do. Of numbers with a point, which noise may move, the printed one lies
within F times the page's (a factor of 0: any number will do). A row of a CSV matches another that has numbers where it has numbers. "..." at a
line's end stands for anything; by itself, for any lines.
"""
import os
import re
import subprocess
import sys
import tempfile

# The shell's commands get a file of their own, so that another language's quotes are none of bash's.
INTERPRETERS = {"sh": "source {}", "python": "python3 {}", "r": "Rscript {}"}
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def blocks(text):
    """(first line's number, fence, lines) of each block."""
    block = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```") and block is None:
            block = (number + 1, line[3:].strip(), [])
        elif line.startswith("```"):
            yield block
            block = None
        elif block is not None:
            block[2].append(line)


def is_number(word):
    return re.fullmatch(r"-?\d+(\.\d+)?", word) is not None


def row_matches(shown, printed):
    a, b = shown.split(","), printed.split(",")
    return len(a) == len(b) and all(is_number(x) == is_number(y) for x, y in zip(a, b))


def near(shown, printed, factor):
    a, b = float(shown), float(printed)
    return factor == 0 or a == b or (a * b > 0 and abs(a) / factor <= abs(b) <= abs(a) * factor)


def line_matches(shown, printed, factor):
    shown, printed = " ".join(shown.split()), " ".join(printed.split())
    if shown.count(",") > 3 and " " not in shown and is_number(shown.split(",")[0]):
        return row_matches(shown, printed)
    rest = shown.removesuffix("...")
    pattern = f"({NUMBER.pattern})".join(re.escape(part) for part in NUMBER.split(rest)) + (".*" if rest != shown else "")
    found = re.fullmatch(pattern, printed)
    return found is not None and all(near(a, b, factor) for a, b in zip(NUMBER.findall(rest), found.groups()))


def first_missing(shown, printed, factor):
    """The first line of the page that the printed ones lack, in the page's order; None: none."""
    at = 0
    for line in shown:
        if line.strip() in ("", "..."):
            continue
        while at < len(printed) and not line_matches(line, printed[at], factor):
            at += 1
        if at == len(printed):
            return line
        at += 1
    return None


def main():
    arguments = sys.argv[1:]
    factor = 3.0
    if "--factor" in arguments:
        at = arguments.index("--factor")
        factor = float(arguments[at + 1])
        del arguments[at : at + 2]
    page, folder, *changes = arguments
    changes = [change.split("=", 1) for change in changes]
    environment, printed, failures, ran = dict(os.environ), [], 0, 0
    with open(page, encoding="utf-8") as file:
        text = file.read()
    of_page = list(blocks(text))
    for at, (number, fence, lines) in enumerate(of_page):
        content = "\n".join(lines) + "\n"
        for old, new in changes:
            content = content.replace(old, new)
        kind, _, name = fence.partition(" ")
        if kind == "toml" and name:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)
        elif kind in INTERPRETERS:
            # What a block of bash exports holds for those after it.
            block = tempfile.NamedTemporaryFile("w", suffix="." + kind, encoding="utf-8")
            block.write(content)
            block.flush()
            script = "set -euo pipefail\n" + INTERPRETERS[kind].format(block.name) + "\nenv -0 >&9\n"
            read, write = os.pipe()
            command = subprocess.Popen(["bash", "-c", f"exec 9>&{write}\n" + script], cwd=folder, env=environment, pass_fds=[write],
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
            os.close(write)
            output = command.communicate()[0]
            with open(read, encoding="utf-8") as file:
                told = dict(entry.split("=", 1) for entry in file.read().split("\0") if "=" in entry)
            printed = output.splitlines()
            ran += 1
            if command.returncode == 0:
                environment = told
                shown = at + 1 < len(of_page) and of_page[at + 1][1] == "text"
                print(f"ok: {page}:{number}: exit 0{'' if shown else ', and the page shows nothing that it prints'}: {lines[0]}")
            else:
                failures += 1
                print(f"FAILED: {page}:{number}: exit {command.returncode}: {content}{output}", file=sys.stderr)
        elif kind == "text":
            line = first_missing(content.splitlines(), printed, factor)
            if not any(line.strip() not in ("", "...") for line in lines):
                failures += 1
                print(f"FAILED: {page}:{number}: nothing to compare", file=sys.stderr)
            elif line is None:
                print(f"ok: {page}:{number}: printed as shown")
            else:
                failures += 1
                print(f"FAILED: {page}:{number}: no line like this, in the page's order: {line}\nPrinted:", *printed, sep="\n    ", file=sys.stderr)
    sys.exit(1 if failures or not ran else 0)


if __name__ == "__main__":
    main()
