#!/usr/bin/env bash
# A Slurm of three nodes on this machine, on loopback alone; sourced, after common.sh. Root. Needs Debian's slurmctld, slurmd, slurm-client and
# munge, and installs them where they are missing; it starts daemons of its own and touches no others.
#   slurm_up                nodes n1 to n3 of 2 cores each, partition main; sets SLURM_CONF
#   slurm_state JOB FIELD   such as JobState
#   slurm_over JOB          it has ended, and will not be queued again
#   slurm_down              ends jobs and daemons, the latter by their pids
set -euo pipefail

slurm_folder=
readonly slurm_nodes=(n1 n2 n3)

slurm_packages() {
  local missing=() p apt=(apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  for p in slurmctld slurmd slurm-client munge; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
  done
  ((${#missing[@]} == 0)) && return
  "${apt[@]}" update -qq
  ( # Debian's packages would start a munge and a Slurm of the system's own; with this they do not, before the next boot.
    policy=/usr/sbin/policy-rc.d
    if [[ ! -e $policy ]]; then
      trap 'rm -f "$policy"' EXIT
      printf '#!/bin/sh\nexit 101\n' >"$policy"
      chmod 755 "$policy"
    fi
    DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  )
}

# free_ports N: N ports of loopback that nobody listens on, below those that the kernel gives to connections.
free_ports() {
  python3 - "$1" <<'END'
import random, socket, sys
held = []
while len(held) < int(sys.argv[1]):
    s = socket.socket()
    try: s.bind(("127.0.0.1", random.randrange(15000, 30000)))
    except OSError: continue
    held.append(s)
print(*[s.getsockname()[1] for s in held])
END
}

all_idle() { [[ $(sinfo -h -N -o %t 2>/dev/null | grep -c idle) == "${#slurm_nodes[@]}" ]]; }

slurm_up() {
  local n i ports name
  slurm_packages || { sleep 30 && slurm_packages; } || { sleep 90 && slurm_packages; } # a mirror may be away for a moment
  slurm_folder=$(mktemp -d)
  chmod 755 "$slurm_folder"
  read -ra ports < <(free_ports $((${#slurm_nodes[@]} + 1)))
  name=$(hostname -s)
  export SLURM_CONF=$slurm_folder/slurm.conf
  mkdir -p "$slurm_folder"/{munge,state} "${slurm_nodes[@]/#/$slurm_folder/spool.}" "${slurm_nodes[@]/#/$slurm_folder/tmp.}"
  chmod 755 "$slurm_folder/munge"
  # %n becomes the node's name. Job credentials expire after 10 s, so that a requeued job starts then, not after 120 s.
  cat >"$SLURM_CONF" <<END
ClusterName=muffle-test
SlurmctldHost=$name(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_folder/munge/munge.sock,cred_expire=10
CredType=cred/munge
SlurmctldPort=${ports[0]}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$slurm_folder/state
SlurmctldPidFile=$slurm_folder/slurmctld.pid
SlurmctldLogFile=$slurm_folder/slurmctld.log
SlurmdSpoolDir=$slurm_folder/spool.%n
SlurmdPidFile=$slurm_folder/slurmd.%n.pid
TmpFS=$slurm_folder/tmp.%n
SlurmdLogFile=$slurm_folder/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,sched_min_interval=0
JobRequeue=1
ReturnToService=2
KillWait=10
InactiveLimit=0
MinJobAge=600
SlurmdTimeout=120
SlurmdParameters=config_overrides
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP
END
  for i in "${!slurm_nodes[@]}"; do
    echo "NodeName=${slurm_nodes[i]} NodeHostname=$name NodeAddr=127.0.0.1 Port=${ports[i + 1]}" \
      "CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN"
  done >>"$SLURM_CONF"
  (umask 077; head -c 128 /dev/urandom >"$slurm_folder/munge/munge.key")
  munged --socket="$slurm_folder/munge/munge.sock" --key-file="$slurm_folder/munge/munge.key" --log-file="$slurm_folder/munge/munged.log" \
    --pid-file="$slurm_folder/munge/munged.pid" --seed-file="$slurm_folder/munge/munged.seed" --num-threads=2
  slurmctld -c
  for n in "${slurm_nodes[@]}"; do slurmd -N "$n"; done
  # MPI over loopback: the nodes share this machine and its address.
  export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1
  within 300 all_idle && return
  echo "Slurm's nodes did not come up:" >&2
  sinfo -N -l >&2 || true
  tail -n 5 "$slurm_folder"/*.log >&2
  return 1
}

slurm_state() { scontrol -o show job "$1" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -1; }

slurm_over() { [[ $(slurm_state "$1" JobState) =~ ^(COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL|OUT_OF_MEMORY)$ ]]; }

# ended PID: it is gone, or a zombie that nobody fetches (pid 1 of a container may not).
ended() { ! [[ -e /proc/$1/stat ]] || [[ $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) == Z* ]]; }

no_jobs() { [[ -z $(squeue -h 2>/dev/null || true) ]]; }

slurm_down() {
  local p file pids=()
  [[ -n $slurm_folder ]] || return 0
  scancel --full -u root 2>/dev/null || true
  within 15 no_jobs || true
  for file in "$slurm_folder"/slurmd.*.pid "$slurm_folder/slurmctld.pid" "$slurm_folder/munge/munged.pid"; do
    [[ -s $file ]] && pids+=("$(<"$file")")
  done
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  for p in "${pids[@]}"; do
    within 5 ended "$p" || { echo "slurm: daemon $p had to be killed" >&2; kill -KILL "$p" 2>/dev/null || true; }
  done
  rm -rf "$slurm_folder" || true
  slurm_folder=
}
