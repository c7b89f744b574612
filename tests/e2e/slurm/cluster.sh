#!/usr/bin/env bash
# A Slurm of two nodes on this machine, on loopback alone; sourced. Root. Needs Debian's slurmctld, slurmd, slurm-client and
# munge, and installs them where they are missing; it starts daemons of its own and touches no others.
#   slurm_up      sets SLURM_CONF; nodes n1 and n2, partition main
#   slurm_state J field of a job, such as JobState;  slurm_down ends the daemons, by their pids
set -euo pipefail

slurm_folder=

slurm_packages() {
  local missing=() p
  for p in slurmctld slurmd slurm-client munge; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
  done
  ((${#missing[@]} == 0)) && return
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# free_ports N: N ports of loopback that nobody listens on.
free_ports() {
  python3 - "$1" <<'END'
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])
END
}

slurm_up() {
  local n port ports name
  slurm_packages
  slurm_folder=$(mktemp -d)
  chmod 755 "$slurm_folder"
  read -ra ports < <(free_ports 3)
  name=$(hostname -s)
  export SLURM_CONF=$slurm_folder/slurm.conf
  mkdir -p "$slurm_folder"/{munge,state,spool.n1,spool.n2,tmp.n1,tmp.n2}
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
NodeName=n1 NodeHostname=$name NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN
NodeName=n2 NodeHostname=$name NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=60 State=UP
END
  (umask 077; head -c 128 /dev/urandom >"$slurm_folder/munge/munge.key")
  munged --socket="$slurm_folder/munge/munge.sock" --key-file="$slurm_folder/munge/munge.key" --log-file="$slurm_folder/munge/munged.log" \
    --pid-file="$slurm_folder/munge/munged.pid" --seed-file="$slurm_folder/munge/munged.seed" --num-threads=2
  slurmctld -c
  for n in n1 n2; do slurmd -N "$n"; done
  # MPI over loopback: the nodes share this machine and its address.
  export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1
  for _ in $(seq 300); do
    port=$(sinfo -h -N -o %t 2>/dev/null | grep -c idle || true)
    ((port == 2)) && return
    sleep 0.1
  done
  echo "Slurm's nodes did not come up:" >&2
  sinfo -N -l >&2 || true
  tail -5 "$slurm_folder"/*.log >&2
  return 1
}

# slurm_state JOB FIELD
slurm_state() { scontrol -o show job "$1" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -1; }

slurm_down() {
  local p pids=()
  [[ -n $slurm_folder ]] || return 0
  scancel --full -u root 2>/dev/null || true
  for p in "$slurm_folder"/slurmd.n1.pid "$slurm_folder"/slurmd.n2.pid "$slurm_folder"/slurmctld.pid "$slurm_folder"/munge/munged.pid; do
    [[ -s $p ]] && pids+=("$(<"$p")")
  done
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  for _ in $(seq 50); do
    kill -0 "${pids[@]}" 2>/dev/null || break
    sleep 0.1
  done
  rm -rf "$slurm_folder"
}
