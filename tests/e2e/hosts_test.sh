#!/usr/bin/env bash
# Three hosts with addresses of their own (network namespaces), started by launch/mpirun.sh: the doctor, the small job with the
# same release as one rank makes, and then a host is cut off in the middle of the training. Root; exit code 77 (skipped) without.
(($(id -u) == 0)) || { echo "skipped: network namespaces need root"; exit 77; }
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/e2e/hosts/net.sh
source "$(dirname "${BASH_SOURCE[0]}")/hosts/net.sh"
unset OMPI_MCA_orte_tmpdir_base # it runs alone
trap 'hosts_down || true; rm -rf "$work" || true' EXIT
hosts_up 3 || { echo "skipped: network namespaces cannot be made here"; exit 77; }

says 0 '3 ranks on 3 hosts by mpirun' over 3 doctor --out "$work/doctor"
check "and what it says of links" grep -qE '^(ok|note) +links' "$work/log"
check "is no warning: mpirun notices cut ones" bash -c "! grep -q '^warning  *links' '$work/log'"

# The same release from every number of hosts: test noise from a seed, so that the bytes compare.
job=("${small[@]}" --insecure-seeded-noise 5)
ends 0 over 3 release "${job[@]}" --out "$work/three"
ends 0 on 1 release "${job[@]}" --out "$work/one"
three=$(payload "$work/three/release.mfl")
check "three hosts release what one rank releases" test "${three:-none}" = "$(payload "$work/one/release.mfl")"

ends 0 over 3 run "${small[@]}" --out "$work/run"
there "$work/run" release.mfl model.mfl samples.npz metrics.json
check "each host wrote its log" test "$(sed -n 's/.*"host":"\([^"]*\)".*/\1/p' "$work"/run/logs/rank-?.jsonl | sort -u | wc -l)" = 3

# none_on H: nothing of a job runs there.
none_on() { ! pids_on "$1" | xargs -r ps -o comm= -p | grep -qE '^(muffle|muffle-torch|muffle_faulty|orted)$'; }

# cut_off HOST STAGE STEP ARGS...: cuts a host off while its rank is at STEP; the job ends with 69 (keepalives: 11 s; muffle's own
# deadline: 25 s; without them not within these 150 s), nobody is left on the hosts that can still be reached.
cut_off() {
  local victim=$1 stage=$2 step=$3 code=0 out=$work/cut-$2 start
  shift 3
  at_rank=$((victim - 1)) at "$step" wait over 3 "$stage" "${small[@]}" --set runtime.deadline_s=25 "$@" --out "$out" >"$work/log" 2>&1 &
  local pid=$!
  hold
  cut_link "$victim"
  let_go
  start=$SECONDS
  wait "$pid" || code=$?
  local took=$((SECONDS - start))
  mend_link "$victim"
  check "$stage: host $victim cut off: exit code $code is 69" test "$code" = 69
  check "$stage: after $took s" test "$took" -lt 150
  for h in 1 2; do check "$stage: nobody is left on host $h" within 60 none_on "$h"; done # mpirun ends before its daemons do
  for p in $(pids_on 3); do kill -KILL "$p" 2>/dev/null || true; done
}
cut_off 3 release embed.batch
check "nothing was released" test ! -e "$work/cut-release/release.mfl"
cp -r "$work/run" "$work/cut-train"
rm -f "$work/cut-train/model.mfl" "$work"/cut-train/logs/*
cut_off 3 train train.step#3 --set train.steps=100000
finish
