#!/usr/bin/env python3
"""Three tables that muffle was not made with: means over several releases, without bins by hand, and whether rows keep what the schema says.

unseen_tables.py MUFFLE TABLES OUT [--releases 3] [--rows loans-1 admissions-1 ...] [--rounds 0] [--equal-bins 16] [--people 5 [--law]]
TABLES has loans, actg175 and admissions as X.csv.gz, X-heldout.csv.gz and X.toml, and icd_by_ward.csv. OUT keeps every run. Needs `pip install sdmetrics`.
Of hospital stays the schema says, besides what admissions.toml has: a discharge is 0 to 150 days after its admission (the bounds that the file
has of `los_days`), `los_days` and `age` follow from dates, nobody is born after an admission, wards have the diagnoses of icd_by_ward.csv. Of loans: sub-grades give grades.
--people Q [--law]: of each patient at most Q stays count; with --law how many have how many is released, and measured.
--equal-bins N: the default before bins were learned, N equal bins for every number, date and time; schemas as they lie in TABLES.
"""
import argparse
import collections
import csv
import gzip
import pathlib
import re
import statistics
import subprocess
import sys
import tomllib
from datetime import datetime

import sdmetrics_scores

ROWS = {  # name: table, epsilon, adjacency
    "loans-1": ("loans", 1, "replace-one"), "loans-3": ("loans", 3, "replace-one"), "admissions-1": ("admissions", 1, "replace-one"),
    "actg175-1.1": ("actg175", 1.1, "add-remove-one"),
    "loans-1-add-remove": ("loans", 1, "add-remove-one"), "loans-3-add-remove": ("loans", 3, "add-remove-one"),
    "admissions-1-add-remove": ("admissions", 1, "add-remove-one"),
    "actg175-1.1-replace": ("actg175", 1.1, "replace-one")}


def column_edited(schema, name, edit):
    """`schema` with the text of one column's entry changed."""
    parts = re.split(r"(?m)^(?=\[\[)", schema)
    hits = [i for i, part in enumerate(parts) if f'name = "{name}"\n' in part]
    assert len(hits) == 1, name
    parts[hits[0]] = edit(parts[hits[0]])
    return "".join(parts)


def derived(rule):
    return lambda entry: re.sub(r"(?m)^(lo|hi) = .*\n", "", entry).replace('type = "integer"', f'type = "integer"\nderive = "{rule}"')


def said_more(name, schema, tables):
    """What a data steward knows of a table beside bounds and categories."""
    if name == "loans":
        values = next(c["values"] for c in tomllib.loads(schema)["columns"] if c["name"] == "sub_grade")
        from_ = ", ".join(f"{g} = {[v for v in values if v[0] == g]}" for g in sorted({v[0] for v in values})).replace("'", '"')
        return column_edited(schema, "grade", lambda entry: re.sub(r"(?m)^missing = .*\n", f'determined_by = "sub_grade"\nfrom = {{ {from_} }}\n', entry))
    if name == "admissions":
        def since(entry):
            return re.sub(r"(?m)^lo = .*\nhi = .*\n", 'since = "admitted"\nlo = 0\nhi = 150\n', entry)
        schema = column_edited(schema, "discharged", since)
        schema = column_edited(schema, "los_days", derived("days(discharged - admitted)"))
        schema = column_edited(schema, "age", derived("years(admitted - birth_date)"))
        schema = re.sub(r"(?s)\[\[constraints\]\].*", "", schema)  # since says it
        schema += '[[constraints]]\nkind = "compare"\nleft = "birth_date"\nop = "<="\nright = "admitted"\n\n'
        return schema + f'[[combinations]]\ncolumns = ["ward", "icd10"]\nfile = "{tables / "icd_by_ward.csv"}"\n'
    return schema


def with_people(schema, most, rows):
    """Of each patient `most` stays count; with `rows` how many have how many is released."""
    def person(entry):
        return re.sub(r'(?m)^type = .*\n', 'type = "category"\nrole = "person"\n' + (f"rows = {most}\n" if rows else ""), entry)
    return column_edited(schema, "patient_id", person)


def law_of_people(rows, most):
    people = collections.Counter(collections.Counter(r["patient_id"] for r in rows).values())
    return [sum(n for k, n in people.items() if min(k, most) == of) / people.total() for of in range(1, most + 1)]


def equal_bins(schema, n):
    parts = re.split(r"(?m)^(?=\[\[)", schema)
    kinds = re.compile(r'type = "(integer|decimal|date|datetime|time)"')
    return "".join(re.sub(r"(?m)^hi = .*\n", lambda m: f"{m.group()}bins = {n}\n", p) if kinds.search(p) else p for p in parts)


def prepared(args, name):
    """-> schema, records, held-out rows as plain files in OUT"""
    folder = args.out / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind in ("", "-heldout"):
        with gzip.open(args.tables / f"{name}{kind}.csv.gz", "rt", newline="") as source:
            rows = list(csv.reader(source))
        if rows[0][0] == "":  # R's row names
            rows = [row[1:] for row in rows]
        files.append(folder / f"{name}{kind}.csv")
        with open(files[-1], "w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows(rows)
    schema = (args.tables / f"{name}.toml").read_text()
    schema = equal_bins(schema, args.equal_bins) if args.equal_bins else said_more(name, schema, args.tables)
    if args.people and name == "admissions":
        schema = with_people(schema, args.people, args.law)
    path = folder / f"{name}{'-equal' if args.equal_bins else ''}{f'-people{args.people}{args.law}' if args.people else ''}.toml"
    path.write_text(schema)
    return path, *files


def table(path):
    with open(path, newline="") as source:
        return list(csv.DictReader(source))


def stays(rows):
    both = [(r["admitted"], r["discharged"]) for r in rows if r["admitted"] and r["discharged"]]
    return [(datetime.fromisoformat(b) - datetime.fromisoformat(a)).total_seconds() / 86400 for a, b in both]


def broken(name, rows, args):
    """How many rows break a rule, a combination or what follows from other columns; none where the schema says nothing of the kind."""
    if name == "loans":
        return sum(r["sub_grade"][:1] != r["grade"] for r in rows)
    if name != "admissions":
        return None
    known = {(r["ward"], r["icd10"]) for r in table(args.tables / "icd_by_ward.csv")}
    bad = 0
    for r in rows:
        in_, out = (datetime.fromisoformat(r[c]) if r[c] else None for c in ("admitted", "discharged"))
        birth = datetime.fromisoformat(r["birth_date"])
        age = in_.year - birth.year - ((in_.month, in_.day) < (birth.month, birth.day))
        nights = str((out.date() - in_.date()).days) if out else ""
        bad += (r["ward"], r["icd10"]) not in known or (out is not None and out < in_) or nights != r["los_days"] or str(age) != r["age"] or age < 0
    return bad


def kept(name, rows, args):
    bad = broken(name, rows, args)
    return "" if bad is None else f"; {bad} of {len(rows)} break a rule"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("muffle")
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--releases", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS)[:4])
    parser.add_argument("--equal-bins", type=int, default=0)
    parser.add_argument("--people", type=int, default=0, metavar="Q", help="of hospital stays: Q of each patient count, not all as one's own")
    parser.add_argument("--law", action="store_true", help="with --people: how many have how many is released")
    args = parser.parse_args()
    args.tables = args.tables.resolve()
    for row in args.rows:
        name, epsilon, adjacency = ROWS[row]
        schema, real, held_out = prepared(args, name)
        records = table(real)
        m = len(records)
        where = "records" if adjacency == "replace-one" else "expected_records"
        settings = {"data.id": row, f"data.{where}": m, "map.pairs.kind": "pairs", "privacy.adjacency": adjacency, "privacy.epsilon": epsilon,
                    "privacy.delta": 1e-5, "privacy.max_records_per_person": max(1, args.people), "privacy.rounds": args.rounds, "model.generator": "pair-graph",
                    "sample.count": m, "sample.labels": "released-counts", "sample.formats": '["csv"]', "evaluate.metrics": "[]"}
        scored = sdmetrics_scores.Scorer(schema, real)
        print(f"{row}: held-out rows {scored.line(held_out)}{kept(name, table(held_out), args)}", flush=True)
        every = []
        for run in range(1, args.releases + 1):
            out = args.out / f"{row}{f'-equal{args.equal_bins}' if args.equal_bins else ''}{f'-rounds{args.rounds}' if args.rounds else ''}{f'-people{args.people}{args.law}' if args.people else ''}-{run}"
            sets = [x for k, v in settings.items() for x in ("--set", f"{k}={v}")]
            done = subprocess.run([args.muffle, "run", "--set", f"data.schema={schema}", "--set", f"data.features={real}", *sets, "--out", str(out), "-q"],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"exit {done.returncode}:\n{done.stdout}{done.stderr}")
            samples = out / "samples.csv"
            every.append(scored.scores(samples))
            rows = table(samples)
            more = kept(name, rows, args)
            if name == "admissions":
                ours, theirs = stays(rows), stays(records)
                more += (f"; stays: KS {sdmetrics_scores.distance(ours, theirs):.3f}, mean {statistics.mean(ours):.2f} (records {statistics.mean(theirs):.2f}), "
                         f"equal {sum(d == 0 for d in ours) / len(ours):.2%} ({sum(d == 0 for d in theirs) / len(theirs):.2%}), "
                         f"over 30 days {sum(d > 30 for d in ours) / len(ours):.2%} ({sum(d > 30 for d in theirs) / len(theirs):.2%})")
            if name == "admissions" and args.law:
                made, true = law_of_people(rows, args.people), law_of_people(records, args.people)
                more += f"; rows of a patient: total variation {sum(abs(a - b) for a, b in zip(made, true)) / 2:.3f}"
            print(f"{row}: release {run} {' / '.join(f'{s:.3f}' for s in every[-1])}{more}", flush=True)
        print(f"{row}: mean of {args.releases}: {' / '.join(f'{statistics.mean(s):.3f}' for s in zip(*every))}", flush=True)


main()
