#!/usr/bin/env python3
"""Files of one made-up table as programs write them: files.py FOLDER. Each becomes FOLDER/NAME.csv; its samples are lines of age, town and sex."""
import random
import sys
import unicodedata

random.seed(37)
TOWNS = ["Köln", "Bad Ems", "Orléans"]
ROWS = [(i, random.randint(18, 90), random.choice(TOWNS), random.choice("mf")) for i in range(1, 121)]


def table(mark=",", end="\n", tail="", quote=lambda text: text, head=""):
    lines = [head + mark.join(quote(name) for name in ("age", "town", "sex"))]
    lines += [mark.join((str(age), quote(town), quote(sex))) for _, age, town, sex in ROWS]
    return "".join(line + tail + end for line in lines)


def quoted(text):
    return f'"{text}"'


def decomposed(text):
    return unicodedata.normalize("NFD", f"\u00a0{text}\u3000")


FILES = {
    "index": "," + "".join(f"{'' if i == 0 else i - 1},{line}\n" for i, line in enumerate(table().splitlines())).lstrip(","),
    "row-names": '"age" "town" "sex"\n' + "".join(f'"{i}" {age} "{town}" "{sex}"\n' for i, age, town, sex in ROWS),
    "padded": "  age  town\t sex \n" + "".join(f'{age:5}  {quoted(town):9} {sex}\n' for _, age, town, sex in ROWS),
    "trailing": table(";", "\r\n", ";;"),
    "says": "\ufeffsep=;\r\n" + table(";", "\r\n"),
    "above": 'Report; of "2020\nmade by X\n\n' + table(),
    "latin": table().encode("latin-1"),
    "windows": table(quote=quoted).replace("Köln", "€ln").encode("windows-1252"),
    "unicode": table("\t", "\r\n").encode("utf-16"),
    "blanks": table(quote=decomposed),
    "mac": table(end="\r"),
}
for name, content in FILES.items():
    with open(f"{sys.argv[1]}/{name}.csv", "wb") as out:
        out.write(content if isinstance(content, bytes) else content.encode())
