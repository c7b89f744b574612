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
from sdmetrics.reports.single_table import QualityReport

warnings.filterwarnings("ignore")
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
    """Kolmogorov's and Smirnov's, of the values that are there."""
    a, b = np.sort(a.dropna()), np.sort(b.dropna())
    at = np.concatenate([a, b])
    shares = [np.searchsorted(x, at, "right") / max(len(x), 1) for x in (a, b)]
    return np.abs(shares[0] - shares[1]).max(initial=0.0)


def main(schema, real_path, *others):
    with open(schema, "rb") as source:
        columns = tomllib.load(source)["columns"]
    kinds = {c["name"]: KINDS.get(c["type"], "categorical") for c in columns if c["type"] != "ignore" and c.get("role") != "person"}
    metadata = {"columns": {name: {"sdtype": kind} for name, kind in kinds.items()}}
    real = typed(real_path, kinds)
    numbers = [name for name, kind in kinds.items() if kind == "numerical"]
    for path in others:
        other = typed(path, kinds)
        report = QualityReport()
        report.generate(real, other, metadata, verbose=False)
        scores = report.get_properties().set_index("Property").Score
        ks = np.mean([distance(real[name], other[name]) for name in numbers])
        print(f"{path}: column shapes {scores['Column Shapes']:.3f}, pair trends {scores['Column Pair Trends']:.3f}, KS of numbers {ks:.3f}", flush=True)


main(*sys.argv[1:])
