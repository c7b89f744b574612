#!/usr/bin/python3
"""Scores on the first m of FashionMNIST's training images, at several epsilons: the closed form with the side that it
chooses, with sides tried one by one, and random features with a network.

usage: small_data.py MUFFLE OUT [--data DATADIR] [--records M,M...] [--epsilons E,E...] [--sides K,K...] [--runs N] [--network N]
                     [--releases FOLDER] [--average N] [--set KEY=VALUE]...

The last 10,000 training images score (logistic regression); test images are not read. Prints a line of a Markdown table
for each m and epsilon: means over N runs, whose noise comes from the operating system's entropy, and in brackets the
standard deviation of one run; each side tried goes to standard error. --network 0 leaves random features out; --sides ''
leaves the other sides out. --releases FOLDER makes no releases: it takes those of an earlier call, whose OUT was FOLDER,
so that two builds' estimators are compared by the same noise (the side, which the release has, is not printed).
--average N makes images smaller, each pixel the mean of N x N; --set is muffle's, for every job, after this script's own.
"""

import argparse
import gzip
import json
import pathlib
import statistics
import subprocess
import sys

CONFIGS = pathlib.Path(__file__).parents[2] / "configs"
HELD_OUT = 10000


def averaged(content, count, height, width, n):
    """`count` images of bytes, each n x n pixels their mean."""
    out = bytearray()
    for top in range(0, count * height, n):
        for left in range(0, width, n):
            rows = ((top + r) * width + left for r in range(n))
            out.append(round(sum(sum(content[at:at + n]) for at in rows) / n**2))
    return bytes(out)


def cut(source, target, first, last, average):
    """Items first .. last - 1 of an IDX file of bytes, as another; images averaged()."""
    content = gzip.decompress(source.read_bytes())
    rank = content[3]
    sizes = [int.from_bytes(content[4 + 4 * i:8 + 4 * i], "big") for i in range(rank)]
    size = 1
    for n in sizes[1:]:
        size *= n
    items = content[4 + 4 * rank + first * size:4 + 4 * rank + last * size]
    if rank == 3 and average > 1:
        items = averaged(items, last - first, sizes[1], sizes[2], average)
        sizes[1:] = [n // average for n in sizes[1:]]
    head = content[:4] + b"".join(n.to_bytes(4, "big") for n in [last - first] + sizes[1:])
    target.write_bytes(head + items)


def score(given, folder, config, settings):
    """Accuracy of one job, and the side that it used."""
    release = given.releases and given.releases / folder.name / "release.mfl"
    stages = [["train", "--release", release], ["sample"], ["evaluate"]] if release else [["run"]]
    for stage in stages:
        command = [given.muffle, *stage, "--config", CONFIGS / config, "--out", folder]
        for setting in settings:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")
    metrics = json.loads((folder / "metrics.json").read_text())
    resolved = (folder / "config.resolved.toml").read_text()
    side = next((line.split("=")[1].strip() for line in resolved.splitlines() if line.startswith("coefficients")), "")
    return float(metrics["classifiers"]["logistic_regression"]["accuracy"]), side


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("muffle")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--records", default="300,1000,3000,10000,50000")
    parser.add_argument("--epsilons", default="0.1,0.2,1,3,10")
    parser.add_argument("--sides", default="4,6,8,10,14,20")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--network", type=int, default=1)
    parser.add_argument("--releases", type=pathlib.Path)
    parser.add_argument("--average", type=int, default=1, choices=(1, 2, 4, 7, 14))
    parser.add_argument("--set", action="append", default=[])
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    for kind in ("images-idx3", "labels-idx1"):
        source = given.data / f"train-{kind}-ubyte.gz"
        cut(source, given.out / f"held-out-{kind}", 60000 - HELD_OUT, 60000, given.average)
        for m in map(int, given.records.split(",")):
            cut(source, given.out / f"{m}-{kind}", 0, m, given.average)
    sides = [side for side in given.sides.split(",") if side]
    print("| m | epsilon | closed form: side chosen | best side tried | random features and network |\n|---|---|---|---|---|")

    def mean(name, runs, config, settings):
        scores, side = [], ""
        for run in range(runs):
            accuracy, side = score(given, given.out / f"{name}-run-{run}", config, settings)
            scores.append(accuracy)
        deviation = f" ({statistics.stdev(scores):.3f})" if runs > 1 else ""
        return statistics.mean(scores), deviation, side

    for m in map(int, given.records.split(",")):
        for epsilon in given.epsilons.split(","):
            common = [f"data.dir={json.dumps(str(given.out.resolve()))}", f'data.features="{m}-images-idx3"',
                      f'data.labels="{m}-labels-idx1"', 'data.test_features="held-out-images-idx3"',
                      'data.test_labels="held-out-labels-idx1"', f"data.records={m}", f"privacy.epsilon={float(epsilon)}",
                      f"data.shape=[1,{28 // given.average},{28 // given.average}]",
                      'evaluate.classifiers=["logistic_regression"]'] + given.set
            name = f"{m}-{epsilon}"
            own = mean(name, given.runs, "fashion-mnist-moments.toml", common)
            tried = [mean(f"{name}-side-{side}", given.runs, "fashion-mnist-moments.toml",
                          common + [f"map.moments.{key}={side}" for key in ("coefficients", "fewest_coefficients")])
                     for side in sides]
            for side, result in zip(sides, tried):
                print(f"{m:,}, {epsilon}, side {side}: {result[0]:.3f}{result[1]}", file=sys.stderr, flush=True)
            best = max([own] + tried)
            shown = [f"{result[0]:.3f}{result[1]}" + (f", {result[2]}" if result[2] else "") for result in (own, best)]
            line = f"| {m:,} | {epsilon} | {shown[0]} | {shown[1]} |"
            if given.network:
                network = mean(f"{name}-network", given.network, "fashion-mnist.toml", common)
                line += f" {network[0]:.3f}{network[1]}"
            print(line + " |", flush=True)


main()
