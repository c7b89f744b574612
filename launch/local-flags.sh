# shellcheck shell=bash disable=SC2034,SC2054
# mpirun's flags for ranks that share one machine; sourced by launch/local.sh and by the tests' scripts. (Under CTest:
# cmake/MuffleRoom.cmake.) `local_flags`: no binding, for muffle divides the cores among its ranks; `loopback`: shared memory and
# loopback only; `quiet`: keeps mpirun's own page of text back when a rank fails, for muffle has said what failed.
local_flags=(--bind-to none --oversubscribe --mca mpi_yield_when_idle 1
  --mca odls_base_sigkill_timeout 3) # seconds that the other ranks have for their last words when one dies
if (($(id -u) == 0)); then local_flags+=(--allow-run-as-root); fi
loopback=(--mca btl "self,vader,tcp" --mca btl_tcp_if_include lo)
quiet=()
# Open MPI 5 has another mpirun, which ends at either of these: at --quiet, and at oob_tcp_if_include where that is the loopback alone.
if [[ $(ompi_info --version 2>/dev/null) != "Open MPI v"[5-9]* ]]; then
  loopback+=(--mca oob_tcp_if_include lo)
  quiet=(--quiet)
fi
