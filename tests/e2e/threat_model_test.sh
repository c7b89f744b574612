#!/usr/bin/env bash
# Every test that docs/explanation/threat-model.md names exists and is run by CTest. Usage: threat_model_test.sh SOURCE_FOLDER
# shellcheck disable=SC2016
set -euo pipefail
cd "${1:?"usage: $0 SOURCE_FOLDER"}"

# Whether some CMake file under tests/ makes a CTest test out of this source file (foreach() lists leave out _test.EXT), or a line of a table
# of kinds does: csv_format_test.cpp is that of MUFFLE_KIND(csv) in format_kinds.inc.
is_built() {
  local name table
  name=$(basename "$1")
  for table in src/*/*_kinds.inc; do
    ! grep -qF "MUFFLE_KIND(${name%_"$(basename "$table" _kinds.inc)"_test.*})" "$table" || return 0
  done
  grep -rqwE --include=CMakeLists.txt --include='*.cmake' -- "${name//./\\.}|$(basename "${name%.*}" _test)" "$(dirname "$1")" tests/CMakeLists.txt
}

# What is missing of the tests that the claims' table of FILE names, a line each.
missing() {
  local name suite test file table
  table=$(sed -n '/^## Claims and the tests/,/^## Out of scope/p' "$1")
  # A row without a test is one whose type is the proof; it says so.
  grep -E '^\| ' <<<"$table" | grep -vE '`[A-Za-z]+\.[A-Za-z*]+`|_test\.sh`|its type:|^\| claim' | sed 's/^/a claim without a test: /' || true
  while read -r name; do
    case $name in
      *_test.sh) file=$(find tests -name "$name") ;;
      tests/*) file=$name; [[ -e $name ]] || file= ;;
      *)
        suite=${name%%.*} test=${name#*.}
        [[ $test == '*' ]] && test='[A-Za-z0-9_]+'
        file=$(grep -rlzE --include='*.cpp' -- "TEST(_F|_P)?\(\s*$suite,\s*$test\)" tests | head -1 || true)
        ;;
    esac
    if [[ -z $file ]]; then echo "no test is called $name"; continue; fi
    [[ -d $file ]] || is_built "$file" || echo "$name is in $file, which CTest does not run"
  done < <(grep -oE '`([A-Za-z0-9]+\.([A-Za-z0-9_]+|\*)|[a-z_]+_test\.sh|tests/[a-z/_]+)`' <<<"$table" | tr -d '`' | grep -vE '\.(mfl|txt|md|hpp|cpp)$' | sort -u)
}

page=docs/explanation/threat-model.md
named=$(sed -n '/^## Claims and the tests/,/^## Out of scope/p' "$page" | grep -oE '`[A-Za-z0-9]+\.[A-Za-z0-9_*]+`|[a-z_]+_test\.sh' | sort -u | wc -l)
((named > 40)) || { echo "FAILED: only $named tests are named: has the table moved?" >&2; exit 1; }

# The check finds what is wrong.
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT
sed '/^| claim/a | a | `NoSuch.Test` |\n| b | `Entropy.NoSuchTest` |\n| c | `no_such_test.sh` |\n| d | nothing |' "$page" >"$bad"
found=$(missing "$bad" | grep -cE 'NoSuch\.Test|Entropy\.NoSuchTest|no_such_test\.sh|without a test: \| d') || true
((found == 4)) || { echo "FAILED: the check found $found of 4 mistakes" >&2; missing "$bad" >&2; exit 1; }

wrong=$(missing "$page")
if [[ -n $wrong ]]; then
  echo "FAILED: $page" >&2
  echo "$wrong" >&2
  exit 1
fi
echo "all $named tests that $page names exist"
