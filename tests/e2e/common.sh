#!/usr/bin/env bash
# shellcheck disable=SC2034
# Helpers of the end-to-end tests; sourced. Needs MUFFLE (the binary), DATA (FashionMNIST's folder), MPIEXEC, CONFIGS.
set -euo pipefail
: "${MUFFLE:?}" "${DATA:?}" "${MPIEXEC:?}" "${CONFIGS:?}"

work=$(mktemp -d)
trap 'rm -rf "$work" || true' EXIT
failures=0

# shellcheck source=launch/local-flags.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../launch/local-flags.sh"
mpi_flags=("${local_flags[@]}" "${loopback[@]}")
# mpiruns of tests that run side by side would meet in /tmp/ompi.HOST.UID: one removes it as another makes its own in it.
export OMPI_MCA_orte_tmpdir_base=$work

# What `launch/test.sh thorough` asks for beside the rest; else the tests do a slice of it.
thorough=
if [[ ${MUFFLE_TIER:-} == thorough ]]; then thorough=yes; fi

# on_ranks N COMMAND...: on N ranks, alone if N is 1; what hangs, for $on_limit s or 300, is ended and counts as a failure. on N ARGS...: muffle.
on_ranks() {
  local by_mpi=()
  if (($1 > 1)); then by_mpi=("$MPIEXEC" "${mpi_flags[@]}" -n "$1"); fi
  timeout -k 5 "${on_limit:-300}" "${by_mpi[@]}" "${@:2}"
}
on() { on_ranks "$1" "$MUFFLE" "${@:2}"; }

# A small job on real FashionMNIST: on all 60,000 records in the thorough tier, else on the 10,000 test records.
small=(--config "$CONFIGS/fashion-mnist.toml" --set "data.dir=$DATA" --set map.rff.count=200 --set train.steps=8
  --set train.batch=100 --set sample.count=1000 --set evaluate.classifiers='["logistic_regression"]'
  --set runtime.deadline_s=60)
if [[ -z $thorough || -n ${MUFFLE_SANITIZED:-} ]]; then
  small+=(--set data.features=t10k-images-idx3-ubyte.gz --set data.labels=t10k-labels-idx1-ubyte.gz --set data.records=10000)
fi

# What a job on 60 records of 1 x 4 x 4 numbers has to say of them.
tiny=(--set data.records=60 --set 'data.shape=[1,4,4]' --set map.rff.kind=rff --set map.rff.count=20 --set privacy.epsilon=1
  --set privacy.delta=1e-5 --set privacy.max_records_per_person=1 --set runtime.deadline_s=60)

# Under the sanitizers everything is several times slower: fewer records, numbers and rank counts.
sanitized=${MUFFLE_SANITIZED:-}
rank_counts=(1 2)
if [[ -n $thorough ]]; then rank_counts=(1 2 3); fi
if [[ -n $sanitized ]]; then
  small+=(--set map.rff.count=64 --set train.steps=3 --set evaluate.train_limit=300)
  rank_counts=(2)
fi

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

check() {
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else fail "$what"; fi
}

# says CODE 'REGEX' COMMAND...: ends with CODE, and a line of its output, which is in $work/log, matches. ends CODE COMMAND...: whatever it says.
says() {
  local code=$1 regex=$2 rc=0
  shift 2
  "$@" >"$work/log" 2>&1 || rc=$?
  if ((rc == code)) && { [[ -z $regex ]] || grep -qE -- "$regex" "$work/log"; }; then echo "ok: exit $code${regex:+, saying $regex}: $*"; else
    fail "exit $rc, not $code${regex:+, or no line matches $regex}: $*"
    sed 's/^/    /' "$work/log" >&2
  fi
}
ends() { says "$1" '' "${@:2}"; }

# within S COMMAND...: waits until it is true; false if it is not within S seconds, far more than it needs. `pause`: between two looks.
within() {
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    ((SECONDS < end)) || return 1
    sleep "${pause:-0.02}"
  done
}

# there FOLDER FILE...: these files are there, and not empty.
there() {
  local f
  for f in "${@:2}"; do check "$f is there" test -s "$1/$f"; done
}

# idx SIZE...: the head of an IDX file of bytes. fashion FIRST N IMAGES LABELS: N of FashionMNIST's training records, in files of their own.
idx() { printf %b "$({ printf 000008%02x $#; printf %08x "$@"; } | sed 's/../\\x&/g')"; }
fashion() {
  { idx "$2" 28 28; zcat "$DATA/train-images-idx3-ubyte.gz" | tail -c +$((17 + $1 * 784)) | head -c $(($2 * 784)) || true; } >"$3"
  { idx "$2"; zcat "$DATA/train-labels-idx1-ubyte.gz" | tail -c +$((9 + $1)) | head -c "$2" || true; } >"$4"
}

# flip FILE AT MASK COPY: a copy of the file whose byte AT is XORed with MASK.
flip() {
  cp "$1" "$4"
  printf %b "\\x$(printf %02x $(($(od -An -tu1 -j "$2" -N 1 "$1") ^ $3)))" | dd of="$4" bs=1 seek="$2" conv=notrunc status=none
}

# number NAME FILE: the first number of that name in a JSON file. at_least A B: A >= B, and both are numbers.
number() { sed -nE "s/.*\"$1\": *([-+0-9.e]+).*/\1/p" "$2" | head -1; }
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a + 0 >= b + 0) }'; }

# each FOLDER N ARGS...: muffle on N ranks; every rank's own exit code and words in FOLDER/RANK.code and FOLDER/RANK.stderr.
each() {
  rm -rf "$1" && mkdir -p "$1"
  on_ranks "$2" bash "$(dirname "${BASH_SOURCE[0]}")/record_rank.sh" "$1" "$MUFFLE" "${@:3}"
}

# What is left of a release that never came to be: artifacts, temporary files, a charge in the ledger.
leftovers() { compgen -G "$1/*.mfl" || compgen -G "$1/.*.tmp.*" || grep -ls INTENT "$1"/../ledger-*.jsonl; }

# own_words FILES..., those that are there: takes out what Open MPI itself writes to standard error, such as "[host:123] ORTE_ERROR_LOG: ...".
own_words() { sed -i -E '/^\[[^] ]*:[0-9]+\] /d' "$@" 2>/dev/null || true; }

# expect_error CODE 'REGEX' RANKS ARGS...: every rank ends with CODE; one of them, and only one, says REGEX, in one paragraph; nothing
# is left of the artifact. run_with=FUNCTION, called as each(), starts the ranks another way; to=DIR is another
# run folder.
expect_error() {
  local code=$1 says=$2 n=$3 rc=0 r codes='' speakers=0 said=$work/said folder problem=
  shift 3
  folder=$(mktemp -d "$work/error.XXXX")
  out=$folder/run
  "${run_with:-each}" "$said" "$n" "$@" -q --out "${to:-$out}" >"$work/log" 2>&1 || rc=$?
  own_words "$said"/*.stderr
  for ((r = 0; r < n; r++)); do
    codes+=" $(cat "$said/$r.code" 2>/dev/null || echo none)"
    if [[ -s $said/$r.stderr ]]; then speakers=$((speakers + 1)); fi
  done
  ((rc == code)) || problem+=" exit $rc;"
  [[ $codes == "$(printf " $code%.0s" $(seq "$n"))" ]] || problem+=" the ranks' exit codes are$codes;"
  ((speakers == 1)) || problem+=" $speakers ranks speak;"
  (($(cat "$said"/*.stderr | wc -l) == 1)) || problem+=" not one paragraph;"
  grep -qE -- "$says" "$said"/*.stderr || problem+=" nobody says '$says';"
  if leftovers "${to:-$out}"; then problem+=" something is left of it;"; fi
  if [[ -z $problem ]]; then echo "ok: exit $code on $n rank(s): $says"; else
    fail "expected exit $code on $n rank(s), but$problem muffle $*"
    tail -n +1 "$said"/* | sed 's/^/    /' >&2
  fi
}

# at STEP ACTION COMMAND...: sets the command's environment so that muffle, the test build of it ($MUFFLE_FAULTY), does ACTION at a step
# that it names (tests/support/faulty_system.cpp); `at_rank` names the only rank that does so.
at() {
  local point=$1:$2:1
  shift 2
  MUFFLE=$MUFFLE_FAULTY MUFFLE_KILL_POINT=$point MUFFLE_KILL_RANK=${at_rank:-0} "$@"
}

# hold: until a rank waits at its step (action `wait`); told: until a signal has told that rank to stop; let_go: it goes on.
# MUFFLE_WAIT_FILE is theirs.
export MUFFLE_WAIT_FILE=$work/waits-here
hold() { within 300 test -e "$MUFFLE_WAIT_FILE" || fail "no rank came to its step in 300 s"; }
told() { within 300 test -e "$MUFFLE_WAIT_FILE.told" || fail "the rank that waits was not told to stop in 300 s"; }
let_go() { rm -f "$MUFFLE_WAIT_FILE"; }

# payload FILE: hash of the numbers of a release, which lie between its header and its checksum.
payload() {
  local header
  header=$(od -An -tu4 -j12 -N4 "$1" | tr -d ' ')
  tail -c +$((16 + header + 8 + 1)) "$1" | head -c -32 | sha256sum
}

finish() {
  ((failures == 0)) || { echo "$failures check(s) failed" >&2; exit 1; }
  echo "all checks passed"
}

# side_by_side 'FUNCTION ...'...: ends the script with these groups of its functions, each in a process and a folder $work of its own: mostly
# they wait for mpirun to end.
side_by_side() {
  local group i=0 pids=()
  for group in "$@"; do
    # shellcheck disable=SC2086
    in_a_folder_of_their_own "$work/group-${#pids[@]}" $group >"$work/${#pids[@]}.out" 2>&1 &
    pids+=($!)
  done
  for group in "$@"; do
    wait "${pids[i]}" || fail "$group"
    cat "$work/$((i++)).out"
  done
  finish
}
in_a_folder_of_their_own() {
  local work=$1 f
  mkdir "$work"
  export OMPI_MCA_orte_tmpdir_base=$work
  for f in "${@:2}"; do "$f"; done
  finish
}
