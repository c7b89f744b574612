#!/usr/bin/env python3
"""Makes up hospital stays, of nobody, for docs/tutorial/stays.md.

    stays.py ROWS SEED              a CSV of so many stays, on standard output
    stays.py ROWS SEED --patients   the same stays, and in a first column whose they are
    stays.py --wards                the public list: which diagnoses a ward treats
"""
import csv
import datetime
import random
import sys

# ward: its house, its share of the stays, the median of their days, the cost of a day, and its diagnoses, each with its share.
WARDS = {
    "surgery": ("east", 22, 3.8, 780, {"K35.8": 5, "K80.2": 6, "S72.0": 3, "M16.1": 4, "T14.9": 2}),
    "internal medicine": ("east", 24, 4.6, 560, {"J18.9": 6, "E11.9": 4, "N39.0": 4, "A41.9": 2, "K52.9": 5}),
    "cardiology": ("east", 16, 4.1, 820, {"I21.4": 4, "I50.1": 6, "I48.9": 5, "I25.1": 4}),
    "maternity": ("west", 14, 3.0, 520, {"O80": 9, "O82": 4, "O60.1": 1}),
    "neurology": ("east", 10, 5.2, 690, {"I63.9": 6, "G40.9": 3, "G45.9": 3, "G35": 1}),
    "geriatrics": ("west", 14, 11.0, 470, {"S72.0": 4, "J18.9": 3, "I50.1": 3, "F05": 3, "R29.6": 4}),
}
AGES = {"surgery": (54, 19), "internal medicine": (62, 17), "cardiology": (67, 12), "maternity": (31, 5), "neurology": (59, 18), "geriatrics": (82, 6)}
# Of each hour from 0 on: planned stays begin in the morning, others at any time, mostly by day.
PLANNED = [0, 0, 0, 0, 0, 0, 8, 30, 40, 26, 14, 9, 5, 4, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0]
EMERGENCY = [5, 4, 3, 3, 3, 3, 4, 6, 8, 10, 12, 12, 11, 11, 10, 10, 11, 12, 12, 11, 10, 9, 8, 6]
# Of 100 patients, how many have 1, 2, .. stays.
COME_BACK = {1: 68, 2: 20, 3: 8, 4: 3, 6: 1}
YEAR = datetime.datetime(2023, 1, 1)


def pick(random, shares):
    return random.choices(list(shares), list(shares.values()))[0]


def stay(random, number):
    ward = pick(random, {name: of[1] for name, of in WARDS.items()})
    house, _, days, cost, icds = WARDS[ward]
    mean, spread = AGES[ward]
    least, most = (16, 49) if ward == "maternity" else (18, 102)
    age = min(max(random.gauss(mean, spread), least), most)
    emergency = random.random() < (0.25 if ward in ("surgery", "maternity") else 0.6)
    hour = random.choices(range(24), EMERGENCY if emergency else PLANNED)[0]
    day = random.randrange(365)
    if not emergency and (YEAR + datetime.timedelta(day)).weekday() > 4:  # planned stays begin on weekdays
        day = (day + 3) % 365
    # Fewer in summer.
    if 180 < day < 240 and random.random() < 0.3:
        day = random.randrange(180)
    admitted = YEAR + datetime.timedelta(days=day, hours=hour, minutes=random.randrange(60))
    born = admitted.date() - datetime.timedelta(days=int(365.25 * age) + random.randrange(365))
    length = min(random.lognormvariate(0, 0.65) * days * (1.2 if emergency else 1), 120)
    gone = admitted + datetime.timedelta(days=max(1, round(length)))
    discharged = gone.replace(hour=random.choices([9, 10, 11, 12, 14, 16], [10, 30, 25, 10, 15, 10])[0], minute=random.randrange(60))
    if random.random() < 0.02 * (age / 60):
        outcome, discharged = "died", admitted + datetime.timedelta(minutes=random.randrange(60, 1440 * max(2, round(length))))
    elif ward in ("geriatrics", "neurology", "surgery") and random.random() < 0.22:
        outcome = "rehabilitation"
    else:
        outcome = "transfer" if random.random() < 0.05 else "home"
    nights = (discharged.date() - admitted.date()).days
    price = cost * (nights + 1) * random.lognormvariate(0, 0.35) + (random.lognormvariate(8.3, 0.6) if ward in ("surgery", "cardiology") else 300)
    years = admitted.year - born.year - ((admitted.month, admitted.day) < (born.month, born.day))
    still_there = random.random() < 0.015
    return {
        "stay": f"S-{number:06d}",
        "sex": "F" if ward == "maternity" or random.random() < 0.49 else "M",
        "born": born.strftime("%d.%m.%Y"),
        "age": years,
        "house": house,
        "ward": ward,
        "icd10": pick(random, icds),
        "emergency": "yes" if emergency else "no",
        "admitted": admitted.strftime("%d.%m.%Y %H:%M"),
        "discharged": "" if still_there else discharged.strftime("%d.%m.%Y %H:%M"),
        "nights": "" if still_there else nights,
        "cost": f"{min(price, 250000):.2f}",
        "outcome": outcome,
    }


def patients(random, rows):
    """Whose each stay is, by chance: nothing of a stay goes with it, so a patient's sex changes, too."""
    whose, number = [], 0
    while len(whose) < rows:
        number += 1
        whose += [f"P{number:05}"] * pick(random, COME_BACK)
    whose = whose[:rows]
    random.shuffle(whose)
    return whose


def main():
    if sys.argv[1:] == ["--wards"]:
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(["ward", "icd10"])
        out.writerows((ward, icd) for ward, of in WARDS.items() for icd in of[4])
        return
    if len(sys.argv) < 3 or sys.argv[3:] not in ([], ["--patients"]):
        sys.exit(__doc__)
    rows, numbers = int(sys.argv[1]), random.Random(int(sys.argv[2]))
    ids = numbers.sample(range(1000000), rows)
    table = [stay(numbers, number) for number in ids]
    if sys.argv[3:]:
        table = [{"patient": whose, **row} for whose, row in zip(patients(numbers, rows), table)]
    out = csv.DictWriter(sys.stdout, list(table[0]), lineterminator="\n")
    out.writeheader()
    out.writerows(table)


if __name__ == "__main__":
    main()
