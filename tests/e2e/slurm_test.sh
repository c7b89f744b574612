#!/usr/bin/env bash
# The shipped batch script in a real Slurm: the job is told of its time limit in the middle of the training, checkpoints, is
# queued again, and ends from the checkpoint with the model of a run that nobody disturbed; the ledger is charged once.
# Root (exit code 77, skipped, without); installs Slurm where it is missing. Under 5 minutes.
(($(id -u) == 0)) || { echo "skipped: Slurm's daemons need root"; exit 77; }
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/e2e/slurm/cluster.sh
source "$(dirname "${BASH_SOURCE[0]}")/slurm/cluster.sh"
templates=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../cluster" && pwd)
trap 'slurm_down; rm -rf "$work"' EXIT
slurm_up

# steps_for SECONDS: how many steps take this long here; so the job is cut by its limit on every machine.
job=(--config "$CONFIGS/gaussian-mixture-2d.toml")
settings=(data.id=slurm-test "privacy.ledger=$work/ledger.jsonl" sample.count=1000 runtime.deadline_s=60)
options=()
for s in "${settings[@]}"; do options+=(--set "$s"); done
seconds_of() {
  local t0=$EPOCHREALTIME
  on 2 train "${job[@]}" "${options[@]}" --set train.steps="$1" --release "$work/warm/release.mfl" --out "$work/warm-$1" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "calibration"; }
  awk -v a="$t0" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'
}
on 2 release "${job[@]}" --set "privacy.ledger=$work/warm.jsonl" --out "$work/warm" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "a release"; }
short=$(seconds_of 20) long=$(seconds_of 120)
steps=$(awk -v a="$short" -v b="$long" 'BEGIN { r = (b - a) / 100; if (r < 1e-5) r = 1e-5; n = int(60 / r); print n < 200 ? 200 : n }')
echo "calibration: $steps steps for about a minute"
options+=(--set "train.steps=$steps")

# Told to stop 40 s before the limit of a minute. What muffle slurm prints is the shipped script but for its header and settings.
"$MUFFLE" slurm "${job[@]}" "${options[@]}" --out "$work/run" --muffle "$MUFFLE" --nodes 2 --ntasks-per-node 1 --cpus-per-task 1 --time 1 --grace 40 \
  >"$work/job.sbatch"
body() { sed -e '/^#SBATCH/d' -e '/^muffle=/d' -e '/^config=/d' -e '/^out=/d' -e '/^settings=/d' "$1"; }
check "the script is the shipped one" test "$(body "$work/job.sbatch")" = "$(body "$templates/whole.sbatch")"

cd "$work"
start=$SECONDS
id=$(sbatch --parsable "$work/job.sbatch")
state='' restarts=0
while ((SECONDS - start < 240)); do
  state=$(slurm_state "$id" JobState)
  restarts=$(slurm_state "$id" Restarts)
  [[ $state =~ ^(COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL)$ ]] && break
  sleep 1
done
echo "slurm: job $id is $state after $((SECONDS - start)) s, $restarts restart(s)"
check "the job completed" test "$state" = COMPLETED
check "after it was queued again" test "${restarts:-0}" -ge 1
check "because it had stopped with a checkpoint" grep -q 'exit code 75; job' "$work/muffle-$id.log"
check "a later start went on from the checkpoint" grep -qiE 'resum|goes on|from step' "$work/muffle-$id.log"
for f in release.mfl model.mfl samples.npz metrics.json; do check "$f is there" test -s "$work/run/$f"; done
check "the ledger was charged once" test "$(grep -c '"kind":"intent"\|"type":"intent"\|INTENT' "$work/ledger.jsonl")" = 1
if ((failures > 0)); then sed 's/^/    /' "$work/muffle-$id.log" >&2; fi

# The same training without Slurm and without a stop.
on 2 train "${job[@]}" "${options[@]}" --release "$work/run/release.mfl" --out "$work/whole" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the reference"; }
check "the model is that of an undisturbed run, bit for bit" cmp "$work/run/model.mfl" "$work/whole/model.mfl"
finish
