#!/usr/bin/env bash
# A file system that does not answer: every file operation of a job lies under the watchdog, which ends all ranks with 69
# and names the file; what may never have anything to read is refused at once.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
: "${FILE_CALLS:?}" "${MUFFLE_EXPORTED:?}"
STEPS=20 FEATURES=100
# shellcheck source=tests/chaos/job.sh
source "$(dirname "${BASH_SOURCE[0]}")/../chaos/job.sh"

"$MUFFLE" keygen --out "$work" --name clinic >/dev/null
records=(--data "$work/data/mixture-train-points.idx" --labels "$work/data/mixture-train-labels.idx")
scores=(--set data.test_features=mixture-test-points.idx --set data.test_labels=mixture-test-labels.idx
  --set 'evaluate.metrics=["classifiers","mixture-nll"]' --set 'evaluate.classifiers=["logistic_regression"]'
  --set evaluate.train_limit=100)
full() { job "$1" "${records[@]}" "${scores[@]}" --set privacy.signing_key="$work/clinic.key" --set 'sample.formats=["npz","idx"]'; }

full "$work/whole"
ends 0 on 1 "${args[@]}"
evaluate=(evaluate --config "$work/job.toml" "${scores[@]}" --samples "$work/whole/samples.npz")

mkfifo -m 600 "$work/fifo"
refused() {
  says 74 "'$work/fifo' is not a regular file" on "$@" --set runtime.deadline_s=60 --out "$work/refused" # one that waited would end with 69
}
for n in 1 2; do
  refused "$n" "${evaluate[@]}" --set data.test_features="$work/fifo"
  refused "$n" release --config "$work/job.toml" --set privacy.signing_key="$work/fifo"
done

if [[ -n $sanitized ]]; then finish && exit; fi # their runtimes come before any other library

# hangs CALL@NAME RANKS 'REGEX' ARGS...: with that call hanging on the last rank, muffle ends with 69 and says REGEX.
hangs() {
  local what=$1 n=$2 says=$3 begun=$SECONDS last=()
  shift 3
  if ((n > 1)); then last=(MUFFLE_HANG_RANK=$((n - 1))); fi
  says 69 "$says" on_ranks "$n" env LD_PRELOAD="$FILE_CALLS" MUFFLE_HANG="$what" "${last[@]}" "$MUFFLE" "$@"
  check "$what hangs on $n rank(s): within the deadline" test $((SECONDS - begun)) -lt 120
}
hangs open@mixture-test-points.idx 1 "opening '.*/mixture-test-points.idx'" "${evaluate[@]}" --set runtime.deadline_s=6 --out "$work/h1"
full "$work/h2"
hangs open@clinic.key 1 "opening '$work/clinic.key'" "${args[@]}" --set runtime.deadline_s=6
full "$work/h3"
hangs realpath@h3.ledger 1 "looking for '$work/h3.ledger'" "${args[@]}" --set runtime.deadline_s=6
full "$work/h4"
hangs flock@h4.ledger.lock 1 "locking '$work/h4.ledger.lock'" "${args[@]}" --set runtime.deadline_s=6
# The ranks that wait may give up first.
full "$work/h5"
hangs open@mixture-train-points.idx 2 "mixture-train-points.idx|not heard from" "${args[@]}" --set runtime.deadline_s=3
for call in flock fsync statvfs; do
  place=.muffle-doctor
  if [[ $call == statvfs ]]; then place=$work/doctor; fi
  for n in 1 2; do hangs "$call@$place" "$n" "'$work/doctor.*has not come to an end within 2.0 s" doctor --deadline 4 --out "$work/doctor"; done
done

# No file operation of a job, nor of one that goes on over what is there, without a watchdog.
every=$work/every
unwatched() { LD_PRELOAD=$FILE_CALLS MUFFLE_UNWATCHED=$every:$work/unwatched timeout -k 5 300 "$MUFFLE_EXPORTED" "$@" >"$work/log" 2>&1; }
mkdir "$every"
cp -r "$work/data" "$work/clinic.key" "$work/job.toml" "$every"
sed -i "s|$work/data|$every/data|" "$every/job.toml"
records=(--data "$every/data/mixture-train-points.idx" --labels "$every/data/mixture-train-labels.idx")
for seed in 1 2; do
  check "a job" unwatched run --config "$every/job.toml" --insecure-seeded-noise 7 --out "$every/run" "${records[@]}" "${scores[@]}" \
    --set privacy.signing_key="$every/clinic.key" --set 'sample.formats=["npz","idx"]' --set sample.seed=$seed
done
check "the doctor" unwatched doctor --out "$every/doctor"
check "a key" unwatched keygen --out "$every/keys" --name a
check "the ledger" unwatched ledger show --ledger "$every/ledger-mixture.jsonl"
unwatched verify "$every/run/release.mfl" || true # its noise is seeded
LD_PRELOAD=$FILE_CALLS MUFFLE_UNWATCHED=$work/stdout:$work/seen "$MUFFLE_EXPORTED" --version >"$work/stdout"
check "what is not watched would be seen" grep -qs "@$work/stdout" "$work/seen"
touch "$work/unwatched"
sed 's/^/    /' "$work/unwatched" >&2
check "every file operation has a watchdog" test ! -s "$work/unwatched"
finish
