#!/usr/bin/env python3
"""How much work a schema is at a terminal: `muffle schema init` asks, and a finished schema answers.

schema_interview.py MUFFLE FILE.csv SCHEMA.toml OUT.toml [OPTIONS of schema init]

Writes OUT.toml and OUT.toml.transcript, and prints how many questions there were, how many keys the answers take (each with its Enter), and how many of
these are lists of categories, which one would paste from a code book.
"""
import os
import pty
import re
import select
import sys
import tomllib

QUESTIONS = {
    "is a missing value spelt": "spelling",
    "what is it?": "what",
    "least and the largest": "bounds",
    "all of its categories": "values",
    "places after the point": "places",
    "nothing in the file tells": "choice",
}


def answers_of(column):
    """What a person would type who has this column in mind."""
    places = column.get("decimals", 0)

    def bound(value):
        if hasattr(value, "isoformat"):
            return value.isoformat()
        return f"{value:.{places}f}" if column["type"] == "decimal" else str(value)

    def text(value):
        return '"' + value.replace('"', '""') + '"' if not value or set(value) & set(',"') else value

    words = [column["type"], column.get("role", ""), "missing" if column.get("missing") else ""]
    answers = {"what": " ".join(word for word in words if word), "places": str(places)}
    if "lo" in column:
        answers["bounds"] = f"{bound(column['lo'])}, {bound(column['hi'])}"
    if "values" in column:
        answers["values"] = ", ".join(text(value) for value in column["values"])
    return answers


def main(muffle, file, schema, out, *options):
    with open(schema, "rb") as source:
        known = {column["name"]: answers_of(column) for column in tomllib.load(source)["columns"]}
    child, terminal = pty.fork()
    if child == 0:
        os.execv(muffle, [muffle, "schema", "init", file, "--out", out, *options])
    asked, keys, lists, column, seen = {}, 0, 0, "", ""
    with open(out + ".transcript", "w", encoding="utf-8") as transcript:
        while True:
            try:
                more = os.read(terminal, 1 << 16).decode("utf-8", "replace")
            except OSError:  # the child has ended
                break
            transcript.write(more.replace("\r\n", "\n"))
            seen += more
            if not seen.endswith((": ", "] ")) or select.select([terminal], [], [], 0.05)[0]:
                continue
            column = (re.findall(r"Column \d+ of \d+: ([^\r\n]+)", seen) or [column])[-1]
            question = seen.split("\n")[-1]
            kind = next(name for words, name in QUESTIONS.items() if words in question)
            answer = known.get(column, {}).get(kind, "")
            asked[column] = asked.get(column, 0) + 1
            keys += len(answer) + 1
            lists += len(answer) + 1 if kind == "values" else 0
            os.write(terminal, (answer + "\n").encode())
            seen = ""
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        sys.exit(seen)
    columns = len([name for name in asked if name])
    print(f"{columns} columns: {sum(asked.values())} questions, at most {max(asked.values())} a column; {keys} keys, {lists} of them lists of categories")


main(*sys.argv[1:])
