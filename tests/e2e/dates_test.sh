#!/usr/bin/env bash
# Dates that count since another, by a key and by a rule, datetimes of a day and a time of day, and columns that are derived or determined: 20,000 made-up stays, epsilon 1, seeded noise. Samples are
# in the file's own notation, no discharge is before its admission, stays are as long as real ones and end at the same hours, and what is derived follows in every row.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

rows=20000
mkdir "$work/data"
python3 - "$rows" >"$work/data/stays.csv" <<'EOF'
import datetime, random, sys
random.seed(1)
print("born,admitted,discharged,ward,house,nights,age,outcome")
for _ in range(int(sys.argv[1])):
    ward = random.choice(["surgery", "geriatrics"])
    born = datetime.date(1930, 1, 1) + datetime.timedelta(random.randrange(30000))
    hour = random.choice([8, 8, 9, 9, 9, 10, 10, 11, 14, 15, 18, 22])
    admitted = datetime.datetime(2022, 1, 1, hour) + datetime.timedelta(days=random.randrange(2 * 365), minutes=random.randrange(60))
    stay = random.lognormvariate(1.0 if ward == "surgery" else 1.8, 0.7)  # days: 2.7 and 6.0 at the median
    discharged = admitted + datetime.timedelta(minutes=int(1440 * min(stay, 150)))
    if discharged.date() > admitted.date():  # rounds are in the morning
        discharged = discharged.replace(hour=random.choice([9, 10, 10, 11, 11, 12, 15]))
    there = random.random() > 0.02
    age = admitted.year - born.year - ((admitted.month, admitted.day) < (born.month, born.day))
    print(born.strftime("%d.%m.%Y"), admitted.strftime("%d.%m.%Y %H:%M"), discharged.strftime("%d.%m.%Y %H:%M") if there else "", ward, "east" if ward == "surgery" else "west",
          (discharged.date() - admitted.date()).days if there else "", age, "died" if stay > 12 and random.random() < 0.2 else "home", sep=",")
EOF
cat >"$work/columns.toml" <<'EOF'
[[columns]]
name = "born"
type = "date"
format = "%d.%m.%Y"
lo = 1930-01-01
hi = 2013-12-31
[[columns]]
name = "admitted"
type = "datetime"
format = "%d.%m.%Y %H:%M"
lo = "2022-01-01 00:00:00"
hi = "2023-12-31 23:59:00"
[[columns]]
name = "ward"
type = "category"
values = ["surgery", "geriatrics"]
[[columns]]
name = "house"
type = "category"
values = ["west", "east"]
determined_by = "ward"
from = { east = ["surgery"], west = ["geriatrics"] }
[[columns]]
name = "nights"
type = "integer"
derive = "days(discharged - admitted)"
missing = [""]
[[columns]]
name = "age"
type = "integer"
derive = "years(admitted - born)"
[[columns]]
name = "outcome"
type = "category"
role = "label"
values = ["home", "died"]
[[columns]]
name = "discharged"
type = "datetime"
format = "%d.%m.%Y %H:%M"
missing = [""]
EOF
# By a key: 0 to 200 days. By a rule: whatever the bounds of both dates leave.
(cat "$work/columns.toml"; printf '%s\n' 'since = "admitted"' 'lo = 0' 'hi = 200') >"$work/since.toml"
(cat "$work/columns.toml"; printf '%s\n' 'lo = "2022-01-01 00:00:00"' 'hi = "2024-06-30 23:59:00"' '[[constraints]]' 'kind = "compare"' \
  'left = "admitted"' 'op = "<="' 'right = "discharged"') >"$work/rule.toml"

job=(--set "data.dir=$work/data" --set data.features=stays.csv --set data.records="$rows" --set data.on_error=reject-file --set map.pairs.kind=pairs --set privacy.epsilon=1
  --set privacy.delta=1e-5 --set privacy.max_records_per_person=1 --set model.generator=pair-graph --set sample.labels=released-counts --set sample.count="$rows"
  --set 'evaluate.metrics=["marginals"]')
cat >"$work/look.py" <<'EOF'
import bisect, csv, datetime, sys

def stays(path):
    out, missing, hours, gone = [], 0, [], []
    for r in csv.DictReader(open(path, newline="")):
        born = datetime.datetime.strptime(r["born"], "%d.%m.%Y")
        admitted = datetime.datetime.strptime(r["admitted"], "%d.%m.%Y %H:%M")
        age = admitted.year - born.year - ((admitted.month, admitted.day) < (born.month, born.day))
        assert r["house"] == ("east" if r["ward"] == "surgery" else "west"), r
        assert int(r["age"]) == age and admitted.year in (2022, 2023), r
        hours.append(admitted.hour)
        if not r["discharged"]:
            missing += 1
            assert r["nights"] == "", r
            continue
        discharged = datetime.datetime.strptime(r["discharged"], "%d.%m.%Y %H:%M")
        assert admitted <= discharged <= datetime.datetime(2024, 7, 18, 23, 59), r
        assert int(r["nights"]) == (discharged.date() - admitted.date()).days, r
        out.append((discharged - admitted).total_seconds() / 86400)
        gone.append(discharged.hour)
    return sorted(out), missing / (len(out) + missing), sorted(hours), sorted(gone)

real, drawn = (stays(p) for p in sys.argv[1:3])
def ks(one, other):
    return max(abs(bisect.bisect_right(one, v) / len(one) - bisect.bisect_right(other, v) / len(other)) for v in set(one + other))

apart, hours, gone = ks(real[0], drawn[0]), ks(real[2], drawn[2]), ks(real[3], drawn[3])
print(f"KS of the stay {apart:.3f}, of the hours of admission {hours:.3f} and discharge {gone:.3f}, missing {real[1]:.3f} and {drawn[1]:.3f}, equal {sum(v == 0 for v in drawn[0])}")
assert apart <= 0.05 and hours <= 0.05 and gone <= 0.05, (apart, hours, gone)
assert abs(real[1] - drawn[1]) < 0.02 and sum(v == 0 for v in drawn[0]) < 0.01 * len(drawn[0])
EOF
for kind in since rule; do
  why=$([[ $kind == since ]] || echo ', for the constraint between them')
  says 0 "^  'discharged' is released as how many days later it is than 'admitted', and a time of day$why\$" "$MUFFLE" plan --set "data.schema=$work/$kind.toml" "${job[@]}"
  says 0 "^  'admitted' is released as a day and a time of day\$" "$MUFFLE" plan --set "data.schema=$work/$kind.toml" "${job[@]}"
  says 0 'Everything fits' "$MUFFLE" check --set "data.schema=$work/$kind.toml" "${job[@]}"
  ends 0 "$MUFFLE" run --set "data.schema=$work/$kind.toml" "${job[@]}" --insecure-seeded-noise 7 --out "$work/$kind"
  check "what is derived is compared, too" python3 -c "
import json
found = json.load(open('$work/$kind/metrics.json'))['marginals']['numbers']['columns']
assert found['nights']['ks'] <= 0.05 and found['age']['ks'] <= 0.05, found"
  says 0 '' "$MUFFLE" report --run "$work/$kind" --private --out "$work/$kind-private.html"
  check "and drawn" grep -q 'by itself: house, nights, age' "$work/$kind-private.html"
  check "the time of day is a column of the release" grep -q 'discharged (time of day)' "$work/$kind/release.mfl"
  check "stays by a $kind" python3 "$work/look.py" "$work/data/stays.csv" "$work/$kind/samples.csv"
  says 0 'Everything fits' "$MUFFLE" check --set "data.schema=$work/$kind.toml" "${job[@]}" --data "$work/$kind/samples.csv"
done

# What is wrong is named by row and column, and nothing of the row is.
sed -i -e '5s/.*/01.01.1950,02.03.2022 10:00,01.03.2022 09:00,surgery,east,-1,72,home/' \
  -e '6s/.*/01.01.1950,02.03.2022 10:00,03.03.2022 09:00,surgery,west,4711,72,home/' "$work/data/stays.csv"
says 65 "row 4 .*'discharged': the field is later than the other date by less" "$MUFFLE" check --set "data.schema=$work/since.toml" "${job[@]}"
says 65 "row 5 .*'nights': the field is not days\(discharged - admitted\)" "$MUFFLE" check --set "data.schema=$work/since.toml" "${job[@]}"
check "a house that is not the ward's is named" grep -q "row 5 .*'house': the field is not what 'ward' determines" "$work/log"
check "no value is told" bash -c "! grep -qE '4711|09:00' '$work/log'"
says 65 "'discharged': 1 field is earlier than the constraint" "$MUFFLE" check --set "data.schema=$work/rule.toml" "${job[@]}"
says 65 'does not fit the public schema' "$MUFFLE" release --set "data.schema=$work/since.toml" "${job[@]}" --out "$work/none"
check "no value is told" bash -c "! grep -rqE '09:00|01.03.2022' '$work/log' '$work/none'"
ends 0 "$MUFFLE" release --set "data.schema=$work/rule.toml" "${job[@]}" --insecure-seeded-noise 7 --out "$work/kept" # records need not keep rules
finish
