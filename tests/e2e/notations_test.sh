#!/usr/bin/env bash
# Files as people have them: `schema init` proposes each column's notation, the draft checks its own file, and samples come back in it. What it
# does not understand it names; what the file leaves open it does not guess. MUFFLE_FIELD, a folder of such files, is tried as well if it is there.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
cd "$work"
schema() { "$MUFFLE" schema "$@" </dev/null; }
# drafted FILE SEPARATOR [OPTIONS...]: FILE.toml, of the file as its own public sample
drafted() { schema init "$1.csv" --from-public-sample "$1.csv" --separator "$2" --out "$1.toml" "${@:3}"; }
# checked SCHEMA FILE SEPARATOR
checked() { "$MUFFLE" check --set "data.schema=$1" --data "$2" --set "data.separator=$3"; }
# sampled NAME SEPARATOR RECORDS: NAME/samples.csv, by NAME.toml
sampled() {
  "$MUFFLE" run --set "data.schema=$1.toml" --data "$1.csv" --set "data.separator=$2" --set "data.records=$3" --set "data.id=$1" --set map.pairs.kind=pairs \
    --set privacy.epsilon=20 --set privacy.delta=1e-5 --set privacy.max_records_per_person=1 --set model.generator=pair-graph --set sample.count=120 \
    --set 'sample.formats=["csv"]' --set 'evaluate.metrics=[]' --out "$1"
}

python3 "$here/notations.py" write .
for file in comma semicolon; do
  separator=,
  if [[ $file == semicolon ]]; then separator=";"; fi
  says 0 'Draft written' drafted $file "$separator"
  check "$file: nothing is left to be filled in" bash -c "! grep -v '^#' $file.toml | grep FILL-IN"
  check "$file: each notation is proposed" python3 "$here/notations.py" drafted $file $file.toml 0
  says 0 '^Everything fits' checked $file.toml $file.csv "$separator"
  ends 0 sampled $file "$separator" 200
  check "$file: samples are written in it" python3 "$here/notations.py" spelt $file $file/samples.csv
  says 0 '^Everything fits' checked $file.toml $file/samples.csv "$separator"
  says 0 'guess, from a look' schema init $file.csv --separator "$separator" --out private-$file.toml
  check "$file: without a sample, too" python3 "$here/notations.py" drafted $file private-$file.toml 1
  check "$file: and nothing of the records" bash -c "! grep -E '[0-9]{4}|90|85' <(sed -E 's/^name = .*//; s/ *#.*//' private-$file.toml)"
done

# What nothing tells apart is not guessed.
awk 'BEGIN { print "a,b"; for (i = 1; i <= 12; ++i) printf "%d/%d/2020,x\n", i, 13 - i }' >open.csv
says 0 "Column 'a': nothing in the file tells" drafted open ,
check "both orders are named" grep -qF 'format = "FILL-IN"  # nothing tells which: format = "%-d/%-m/%Y", or format = "%-m/%-d/%Y"' open.toml
says 78 "column 'a': 'format' is still \"FILL-IN\"" schema hash open.toml
awk 'BEGIN { print "a,b"; for (i = 1; i <= 12; ++i) printf "%d/%d/%02d,x\n", i + 12, i, i }' >short.csv
says 0 'Draft written' drafted short ,
check "two digits are no year until somebody says which century" bash -c "grep -q 'lo = \"FILL-IN\"' short.toml"
awk 'BEGIN { print "a;b"; for (i = 1; i <= 20; ++i) printf "%d,%03d;x\n", i, i }' >marks.csv
says 0 "Column 'a': nothing in the file tells" drafted marks ';'
check "a comma is a decimal mark or one of thousands" bash -c "grep -q 'decimal_mark = \"FILL-IN\"' marks.toml && grep -q 'thousands_mark' marks.toml"
awk 'BEGIN { print "a,b"; for (i = 1; i <= 20; ++i) printf "%d.%03d,x\n", 40 * i, 47 * i }' >points.csv
says 0 "Column 'a': nothing in the file tells" drafted points ,
check "and so is a point" bash -c "grep -qF 'decimal_mark = \".\", or type = \"integer\", decimal_mark = \",\", thousands_mark = \".\"' points.toml"
{ cat points.csv && echo 1.204.332,x; } >groups.csv
says 0 'Draft written' drafted groups ,
check "two groups tell" bash -c "grep -q 'thousands_mark = \".\"' groups.toml && ! grep -v '^#' groups.toml | grep FILL-IN"

# What is not understood is named, and nothing of it is told.
awk 'BEGIN { print "when,kind"; for (i = 10; i < 40; ++i) printf "%d:77 am 3.%d.9999x,%d\n", i, i, i % 7 }' >unknown.csv
says 0 "Column 'when': dates, times or numbers in a notation that muffle does not know" schema init unknown.csv --out unknown.toml
check "by its form, in the draft alone" bash -c "grep -q 'does not know: dd:dd aa d.dd.dddda' unknown.toml && ! grep -q 'dd:dd' log && ! grep -qE '77|9999' log unknown.toml"
awk 'BEGIN { print "price,share,n"; for (i = 0; i < 30; ++i) printf "%s,%s,%s\n", i % 3 ? 2.75 + i % 3 : "$1.50", i % 4 ? 10 * (i % 4) : "10%", i % 5;
  print "2.75,20,Total" }' >few.csv
says 0 "Column 'n': a few texts stand among its numbers" drafted few ,
check "each text among few numbers is named" bash -c "grep -qF '(\"\$1.50\")' few.toml && grep -qF '(\"10%\")' few.toml && grep -qF '(\"Total\")' few.toml"
says 0 "Column 'price': a few texts stand among its numbers" schema init few.csv --out few-private.toml
check "of a private file nothing of it" bash -c "! grep -qE 'Total|1.50|10%' few-private.toml"

# R's write.table: each row begins with its name, and the header has none for it.
printf '"age","sex"\n"1",31,"m"\n"2",45,"f"\n"3",52,"m"\n' >r.csv
says 0 "column 1 of 'r.csv' has no name" drafted r ,
says 0 'Look at this: column 1' checked r.toml r.csv ,
check "its names are no column" test "$(grep -c '^name' r.toml)" = 2

# A date and a time, and the seconds of a year: rules hold in samples.
awk 'BEGIN { srand(1); print "day,seen,left"; for (i = 0; i < 300; ++i) { d = int(rand() * 300); t = int(rand() * 86400);
  printf "%s,%s,%s\n", strftime("%Y-%m-%d", 1704067200 + d * 86400, 1), strftime("%Y-%m-%d %H:%M:%S", 1704067200 + d * 86400 + t, 1),
    strftime("%Y-%m-%d %H:%M:%S", 1704067200 + d * 86400 + t + int(rand() * 86400 * 20), 1) } }' >rules.csv
says 0 'Draft written' drafted rules ,
cat >>rules.toml <<'END'
[[constraints]]
kind = "compare"
left = "day"
op = "<="
right = "seen"
[[constraints]]
kind = "compare"
left = "seen"
op = "<"
right = "left"
END
says 0 '^Everything fits' checked rules.toml rules.csv ,
ends 0 sampled rules , 300
# shellcheck disable=SC2016
check "rules hold to the second" awk -F, 'NR > 1 && !($1 <= substr($2, 1, 10) && $2 < $3) { wrong = 1 } END { exit wrong || NR != 121 }' rules/samples.csv

# On a terminal: two questions a column; back; Ctrl-C and quit lose nothing.
terminal() { script -qec "'$MUFFLE' schema init $1 --separator ${2:-,} --out asked.toml" /dev/null; }
printf 'age,ward,day,out\n31,surgery,3/4/2020,home\n45,"a, b",5/6/2020,died\n' >people.csv
printf '%s\n' '' 'integer' '18, 90+' back '' missing back always 'surgery, "a, b"' quit | terminal people.csv >typed
check "no draft, and the answers are this user's alone" bash -c "test ! -e asked.toml && test \"\$(stat -c %a asked.toml.answers)\" = 600 && grep -q 'No draft was written' typed"
printf '%s\n' yes 2 '' '2020-01-01, 2020-12-31' 'category label' 'home, died' | terminal people.csv >typed
check "it goes on where it was" bash -c "! grep -q 'Column 1 of 4' typed && grep -q 'Column 3 of 4: day' typed && test ! -e asked.toml.answers"
says 0 '^Everything fits' checked asked.toml people.csv ,
check "with what was answered" bash -c "grep -q 'top_code = \"90+\"' asked.toml && grep -q 'format = \"%-m/%-d/%Y\"' asked.toml && grep -q 'values = \[\"surgery\", \"a, b\"\]' asked.toml"

if [[ -d ${MUFFLE_FIELD:-} ]]; then
  cp "$MUFFLE_FIELD"/* .
  for name in m02-whole m06-datetime-space m08-notations; do
    rows=$(($(wc -l <$name.csv) - 1))
    says 0 'Draft written' drafted $name ,
    check "$name: complete" bash -c "! grep -v '^#' $name.toml | grep FILL-IN"
    says 0 '^Everything fits' checked $name.toml $name.csv ,
    ends 0 sampled $name , $rows
  done
  check "m02: whole" bash -c "! grep -qE '\.[1-9]' m02-whole/samples.csv"
  check "m06: a blank" bash -c "! sed 1d m06-datetime-space/samples.csv | grep -vqE '^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8},[01]\$'"
  check "m08: as they were" bash -c "! sed 1d m08-notations/samples.csv | grep -vqE '^[1-3]?[0-9]\.1?[0-9]\.[0-9]{4},[0-9T:-]{19}Z,\"[0-9]+,[0-9]\",\"[0-9]+,[0-9]{3}\"\$'"
  says 0 'has no name' drafted m07-index-column ,
fi
finish
