#!/usr/bin/env bash
# The shipped batch script in a real Slurm: the job is told of its time limit in the middle of the training, checkpoints, is
# queued again, and ends from the checkpoint with the model of a run that nobody disturbed; the ledger is charged once.
# Root (exit code 77, skipped, without); installs Slurm where it is missing. About 5 minutes from then on.
(($(id -u) == 0)) || { echo "skipped: Slurm's daemons need root"; exit 77; }
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/e2e/slurm/cluster.sh
source "$(dirname "${BASH_SOURCE[0]}")/slurm/cluster.sh"
unset OMPI_MCA_orte_tmpdir_base # it runs alone
templates=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../cluster" && pwd)
trap 'slurm_down || true; rm -rf "$work" || true' EXIT
slurm_up
cd "$work"

job=(--config "$CONFIGS/gaussian-mixture-2d.toml" --set data.id=slurm-test --set map.rff.count=100 --set 'model.hidden=[40, 40]'
  --set train.batch=30 --set sample.count=1000 --set runtime.deadline_s=60)

begins_again() { [[ $(slurm_state "$id" Restarts) != 0 ]] || slurm_over "$id"; }

# submit STEPS: the whole job in Slurm, on three nodes of one rank each. Told to stop from 20 s before the limit of a minute;
# Slurm looks every 30 s, so it is told 10 to 40 s after its start. Once it was queued again, the limit is raised, as an
# administrator would, so that the number of restarts is one on slow machines too.
submit() {
  run=$work/run-$1 ledger=$work/ledger-$1.jsonl
  options=("${job[@]}" --set "privacy.ledger=$ledger" --set "train.steps=$1")
  "$MUFFLE" slurm "${options[@]}" --out "$run" --muffle "$MUFFLE" --nodes 3 --ntasks-per-node 1 --cpus-per-task 1 --time 2 --grace 20 >job.sbatch
  sed -i 's/^#SBATCH --time=2$/#SBATCH --time=1/' job.sbatch # which muffle slurm refuses
  id=$(sbatch --parsable job.sbatch)
  log=$work/muffle-$id.log
  local begun=$SECONDS
  pause=0.5 within 300 begins_again || true # a job that does not end is found below
  restarts=$(slurm_state "$id" Restarts)
  scontrol update JobId="$id" TimeLimit=10 2>/dev/null || true # not if it is over
  pause=0.5 within 600 slurm_over "$id" || true
  state=$(slurm_state "$id" JobState)
  echo "slurm: job $id of $1 steps: $state after $((SECONDS - begun)) s, $(slurm_state "$id" Restarts) restart(s)"
}

# An array, meanwhile, of a double of muffle: its last task, whose number is the array's too, stops once with 75 while the other
# one runs, which goes on until that one is back. It alone is to be queued again.
logged() { [[ $(grep -cx "$2" "$work/array.log") == "$1" ]]; } # TIMES LINE
cat >double <<END
#!/usr/bin/env bash
$(declare -f within logged)
work=$work pause=0.5
echo "\$SLURM_ARRAY_TASK_ID \$1" >>"\$work/array.log"
case \$SLURM_ARRAY_TASK_ID-\$1 in
  1-train) within 600 logged 2 '2 train' ;;
  2-train) if logged 1 '2 train'; then within 600 logged 1 '1 train' && exit 75; fi ;;
esac
END
chmod +x double
"$MUFFLE" slurm "${job[@]}" --kind seeds --seeds 1-2 --out "$work/array" --muffle "$work/double" --nodes 1 --ntasks-per-node 1 \
  --cpus-per-task 1 --time 10 --grace 20 >array.sbatch
sbatch --parsable array.sbatch >array.id

# Training that lasts beyond the signal, whatever the machine; under the sanitizers a step takes several times as long.
steps=${STEPS:-$([[ -n $sanitized ]] && echo 4000 || echo 16000)}
submit "$steps"
if [[ $state == COMPLETED && $restarts == 0 ]]; then submit $((steps * 3)); fi

# What muffle slurm printed is the shipped script but for its header and settings.
body() { sed -e '/^#SBATCH/d' -e '/^muffle=/d' -e '/^config=/d' -e '/^out=/d' -e '/^settings=/d' "$1"; }
check "the script is the shipped one" test "$(body job.sbatch)" = "$(body "$templates/whole.sbatch")"
check "the job completed" test "$state" = COMPLETED
check "after it was queued again" test "$restarts" -ge 1
check "because it had stopped with a checkpoint" grep -q 'exit code 75; job' "$log"
check "a later start went on from the checkpoint" grep -q 'train: resumed after step' "$log"
there "$run" release.mfl model.mfl samples.npz metrics.json
charges() { grep -c "\"kind\":\"$1\"" "$ledger"; }
check "the ledger was charged once" test "$(charges INTENT) $(charges COMMIT)" = "1 1"
if ((failures > 0)); then sed 's/^/    /' "$log" >&2; fi

pause=0.5 within 600 logged 2 '[12] sample' || true
check "of an array only the task that stopped was queued again" test "$(sort array.log | tr '\n' ,)" = "1 sample,1 train,2 sample,2 train,2 train,"
check "under its own number" grep -q "exit code 75; job $(cat array.id)_2 is queued again" muffle-"$(cat array.id)"_2.log

# The same training without Slurm and without a stop.
ends 0 on 3 train "${options[@]}" --release "$run/release.mfl" --out whole
check "the model is that of an undisturbed run, bit for bit" cmp "$run/model.mfl" whole/model.mfl
finish
