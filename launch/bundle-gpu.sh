#!/usr/bin/env bash
# Collects what the preset `cuda` built into a folder that runs on a machine with a GPU and PyTorch, but without a compiler:
#   launch/bundle-gpu.sh DIR [PROGRAM...]      there: DIR/run.sh PROGRAM [arguments]
# LibTorch and CUDA stay out: run.sh takes those of the Python that is there, which must hold the same version of torch.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir=${1:?usage: launch/bundle-gpu.sh DIR [PROGRAM...]}
shift
programs=("$@")
if ((${#programs[@]} == 0)); then
  for p in tests/features/features_gpu_test tests/comm/comm_gpu_test tests/train/train_gpu_test bench/embed_gpu_bench bench/train_gpu_bench bin/muffle; do
    if [[ -x build/cuda/$p ]]; then programs+=("build/cuda/$p"); fi
  done
fi
mkdir -p "$dir/lib"
for p in "${programs[@]}"; do
  strip -o "$dir/$(basename "$p")" "$p"
  # Not the system's C library, nor what PyTorch brings.
  ldd "$p" | awk '$3 ~ /^\// {print $3}' | grep -vE '/(torch|cuda|cuda-[0-9.]+|nvidia)/|/(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|libgomp|ld-linux.*)\.so' |
    xargs -r cp -uL -t "$dir/lib"
done
cp tests/bench/step_pytorch.py "$dir"
cat >"$dir/run.sh" <<'RUN'
#!/usr/bin/env bash
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
site=$(python3 -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))')
libs=$here/lib:$site/torch/lib
for d in "$site"/nvidia/*/lib; do libs+=:$d; done
export LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
program=$1
shift
exec "$here/$program" "$@"
RUN
chmod +x "$dir/run.sh"
du -sh "$dir"
