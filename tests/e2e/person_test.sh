#!/usr/bin/env bash
# Records a person through the built release: nobody has more than the bound in a sum, whether ranks share a file or have their own; what
# that promises over several files must be said; samples come in several files, which are read back as one.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mkdir "$work/data"
cat >"$work/visits.toml" <<'EOF'
[[columns]]
name = "patient"
type = "category"
role = "person"
[[columns]]
name = "ward"
type = "category"
values = ["north", "south", "west"]
[[columns]]
name = "pain"
type = "integer"
lo = 0
hi = 9
bins = 5
EOF
# FIRST LAST -> the visits of these patients: three each, and all the same, so that it does not matter which of them count.
visits() {
  echo patient,ward,pain
  awk -v from="$1" -v to="$2" 'BEGIN { split("north south west", ward, " ")
    for (visit = 0; visit < 3; ++visit) for (i = from; i <= to; ++i) printf "patient %d,%s,%d\n", i, ward[1 + i % 3], i * 7 % 10 }'
}
visits 1 200 >"$work/data/all.csv"
visits 1 80 >"$work/data/part-0.csv"
visits 81 200 | gzip >"$work/data/part-1.csv"
cat >"$work/job.toml" <<EOF
[data]
schema = "$work/visits.toml"
dir = "$work/data"
features = "all.csv"
records = 600
[map.pairs]
kind = "pairs"
[privacy]
epsilon = 5.0
max_records_per_person = 2
[model]
generator = "pair-graph"
[sample]
count = 1000
formats = ["csv-gz"]
files = 3
[evaluate]
metrics = []
[runtime]
deadline_s = 60.0
EOF
job=(--config "$work/job.toml")
own=(--set 'data.features=part-{rank}.csv' --set data.shards=per-rank)
numbers=$((3 * 5 + 3 + 5))
sums() { tail -c $((8 * numbers + 32)) "$work/$1/release.mfl" | head -c -32 | sha256sum; }
beyond() { sed -nE 's/.*data: ([0-9]+) of this rank.s records are beyond the bound.*/\1/p' "$work/$1"/logs/*.jsonl | paste -sd+ | bc; }

for n in 1 2 3; do
  ends 0 on "$n" release "${job[@]}" --insecure-seeded-noise 7 --out "$work/shared-$n"
  check "$n ranks that share a file count what one does" test "$(sums "shared-$n")" = "$(sums shared-1)"
  check "a third of the visits are beyond the bound" test "$(beyond "shared-$n")" = 200
done
ends 0 on 2 release "${job[@]}" "${own[@]}" --set privacy.person_spans=one-file --insecure-seeded-noise 7 --out "$work/own"
check "files of their own, bounded by themselves" test "$(sums own)" = "$(sums shared-1)"
cp "$work/data/all.csv" "$work/data/more.csv" # another data set, whose ledger counts in another unit
ends 0 on 1 release "${job[@]}" --set data.features=more.csv --set privacy.max_records_per_person=3 --insecure-seeded-noise 7 --out "$work/more"
check "all visits count within a bound of three" test -z "$(beyond more)"

expect_error 78 'privacy\.person_spans is missing.*one-file' 2 release "${job[@]}" "${own[@]}"
expect_error 78 'privacy\.person_spans counts ranks. files' 1 release "${job[@]}" --set privacy.person_spans=2
says 0 'at most 6 records a person' "$MUFFLE" plan "${job[@]}" "${own[@]}" --set privacy.person_spans=3
sed -i 's/^patient,/who,/' "$work/data/all.csv"
expect_error 65 "all.csv' and the schema have different columns.*lacks 'patient'" 2 release "${job[@]}"
sed -i 's/^who,/patient,/; 7s/^patient [0-9]*,/,/' "$work/data/all.csv"
expect_error 65 "all.csv' does not fit the public schema" 2 release "${job[@]}" --set data.on_error=reject-file

# How many rows people have, as a released law: counted alike by ranks that share a file, made people in samples, and scored by itself.
visits 1 200 >"$work/data/all.csv"
awk -F, 'NR == 1 || $1 ~ /[02468]$/ || !seen[$1]++' "$work/data/all.csv" >"$work/data/stays.csv"
sed 's/^role = "person"/&\nrows = 2\nprefix = "P-"\ndigits = 5/' "$work/visits.toml" >"$work/rows.toml"
rows=("${job[@]}" --set data.features=stays.csv --set data.records=400 --set "data.schema=$work/rows.toml" --set privacy.epsilon=none --set privacy.noise_multiplier=0.5
  --set sample.files=1 --set 'sample.formats=["csv"]' --set data.test_features=stays.csv --set 'evaluate.metrics=["marginals"]')
says 0 "how many of them \('patient'\) have 1, 2, .. 2 rows is released: noise of" "$MUFFLE" plan "${rows[@]}"
expect_error 78 "column 'patient' has rows = 2 in the schema, and privacy.max_records_per_person is 3" 1 release "${rows[@]}" --set privacy.max_records_per_person=3
numbers=$((numbers + 2))
for n in 1 2 3; do
  ends 0 on "$n" release "${rows[@]}" --insecure-seeded-noise 7 --out "$work/rows-$n"
  check "$n ranks that share a file number its records alike" test "$(sums "rows-$n")" = "$(sums rows-1)"
done
ends 0 on 2 run "${rows[@]}" --insecure-seeded-noise 7 --out "$work/rows"
check "samples have made people" test "$(head -n 1 "$work/rows/samples.csv")" = patient,ward,pain
people() { tail -n +2 "$work/rows/samples.csv" | cut -d, -f1 | sort | uniq -c | awk -v n="$1" '$1 == n' | wc -l; }
check "nobody has more rows than count" test $(($(people 1) + $(people 2))) = "$(tail -n +2 "$work/rows/samples.csv" | cut -d, -f1 | sort -u | wc -l)"
# A half of the people has one row, the other three, of which two count: 667 people of 1,000 rows, half of each.
check "half of them one row, half two ($(people 1), $(people 2))" test "$(people 1)" -gt 290 -a "$(people 1)" -lt 375 -a "$(people 2)" -gt 310 -a "$(people 2)" -lt 355
check "their names are keys" grep -qE '^P-[0-9]{5},(north|south|west),[0-9]$' "$work/rows/samples.csv"
check "the law is scored" python3 -c 'import json, sys; m = json.load(open(sys.argv[1]))["marginals"]["people"]; sys.exit(not (m["tvd"] < 0.06 and m["tvd_of_real_test"] == 0))' "$work/rows/metrics.json"
ends 0 on 1 run "${rows[@]}" --set privacy.rounds=3 --out "$work/rounds"
says 0 'rounds .*chosen again' "$MUFFLE" verify "$work/rounds/release.mfl" --allow-unsigned
ends 0 "$MUFFLE" report --run "$work/rounds"
check "the report shows it" grep -q 'Rows of a person' "$work/rounds/report.html"
visits 301 400 >"$work/data/others.csv"
ends 0 "$MUFFLE" report --run "$work/rounds" --private --held-out "$work/data/others.csv"
check "beside the real ones" grep -q 'held-out people' "$work/rounds/report-private.html"
expect_error 78 "does not know how many people have how many|cannot make people of them" 1 run "${rows[@]}" --set model.generator=tabular --insecure-seeded-noise 7

# Samples in parts.
visits 1 200 >"$work/data/all.csv"
ends 0 on 2 run "${job[@]}" --out "$work/run"
check "three parts, and no file of all" test "$(cd "$work/run" && echo samples*.gz)" = "$(echo samples-0000{0,1,2}-of-00003.csv.gz)"
check "a header each, 1000 rows together" test "$(zcat "$work"/run/samples-*.csv.gz | wc -l)" = 1003
check "the columns are the original's but for the person" test "$(zcat "$work/run/samples-00002-of-00003.csv.gz" | head -n 1)" = ward,pain
marginals=("${job[@]}" --set 'evaluate.metrics=["marginals"]' --set data.test_features=all.csv --out "$work/run")
ends 0 on 1 evaluate "${marginals[@]}"
there "$work/run" metrics.json
ends 0 on 1 sample "${job[@]}" --set sample.seed=2 --out "$work/run"
check "scores of the rows before do not stand beside others" test ! -e "$work/run/metrics.json"
rm "$work/run/samples-00001-of-00003.csv.gz"
says 74 "cannot read '.*samples-00001-of-00003.csv.gz'" on 1 evaluate "${marginals[@]}"
finish
