#!/usr/bin/env bash
# One rank of a job, for tests: runs muffle and writes down its own exit code and what it said.
#   mpiexec -n N record_rank.sh FOLDER MUFFLE ARGS...   ->   FOLDER/N.code, FOLDER/N.stderr
set -uo pipefail
folder=$1 rank=${OMPI_COMM_WORLD_RANK:-0}
shift
trap : TERM # mpiexec signals the whole process group: this script has to outlive its rank
code=0
"$@" 2>"$folder/$rank.stderr" || code=$?
echo "$code" >"$folder/$rank.code"
exit "$code"
