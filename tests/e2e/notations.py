#!/usr/bin/env python3
"""Tables as people have them, of made-up records, a column for each notation.

notations.py write FOLDER    writes comma.csv, semicolon.csv
notations.py drafted FILE SCHEMA PRIVATE    the draft proposes each column's notation; PRIVATE: 1, of a draft without a sample
notations.py spelt FILE SAMPLES    each column of the samples is spelt as the file's
"""
import csv
import random
import re
import sys

ROWS = 200
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
LONG = "January February March April May June July August September October November December".split()
THIN, NARROW, NO_BREAK, APOSTROPHE, MINUS = "\u2009", "\u202f", "\u00a0", "\u2019", "\u2212"
DAY, MONTH, YEAR = r"([1-9]|[12]\d|3[01])", r"([1-9]|1[0-2])", r"\d{4}"
ISO = r"\d{4}-\d\d-\d\d"
random.seed(37)


def day():
    return random.randint(1951, 1999), random.randint(1, 12), random.randint(1, 28)


def clock():
    return random.randint(0, 23), random.randint(0, 59), random.randint(0, 59)


def date(text):
    return lambda: text(*day())


def time(text):
    return lambda: text(*day(), *clock())


def number(low, high, text):
    return lambda: text(random.randint(low, high))


def grouped(value, places, mark, point="."):
    return f"{value:,.{places}f}".replace(",", "\0").replace(".", point).replace("\0", mark)


def half(h):
    return (h - 1) % 12 + 1


# Name, its fields, what the draft says of it, how its fields are spelt.
COMMA = [
    ("dmy", date(lambda y, m, d: f"{d}.{m}.{y}"), 'format = "%-d.%-m.%Y"', rf"{DAY}\.{MONTH}\.{YEAR}"),
    ("mdy", date(lambda y, m, d: f"{m}/{d}/{y}"), 'format = "%-m/%-d/%Y"', rf"{MONTH}/{DAY}/{YEAR}"),
    ("dashes", date(lambda y, m, d: f"{d:02}-{m:02}-{y}"), 'format = "%d-%m-%Y"', r"\d\d-\d\d-\d{4}"),
    ("ymd", date(lambda y, m, d: f"{y}/{m:02}/{d:02}"), 'format = "%Y/%m/%d"', r"\d{4}/\d\d/\d\d"),
    ("mon", date(lambda y, m, d: f"{d:02}-{MONTHS[m - 1]}-{y}"), 'format = "%d-%b-%Y"', r"\d\d-[A-Z][a-z]{2}-\d{4}"),
    ("mon-small", date(lambda y, m, d: f"{d}-{MONTHS[m - 1].lower()}-{y}"), 'format = "%-d-%#b-%Y"', rf"{DAY}-[a-z]{{3}}-{YEAR}"),
    ("sas", date(lambda y, m, d: f"{d:02}{MONTHS[m - 1].upper()}{y}"), 'format = "%d%^b%Y"', r"\d\d[A-Z]{3}\d{4}"),
    ("long", date(lambda y, m, d: f"{LONG[m - 1]} {d}, {y}"), 'format = "%B %-d, %Y"', rf"[A-Z][a-z]+ {DAY}, {YEAR}"),
    ("compact", date(lambda y, m, d: f"{y}{m:02}{d:02}"), 'format = "%Y%m%d"', r"19\d\d(0[1-9]|1[0-2])[0-3]\d"),
    ("midnight", date(lambda y, m, d: f"{y}-{m:02}-{d:02} 00:00:00"), 'format = "%Y-%m-%d 00:00:00"', ISO + " 00:00:00"),
    ("blank", time(lambda y, m, d, h, n, s: f"{y}-{m:02}-{d:02} {h:02}:{n:02}:{s:02}"), 'format = "%Y-%m-%d %H:%M:%S"', ISO + r" \d\d:\d\d:\d\d"),
    ("zulu", time(lambda y, m, d, h, n, s: f"{y}-{m:02}-{d:02}T{h:02}:{n:02}:{s:02}Z"), 'format = "%Y-%m-%dT%H:%M:%SZ"', ISO + r"T\d\d:\d\d:\d\dZ"),
    ("offset", time(lambda y, m, d, h, n, s: f"{y}-{m:02}-{d:02}T{h:02}:{n:02}:{s:02}.{s * 16:03}+01:00"), 'format = "%Y-%m-%dT%H:%M:%S.%3f+01:00"', ISO + r"T\d\d:\d\d:\d\d\.\d{3}\+01:00"),
    ("no-seconds", time(lambda y, m, d, h, n, s: f"{d:02}.{m:02}.{y} {h}:{n:02}"), 'format = "%d.%m.%Y %-H:%M"', r"\d\d\.\d\d\.\d{4} (1?\d|2[0-3]):\d\d"),
    ("of-12", time(lambda y, m, d, h, n, s: f"{m}/{d}/{y} {half(h)}:{n:02}:{s:02} {'AM' if h < 12 else 'PM'}"), 'format = "%-m/%-d/%Y %-I:%M:%S %p"', rf"{MONTH}/{DAY}/{YEAR} {MONTH}:\d\d:\d\d [AP]M"),
    ("millionths", time(lambda y, m, d, h, n, s: f"{y}-{m:02}-{d:02} {h:02}:{n:02}:{s:02}.{s * 16001:06}"), 'format = "%Y-%m-%d %H:%M:%S.%6f"', ISO + r" \d\d:\d\d:\d\d\.\d{6}"),
    ("minutes", time(lambda y, m, d, h, n, s: f"{h:02}:{n:02}"), 'format = "%H:%M"', r"[0-2]\d:\d\d"),
    ("seconds", time(lambda y, m, d, h, n, s: f"{h:02}:{n:02}:{s:02}"), 'type = "time"', r"[0-2]\d:\d\d:\d\d"),
    ("am-pm", time(lambda y, m, d, h, n, s: f"{half(h)}:{n:02}:{s:02} {'am' if h < 12 else 'pm'}"), 'format = "%-I:%M:%S %P"', rf"{MONTH}:\d\d:\d\d [ap]m"),
    ("dollars", number(100, 999999, lambda v: "$" + grouped(v / 100, 2, ",")), 'prefix = "$"', r"\$\d{1,3}(,\d{3})*\.\d\d"),
    ("francs", number(100, 2000000, lambda v: "CHF " + grouped(v, 0, "'")), "thousands_mark = \"'\"", r"CHF \d{1,3}('\d{3})*"),
    ("swiss", number(100, 9999999, lambda v: grouped(v / 100, 2, APOSTROPHE)), f'thousands_mark = "{APOSTROPHE}"', rf"\d{{1,3}}({APOSTROPHE}\d{{3}})*\.\d\d"),
    ("percent", number(0, 100, lambda v: f"{v} %"), 'suffix = " %"', r"\d{1,3} %"),
    ("percents", number(0, 999, lambda v: f"{v / 10:.1f}%"), 'suffix = "%"', r"\d{1,3}\.\d%"),
    ("brackets", number(-99999, 99999, lambda v: f"({-v / 100:.2f})" if v < 0 else f"{v / 100:.2f}"), 'negative = "(1)"', r"\d+\.\d\d|\(\d+\.\d\d\)"),
    ("minus", number(-500, 500, lambda v: str(v).replace("-", MINUS)), f'negative = "{MINUS}1"', rf"{MINUS}?\d+"),
    ("behind", number(-500, 500, lambda v: f"{-v}-" if v < 0 else str(v)), 'negative = "1-"', r"\d+-?"),
    ("top", number(18, 99, lambda v: "90+" if v >= 90 else str(v)), 'top_code = "90+"', r"[1-8]\d|90\+"),
    ("top-words", number(18, 99, lambda v: "85 and over" if v >= 85 else str(v)), 'top_code = "85 and over"', r"[1-8]\d|85 and over"),
    ("top-sign", number(18, 99, lambda v: ">=90" if v >= 90 else str(v)), 'top_code = ">=90"', r"[1-8]\d|>=90"),
    ("bottom", number(0, 60, lambda v: "<5" if v < 5 else str(v)), 'bottom_code = "<5"', r"[5-9]|[1-6]\d|<5"),
    ("weight", number(400, 1200, lambda v: f"{v / 10:.1f} kg"), 'suffix = " kg"', r"\d+\.\d kg"),
    ("run-together", time(lambda y, m, d, h, n, s: f"{y}{m:02}{d:02}{h:02}{n:02}{s:02}"), 'format = "%Y%m%d%H%M%S"', r"19\d{12}"),
    ("shortened", time(lambda y, m, d, h, n, s: f"{y}-{m:02}-{d:02}T{h:02}:{n:02}:{s:02}.{s * 16001:06}".rstrip("0").rstrip(".") + "Z"), 'format = "%Y-%m-%dT%H:%M:%S.%6fZ"', ISO + r"T\d\d:\d\d:\d\d\.\d{6}Z"),
    ("chinese", date(lambda y, m, d: f"{y}年{m}月{d}日"), 'format = "%Y年%-m月%-d日"', rf"{YEAR}年{MONTH}月{DAY}日"),
    ("inside", number(-999999, 999999, lambda v: "$" + grouped(v / 100, 2, ",")), 'negative = "$-1"', r"\$-?\d{1,3}(,\d{3})*\.\d\d"),
    ("accounts", number(-999999, 999999, lambda v: f"$ ({grouped(-v / 100, 2, ',')})" if v < 0 else "$ " + grouped(v / 100, 2, ",")), 'negative = "$ (1)"', r"\$ (\d{1,3}(,\d{3})*\.\d\d|\(\d{1,3}(,\d{3})*\.\d\d\))"),
    ("top-dollars", number(1000, 120000, lambda v: "$100,000+" if v >= 100000 else "$" + grouped(v, 0, ",")), 'top_code = "$100,000+"', r"\$(\d{1,2}(,\d{3})?|\d{3}|100,000\+)"),
    ("wide", number(0, 999, lambda v: NO_BREAK + str(v)), 'type = "integer"', r"\d+"),
    ("starred", number(0, 99, lambda v: "*" if v < 5 else str(v)), 'missing = ["*"]', r"\d+|\*"),
    ("whole", number(18, 90, lambda v: f"{v}.0"), "step = 1", r"\d\d\.0"),
]
SEMICOLON = [
    ("dmy", date(lambda y, m, d: f"{d:02}.{m:02}.{y}"), 'format = "%d.%m.%Y"', r"\d\d\.\d\d\.\d{4}"),
    ("comma", number(0, 999, lambda v: f"{v / 10:.1f}".replace(".", ",")), 'decimal_mark = ","', r"\d+,\d"),
    ("euros", number(100, 999999, lambda v: grouped(v / 100, 2, ".", ",") + " €"), 'suffix = " €"', r"\d{1,3}(\.\d{3})*,\d\d €"),
    ("french", number(100, 999999, lambda v: grouped(v / 100, 2, NARROW, ",") + NO_BREAK + "€"), f'thousands_mark = "{NARROW}"', rf"\d{{1,3}}({NARROW}\d{{3}})*,\d\d{NO_BREAK}€"),
    ("thin", number(100, 2000000, lambda v: grouped(v, 0, THIN)), f'thousands_mark = "{THIN}"', rf"\d{{1,3}}({THIN}\d{{3}})*"),
    ("blanks", number(100, 2000000, lambda v: grouped(v, 0, " ")), 'thousands_mark = " "', r"\d{1,3}( \d{3})*"),
    ("points", number(100, 999999, lambda v: grouped(v, 0, ".")), 'thousands_mark = "."', r"\d{1,3}(\.\d{3})*"),
    ("uhr", time(lambda y, m, d, h, n, s: f"{h}:{n:02} Uhr"), 'format = "%-H:%M Uhr"', r"(1?\d|2[0-3]):\d\d Uhr"),
    ("below", number(0, 99, lambda v: "<0,5" if v < 5 else f"{v / 10:.1f}".replace(".", ",")), 'bottom_code = "<0,5"', r"\d+,\d|<0,5"),
    ("places", number(1000, 60999, lambda v: f"{v // 1000},{v % 1000:03}"), 'decimal_mark = ","', r"\d+,\d{3}"),
]
FILES = {"comma": (",", COMMA), "semicolon": (";", SEMICOLON)}


def columns_of(path):
    for name, (separator, columns) in FILES.items():
        if name in path:
            return separator, columns
    raise SystemExit("no such file")


def write(folder):
    for name, (separator, columns) in FILES.items():
        with open(f"{folder}/{name}.csv", "w", encoding="utf-8", newline="") as out:
            rows = csv.writer(out, delimiter=separator, lineterminator="\n")
            rows.writerow([column[0] for column in columns] + ["group"])
            for i in range(ROWS):
                rows.writerow([column[1]() for column in columns] + ["mf"[i % 2]])


def drafted(path, schema, private):
    text = open(schema, encoding="utf-8").read()
    wrong = []
    for name, _, proposed, _ in columns_of(path)[1]:
        block = re.search(rf'\nname = "{name}"\n(.*?)(\n\n|\Z)', text, re.S).group(1)
        if private == "1" and ("_code" in proposed or "missing" in proposed):  # that is content
            proposed = proposed.split("=")[0] + '= "FILL-IN"'
        if proposed not in block:
            wrong.append(f"{name}: {proposed} is not in:\n{block}")
    raise SystemExit("\n".join(wrong) or 0)


def spelt(path, samples):
    separator, columns = columns_of(path)
    rows = list(csv.DictReader(open(samples, encoding="utf-8", newline=""), delimiter=separator))
    wrong = [f"{name}: {row[name]!r}" for name, _, _, form in columns for row in rows if not re.fullmatch(form, row[name])]
    few = [name for name, _, _, _ in columns if len({row[name] for row in rows}) < 10]
    raise SystemExit("\n".join(wrong[:20] + [f"{name}: hardly any values" for name in few]) if wrong or few or not rows else 0)


{"write": write, "drafted": drafted, "spelt": spelt}[sys.argv[1]](*sys.argv[2:])
