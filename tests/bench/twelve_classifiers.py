#!/usr/bin/python3
"""The twelve classifiers of the DP-MERF and DP-HP papers, trained on synthetic images and scored on real ones.

usage: twelve_classifiers.py SAMPLES.npz DATADIR [--only NAME,NAME...] [--validate]

SAMPLES.npz is what `muffle sample` writes: x (records x pixels, uint8) and y. DATADIR holds MNIST's or
FashionMNIST's IDX files (.gz). Prints one line a classifier, then all as JSON. Scores on the test set; with
--validate on the last 10,000 training images, by which settings may be chosen.

Settings: those of the authors' code (https://github.com/ParkLabML/DP-MERF, code_balanced/synth_data_benchmark.py),
which trains on a tenth of the 60,000 samples; what it leaves out is the library's default.
Needs Debian's python3-sklearn and python3-xgboost.
"""

import argparse
import gzip
import json
import pathlib
import warnings

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (AdaBoostClassifier, BaggingClassifier, GradientBoostingClassifier,
                              RandomForestClassifier)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

RECORDS = 6000
VALIDATION = 10000

CLASSIFIERS = {
    "logistic_regression": LogisticRegression(solver="lbfgs", max_iter=5000),
    "mlp": MLPClassifier(),
    "lda": LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.5, n_components=9, tol=1e-8),
    "gaussian_nb": GaussianNB(),
    "bernoulli_nb": BernoulliNB(binarize=0.5),
    "decision_tree": DecisionTreeClassifier(class_weight="balanced"),
    "random_forest": RandomForestClassifier(n_estimators=100, class_weight="balanced"),
    "bagging": BaggingClassifier(n_estimators=20, max_samples=0.1),
    "adaboost": AdaBoostClassifier(n_estimators=100, algorithm="SAMME.R"),
    "boosted_trees": GradientBoostingClassifier(n_estimators=50, subsample=0.1),
    "xgboost": XGBClassifier(n_estimators=50, colsample_bytree=0.1, objective="multi:softprob"),
    "linear_svm": LinearSVC(loss="hinge", max_iter=10000, tol=1e-8),
}


def read_idx(path):
    """An IDX file of bytes: records x numbers."""
    content = gzip.decompress(path.read_bytes())
    if content[:3] != b"\0\0\x08":
        raise SystemExit(f"{path} is not an IDX file of bytes")
    rank = content[3]
    sizes = np.frombuffer(content, ">u4", count=rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(int(sizes[0]), -1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--only", help="names of classifiers, separated by commas")
    parser.add_argument("--validate", action="store_true", help="score on the last 10,000 training images")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(CLASSIFIERS)
    if unknown := [name for name in names if name not in CLASSIFIERS]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(CLASSIFIERS)}")

    samples = np.load(given.samples)
    if samples["x"].dtype != np.uint8 or len(samples["x"]) < RECORDS:
        raise SystemExit(f"{given.samples} does not hold {RECORDS} images of bytes: draw more (sample.count)")
    # muffle deals the classes evenly to every run of records.
    x = samples["x"][:RECORDS].reshape(RECORDS, -1) / 255.0
    y = samples["y"][:RECORDS].astype(int)
    part = "train" if given.validate else "t10k"
    real_x = read_idx(given.data / f"{part}-images-idx3-ubyte.gz")[-VALIDATION:] / 255.0
    real_y = read_idx(given.data / f"{part}-labels-idx1-ubyte.gz")[-VALIDATION:, 0]

    warnings.filterwarnings("ignore")  # the papers' settings stop some solvers before they converge
    scores = {}
    for name in names:
        model = CLASSIFIERS[name]
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        scores[name] = round(float((model.fit(x, y).predict(real_x) == real_y).mean()), 4)
        print(f"{name:20} {scores[name]:.4f}", flush=True)
    print(json.dumps({"mean": round(float(np.mean(list(scores.values()))), 4), **scores}))


main()
