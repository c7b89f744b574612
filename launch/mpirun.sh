#!/usr/bin/env bash
# Runs muffle over several machines with mpirun of Open MPI 4.1; see docs/how-to/clusters.md. Everything before "--" but the options
# below goes to mpirun as it is.
#
#   launch/mpirun.sh -n 8 --hostfile cluster/hostfile.example --threads 4 -- run --config configs/fashion-mnist.toml --out out
#
#   --threads T     cores bound to each rank, and OMP_NUM_THREADS (1)
#   --network CIDR  only this network, such as 10.1.0.0/16: needed where machines have several (MUFFLE_NETWORK)
#   --limit TIME    after so long (as in timeout(1), such as 90m) muffle is told to checkpoint and leave (7d; 0: never)
#   --grace S       how many seconds it may take over that, before everything is killed (60)
#   --any-mpirun    also with Open MPI 5, whose mpirun ends with 0 when a host is lost: look for the results, not at the code
#
# TERM, INT, HUP, the time limit and the end of this script (SIGKILL too) become USR1, which mpirun hands on to every rank; a TERM
# would end mpirun's own daemons before the ranks have checkpointed. Exit code: muffle's (75: stopped with a checkpoint, run it again); 69
# when a rank or a host was lost, or was still there after the grace.
set -euo pipefail
here="$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.." && pwd)"
# shellcheck source=launch/supervise.sh
source "$here/launch/supervise.sh"

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed "s|launch/mpirun.sh|$called|" >&2
  exit 2
}
refuse() {
  echo "$called: $*" >&2
  exit 2
}

threads=1 network=${MUFFLE_NETWORK:-} limit=7d grace=60 any_mpirun='' mpi=()
while (($# > 0)) && [[ $1 != -- ]]; do
  case $1 in
    --threads | --network | --limit | --grace)
      (($# >= 2)) || usage
      declare "${1#--}=$2"
      shift 2
      ;;
    --any-mpirun)
      any_mpirun=yes
      shift
      ;;
    -h | --help) usage ;;
    *)
      mpi+=("$1")
      shift
      ;;
  esac
done
(($# >= 2)) || usage  # "--" and a verb
shift
[[ $threads =~ ^[1-9][0-9]*$ ]] || refuse "--threads is a number of cores, not '$threads'"
[[ $grace =~ ^[1-9][0-9]*$ ]] || refuse "--grace is a number of seconds above 0, not '$grace'"
[[ $limit =~ ^[0-9]+(\.[0-9]+)?[smhd]?$ ]] || refuse "--limit is a time such as 90m (s, m, h or d; 0: never), not '$limit'"
muffle=${MUFFLE_BINARY:-$here/build/cpu/bin/muffle}
if [[ -z ${MUFFLE_BINARY:-} && $here == */share/muffle ]]; then muffle=${here%/share/muffle}/bin/muffle; fi
[[ -x $muffle ]] || refuse "$muffle is not built; run launch/build.sh, or set MUFFLE_BINARY"
version=$(ompi_info --version 2>/dev/null || true)
if [[ $version == "Open MPI v"[5-9]* && -z $any_mpirun ]]; then
  refuse "${version%%$'\n'*}: its mpirun ends with 0 when a host is lost. Use Open MPI 4.1, srun --mpi=pmix (muffle slurm), or --any-mpirun"
fi

flags=(
  -x "OMP_NUM_THREADS=$threads"
  # A cut link is found after 5 + 3 x 2 s; OpenMPI's own values make that 8 minutes.
  --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 3
)
# Who says how to bind or map says it alone: Open MPI 5 takes no option twice, and no PE=T of ranks that are not bound.
if [[ " ${mpi[*]} " != *" --bind-to "* ]]; then
  [[ " ${mpi[*]} " == *" --map-by "* ]] || flags+=(--map-by "slot:PE=$threads")
  flags+=(--bind-to core)
fi
[[ -n $network ]] && flags+=(--mca btl_tcp_if_include "$network" --mca oob_tcp_if_include "$network")
while IFS= read -r name; do flags+=(-x "$name"); done < <(compgen -e MUFFLE_ || true)
(($(id -u) == 0)) && flags+=(--allow-run-as-root)

# In a session of its own, as in local.sh. --foreground: timeout hands on every signal that it gets, not only the first. When this script
# ends, timeout is told what it says at the time limit; when timeout ends, mpirun ends the ranks at once.
run_job setsid setpriv --pdeathsig USR1 timeout --foreground --signal=USR1 --kill-after="$grace" --preserve-status "$limit" \
  setpriv --pdeathsig TERM mpirun "${flags[@]}" "${mpi[@]}" "$muffle" "$@" </dev/null
if ((code > 192)); then # one of mpirun's daemons was lost: 205
  echo "$called: mpirun ended with $code: a host was lost; exit code 69 (a rank is missing)" >&2
  exit 69
fi
exit "$code"
