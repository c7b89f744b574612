#!/usr/bin/env python3
"""A table's label counted class by class, or like any other column: shapes, pairs and KS, and classifiers of the label on held-out rows.

label_as.py MUFFLE TABLES OUT TABLE ROWS EPSILON [--releases 1] [--adjacency replace-one]
TABLES has TABLE.csv.gz, TABLE-heldout.csv.gz and TABLE.toml (of UCI Adult: its files as such, and configs/schemas/adult.toml without bins). The first ROWS rows are released, in as many rounds as pay,
with `data.label_as` "class" and "column". Needs `pip install sdmetrics scikit-learn`.
"""
import argparse
import csv
import gzip
import pathlib
import statistics
import subprocess
import sys
import tomllib

import pandas
import sdmetrics_scores
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def plain(source, target, most=None):
    """-> how many rows were written"""
    with gzip.open(source, "rt", newline="") as text:
        rows = list(csv.reader(text))
    if rows[0][0] == "":  # R's row names
        rows = [row[1:] for row in rows]
    rows = rows[:1] + rows[1:][:most]
    with open(target, "w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)
    return len(rows) - 1


def learned(train, test, label):
    """-> area under the ROC curve and weighted F1 of boosted trees, then of logistic regression"""
    train, test = (pandas.read_csv(file, low_memory=False) for file in (train, test))
    both = pandas.concat([train, test])
    y = both.pop(label).astype(str)
    for name in both.columns:
        if both[name].dtype == object:
            both[name] = both[name].astype("category").cat.codes
    both, n = both.fillna(-1), len(train)
    out = []
    for model in (GradientBoostingClassifier(n_estimators=50, random_state=0), make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))):
        model.fit(both[:n], y[:n])
        chances = pandas.DataFrame(model.predict_proba(both[n:]), columns=model.classes_)
        # The mean over classes; one that no sample has is never predicted.
        out.append(statistics.mean(roc_auc_score(y[n:] == value, chances[value] if value in chances else [0.0] * len(chances)) for value in set(y[n:])))
        out.append(f1_score(y[n:], model.predict(both[n:]), average="weighted"))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("muffle")
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("table")
    parser.add_argument("rows", type=int)
    parser.add_argument("epsilon", type=float)
    parser.add_argument("--releases", type=int, default=1)
    parser.add_argument("--adjacency", default="replace-one", choices=["replace-one", "add-remove-one"])
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    schema = args.tables / f"{args.table}.toml"
    label = next(c["name"] for c in tomllib.loads(schema.read_text())["columns"] if c.get("role") == "label")
    real, held_out = args.out / f"{args.table}-{args.rows}.csv", args.out / f"{args.table}-heldout.csv"
    m = plain(args.tables / f"{args.table}.csv.gz", real, args.rows)
    plain(args.tables / f"{args.table}-heldout.csv.gz", held_out)
    scorer = sdmetrics_scores.Scorer(schema, real)
    print(f"{args.table}, {m} rows: learned from them {' '.join(f'{s:.3f}' for s in learned(real, held_out, label))}", flush=True)
    for label_as in ("class", "column"):
        every = []
        for run in range(args.releases):
            out = args.out / f"{args.table}-{m}-{args.epsilon:g}-{args.adjacency}-{label_as}-{run}"
            settings = {"data.schema": schema, "data.features": real, "data.id": "label", "data.label_as": label_as,
                        "data.records" if args.adjacency == "replace-one" else "data.expected_records": m, "map.pairs.kind": "pairs",
                        "privacy.epsilon": args.epsilon, "privacy.delta": 1e-5, "privacy.adjacency": args.adjacency, "privacy.max_records_per_person": 1,
                        "privacy.rounds": 0, "privacy.ledger": f"{out}.jsonl", "model.generator": "pair-graph", "sample.count": m,
                        "sample.labels": "released-counts", "sample.formats": '["csv"]', "evaluate.metrics": "[]"}
            done = subprocess.run([args.muffle, "run", "-q", "--out", str(out)] + [x for k, v in settings.items() for x in ("--set", f"{k}={v}")],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"exit {done.returncode}:\n{done.stdout}{done.stderr}")
            every.append([*scorer.scores(out / "samples.csv"), *learned(out / "samples.csv", held_out, label)])
        print(f"{label_as:6} shapes, pairs, KS; trees' AUC, F1; regression's: {' '.join(f'{statistics.mean(s):.3f}' for s in zip(*every))}", flush=True)


main()
