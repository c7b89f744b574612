#!/usr/bin/env python3
"""How near tables are to a real one, by sdmetrics (`pip install sdmetrics`), and by numbers as they are, which sdmetrics bins.

sdmetrics_scores.py SCHEMA.toml REAL.csv OTHER.csv...

Prints for each OTHER (samples, or held-out rows for a mark) sdmetrics' column shapes and pair trends, and KS: the mean over all numbers of the
largest distance between the two distribution functions. SCHEMA says which columns are numbers, dates and categories.
"""
import sys
import tomllib
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
from sdmetrics.reports.single_table import QualityReport  # noqa: E402, its own warning

KINDS = {"integer": "numerical", "decimal": "numerical", "date": "datetime", "datetime": "datetime"}


def typed(path, kinds):
    table = pd.read_csv(path, dtype=str, keep_default_na=False)[list(kinds)]
    for name, kind in kinds.items():
        fields = table[name].str.strip()
        missing = fields.isin(["", "NA", "?"])
        if kind == "numerical":
            table[name] = pd.to_numeric(fields.mask(missing))
        elif kind == "datetime":
            table[name] = pd.to_datetime(fields.mask(missing), format="mixed")
        else:
            table[name] = fields.mask(fields == "")
    return table


def distance(a, b):
    """Kolmogorov's and Smirnov's, of two lists of values."""
    a, b = np.sort(a), np.sort(b)
    at = np.concatenate([a, b])
    shares = [np.searchsorted(x, at, "right") / max(len(x), 1) for x in (a, b)]
    return np.abs(shares[0] - shares[1]).max(initial=0.0)


class Scorer:
    """Holds a table that others are compared with."""

    def __init__(self, schema, real_path):
        with open(schema, "rb") as source:
            columns = tomllib.load(source)["columns"]
        self.kinds = {c["name"]: KINDS.get(c["type"], "categorical") for c in columns if c["type"] not in ("ignore", "key") and c.get("role") != "person"}
        self.real = typed(real_path, self.kinds)

    def scores(self, path):
        """-> column shapes, pair trends, KS of numbers"""
        other = typed(path, self.kinds)
        report = QualityReport()
        report.generate(self.real, other, {"columns": {name: {"sdtype": kind} for name, kind in self.kinds.items()}}, verbose=False)
        of = report.get_properties().set_index("Property").Score
        numbers = [name for name, kind in self.kinds.items() if kind == "numerical"]
        return of["Column Shapes"], of["Column Pair Trends"], np.mean([distance(self.real[n].dropna(), other[n].dropna()) for n in numbers])

    def line(self, path):
        shapes, pairs, ks = self.scores(path)
        return f"column shapes {shapes:.3f}, pair trends {pairs:.3f}, KS of numbers {ks:.3f}"


def main(schema, real_path, *others):
    scorer = Scorer(schema, real_path)
    for path in others:
        print(f"{path}: {scorer.line(path)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
