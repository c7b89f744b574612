# shellcheck shell=bash disable=SC2034
# mpirun's flags for ranks that share one machine; sourced by launch/local.sh and by the tests' scripts. (Under CTest:
# cmake/MuffleRoom.cmake.) `local_flags`: no binding, for muffle divides the cores among its ranks; `loopback`: shared memory and
# loopback only.
local_flags=(--bind-to none --oversubscribe --mca mpi_yield_when_idle 1
  --mca odls_base_sigkill_timeout 3) # seconds that the other ranks have for their last words when one dies
if (($(id -u) == 0)); then local_flags+=(--allow-run-as-root); fi
loopback=(--mca btl "self,vader,tcp" --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo)
