#!/usr/bin/env bash
# muffle schema and muffle check: drafts hold nothing of the records and refuse to run until filled in; a draft of a public sample checks
# its own file; misfits are named by row and column, never by content; what a check finds is on standard output alone.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

docs=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../docs")
muffle() { "$MUFFLE" schema "$@"; }
# checked SCHEMA FILE SETTINGS...
checked() {
  local settings=()
  for setting in "${@:3}"; do settings+=(--set "$setting"); done
  "$MUFFLE" check --set "data.schema=$1" --data "$2" "${settings[@]}"
}
cd "$work"

printf '%s\n' 'patient;age;weight;admitted;ward;outcome' 'needle-1;47;71.5;2021-03-09;needle-ward;home' \
  'needle-2;88;64.25;2022-11-30;surgery;died' 'needle-2;19;;2020-02-02;surgery;home' >private.csv

# A draft away from a terminal: the header and the types, placeholders for the rest.
says 0 'guess, from a look at the private file' muffle init private.csv --separator ';' </dev/null
cp log drafted
check "the draft has each column with its type" test \
  "$(sed -nE 's/^type = "([a-z]+)".*/\1/p' schema.toml | tr '\n' ' ')" = "category integer decimal date category category "
check "and says that types are guesses" test "$(grep -c '# a guess' schema.toml)" = 6
check "where names are from is said, and stands in the draft" bash -c "grep -q 'If it has no header, they are a RECORD' drafted schema.toml && grep -q -- --no-header schema.toml"
check "nothing of the records is in it, or was said" bash -c "! grep -E 'needle|surgery|home|died|47|71|2021' schema.toml drafted"
says 2 'never overwrites' muffle init private.csv --separator ';' </dev/null
says 78 'is still "FILL-IN"' muffle hash schema.toml
says 78 'is still "FILL-IN"' checked schema.toml private.csv 'data.separator=;'
echo '39,State-gov' >no-header.csv
says 65 'perhaps the first line is a record' muffle init no-header.csv --out none.toml </dev/null
check "a record is no header" test ! -e none.toml
says 0 'are numbered' muffle init no-header.csv --no-header --out none.toml </dev/null
printf '%s\n' 'needle,surgery,died' 'Bob Jones,maternity,home' >texts.csv
says 65 'all columns .* hold text' muffle init texts.csv --out texts.toml </dev/null
check "nor is one all of text, which nobody sees" bash -c "test ! -e texts.toml && ! grep -qE 'needle|Bob' log"
says 0 '' muffle init texts.csv --header --out texts.toml </dev/null
check "columns without names get numbers" grep -q 'name = "column-2"' none.toml
printf 'a,b\n1,2\n3,4,5\n' >ragged.csv
says 65 "^row 2 of 'ragged.csv' has 3 fields, the file has 2 columns" muffle init ragged.csv --out none-2.toml </dev/null
check "no log is named where there is none" bash -c "! grep -q 'own log' log && grep -q 'correct --separator' log"
says 65 'is one field \(";" stands in it\): say which --separator' muffle init private.csv --out none-2.toml </dev/null

# A person has filled it in.
cat >mine.toml <<'END'
[[columns]]
name = "patient"
type = "category"
role = "person"
[[columns]]
name = "age"
type = "integer"
lo = 0
hi = 120
missing = false
[[columns]]
name = "weight"
type = "decimal"
decimals = 1
lo = 0
hi = 300
missing = ""
[[columns]]
name = "admitted"
type = "date"
lo = 2020-01-01
hi = 2024-12-31
[[columns]]
name = "ward"
type = "category"
values = ["needle-ward", "surgery"]
[[columns]]
name = "outcome"
type = "category"
role = "label"
values = ["home", "died"]
[[constraints]]
kind = "compare"
left = "age"
op = ">="
value = 18
END
says 0 '^Everything fits' checked mine.toml private.csv 'data.separator=;'
says 0 "^'.*private.csv': 3 records" checked mine.toml private.csv 'data.separator=;'
check "the ranges of numbers, and how often each label is there" bash -c \
  "grep -qx \"  column 'age': 19 to 88 (the schema says 0 to 120)\" log && grep -qx \"  column 'outcome': home: 2, died: 1\" log"
hash=$(muffle hash mine.toml)
check "a hash of 64 digits" grep -qxE '[0-9a-f]{64}' <<<"$hash"
sed 's/^hi = 120$/hi = 120  # years/; s/"decimal"/ "decimal"/' mine.toml >same.toml
check "what is only spelt otherwise has the same hash" test "$(muffle hash same.toml)" = "$hash"
sed 's/^hi = 120$/hi = 121/' mine.toml >other.toml
check "another bound has another" test "$(muffle hash other.toml)" != "$hash"

# What does not fit: where, never what.
{
  cat private.csv
  echo 'needle-3;121;64;2021-01-01;surgery;home'
  echo ';17;x;2021-02-30;needle-garden;home'
  echo 'needle-4;17;64;2021-01-01;surgery;home'
  echo 'needle-5;17'
} >wrong.csv
says 65 "^row 4 of '.*wrong.csv', column 'age': the field is above the column's hi" checked mine.toml wrong.csv 'data.separator=;'
for line in "row 5 of '.*wrong.csv', column 'patient': the field is missing" "row 5 .* 'weight': the field is not a number" \
  "row 5 .* 'admitted': the field is not a date" "row 5 .* 'ward': the field is not one of" "row 6 of '.*wrong.csv' breaks constraint 1" \
  "row 7 of '.*wrong.csv' has 2 fields" "column 'age': 1 field is above" "whatever data.on_error says"; do
  check "it says: $line" grep -q -- "$line" log
done
check "no content but ranges and counts" bash -c "! grep -vE '^  column' log | grep -E 'needle-[3g]|121|2021'"
checked mine.toml wrong.csv 'data.separator=;' 2>said >log || true
check "it is on standard output alone" bash -c '! grep . said && grep -q "whatever data.on_error says" log'
on 2 check --set data.schema=mine.toml --data wrong.csv --set 'data.separator=;' --format json >found.json 2>told || true
check "JSON too, once, however many ranks there are" python3 - <<'EOF'
import json
found = json.load(open("found.json"))
one = found["checks"][0]
assert (found["format"], found["version"]) == ("muffle-check", 1), found
assert one["records"] == 7 and one["misfits"] == 7, one
assert {"name": "column 'outcome'", "counts": {"home": 5, "died": 1}} in one["holds"], one
assert "muffle: " not in open("told").read()  # mpiexec says that a rank ended otherwise
EOF
cut -d ';' -f 1-5 private.csv >fewer.csv
says 65 "the header of '.*fewer.csv' lacks 'outcome'" checked mine.toml '*e*.csv' 'data.separator=;'
says 65 "names few of the schema's columns.*data.separator right \(\";\" stands in it\)" checked mine.toml private.csv
{ cat private.csv; printf 'needle-6;200;64;2021-01-01;surgery;home\n%.0s' {1..100}; } >many.csv
says 65 '^\.\.\. and 80 more' checked mine.toml many.csv 'data.separator=;'
check "what clamp takes is told apart" grep -q '^data.on_error = "clamp": in a job' log
says 74 'nowhere.csv' checked mine.toml nowhere.csv
says 65 'nowhere.csv. \(data.test_features\): not read' checked mine.toml private.csv 'data.separator=;' data.test_features=nowhere.csv
says 78 'data.generate makes the records' "$MUFFLE" check --set data.generate=gaussian-mixture-2d --set data.features=x --set data.shape=[2]
# A record in place of a header, one field of which is a column's name; a row where no separator fits.
printf '%s\n' 'needle-9;47;71.5;2021-03-09;ward;died' >record.csv
says 65 "names few of the schema's columns" checked mine.toml record.csv 'data.separator=;'
check "nothing of the record is said" bash -c "! grep -E 'needle|71.5' log"

# A public sample fills everything in, and its own file fits.
says 0 'Draft written' muffle init private.csv --from-public-sample private.csv --separator ';' --out sampled.toml </dev/null
check "bounds are rounded outwards" bash -c "grep -qx 'lo = 15' sampled.toml && grep -qx 'hi = 90' sampled.toml && grep -qx 'hi = 2022-12-31' sampled.toml"
check "nobody had to look at the private file's records" bash -c "! grep -q guess sampled.toml log"
says 0 '^Everything fits' checked sampled.toml private.csv 'data.separator=;'

# A file as people have it: a title, the separator's line, row numbers, Windows-1252, a separator at the lines' ends, whole numbers with a
# point, of which some are missing. From the draft to samples in its spelling, in UTF-8.
{
  printf 'A "title\nsep=;\n;age;town;\n'
  LC_ALL=C awk 'BEGIN { for (i = 0; i < 60; ++i) printf "%d;%s;%s;\n", i, i % 7 ? (20 + i) ".0" : "None", i % 2 ? "K\366ln" : "Bonn" }'
} >messy.csv
messy=(data.separator=';' data.skip=1 data.encoding=windows-1252)
says 65 'has 1 field|is no row' muffle init messy.csv --separator ';' --out messy.toml </dev/null
says 0 "column.* 1, 4 of 'messy.csv' have no name" muffle init messy.csv --from-public-sample messy.csv --separator ';' --skip 1 --encoding windows-1252 \
  --out messy.toml </dev/null
check "the draft says how the rest is told" grep -q -- "--set data.skip=1 --set data.encoding=windows-1252" log
check "what is whole has the step 1" test "$(sed -nE '/"age"/,/^missing/p' messy.toml | tr '\n' ' ')" = \
  'name = "age" type = "decimal" decimals = 1 step = 1 lo = 20.0 hi = 80.0 missing = ["None"] '
says 0 'Look at this: columns 1, 4' checked messy.toml messy.csv "${messy[@]}"
ends 0 "$MUFFLE" run --set data.schema=messy.toml --data messy.csv "${messy[@]/#/--set=}" --set data.records=60 --set data.id=messy \
  --set map.pairs.kind=pairs --set privacy.epsilon=5 --set privacy.delta=1e-5 --set privacy.max_records_per_person=1 \
  --set model.generator=pair-graph --set sample.count=50 --set 'sample.formats=["csv"]' --set 'evaluate.metrics=[]' --out messy
check "samples are spelt as the records, in UTF-8" test "$(head -1 messy/samples.csv) $(grep -cE '^([2-8][0-9]\.0|None);(Bonn|Köln)$' messy/samples.csv)" = \
  'age;town 50'

# On a terminal it asks.
printf 'a,b\n1,2\n' >two.csv
printf '%s\n' '' '' '0, 9' 'category label' '1, 2' | script -qec "'$MUFFLE' schema init two.csv --out asked.toml" /dev/null >typed
says 0 '^Everything fits' checked asked.toml two.csv
check "what was asked" grep -q 'Column 2 of 2: b' typed
printf '%s\n' person '' '' '' '' label | script -qec "'$MUFFLE' schema init private.csv --separator ';' --from-public-sample private.csv --out roles.toml" /dev/null >typed
check "roles are asked for where a sample has filled in the rest" bash -c "grep -A 2 patient roles.toml | grep -q person && grep -A 2 outcome roles.toml | grep -q label"

# What the documentation prints loads as it stands.
# shellcheck disable=SC2016
blocks() { sed -n '/^```toml$/,/^```$/{/^```/!p}' "$1"; }
awk '/^```toml$/ { n++; next } /^```$/ { if (n) exit } n' "$docs/reference/schema.md" >printed.toml # its first: the others are parts
says 0 '' muffle hash printed.toml
blocks "$docs/tutorial/tables.md" >placeholders.toml
says 78 "'lo' is still \"FILL-IN\"" muffle hash placeholders.toml
finish
