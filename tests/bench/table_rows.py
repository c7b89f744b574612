#!/usr/bin/env python3
"""A large table through muffle: rows a second and memory a rank, beside a plain loop and pandas on the same file.
Seconds on the clock, and of processors (of all ranks together), which other work on the machine changes less.

table_rows.py MUFFLE LOOP FOLDER [--rows 10000000] [--ranks 2]
LOOP is build/PRESET/bench/table_loop (MUFFLE_BENCH=ON); FOLDER takes about 110 bytes a row twice. pandas is left out where it is not
installed. The file repeats 200,000 random rows: what is measured does not depend on which values stand in a row.
"""
import argparse
import pathlib
import random
import resource
import subprocess
import sys
import time

CATEGORIES = [3, 5, 8, 12, 16, 2, 4, 6]


def columns():
    """(name, schema text, draw)"""
    out = []
    for j in range(6):
        hi = [99, 16, 1000, 100000, 500, 60][j]
        out.append((f"whole{j}", f'type = "integer"\nlo = 0\nhi = {hi}\n', lambda r, hi=hi: str(r.randint(0, hi))))
    for j in range(4):
        hi = [1, 10, 250, 5000][j]
        out.append((f"decimal{j}", f'type = "decimal"\nlo = 0\nhi = {hi}\ndecimals = 2\n', lambda r, hi=hi: f"{r.random() * hi:.2f}"))
    for j, n in enumerate(CATEGORIES):
        values = [f"value-{j}-{k}" for k in range(n)]
        out.append((f"kind{j}", f'type = "category"\nvalues = {values!r}\n'.replace("'", '"'), lambda r, v=values: r.choice(v)))
    out.append(("day", 'type = "date"\nlo = 2000-01-01\nhi = 2009-12-31\n',
                lambda r: f"200{r.randint(0, 9)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}"))
    out.append(("ill", 'type = "boolean"\nrole = "label"\n', lambda r: r.choice(["false", "true"])))
    return out


def make(folder, rows):
    cols = columns()
    (folder / "schema.toml").write_text("".join(f'[[columns]]\nname = "{n}"\n{s}' for n, s, _ in cols))
    r = random.Random(1)
    block = [",".join(draw(r) for _, _, draw in cols) + "\n" for _ in range(min(rows, 200_000))]
    file = folder / "rows.csv"
    with open(file, "w", encoding="utf-8") as out:
        out.write(",".join(n for n, _, _ in cols) + "\n")
        text, left = "".join(block), rows
        while left >= len(block):
            out.write(text)
            left -= len(block)
        out.writelines(block[:left])
    (folder / "job.toml").write_text(f"""[data]
schema = "{folder}/schema.toml"
features = "{file}"
records = {rows}
[map.pairs]
kind = "pairs"
[privacy]
epsilon = 1.0
delta = 1e-7
max_records_per_person = 1
[model]
generator = "pair-graph"
[sample]
count = {rows}
formats = ["csv"]
[evaluate]
metrics = []
""")
    return file


def processor(of):
    usage = resource.getrusage(of)
    return usage.ru_utime + usage.ru_stime


def timed(command):
    """(seconds, seconds of processors, what was said)"""
    start, before = time.monotonic(), processor(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.monotonic() - start, processor(resource.RUSAGE_CHILDREN) - before, done.stdout + done.stderr


def main():
    if sys.argv[1:2] == ["--rank"]:  # a rank, watched
        code = subprocess.run(sys.argv[2:]).returncode
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"rank: peak {peak:.0f} MB, {processor(resource.RUSAGE_CHILDREN):.1f} s of a processor", flush=True)
        sys.exit(code)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("muffle")
    parser.add_argument("loop")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--ranks", type=int, default=2)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    file = make(args.folder, args.rows)
    print(f"{args.rows} rows of {len(columns())} columns, {file.stat().st_size / 1e6:.0f} MB")
    mpirun = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-n", str(args.ranks)] if args.ranks > 1 else []
    watched = [*mpirun, sys.executable, __file__, "--rank", args.muffle]
    job = ["--config", str(args.folder / "job.toml"), "--out", str(args.folder / f"out-{time.time_ns()}"), "-q"]

    seconds = {}
    seconds["plain loop, 1 thread"] = timed([args.loop, str(file), "64"])
    try:
        import pandas
        start, before = time.monotonic(), processor(resource.RUSAGE_SELF)
        pandas.read_csv(file)
        seconds["pandas.read_csv, 1 thread"] = time.monotonic() - start, processor(resource.RUSAGE_SELF) - before
        print(f"pandas {pandas.__version__}")
    except ImportError:
        print("pandas is not installed: left out")
    for verb in ["release", "train", "sample"]:
        name = {"release": f"muffle release, {args.ranks} ranks", "train": "muffle train (the fit)",
                "sample": f"muffle sample, {args.ranks} ranks"}[verb]
        seconds[name] = timed([*watched, verb, *job])
        print(f"{name}: {'; '.join(line for line in seconds[name][2].splitlines() if line.startswith('rank'))}")
    base = seconds["plain loop, 1 thread"]
    for name, s in seconds.items():
        print(f"{name:28} {s[0]:8.1f} s {args.rows / s[0]:12.0f} rows/s {base[0] / s[0]:8.2f} x the plain loop;"
              f" of processors {s[1]:8.1f} s {base[1] / s[1]:8.2f} x")


if __name__ == "__main__":
    main()
