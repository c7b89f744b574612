#!/usr/bin/env python3
"""UCI Adult's training file as codes for pair_graph_marks: 15 columns, no label, numbers by public bins (16 each).

adult_codes.py FOLDER OUT.npy
FOLDER holds adult.data and bins.toml.
"""
import pathlib
import sys
import tomllib

import numpy

NAMES = ("age workclass fnlwgt education education-num marital occupation relationship race sex capital-gain capital-loss hours country "
         "income").split()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    bins = tomllib.loads((folder / "bins.toml").read_text())
    rows = [line.strip().split(", ") for line in (folder / "adult.data").read_text().splitlines() if line.strip()]
    columns = []
    for j, name in enumerate(NAMES):
        texts = [row[j] for row in rows]
        if name in bins:
            edges = numpy.array(bins[name])
            columns.append(numpy.clip(numpy.searchsorted(edges, numpy.array(texts, float), side="right") - 1, 0, len(edges) - 2))
        else:
            number = {text: i for i, text in enumerate(sorted(set(texts)))}
            columns.append(numpy.array([number[text] for text in texts]))
    numpy.save(sys.argv[2], numpy.array(columns, dtype=numpy.uint8).T.copy())


if __name__ == "__main__":
    main()
