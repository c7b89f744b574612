#!/usr/bin/env bash
# Files as pandas, R and spreadsheets write them: a draft, a check, a release, and samples that fit the draft: in UTF-8, with the file's separator.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python3 "$(dirname "${BASH_SOURCE[0]}")/files.py" "$work"
cd "$work"
samples_are() { ! sed 1d "$1" | grep -vqE "$2" && test "$(wc -l <"$1")" = 61; }
# comes_back FILE SEPARATOR LINE [OPTIONS of schema init, as --NAME=VALUE...]: LINE is what each line of the samples is
comes_back() {
  local name=$1 separator=$2 line=$3 options=(--set "data.separator=$2") option
  for option in "${@:4}"; do options+=(--set "data.${option#--}"); done
  says 0 'Draft written' "$MUFFLE" schema init "$name.csv" --from-public-sample "$name.csv" --separator "$separator" "${@:4}" --out "$name.toml" </dev/null
  check "$name: nothing is left to be filled in" bash -c "! grep -v '^#' $name.toml | grep -E 'FILL-IN|ignore'"
  says 0 '^Everything fits' "$MUFFLE" check --set "data.schema=$name.toml" --data "$name.csv" "${options[@]}"
  ends 0 "$MUFFLE" run --set "data.schema=$name.toml" --data "$name.csv" "${options[@]}" --set data.records=120 --set "data.id=$name" --set map.pairs.kind=pairs \
    --set privacy.epsilon=20 --set privacy.delta=1e-5 --set privacy.max_records_per_person=1 --set model.generator=pair-graph --set sample.count=60 \
    --set 'sample.formats=["csv"]' --set 'evaluate.metrics=[]' --out "$name"
  check "$name: what comes back" samples_are "$name/samples.csv" "^$line\$"
  says 0 '^Everything fits' "$MUFFLE" check --set "data.schema=$name.toml" --data "$name/samples.csv" --set "data.separator=$separator"
}

town='(Köln|Bad Ems|Orléans)'
comes_back index , "[0-9]{2},$town,[mf]"
comes_back row-names blank '[0-9]{2} (Köln|"Bad Ems"|Orléans) [mf]'
comes_back padded blank '[0-9]{2} (Köln|"Bad Ems"|Orléans) [mf]'
comes_back trailing ';' "[0-9]{2};$town;[mf]"
comes_back says ';' "[0-9]{2};$town;[mf]"
comes_back above , "[0-9]{2},$town,[mf]" --skip=3
comes_back latin , "[0-9]{2},$town,[mf]" --encoding=latin-1
comes_back windows , '[0-9]{2},(€ln|Bad Ems|Orléans),[mf]' --encoding=windows-1252
comes_back unicode tab "[0-9]{2}"$'\t'"$town"$'\t'"[mf]" --encoding=utf-16
comes_back blanks , "[0-9]{2},$town,[mf]"
comes_back mac , "[0-9]{2},$town,[mf]"

# What is not said is named.
unsaid() { says 65 "$2" "$MUFFLE" schema init "$1.csv" "${@:3}" --out unsaid.toml </dev/null; }
unsaid row-names 'blanks, that stand between fields'
unsaid padded '"blank"'
unsaid trailing 'is one field \(";" stands in it\)'
unsaid above 'Do lines stand above the header'
unsaid latin 'is data.encoding "windows-1252"'
unsaid unicode '"utf-16"'
check "and leaves nothing" test ! -e unsaid.toml
finish
