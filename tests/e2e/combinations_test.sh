#!/usr/bin/env bash
# Wards and diagnoses of which a public file lists what goes together: 6,000 made-up stays, epsilon 1, seeded noise. Every sample is allowed, the list is in the
# release and no file is opened again; records that are not allowed are named to whoever holds them, and stop nothing.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

rows=6000
mkdir "$work/data" "$work/public"
cat >"$work/make.py" <<'EOF'
import json, random, sys
random.seed(2)
wards = {f"ward {w}": [f"{chr(65 + w)}{d}" for d in range(5)] + (["Z9"] if w % 2 else []) for w in range(6)}
with open(sys.argv[1] + "/public/list.csv", "w") as f:
    print("icd;comment;ward", file=f)
    for ward, own in wards.items():
        for icd in own: print(f'{icd};"any; ""text""";{ward}', file=f)
with open(sys.argv[1] + "/data/stays.csv", "w") as f:
    print("ward,icd,age,outcome", file=f)
    for _ in range(int(sys.argv[2])):
        ward = random.choices(list(wards), [8, 4, 2, 1, 1, 1])[0]
        age = min(99, int(random.gauss(40 + 6 * int(ward[-1]), 12)))
        print(ward, random.choice(wards[ward]), max(0, age), "died" if random.random() < age / 400 else "home", sep=",", file=f)
icds = sorted({icd for own in wards.values() for icd in own})
with open(sys.argv[1] + "/public/stays.toml", "w") as f:
    for name, values in (("ward", list(wards)), ("icd", icds), ("outcome", ["home", "died"])):
        print(f'[[columns]]\nname = "{name}"\ntype = "category"\nvalues = {json.dumps(values)}', file=f)
        if name == "outcome": print('role = "label"', file=f)
    print('[[columns]]\nname = "age"\ntype = "integer"\nlo = 0\nhi = 99', file=f)
EOF
python3 "$work/make.py" "$work" "$rows"
cp "$work/public/stays.toml" "$work/public/unlisted.toml"
printf '[[combinations]]\ncolumns = ["ward", "icd"]\nfile = "list.csv"\n' >>"$work/public/stays.toml"
cat >"$work/look.py" <<'EOF'
import csv, sys
allowed = {(r["ward"], r["icd"]) for r in csv.DictReader(open(sys.argv[1], newline=""), delimiter=";")}
rows = [(r["ward"], r["icd"]) for r in csv.DictReader(open(sys.argv[2], newline=""))]
bad = sum(r not in allowed for r in rows)
print(f"{bad} of {len(rows)} rows are not allowed; {len(set(rows))} of {len(allowed)} combinations occur")
assert len(rows) == 6000 and (bad == 0 and len(set(rows)) > 25 if sys.argv[3] == "none" else bad > 300)
EOF
# The list lies beside the schema, whatever folder the job runs in.
job=(--set "data.dir=$work/data" --set data.features=stays.csv --set data.records="$rows" --set map.pairs.kind=pairs --set privacy.epsilon=1
  --set privacy.delta=1e-5 --set privacy.max_records_per_person=1 --set model.generator=pair-graph --set sample.labels=released-counts --set sample.count="$rows"
  --set 'evaluate.metrics=[]')
says 0 'Everything fits' "$MUFFLE" check --set "data.schema=$work/public/stays.toml" "${job[@]}"
ends 0 "$MUFFLE" run --set "data.schema=$work/public/stays.toml" "${job[@]}" --insecure-seeded-noise 7 --out "$work/listed"
ends 0 "$MUFFLE" run --set "data.schema=$work/public/unlisted.toml" "${job[@]}" --insecure-seeded-noise 7 --out "$work/unlisted"
check "all samples are allowed" python3 "$work/look.py" "$work/public/list.csv" "$work/listed/samples.csv" none
check "without the list many are not" python3 "$work/look.py" "$work/public/list.csv" "$work/unlisted/samples.csv" many

# The release states what is allowed: of somebody else's nothing but itself is opened.
mv "$work/public/list.csv" "$work/list.csv"
# (Seeded noise is no guarantee: 77.)
says 77 'pass +rounds .*chosen again' "$MUFFLE" verify "$work/listed/release.mfl" --allow-unsigned
ends 0 "$MUFFLE" sample --model "$work/listed/model.mfl" --set sample.count="$rows" --set sample.labels=released-counts --set 'sample.formats=["csv"]' --out "$work/more"
check "all further samples are allowed" python3 "$work/look.py" "$work/list.csv" "$work/more/samples.csv" none
check "its file is not named" bash -c "! grep -aq 'list.csv' '$work/listed/release.mfl' '$work/listed/model.mfl'"
says 74 'list.csv' "$MUFFLE" schema hash "$work/public/stays.toml"

# Records that are not allowed: named by row, not by what they hold, and counted as they are.
sed 's/A3;/A7;/' "$work/list.csv" >"$work/public/list.csv"
says 78 "list.csv' line 5: \"A7\" is not among the values of column 'icd'" "$MUFFLE" schema hash "$work/public/stays.toml"
cp "$work/list.csv" "$work/public/list.csv"
sed -i '4s/^[^,]*,[^,]*,/ward 0,F4,/' "$work/data/stays.csv"
says 65 "row 3 .* breaks the list of combinations of 'ward', 'icd'" "$MUFFLE" check --set "data.schema=$work/public/stays.toml" "${job[@]}"
check "no value is told" bash -c "! grep -q 'F4' '$work/log'"
ends 0 "$MUFFLE" release --set "data.schema=$work/public/stays.toml" "${job[@]}" --set data.on_error=reject-file --insecure-seeded-noise 7 --out "$work/kept"
finish
