#!/usr/bin/python3
"""The classifiers of muffle's metric `table-classifiers` beside scikit-learn's and xgboost's, on the same rows.

usage: table_classifiers.py CONFIG.toml SAMPLES.csv DATADIR METRICS.json [--only NAME,NAME...]

CONFIG.toml names the schema and the test file (data.schema, beside it; data.test_features, in
DATADIR). SAMPLES.csv is what `muffle sample` wrote, METRICS.json what `muffle evaluate` said of it: both are trained
on the same rows and tested on the same real records. Prints a table, muffle's measures first, and the largest
difference. Everything is the library's default, but for AdaBoost's algorithm: SAMME, which newer scikit-learns alone
have. The features are those of docs/reference/metrics.md.
Needs Debian's python3-sklearn, python3-xgboost and python3-pandas.
"""

import argparse
import json
import pathlib
import tomllib
import warnings

import numpy as np
import pandas as pd
from sklearn import metrics
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (AdaBoostClassifier, BaggingClassifier, GradientBoostingClassifier,
                              RandomForestClassifier)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

CLASSIFIERS = {
    "logistic_regression": LogisticRegression(),
    "linear_svm": LinearSVC(),
    "mlp": MLPClassifier(),
    "gaussian_nb": GaussianNB(),
    "bernoulli_nb": BernoulliNB(),
    "lda": LinearDiscriminantAnalysis(),
    "decision_tree": DecisionTreeClassifier(),
    "random_forest": RandomForestClassifier(),
    "bagging": BaggingClassifier(),
    "gradient_boosting": GradientBoostingClassifier(),
    "adaboost": AdaBoostClassifier(),
    "xgboost": XGBClassifier(),
}
MEASURES = ["accuracy", "macro_f1", "weighted_f1", "roc_auc", "pr_auc", "roc_auc_hard", "pr_auc_hard"]


def codes_of(column, fields):
    """Indices of categories; behind them the missing value's."""
    values = column.get("values", ["false", "true"])
    known = {value: i for i, value in enumerate(values)}
    for value, spellings in column.get("aliases", {}).items():
        known.update({spelling: known[value] for spelling in spellings})
    known.update({spelling: len(values) for spelling in column.get("missing", [])})
    if unknown := set(fields) - set(known):
        raise SystemExit(f"column {column['name']} has {sorted(unknown)[:3]}, which the schema does not know")
    return np.array([known[field] for field in fields]), len(values) + ("missing" in column)


def numbers_of(column, fields):
    """Scaled by the bounds; NaN: missing."""
    fields = fields.where(~fields.isin(column.get("missing", [])))
    if column["type"] in ("date", "datetime"):
        unit = "D" if column["type"] == "date" else "s"
        to_number = lambda v: (pd.to_datetime(v) - pd.Timestamp(0)) / pd.Timedelta(1, unit)
        lo, hi, values = to_number(str(column["lo"])), to_number(str(column["hi"])), to_number(fields)
    else:
        lo, hi, values = column["lo"], column["hi"], pd.to_numeric(fields)
    return (values.clip(lo, hi) - lo) / max(hi - lo, 1e-300) if hi > lo else values * 0.0


def rows_of(columns, table):
    """Features and labels, as muffle's Features has them."""
    features, labels = [], None
    for column in columns:
        if column["type"] in ("ignore", "key") or column.get("role") == "person":
            continue
        fields = table[column["name"]].str.strip()
        if column.get("role") == "label":
            labels = codes_of(column, fields)[0]
        elif column["type"] in ("integer", "decimal", "date", "datetime"):
            values = numbers_of(column, fields).to_numpy(dtype=float)
            features.append(np.nan_to_num(values)[:, None])
            if "missing" in column:
                features.append(np.isnan(values)[:, None].astype(float))
        else:
            codes, count = codes_of(column, fields)
            features.append(np.eye(count)[codes])
    return np.hstack(features), labels


def measure(model, x, y):
    """The seven measures, in the order of MEASURES."""
    predicted, classes = model.predict(x), len(model.classes_)
    scores = model.decision_function(x) if hasattr(model, "decision_function") else model.predict_proba(x)
    if scores.ndim == 1:
        scores = np.stack([-scores, scores], 1)
    soft, hard = [], []
    for c in [1] if classes == 2 else range(classes):
        truth, called = y == c, predicted == c
        soft.append((metrics.roc_auc_score(truth, scores[:, c]), metrics.average_precision_score(truth, scores[:, c])))
        precision, recall, _ = metrics.precision_recall_curve(truth, called.astype(float))
        hard.append((metrics.roc_auc_score(truth, called), metrics.auc(recall, precision)))
    return [metrics.accuracy_score(y, predicted), metrics.f1_score(y, predicted, average="macro"),
            metrics.f1_score(y, predicted, average="weighted"), *np.mean(soft, 0), *np.mean(hard, 0)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("config", "samples", "data", "metrics"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--only", help="names of classifiers, separated by commas")
    given = parser.parse_args()
    config = tomllib.loads(given.config.read_text())["data"]
    columns = tomllib.loads((given.config.parent / config["schema"]).read_text())["columns"]
    muffle = json.loads(given.metrics.read_text())["table_classifiers"]
    names = given.only.split(",") if given.only else [name for name in muffle if name in CLASSIFIERS]

    as_text = {"dtype": str, "keep_default_na": False, "skipinitialspace": True}
    layout = {"sep": config.get("separator", ",")}
    written = dict(layout)  # samples are written as the records are, without the columns that are ignored or a person's
    layout["comment"] = config.get("comment") or None
    skip = config.get("skip", 0)
    layout["skiprows"] = config.get("test_skip", skip)
    if not config.get("header", True):
        layout |= {"header": None, "names": [column["name"] for column in columns]}
        written |= {"header": None, "names": [c["name"] for c in columns if c["type"] != "ignore" and c.get("role") != "person"]}
    x, y = rows_of(columns, pd.read_csv(given.samples, **written, **as_text))
    test_x, test_y = rows_of(columns, pd.read_csv(given.data / config["test_features"], **layout, **as_text))

    warnings.filterwarnings("ignore")  # the defaults stop some solvers before they converge
    print(f"{len(x)} rows, {x.shape[1]} features; measures of muffle / scikit-learn or xgboost")
    print("| classifier | " + " | ".join(MEASURES) + " | largest difference |\n|---" + "|---" * 7 + "|")
    differences, theirs = [], []
    for name in [name for name in CLASSIFIERS if name in names]:
        model = CLASSIFIERS[name]
        settings = model.get_params()
        if "random_state" in settings:
            model.set_params(random_state=0)
        if settings.get("algorithm") == "SAMME.R":
            model.set_params(algorithm="SAMME")
        theirs.append(measure(model.fit(x, y), test_x, test_y))
        ours = [muffle[name][m] for m in MEASURES]
        differences.append(max(abs(a - b) for a, b in zip(ours, theirs[-1])))
        pairs = " | ".join(f"{a:.3f} / {b:.3f}" for a, b in zip(ours, theirs[-1]))
        print(f"| {name} | {pairs} | {differences[-1]:.3f} |", flush=True)
    if not given.only:
        pairs = " | ".join(f"{muffle['mean'][m]:.3f} / {b:.3f}" for m, b in zip(MEASURES, np.mean(theirs, 0)))
        print(f"| mean | {pairs} | |")
    print(f"largest difference: {max(differences):.3f}")


main()
