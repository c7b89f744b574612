#!/usr/bin/env python3
"""Codes of a wide table for pair_graph_marks: columns that follow three hidden numbers, and noise of their own.

wide_codes.py N OUT.npy K [K ...]
N rows; a column of K codes for each K ("200x8": 200 columns of 8).
"""
import sys

import numpy


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    rows = int(sys.argv[1])
    sizes = []
    for text in sys.argv[3:]:
        times, _, codes = text.rpartition("x")
        sizes += [int(codes)] * int(times or 1)
    rng = numpy.random.default_rng(1)
    hidden = rng.normal(size=(rows, 3))
    columns = []
    for codes in sizes:
        x = hidden @ rng.normal(size=3) + rng.normal(size=rows)
        edges = numpy.quantile(x, numpy.sort(rng.random(codes - 1)))
        columns.append(numpy.searchsorted(edges, x).astype(numpy.uint8))
    numpy.save(sys.argv[2], numpy.ascontiguousarray(numpy.stack(columns, 1)))


main()
