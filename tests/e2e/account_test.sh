#!/usr/bin/env bash
# account, plan and audit as built: no data, no MPI, numbers that programs can read, exit codes.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

exits() { says "$1" "$2" on 1 "${@:3}"; }

exits 0 '^noise multiplier +3\.73063163481' account --epsilon 1 --delta 1e-5
exits 0 '"epsilon": 0\.72552' account --noise-multiplier 5 --delta 1e-5 --format json
check "JSON alone on stdout" test "$(head -c 1 "$work/log")$(tail -c 2 "$work/log")" = "{}"
exits 2 'exactly two' account --epsilon 1
exits 2 'exactly two' account --epsilon 1 --delta 1e-5 --noise-multiplier 4
exits 78 'epsilon is nan' account --epsilon nan --delta 1e-5

config=("--config" "$CONFIGS/fashion-mnist.toml" --set "data.dir=$work/none")
exits 0 'sigma 7\.461263' plan "${config[@]}" --ranks 4
exits 0 'WARNING map rff: the noise dominates' plan "${config[@]}" --set data.records=600
exits 78 'did you mean' plan "${config[@]}" --set privacy.epsilom=1
# A false alarm has probability 1e-9.
exits 0 'verdict +not contradicted' audit "${config[@]}" --trials 2000 --confidence 0.999999999
exits 0 'omitted +masks and shares of noise' audit "${config[@]}" --trials 200 --confidence 0.999999999
ends 0 on 2 audit "${config[@]}" --set privacy.secure_aggregation=true --trials 200 --confidence 0.999999999
check "it attacked masked sums on 2 ranks, and root alone says so" test "$(grep -c 'path  *2 ranks, masked' "$work/log")" = 1
# Of hours; but it listens. TERM is bit 14 of the caught signals.
mkdir "$work/here"
(cd "$work/here" && exec timeout -s KILL 300 "$MUFFLE" audit "${config[@]}" --trials 100000000) >"$work/out" 2>"$work/err" &
job=$!
listens() {
  audit=$(pgrep -P "$job" || true)
  caught=$(sed -n 's/^SigCgt:[[:space:]]*/0x/p' "/proc/${audit:-none}/status" 2>/dev/null || true)
  # Before it is the audit, timeout's child is timeout, with timeout's handlers.
  [[ $(readlink "/proc/${audit:-none}/exe") == "$(readlink -f "$MUFFLE")" ]] && ((${caught:-0} & 1 << 14))
}
within 120 listens || fail "the audit does not listen"
kill -TERM "$audit"
code=0
wait "$job" || code=$?
check "an audit that is told to stop ends with 75" test "$code" = 75
check "and says so" grep -q 'told to stop .* while auditing' "$work/err"
check "and leaves no file where it ran" test -z "$(ls -A "$work/here")"
finish
