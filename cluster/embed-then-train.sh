#!/usr/bin/env bash
# Two jobs: the release where the records are, on CPUs; then training on GPUs, which starts when the release is there.
# Adapt the #SBATCH lines and settings of both scripts, or make them with `muffle slurm --kind embed` and `--kind train`.
#   cluster/embed-then-train.sh [EMBED_SCRIPT TRAIN_SCRIPT]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

embed=$(sbatch --parsable "${1:-$here/embed.sbatch}")
embed=${embed%%;*}  # JOB;CLUSTER where there are several
train=$(sbatch --parsable --dependency="afterok:$embed" --kill-on-invalid-dep=yes "${2:-$here/train.sbatch}")
echo "embedding: job $embed; training: job ${train%%;*}, after it"
