# shellcheck shell=bash disable=SC2034
# A job that takes seconds, for tests that break jobs; sourced. Needs MUFFLE (the binary), MPIEXEC and work (a folder).
# The noise is seeded (the releases are NOT PRIVATE), so that every run of the job must end with the same parameters.
: "${MUFFLE:?}" "${MPIEXEC:?}" "${work:?}"
readonly ranks=${RANKS:-3}

"$MUFFLE" make-mixture --out "$work/data"
cat >"$work/job.toml" <<TOML
[data]
dir = "$work/data"
id = "mixture"
features = "mixture-train-points.idx"
labels = "mixture-train-labels.idx"
records = 90000
classes = 5
shape = [2]
lo = -1.0
hi = 5.0
on_error = "clamp"
[map.rff]
kind = "rff"
count = ${FEATURES:-2000}
length_scale = 0.12
[privacy]
epsilon = 1.0
delta = 1e-5
max_records_per_person = 1
[model]
generator = "fully-connected"
hidden = [24, 16]
[train]
steps = ${STEPS:-300}
batch = 60
checkpoint_every = 10
[sample]
count = 100
formats = ["npz"]
[evaluate]
metrics = []
[runtime]
threads = 1
TOML

# shellcheck source=launch/local-flags.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../launch/local-flags.sh"

# job OUT ARGS...: muffle's arguments for the whole job in folder OUT, with a ledger of its own, in the array `args`.
job() {
  local out=$1
  shift
  args=(run --config "$work/job.toml" --insecure-seeded-noise 7 --set "privacy.ledger=\"$out.ledger\"" --out "$out" "$@")
}

# parameters OUT: SHA-256 of the model's tensors: what is in model.mfl behind the header (docs/reference/artifact-format.md).
parameters() {
  local header
  header=$(od -An -tu4 -j12 -N4 "$1/model.mfl") || return
  tail -c +$((16 + header + 8 + 1)) "$1/model.mfl" | head -c -32 | sha256sum | cut -d' ' -f1
}

# lines KIND OUT: how many lines of this kind OUT's ledger has.
lines() { grep -c "\"kind\":\"$1\"" "$2.ledger" 2>/dev/null || true; }

# pid_of RANK OUT: the rank's process, out of its log.
pid_of() { sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$2/logs/rank-$1.jsonl" | tail -1; }

# is_muffle PID: a process number may have been given to somebody else meanwhile.
is_muffle() { [[ $(readlink "/proc/$1/exe" 2>/dev/null) =~ ^("$(readlink -f "$MUFFLE")"|.*/muffle-torch)$ ]]; }
