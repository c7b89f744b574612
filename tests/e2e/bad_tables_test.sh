#!/usr/bin/env bash
# Bad tables and bad schemas, some forty kinds, through the built release on one rank: exit code 65 or 78, a public message that says what
# is wrong and holds nothing of the file, row and column in the rank's own log, and nothing charged, published or held in memory.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >"$work/stays.toml" <<'EOF'
[[columns]]
name = "age"
type = "integer"
lo = 0
hi = 99
bins = 5
[[columns]]
name = "weight"
type = "decimal"
decimals = 1
lo = 0
hi = 300
missing = "NA"
[[columns]]
name = "admitted"
type = "date"
lo = 2020-01-01
hi = 2020-12-31
[[columns]]
name = "note"
type = "ignore"
[[columns]]
name = "ward"
type = "category"
values = ["north", "south, west"]
[[columns]]
name = "died"
type = "boolean"
values = ["no", "yes"]
role = "label"
EOF
(
  echo age,weight,admitted,note,ward,died
  for ((i = 1; i <= 40; ++i)); do echo "$((i * 37 % 100)),7$((i % 10)).5,2020-03-$((10 + i % 20)),note $i,\"south, west\",no"; done
) >"$work/good.csv"
cat >"$work/job.toml" <<EOF
[data]
features = "data.csv"
id = "stays"
records = 40
on_error = "reject-file"
[map.pairs]
kind = "pairs"
[privacy]
epsilon = 1.0
max_records_per_person = 1
ledger = "$work/ledger"
EOF
mkdir "$work/good"
cp "$work/stays.toml" "$work/good/schema.toml"
cp "$work/good.csv" "$work/good/data.csv"
cd "$work/good"
ends 0 "$MUFFLE" release --config ../job.toml --set data.schema=schema.toml --out out
check "the good file is charged" grep -q INTENT "$work/ledger"

# case_of CODE 'PUBLIC' 'LOCAL' WHAT CHANGE...: the command CHANGE is run in a folder with a good file and a good schema; then muffle ends with
# CODE, says PUBLIC to everybody, and LOCAL ("" for nothing) in the rank's own log.
cases=()
case_of() {
  local folder=$work/case-${#cases[@]}
  mkdir "$folder"
  cp "$work/stays.toml" "$folder/schema.toml"
  cp "$work/good.csv" "$folder/data.csv"
  cp "$work/ledger" "$folder/ledger"
  cases+=("$folder")
  printf '%s\n' "$1" "$2" "$3" "$4" >"$folder/wanted"
  : >"$folder/args"
  cd "$folder"
  "${@:5}"
}
edit() { sed -i "$1" data.csv; }
schema() { sed -i "$1" schema.toml; }
more() { cat >>schema.toml; }
with() { printf '%s\n' "--set" "$1" >>args; }
nothing() { : >data.csv; }

# Rows that are no rows.
malformed='data.csv. has a line that is no row'
case_of 65 "$malformed" 'row 17 of .* has 7 fields' "a column too many" edit '18s/$/,SECRET/'
case_of 65 "$malformed" 'row 17 of .* has 5 fields' "a column too few" edit '18s/,no$//'
case_of 65 "$malformed" 'row 3 of .* has a quote inside field 4' "a bare quote" edit '4s/note/SEC"RET/'
case_of 65 "$malformed" 'row 3 of .* text behind' "text behind a closing quote" edit '4s/west"/west" SECRET/'
case_of 65 "$malformed" 'row 40 of .* field 4 that is never closed' "a quote that is never closed" edit '41s/note.*/"SECRET/'
case_of 65 "$malformed" 'row 8 of .* not UTF-8 .* in field 4' "an encoding error" edit '9s/note/SECRET\xff/'
case_of 65 "$malformed" 'row 8 of .* NUL byte' "a NUL byte" edit '9s/note/SECRET\x00/'
case_of 65 'first line of .*data.csv. names few' '' "another separator" edit 's/,/;/g'
# Fields that do not fit.
misfit='a record of .*data.csv. does not fit the public schema'
case_of 65 "$misfit" "row 5 of .* column 'ward'.* not one of" "an unknown category" edit '6s/south, west/SECRET/'
case_of 65 "$misfit" "row 5 of .* column 'died'.* not one of" "an unknown label" edit '6s/no$/SECRET/'
case_of 65 "$misfit" "row 5 of .* column 'age'.* above" "a number above" edit '6s/^[0-9]*/5137/'
case_of 65 "$misfit" "row 5 of .* column 'age'.* below" "a number below" edit '6s/^[0-9]*/-5137/'
case_of 65 "$misfit" "row 5 of .* column 'age'.* not a whole number" "a decimal for a whole number" edit '6s/^[0-9]*/51.37/'
case_of 65 "$misfit" "row 5 of .* column 'age'.* not a whole number" "a number of too many digits" edit '6s/^[0-9]*/90071992547409930000000000000000000x/'
case_of 65 "$misfit" "row 5 of .* column 'weight'.* not a number" "text for a number" edit '6s/7[0-9]\.5/SECRET/'
case_of 65 "$misfit" "row 5 of .* column 'admitted'.* not a date" "a day that is none" edit '6s/2020-03-[0-9]*/2020-02-30/'
case_of 65 "$misfit" "row 5 of .* column 'age'.* missing" "a value that is missing" edit '6s/^[0-9]*//'
case_of 65 "$misfit" "row 5 of .* column 'age'.* not a whole number" "a missing value where none is" edit '6s/^[0-9]*/NA/'
# Files.
case_of 65 'data.csv. is empty' '' "an empty file" nothing
case_of 65 'holds [0-9]* records, the configuration says 40' '' "a record too few" edit 41d
case_of 65 'holds [0-9]* records, the configuration says 40' '' "a header alone" edit 2,99d
case_of 65 "lacks 'weight'" '' "a column that is not there" edit '1s/weight/other/'
case_of 65 "has 'age' twice" '' "two columns of one name" edit '1s/weight/age/'
case_of 65 'has 1 name that the schema does not know' 'name 7 in the header' "a column that nobody knows" edit '1s/$/,SECRET/'
case_of 65 'first line of .*data.csv. names few' '' "no header" edit 1d
two_files() { cp data.csv data-1.csv && sed '1s/ward/SECRET/' data.csv >data-2.csv && with 'data.features=data-?.csv'; }
case_of 65 "header of .*data-2.csv. and the schema have different columns" 'name 5 in the header' "two files with different headers" two_files
case_of 65 'data-\*\.csv. .*no file|no file .*data-\*' '' "a pattern without files" with 'data.features=data-*.csv'
cut_off() { gzip data.csv && head -c 300 data.csv.gz >cut.csv.gz && with data.features=cut.csv.gz; }
case_of 65 'cut.csv.gz. is truncated' '' "gzip that is cut off" cut_off
damaged() { gzip data.csv && flip data.csv.gz 200 255 bad.csv.gz && with data.features=bad.csv.gz; }
case_of 65 'bad.csv.gz. ' '' "gzip that is damaged" damaged
utf_16() { iconv -t UTF-16 <"$work/good.csv" >data.csv; }
case_of 65 "$malformed|names few" '' "UTF-16" utf_16
# A field of a gigabyte: a hundred and a few times the same ten megabytes, compressed.
head -c 10000000 /dev/zero | tr '\0' x | gzip >"$work/10MB.gz"
gigabyte() {
  { head -n 7 "$work/good.csv" && printf '1,70.5,2020-03-10,%s' "$1"; } | gzip >giga.csv.gz
  for ((i = 0; i < 108; ++i)); do cat "$work/10MB.gz"; done >>giga.csv.gz
  with data.features=giga.csv.gz
}
too_long='giga.csv.gz. has a line that is no row'
case_of 65 "$too_long" 'row 7 of .* longer than 4 MiB' "a gigabyte field" gigabyte ''
case_of 65 "$too_long" 'row 7 of .* longer than 4 MiB' "a gigabyte in quotes" gigabyte '"'
# Schemas.
case_of 78 'lo not above hi' '' "bounds the wrong way round" schema 's/^hi = 99/hi = -1/'
case_of 78 "hi has more digits than" '' "a bound that no double holds" schema 's/^hi = 99/hi = 9007199254740993/'
case_of 78 'holds no value' '' "a bin without a value" schema 's/^bins = 5/bins = [0, 0.2, 0.5, 100]/'
case_of 78 "column 'age' is there twice" '' "a column that is there twice" more <<<$'[[columns]]\nname = "age"\ntype = "ignore"'
case_of 78 'line 1: not valid TOML' '' "no TOML" schema '1s/.*/columns = = 1/'
case_of 78 "no key 'hight'" '' "a key that nobody knows" schema 's/^hi = 99/hi = 99\nhight = 3/'
case_of 78 "is still \"FILL-IN\"" '' "a placeholder" schema 's/^hi = 99/hi = "FILL-IN"/'
case_of 78 'a label must be categories' '' "a label of numbers" schema 's/^bins = 5/role = "label"/'
case_of 78 'more than one|at most one|two columns' '' "two labels" schema 's/^values = \["north.*/&\nrole = "label"/'
case_of 78 'stands for two of its values' '' "a value that is there twice" schema 's/"south, west"/"north"/'
case_of 78 'contradict|cannot|never' '' "rules that contradict each other" more <<<'
[[constraints]]
kind = "compare"
left = "age"
op = "<"
value = 10
[[constraints]]
kind = "compare"
left = "age"
op = ">"
value = 20'

# All at once, two at a time: each start costs half a second.
cat >"$work/one.sh" <<'EOF'
cd "$1" && mapfile -t args <args
python3 - "$MUFFLE" release --config ../job.toml --set data.schema=schema.toml --set "privacy.ledger=$1/ledger" "${args[@]}" --out out >said 2>&1 <<'PY'
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL).returncode
open("code", "w").write(f"{code}\n{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}\n")
PY
EOF
export MUFFLE
printf '%s\n' "${cases[@]}" | xargs -P 2 -n 1 bash "$work/one.sh"

for folder in "${cases[@]}"; do
  { read -r code && read -r public && read -r local && read -r what; } <"$folder/wanted"
  { read -r got && read -r kilobytes; } <"$folder/code"
  problem=
  [[ $got == "$code" ]] || problem+=" exit $got, not $code;"
  grep -qE -- "$public" "$folder/said" || problem+=" nobody says '$public';"
  if grep -qE 'SECRET|51\.?37|note [0-9]' "$folder/said"; then problem+=" content in public;"; fi
  [[ -z $local ]] || grep -qE -- "$local" "$folder"/out/logs/*.jsonl || problem+=" its log does not say '$local';"
  cmp -s "$work/ledger" "$folder/ledger" || problem+=" the ledger is another;"
  if compgen -G "$folder/out/*.mfl" >"$folder/left"; then problem+=" something was published;"; fi
  ((kilobytes < 900000)) || problem+=" $kilobytes KB of memory;"
  check "$what: exit $code, where it is in the rank's own log, nothing charged${problem:+, but$problem}" test -z "$problem"
  if [[ -n $problem ]]; then sed 's/^/    /' "$folder/said" >&2; fi
done
check "at least 30 kinds" test "${#cases[@]}" -ge 30
finish
