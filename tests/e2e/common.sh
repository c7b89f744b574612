#!/usr/bin/env bash
# shellcheck disable=SC2034
# Helpers of the end-to-end tests; sourced. Needs MUFFLE (the binary), DATA (FashionMNIST's folder), MPIEXEC, CONFIGS.
set -euo pipefail
: "${MUFFLE:?}" "${DATA:?}" "${MPIEXEC:?}" "${CONFIGS:?}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

mpi_flags=(--bind-to none --oversubscribe --mca btl "self,vader,tcp" --mca btl_tcp_if_include lo
  --mca oob_tcp_if_include lo --mca mpi_yield_when_idle 1)
(($(id -u) == 0)) && mpi_flags+=(--allow-run-as-root)

# on N ARGS...: muffle on N ranks, alone if N is 1; a run that hangs is ended and counts as a failure.
on() {
  local n=$1
  shift
  if ((n == 1)); then timeout -k 5 300 "$MUFFLE" "$@"; else timeout -k 5 300 "$MPIEXEC" "${mpi_flags[@]}" -n "$n" "$MUFFLE" "$@"; fi
}

# A job on real FashionMNIST that is small in everything but the number of records.
small=(--config "$CONFIGS/fashion-mnist.toml" --set "data.dir=$DATA" --set features.count=200 --set train.steps=8
  --set train.batch=100 --set sample.count=1000 --set evaluate.classifiers='["logistic_regression"]'
  --set runtime.deadline_s=60)

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

check() {
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else fail "$what"; fi
}

# expect_error CODE 'REGEX' RANKS ARGS...: exits with CODE, says REGEX in one line, writes no artifact to $out.
expect_error() {
  local code=$1 says=$2 n=$3 rc=0
  shift 3
  out=$work/error-$RANDOM
  "${run_with:-on}" "$n" "$@" --out "$out" >"$work/log" 2>&1 || rc=$?
  if ((rc != code)); then
    fail "exit $rc instead of $code on $n rank(s): $*"
    sed 's/^/    /' "$work/log" >&2
  elif ! grep -qE -- "$says" "$work/log"; then
    fail "exit $code, but no line says '$says' on $n rank(s): $*"
    sed 's/^/    /' "$work/log" >&2
  else
    echo "ok: exit $code on $n rank(s): $says"
  fi
  if compgen -G "$out/*.mfl" >/dev/null || compgen -G "$out/.*.tmp.*" >/dev/null; then fail "left something half-written: $(ls -A "$out")"; fi
}

finish() {
  ((failures == 0)) || { echo "$failures check(s) failed" >&2; exit 1; }
  echo "all checks passed"
}
