#!/usr/bin/env bash
# Tables through the built release: a CSV made here by rule, with a schema, rules between columns and a person; the same sums on any
# number of ranks, masked or not, with an empty shard; synthetic rows that keep types, bounds and rules; bad files that charge nothing.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mkdir "$work/data"
cp "$(dirname "${BASH_SOURCE[0]}")/stays.toml" "$work/stays.toml"
header=age,ward,admitted,left,note,died
# ROWS FROM -> lines of a CSV.
rows() {
  awk -v n="$1" -v from="$2" 'BEGIN { split("north|\"south, west\"|\"intensive \"\"care\"\"\"|NA", ward, "|")
    for (i = from; i < from + n; ++i) { month = 1 + i % 12; printf "%d,%s,2020-%02d-%02d,%s,private %d,%s\n", (i * 37) % 100,
      ward[1 + int(i * 37 % 100 / 25)], month, 1 + i % 28, month == 12 ? "2021-01-03" : sprintf("2020-%02d-%02d", month + 1, 1 + i % 20), i,
      ((i * 37) % 100 > 60 ? "yes" : "no") } }'
}
(echo "$header"; rows 600 0) >"$work/data/all.csv"
for part in 0 1 2; do (echo "$header"; rows 200 $((200 * part))) >"$work/data/part-$part.csv"; done
echo "$header" >"$work/data/part-3.csv" # a rank without records
cat >"$work/stays-job.toml" <<EOF
[data]
schema = "$work/stays.toml"
dir = "$work/data"
features = "all.csv"
records = 600
on_error = "reject-file"
label_as = "class"
[map.pairs]
kind = "pairs"
[privacy]
epsilon = 5.0
max_records_per_person = 1
[model]
generator = "pair-graph"
[sample]
count = 700
formats = ["csv", "npz"]
[evaluate]
metrics = ["marginals"]
[runtime]
deadline_s = 60.0
EOF
job=(--config "$work/stays-job.toml")

says 0 'outlook' "$MUFFLE" plan "${job[@]}"
ends 0 on 2 run "${job[@]}" --out "$work/run"
there "$work/run" samples.csv
there "$work/run" samples.npz
there "$work/run" metrics.json
ends 0 "$MUFFLE" verify "$work/run/release.mfl" --allow-unsigned
check "the columns are the original's, but for what is ignored" test "$(head -n 1 "$work/run/samples.csv")" = age,ward,admitted,left,died
check "as many rows as were asked for" test "$(wc -l <"$work/run/samples.csv")" = 701
python3 - "$work/run/samples.csv" >"$work/log" 2>&1 <<'EOF'
import csv, datetime, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
for r in rows:
    assert 0 <= int(r["age"]) <= 99 and r["ward"] in ("north", "south, west", 'intensive "care"', "NA") and r["died"] in ("no", "yes"), r
    admitted, left = (datetime.date.fromisoformat(r[c]) for c in ("admitted", "left"))
    assert admitted.year == 2020 and admitted <= left <= datetime.date(2021, 1, 31), r
old = sum(int(r["age"]) >= 60 for r in rows if r["died"] == "yes") / sum(r["died"] == "yes" for r in rows)
assert old > 0.8, f"of those who died, {old} are 60 or older"
EOF
check "rows keep types, bounds, rules and the law" test $? = 0

# Results for programs: on standard output, and nothing else there.
on 2 run "${job[@]}" --out "$work/run" --format json >"$work/json" 2>"$work/log" || fail "run --format json"
check "run --format json prints the scores" python3 - "$work/json" "$work/run/metrics.json" <<'EOF'
import json, sys
said, metrics = (json.load(open(p)) for p in sys.argv[1:])
assert said["format"] == "muffle-run" and said["metrics"] == metrics and said["seconds"] > 0, said
EOF

# Without a configuration a stage that is done again changes what was asked for alone; what goes is said; evaluate scores what is there.
cp -r "$work/run" "$work/again"
says 0 'settings that were not given are those of' "$MUFFLE" sample --out "$work/again" -n 300
check "a CSV stays one" test "$(wc -l <"$work/again/samples.csv")" = 301
there "$work/again" samples.npz
# Nor where nothing but the model says anything.
mkdir "$work/bare" && cp "$work/run/model.mfl" "$work/bare/the.mfl"
says 0 'sample: 60000 records as \["csv"\], as nothing says how many and how' "$MUFFLE" sample --model "$work/bare/the.mfl" --out "$work/bare/out"
check "a table's samples are a CSV" test -s "$work/bare/out/samples.csv" -a ! -e "$work/bare/out/samples.npz"
says 0 'its output is there already' "$MUFFLE" train --out "$work/again"
says 0 'removed, as the samples .* are replaced: samples.csv and 1 more' "$MUFFLE" sample "${job[@]}" --set sample.files=2 \
  --set 'sample.formats=["csv"]' --out "$work/again"
"$MUFFLE" evaluate "${job[@]}" --out "$work/again" --format json >"$work/json" 2>"$work/log" || fail "evaluate does not find the samples"
check "evaluate --format json prints metrics.json" cmp "$work/json" "$work/again/metrics.json"

# The same noise on any number of ranks, with one file a rank or one for all, an empty one too, masked or not: the same released numbers.
numbers=$(python3 -c "print(2 * (4 + 6 + 5 * 4 + 5 * 6 + 5 * 6 + 4 * 6 + 4 * 6 + 6 * 6 + 5 + 6))")
sums() { tail -c $((8 * numbers + 32)) "$work/$1/release.mfl" | head -c -32 | sha256sum; }
counts=(1 3)
if [[ -n $thorough ]]; then counts=(1 2 3 4); fi
for n in "${counts[@]}"; do
  ends 0 on "$n" release "${job[@]}" --insecure-seeded-noise 7 --out "$work/alone-$n"
  check "$n ranks release what one does" test "$(sums "alone-$n")" = "$(sums alone-1)"
done
ends 0 on 4 release "${job[@]}" --set 'data.features=part-{rank}.csv' --set evaluate.metrics=[] --insecure-seeded-noise 7 --out "$work/parts"
check "one file a rank, one of them empty" test "$(sums parts)" = "$(sums alone-1)"
for n in 2 ${thorough:+4}; do
  ends 0 on "$n" release "${job[@]}" --secure-aggregation --insecure-seeded-noise 7 --out "$work/masked-$n"
  check "$n masked ranks release the same" test "$(sums "masked-$n")" = "$(sums alone-1)"
done
ends 0 on 4 release "${job[@]}" --set 'data.features=part-{rank}.csv' --set evaluate.metrics=[] --secure-aggregation --distributed-noise --out "$work/distributed"
ends 0 "$MUFFLE" verify "$work/distributed/release.mfl" --allow-unsigned

# Rounds: the same numbers on any number of ranks, masked or not, with an empty shard; what later rounds count is chosen from noisy numbers.
rounds=(--set privacy.rounds=3)
same_rounds() {
  python3 - "$work/$1/release.mfl" "$work/rounds-1/release.mfl" <<'EOF'
import json, struct, sys
def maps_and_numbers(path):
    data = open(path, "rb").read()
    header = struct.unpack("<I", data[12:16])[0]
    return [(m["name"], m.get("round", 1), m["map"]) for m in json.loads(data[16:16 + header])["maps"]], data[24 + header:-32]
a, b = (maps_and_numbers(p) for p in sys.argv[1:])
assert [r for _, r, _ in a[0]] == [1, 2, 3], a[0]
assert a == b, "other tables or other numbers"
EOF
}
for n in "${counts[@]}"; do
  ends 0 on "$n" release "${job[@]}" "${rounds[@]}" --insecure-seeded-noise 7 --out "$work/rounds-$n"
  check "$n ranks release in rounds what one does" same_rounds "rounds-$n"
done
ends 0 on 4 release "${job[@]}" "${rounds[@]}" --set 'data.features=part-{rank}.csv' --set evaluate.metrics=[] --secure-aggregation \
  --insecure-seeded-noise 7 --out "$work/rounds-masked"
check "masked rounds with an empty shard" same_rounds rounds-masked
ends 0 on 3 run "${job[@]}" "${rounds[@]}" --secure-aggregation --distributed-noise --out "$work/rounds-distributed"
ends 0 "$MUFFLE" verify "$work/rounds-distributed/release.mfl" --allow-unsigned
check "one charge pays for all rounds" test "$(cat "$work"/ledger-*.jsonl | grep -c "rounds-distributed/release.mfl")" = 1
says 0 'in 3 rounds' "$MUFFLE" plan "${job[@]}" "${rounds[@]}"
private_m=(run "${job[@]}" "${rounds[@]}" --set data.id=private-m --set privacy.adjacency=add-remove-one --set data.records=0
  --out "$work/rounds-private-m")
says 0 'what "marginals" reads of the release.s own records is left out' on 2 "${private_m[@]}"
check "where m is private the release's own records are not scored unasked" test ! -e "$work/rounds-private-m/metrics.json"
ends 0 on 1 "${private_m[@]}" --set evaluate.own_records=true
check "asked for, they are, no finer than 1 in 100" grep -qE '"mean_tvd": 0\.[0-9]{1,2},?$' "$work/rounds-private-m/metrics.json"
# What the noise alone makes is public, and told to all digits: under names of its own in the file, as the last of a line in the log.
no_finer() {
  python3 - "$work/rounds-private-m/metrics.json" <(sed -n '/^total variation/,/^farthest pairs/p' "$work/log") <<'EOF'
import json, re, sys
def of_records(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if not key.endswith("noise_alone"): yield from of_records(value)
    elif isinstance(node, float): yield node
written = list(of_records(json.load(open(sys.argv[1]))["marginals"]))
shown = [float(x) for line in open(sys.argv[2]) for x in re.findall(r"\s(\d+\.\d+)", line.rsplit(None, 1)[0] if line.split() else "")]
assert len(written) > 10 and len(shown) > 5, (written, shown)
assert all(x == round(x, 2) for x in written + shown), (written, shown)
EOF
}
check "in no number of the records, shown or written" no_finer
ends 0 "$MUFFLE" verify "$work/rounds-private-m/release.mfl" --allow-unsigned
expect_error 78 "privacy.rounds releases one map of counts" 1 release "${job[@]}" "${rounds[@]}" --set 'map.more.kind=pairs'

# The same file by another spelling of its path is the same release; another setting is named.
made=$(sha256sum <"$work/rounds-1/release.mfl")
rounds_again=("${job[@]}" "${rounds[@]}" --insecure-seeded-noise 7)
for spelt in "./all.csv" "$work/data/all.csv" "../data/all.csv"; do
  ends 0 on 1 release "${rounds_again[@]}" --set "data.features=$spelt" --out "$work/rounds-1"
done
check "nothing was released again" test "$(sha256sum <"$work/rounds-1/release.mfl")" = "$made"
says 78 "privacy settings .privacy.epsilon: .* there, 0.123 here" "$MUFFLE" release "${rounds_again[@]}" --set privacy.epsilon=0.123 --out "$work/rounds-1"
says 78 "data.features: '.*all.csv' there, '.*part-0.csv' here" "$MUFFLE" release "${rounds_again[@]}" --set data.features=part-0.csv --out "$work/rounds-1"

# Of so few records the label is a column like the others, unless somebody says otherwise: the same columns in the samples, whose law ties it to the others.
few=("${job[@]}" --set data.label_as=auto)
says 0 "'died' is counted like any other column" "$MUFFLE" plan "${few[@]}"
check "not where somebody says so" bash -c "! '$MUFFLE' plan --config '$work/stays-job.toml' | grep -q 'like any other column'"
ends 0 on 2 run "${few[@]}" --set 'evaluate.metrics=["marginals", "table-classifiers"]' --set data.test_features=part-1.csv --set evaluate.own_records=true \
  --set 'evaluate.train_sizes=[100]' --out "$work/few"
check "its labels come as the release says, and nobody asked for others" bash -c "! grep -q 'sample.labels' '$work/log'"
says 0 'sample.labels does not apply' "$MUFFLE" sample --model "$work/few/model.mfl" --set sample.labels=uniform -n 20 --out "$work/few-uniform"
ends 0 "$MUFFLE" verify "$work/few/release.mfl" --allow-unsigned
check "the columns are the same ones" test "$(head -n 1 "$work/few/samples.csv")" = age,ward,admitted,left,died
check "and the law" python3 - "$work/few" <<'EOF'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1] + "/samples.csv", newline="")))
died = [int(r["age"]) >= 60 for r in rows if r["died"] == "yes"]
assert 150 < len(died) < 400 and sum(died) / len(died) > 0.8, (len(died), sum(died))
assert {r["died"] for r in rows} == {"no", "yes"} and all(r["admitted"] <= r["left"] for r in rows)
said, scores = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("samples", "metrics"))
assert said["labels"] == "column" and said["classes"] == 1, said
assert scores["table_classifiers"]["mean"]["roc_auc"] > 0.8, scores["table_classifiers"]["mean"]
of_100 = [scores["table_classifiers"][name]["accuracy_by_records"]["100"] for name in scores["table_classifiers"] if name not in ("mean", "real")]
assert len(of_100) == 12 and all(0.3 < accuracy <= 1 for accuracy in of_100), of_100
EOF
ends 0 "$MUFFLE" report --run "$work/few" --private
check "its private report knows the label" grep -q '(the label)' "$work/few/report-private.html"
check "and tells of rows class by class, both of them" python3 - "$work/few/report-private.html" <<'EOF'
import re, sys
text = re.sub("<[^>]*>", " ", open(sys.argv[1], encoding="utf-8").read().split("Class by class")[-1])
shares = re.findall(r"\b(no|yes) +([0-9.]+) % +([0-9.]+) % +([0-9.]+)", text)
assert [name for name, *_ in shares] == ["no", "yes"], text[:400]
assert all(abs(float(real) - float(made)) < 10 and float(distance) < 0.3 for _, real, made, distance in shares), shares
EOF
says 78 'no mean of each class: its label was counted' "$MUFFLE" evaluate "${few[@]}" --set 'evaluate.metrics=["nearest-mean"]' --set data.test_features=part-1.csv --out "$work/few"
says 78 'data.label_as: .*auto.* there, .*class.* here' "$MUFFLE" release "${job[@]}" --out "$work/few"
for n in 1 3; do ends 0 on "$n" release "${few[@]}" --secure-aggregation --insecure-seeded-noise 7 --out "$work/few-$n"; done
check "3 masked ranks release what one does" test "$(payload "$work/few-3/release.mfl")" = "$(payload "$work/few-1/release.mfl")"
expect_error 78 'data.label_as = "column" is of a table' 1 release "${tiny[@]}" --set data.label_as=column --set data.features=none.idx

# Keys: each row has one of its own, whatever sampling it is from; of those in the file nothing is read.
printf '%s\n' '[[columns]]' 'name = "stay"' 'type = "key"' 'prefix = "S-"' 'digits = 5' | cat - "$work/stays.toml" >"$work/keyed.toml"
awk -F, 'NR == 1 { print $0 ",stay"; next } { print $0 "," (NR % 7 ? "SECRET" NR : "") }' "$work/data/all.csv" >"$work/data/keyed.csv"
keyed=("${job[@]}" --set "data.schema=$work/keyed.toml" --set data.features=keyed.csv)
says 0 'Everything fits' "$MUFFLE" check "${keyed[@]}"
ends 0 on 2 run "${keyed[@]}" --set sample.files=2 --set 'sample.formats=["csv"]' --out "$work/keyed"
mkdir "$work/keyed-more"
ends 0 on 1 sample --model "$work/keyed/model.mfl" --set sample.skip_keys=700 --set sample.count=300 --set sample.files=1 --set sample.seed=2 --out "$work/keyed-more"
check "a thousand keys, all of them different" python3 - "$work"/keyed/samples-0000[01]-of-00002.csv "$work/keyed-more/samples.csv" <<'EOF'
import csv, sys
keys = [r["stay"] for path in sys.argv[1:] for r in csv.DictReader(open(path, newline=""))]
assert keys == [f"S-{i + 1:05}" for i in range(1000)], keys[:3]
EOF
check "no key of the file is anywhere" bash -c "! grep -raq 'SECRET' '$work/keyed' '$work/keyed-more'"
says 78 "sample.skip_keys . sample.count is 100299, and the keys of column 'stay' have 5 digits" "$MUFFLE" sample --model "$work/keyed/model.mfl" --set sample.skip_keys=99999 \
  --set sample.count=300 --out "$work/keyed-more"
ends 0 on 1 release "${job[@]}" --set "data.schema=$work/keyed.toml" --insecure-seeded-noise 7 --out "$work/no-keys"
check "a file may lack them: the same numbers are released" test "$(sums no-keys)" = "$(sums alone-1)"

# The noisy tables are a product.
ends 0 on 2 release "${job[@]}" --out "$work/exported" --export-tables "$work/tables"
check "every pair and column is a file, $(find "$work/tables" -name '*.csv' | wc -l) of 10" test "$(find "$work/tables" -name '*.csv' | wc -l)" = 10

# Bad files: what, where, and nothing charged. What a file holds stays on its rank.
# WHAT PATTERN COMMAND...: on a copy of the file
bad() {
  local what=$1 pattern=$2
  shift 2
  cp "$work/data/all.csv" "$work/data/bad.csv"
  "$@" "$work/data/bad.csv"
  expect_error 65 "$pattern" 2 release "${job[@]}" --set data.features=bad.csv # which looks for a ledger, too
  check "$what: no content in public" test "$(cat "$work"/said/*.stderr | grep -c 'SECRET')" = 0
}
bad "an unknown category" "bad.csv" sed -i '300s/north\|NA\|"south, west"\|"intensive ""care"""/SECRET/'
bad "a column too many" "bad.csv" sed -i '17s/$/,SECRET/'
bad "a number out of bounds" "bad.csv" sed -i '5s/^[0-9]*/1234/'
bad "another header" "bad.csv" sed -i '1s/ward/SECRET/'
bad "an encoding error" "bad.csv" sed -i '9s/private/priv\xff/'
expect_error 78 "data.classes follows from the schema" 1 release "${job[@]}" --set data.classes=3
# Ranks with different schemas: the columns that differ are named.
sed 's/hi = 99/hi = 89/' "$work/stays.toml" >"$work/other.toml"
mkdir "$work/rank-0" "$work/rank-1"
cp "$work/stays.toml" "$work/rank-0/s.toml"
cp "$work/other.toml" "$work/rank-1/s.toml"
# shellcheck disable=SC2317 # called by expect_error
in_own_folder() {
  # shellcheck disable=SC2016
  MUFFLE=$work/muffle-there each "$@"
}
cat >"$work/muffle-there" <<EOF
#!/usr/bin/env bash
cd "$work/rank-\$OMPI_COMM_WORLD_RANK" && exec "$MUFFLE" "\$@"
EOF
chmod +x "$work/muffle-there"
run_with=in_own_folder expect_error 78 "the schema's column 'age' is" 2 release "${job[@]}" --set data.schema=s.toml

# Masks on any number of ranks, one of them without a record; the sums under shares of noise are compared in TablesRound.*.
for n in 1 ${thorough:+3}; do
  ends 0 on "$n" release "${job[@]}" --secure-aggregation --insecure-seeded-noise 7 --out "$work/masked-$n"
  check "$n masked rank(s) release the same" test "$(sums "masked-$n")" = "$(sums alone-1)"
done
ends 0 on 4 release "${job[@]}" --set 'data.features=part-{rank}.csv' --set evaluate.metrics=[] --secure-aggregation --insecure-seeded-noise 7 \
  --out "$work/masked-parts"
check "masked, one file a rank, one of them empty" test "$(sums masked-parts)" = "$(sums alone-1)"

# Samples are spelt as the records are: separator, header or none; quotes as a setting says. And they are read back so.
python3 - "$work/data" <<'EOF'
import csv, sys
with open(sys.argv[1] + "/all.csv", newline="") as old, open(sys.argv[1] + "/semicolons.csv", "w", newline="") as new:
    csv.writer(new, delimiter=";", quoting=csv.QUOTE_NONNUMERIC).writerows(list(csv.reader(old))[1:])
EOF
ends 0 on 1 run "${job[@]}" --set data.features=semicolons.csv --set data.id=semicolons --set 'data.separator=;' --set data.header=false \
  --set sample.quotes=texts --set 'sample.formats=["csv"]' --set 'data.test_features=semicolons.csv' --out "$work/semicolons"
check "each line has semicolons and texts in quotes, no header" test "$(grep -cE '^[0-9]+;"(north|south, west|intensive ""care""|NA)";2020-[-0-9]+;202[-0-9]+;"(yes|no)"$' \
  "$work/semicolons/samples.csv")" = 700
there "$work/semicolons" metrics.json

# All that drowns is in the plan's JSON; without a number of records it says why there is no outlook.
says 0 '"age x admitted"' "$MUFFLE" plan "${job[@]}" --set privacy.epsilon=0.01 --format json
says 0 'm is private, so they are left out: give --records M' "$MUFFLE" plan "${job[@]}" --set privacy.adjacency=add-remove-one --set data.records=0
says 0 'outlook +noise' "$MUFFLE" plan "${job[@]}" --set privacy.adjacency=add-remove-one --set data.records=0 --records 600
finish
