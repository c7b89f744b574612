#!/usr/bin/env python3
"""Scores of a configuration, as means over several releases: of tables the twelve classifiers from rows of balanced labels, and the marginals
from rows with the released shares; of images the accuracy of muffle's own classifiers.

table_scores.py MUFFLE CONFIG DATA_FOLDER [--epsilon 1 0.3] [--releases 3] [--ranks 2] [--metric table-classifiers marginals | classifiers] [--set KEY=VALUE]...
Every release is a job of its own, with a folder of its own; what real records score stands beside where the metric has it.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

LABELS = {"table-classifiers": "uniform", "marginals": "released-counts", "classifiers": "uniform"}
MEASURES = ["roc_auc_hard", "pr_auc_hard", "roc_auc", "pr_auc", "accuracy", "macro_f1"]


def figures(metrics, metric):
    """{name: figure} of one job's metrics.json"""
    if metric == "table-classifiers":
        return {m: metrics["table_classifiers"]["mean"][m] for m in MEASURES}
    if metric == "classifiers":
        return {name: of["accuracy"] for name, of in metrics["classifiers"].items()}
    return {f"{size}-way": metrics["marginals"][size]["mean_tvd"] for size in ("2", "3", "4")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("muffle")
    parser.add_argument("config")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1, 0.3])
    parser.add_argument("--releases", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--metric", nargs="+", choices=list(LABELS), default=["table-classifiers", "marginals"])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="muffle's, for every job, after this script's own")
    args = parser.parse_args()
    mpirun = ["mpirun", "--allow-run-as-root", "-n", str(args.ranks)] if args.ranks > 1 else []
    more = [argument for setting in args.set for argument in ("--set", setting)]
    for epsilon in args.epsilon:
        for metric in args.metric:
            all_runs = []
            for _ in range(args.releases):
                with tempfile.TemporaryDirectory() as folder:
                    out = pathlib.Path(folder) / "run"
                    done = subprocess.run([*mpirun, args.muffle, "run", "--config", args.config, "--set", f"data.dir={args.data}", "--set",
                                           f"privacy.epsilon={epsilon}", "--set", f"sample.labels={LABELS[metric]}", "--set",
                                           f'evaluate.metrics=["{metric}"]', *more, "--out", str(out), "-q"], capture_output=True, text=True)
                    if done.returncode != 0:
                        sys.exit(f"exit {done.returncode}:\n{done.stdout}{done.stderr}")
                    all_runs.append(figures(json.loads((out / "metrics.json").read_text()), metric))
            for name in all_runs[0]:
                values = [run[name] for run in all_runs]
                print(f"epsilon {epsilon:<5} {metric:18} {name:14} {statistics.mean(values):.4f}  of {', '.join(f'{v:.4f}' for v in values)}",
                      flush=True)


if __name__ == "__main__":
    main()
