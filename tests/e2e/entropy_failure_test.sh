#!/usr/bin/env bash
# The kernel refuses entropy (FAILING_ENTROPY, a library for LD_PRELOAD): muffle ends with 70, releases nothing, never
# falls back to another source, and a charge that was made stays spent.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
: "${FAILING_ENTROPY:?}"

# fails NAME RANKS FAILURE ARGS...: a release without entropy.
fails() {
  local name=$1 out=$work/$1/run ledger=$work/$1/ledger-fashion.jsonl
  mkdir "$work/$name"
  says 70 'entropy|random number' on_ranks "$2" env LD_PRELOAD="$FAILING_ENTROPY" MUFFLE_FAIL_ENTROPY="$3" \
    "$MUFFLE" release "${small[@]}" "${@:4}" --set data.id=fashion --out "$out"
  check "$name: nothing was released" test -z "$(find "$out" -name 'release.mfl*' -o -name '.*.tmp.*')"
  charges=0
  if [[ -e $ledger ]]; then charges=$(grep -c INTENT "$ledger" || true); fi
}

# The same release with entropy, to see that the failure is all that was wrong, and what the charge cost.
goes_again() {
  ends 0 on "$2" release "${small[@]}" --set data.id=fashion "${@:4}" --out "$work/$1/run"
  check "$1: with entropy it is released, as charge $3" test "$(grep -c INTENT "$work/$1/ledger-fashion.jsonl")" = "$3"
  check "$1: and private" grep -q '"private": true' "$work/$1/run/privacy.json"
}

fails first-block 1 noise
check "first-block: the charge stands: it was made before the draw" test "$charges" = 1
goes_again first-block 1 2
fails half-way 2 noise:40 # 8 KiB of noise came, the next block does not
check "half-way: the charge stands" test "$charges" = 1
goes_again half-way 2 2
MUFFLE_FAIL_ENTROPY_RANK=1 fails one-share 2 noise --secure-aggregation --distributed-noise
check "one-share: no share, no charge" test "$charges" = 0
goes_again one-share 2 1 --secure-aggregation --distributed-noise
fails nothing-at-all 1 all
check "nothing-at-all: no charge without its id" test "$charges" = 0
finish
