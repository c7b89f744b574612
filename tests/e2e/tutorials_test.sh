#!/usr/bin/env bash
# What the tutorials tell their readers to run does run, and prints what they show. (docs/tutorial/your-own-data.md: readme_test.sh.)
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")

# checkout: a folder in which the commands find what they find in a checkout; its name.
checkout() {
  local folder
  folder=$(mktemp -d "$work/checkout.XXXX")
  mkdir -p "$folder/build/cpu/bin"
  ln -s "$root/launch" "$root/configs" "$root/docs" "$folder"
  ln -s "$MUFFLE" "$folder/build/cpu/bin/muffle"
  echo "$folder"
}

# page EXIT LINES...: what page.py makes of a page of these lines.
page() {
  local exit=$1
  printf '%s\n' "${@:2}" >"$work/page.md"
  says "$exit" '' python3 "$here/page.py" "$work/page.md" "$work"
}
# The comparison itself finds what is wrong with a page.
comparison() {
  local run='```sh' shows='```text' end='```'
  page 0 "$run" 'echo "one of 2.0 rows"; echo two' "$end" "$shows" 'one of 2.5 rows' 'two' "$end"
  page 1 "$run" 'echo "one of 2.0 rows"' "$end" "$shows" 'one of 9.0 rows' "$end"
  page 1 "$run" 'echo two; echo one' "$end" "$shows" one two "$end"
  page 1 "$run" 'echo one' "$end" "$shows" '...' "$end"
  page 1 "$run" 'false; echo one' "$end" "$shows" one "$end"
  page 1 "$run" 'echo one | grep two | cat' "$end"
  page 1 'no command'
  page 0 "$run" 'echo one' "$end"
  check "that the exit code alone was compared is said" grep -q 'exit 0, and the page shows nothing' "$work/log"
}

# The table: rows of made-up people in the place of UCI Adult's, as many.
tables() {
  local folder
  folder=$(checkout)
  python3 "$here/like_adult.py" "$root/configs/schemas/adult.toml" 32561 1 >"$folder/adult.data"
  { echo '|made up'; python3 "$here/like_adult.py" "$root/configs/schemas/adult.toml" 16281 2; } >"$folder/adult.test"
  check "docs/tutorial/tables.md" python3 "$here/page.py" "$root/docs/tutorial/tables.md" "$folder" "/secure=$folder"
  there "$folder/out/people" release.mfl privacy.txt model.mfl samples.csv metrics.json
  there "$folder/out/more" samples-00000-of-00008.csv
  check "what was sampled first is still there" test "$(wc -l <"$folder/out/people/samples.csv")" = 32562
}

# Hospital stays, made up by a script beside the page.
stays() {
  local folder
  folder=$(checkout)
  check "docs/tutorial/stays.md" python3 "$here/page.py" "$root/docs/tutorial/stays.md" "$folder" "/secure=$folder"
  there "$folder/out/stays" release.mfl privacy.txt model.mfl samples.csv metrics.json report.html
  there "$folder/out/patients" release.mfl model.mfl samples.csv
}

# The first run (thorough: half a minute): both generators, shortened. Scores are then any numbers.
first_run() {
  local folder short='--set sample.count=600 --set train.steps=3 --set train.batch=100 --set map.rff.count=100 --set map.proxy.count=100'
  folder=$(checkout)
  export MUFFLE_BINARY=$MUFFLE MUFFLE_DATA__DIR=$DATA
  check "docs/tutorial/first-run.md" python3 "$here/page.py" "$root/docs/tutorial/first-run.md" "$folder" --factor 0 \
    "launch/quickstart.sh=launch/quickstart.sh out/fashion-mnist $short" "out/fashion-mnist/=$folder/out/fashion-mnist/"
  there "$folder/out/fashion-mnist" config.resolved.toml release.mfl privacy.txt privacy.json model.mfl samples.npz samples.png metrics.json \
    stages.json samples.json
  there "$folder/out/fashion-mnist/network" model.mfl samples.npz samples.png metrics.json
  check "one release for both" test "$(cat "$folder"/out/ledger-*.jsonl | grep -c '"kind":"COMMIT"')" = 1
}

if [[ -n $thorough ]]; then side_by_side comparison tables stays first_run; else side_by_side comparison tables stays; fi
