#!/usr/bin/env bash
# Fetches a LibTorch with CUDA, configures the preset `cuda` with it and builds:
#   launch/cuda-libtorch.sh [--fetch-only] [cmake --build options, such as --target muffle]
# Needs nvcc 13, NCCL and, to fetch, pip (docs/how-to/gpus.md). PyTorch's wheel holds LibTorch's headers, libraries and CMake files: 0.5 GB to
# download; 1.4 GB unpacked, with NVIDIA's wheels, in MUFFLE_LIBTORCH (default: build/libtorch). What is there is not fetched again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

torch_version=2.11.0
root=${MUFFLE_LIBTORCH:-$PWD/build/libtorch}
cuda=${CUDA_HOME:-/usr/local/cuda}
fetch_only=false
if [[ ${1:-} == --fetch-only ]]; then
  fetch_only=true
  shift
fi

new=
trap '[[ -z $new ]] || rm -rf "$new"' EXIT
fetch() { # FILE WHEEL: unpacks a wheel, without what it depends on; FILE of it comes last, so that where it is, all is
  python3 -m pip --version >/dev/null 2>&1 || {
    echo "cuda-libtorch: fetches wheels with pip, which is missing: apt-get install python3-pip" >&2
    exit 1
  }
  mkdir -p "$root"
  new=$(mktemp -d "$root/.new.XXXXXX")
  python3 -m pip download --quiet --no-deps --dest "$new" "$2"
  python3 -m zipfile -e "$new"/*.whl "$new/files"
  mv "$new/files/$1" "$new/last"
  cp -rlf "$new/files/." "$root" # links, not copies
  mv "$new/last" "$root/$1"
  rm -r "$new"
}

# LIBRARY: does the loader know it? (Not grep -q: it leaves ldconfig, which still writes, to SIGPIPE, which pipefail takes for a no.)
loadable() { ldconfig -p | grep -F -- "$1 " >/dev/null; }

provided() { # LIBRARY: is it in the CUDA toolkit or known to the loader?
  [[ -e $cuda/lib/$1 || -e $cuda/lib64/$1 ]] || loadable "$1"
}

need() { # FILE WHEEL: fetches the wheel unless its FILE is there, or such a library is
  [[ -e $root/$1 ]] || provided "${1##*/}" || fetch "$1" "$2"
}

need torch/share/cmake/Torch/TorchConfig.cmake "torch==$torch_version"
# What libtorch_cuda.so links beside the toolkit. It looks for them in nvidia/ beside itself.
need nvidia/cusparselt/lib/libcusparseLt.so.0 nvidia-cusparselt-cu13==0.8.0
need nvidia/nvshmem/lib/libnvshmem_host.so.3 nvidia-nvshmem-cu13==3.4.5
need nvidia/cu13/lib/libcufile.so.0 nvidia-cufile
need nvidia/cudnn/lib/libcudnn.so.9 nvidia-cudnn-cu13==9.19.0.56
provided libnccl.so.2 || echo "cuda-libtorch: no NCCL in $cuda: CMake will say where it looked" >&2
echo "cuda-libtorch: LibTorch $torch_version in $root"
if $fetch_only; then exit 0; fi

mkdir -p build
CUDACXX=$cuda/bin/nvcc cmake --preset cuda -DCMAKE_PREFIX_PATH="$root/torch" -DCUDA_TOOLKIT_ROOT_DIR="$cuda" \
  -DMUFFLE_PCH="${MUFFLE_PCH:-ON}" >build/configure-cuda.log 2>&1 || { cat build/configure-cuda.log >&2; exit 1; }
start=$SECONDS
cmake --build --preset cuda "$@"
echo "cuda-libtorch: built in $((SECONDS - start)) s"
# libtorch_cuda.so finds the toolkit's libraries by the loader's path alone.
loadable libcublas.so.13 || echo "cuda-libtorch: run with LD_LIBRARY_PATH=$cuda/lib"
