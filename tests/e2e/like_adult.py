#!/usr/bin/env python3
"""Rows of made-up people in UCI Adult's format, for configs/schemas/adult.toml: like_adult.py SCHEMA ROWS SEED."""
import random
import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    columns = {c["name"]: c for c in tomllib.load(file)["columns"]}
rows = int(sys.argv[2])
random.seed(int(sys.argv[3]))


def number(name, drawn):
    return min(max(round(drawn), columns[name]["lo"]), columns[name]["hi"])


for _ in range(rows):
    wealth = random.gauss(0, 1)  # what all columns have in common
    schooling = min(max(round(10 + 2 * wealth + random.gauss(0, 1.5)), 1), 16)
    made = {
        "age": number("age", 38 + 6 * wealth + random.gauss(0, 12)),
        "fnlwgt": number("fnlwgt", 180000 * random.lognormvariate(0, 0.5)),
        "capital-gain": number("capital-gain", random.uniform(1, 6000) if random.random() < 0.08 else 0),
        "capital-loss": number("capital-loss", 1900 if random.random() < 0.05 else 0),
        "hours-per-week": number("hours-per-week", 40 if random.random() < 0.5 else 40 + 4 * wealth + random.gauss(0, 10)),
        "education": columns["education"]["values"][schooling - 1],
        "education-num": schooling,
        "income": ">50K" if wealth + random.gauss(0, 1) > 1 else "<=50K",
    }
    for name, column in columns.items():
        if name not in made:  # each category half as often as the one before, and shifted a little by what all have in common
            values = column["values"] + column.get("missing", [])
            made[name] = values[min(int(abs(random.expovariate(0.7) + 0.3 * wealth)), len(values) - 1)]
    print(", ".join(str(made[name]) for name in columns))
