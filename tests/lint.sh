#!/usr/bin/env bash
# How the code reads, checked: tests/lint.sh [format] [shell] [headers] [torch-headers] [tidy]; no word: all but the two slow
# ones, torch-headers and tidy.
#   format         clang-format 14 leaves every C++ and CUDA file as it is
#   shell          shellcheck has nothing to say of any script, and every script stops at its first error
#   headers        a room includes only rooms that it links, and model, train and synth none that sees records (room_links.py); no <mpi.h>,
#                  <nccl.h> or, but where they train, <torch/...> in public headers; every public header without torch compiles alone (of
#                  those that changed since the commit MUFFLE_LINT_SINCE, if that is set)
#   torch-headers  so does every public header with torch (20 s each)
#   tidy           clang-tidy 14, with .clang-tidy, on the files without torch (minutes; configures build/tidy, which compiles file by file)
# A tool that is missing, or of another version, is an error; with --skip-missing, which CTest says, exit code 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=1
if [[ ${1:-} == --skip-missing ]]; then
  missing=77
  shift
fi
readonly build=${BUILD:-build/cpu}
jobs=$(nproc)
readonly jobs
failed=()

fail() {
  echo "lint: $*" >&2
  failed+=("${1%%:*}")
}

# The tree's own files; outside a git checkout (a tarball), all but build folders.
files() { git ls-files --cached --others --exclude-standard -- "$@" 2>/dev/null || find . -path ./build -prune -o -type f -print | sed 's|^\./||' | grep -E "$(printf '%s\n' "$@" | sed 's/\./\\./g; s/\*/.*/g; s/$/$/' | paste -sd'|')"; }
cpp() { files '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.inc' | grep -v 'accountant_table\.inc$' || true; }
scripts() { { files '*.sh'; files '.ci/run'; } | sort -u; }

# tool NAME: the pinned version of an LLVM tool; another version formats and warns differently.
tool() {
  local t
  for t in "$1-14" "$1"; do
    if command -v "$t" >/dev/null && "$t" --version | grep 'version 14\.' >/dev/null; then
      echo "$t"
      return
    fi
  done
  echo "lint: needs $1 version 14 (launch/install-debian.sh)" >&2
  return "$missing"
}

check_format() {
  local t
  t=$(tool clang-format) || exit "$missing"
  local unformatted
  unformatted=$( (cpp | xargs -P "$jobs" -n 16 "$t" --dry-run -Werror 2>&1 || true) | sed -nE 's/^([^:]+):[0-9]+:[0-9]+: error: .*/\1/p' | sort -u)
  [[ -z $unformatted ]] || fail "format: run $t -i on"$'\n'"$unformatted"
}

check_shell() {
  local script
  command -v shellcheck >/dev/null || { echo "lint: needs shellcheck" >&2; exit "$missing"; }
  scripts | xargs shellcheck -x || fail "shell: see above"
  while read -r script; do
    # What has no #! is sourced; recorders set their own rules; all others end at the first error.
    head -1 "$script" | grep -q '^#!' || continue
    grep -qE '^set -euo pipefail|^source .*common\.sh|^set -uo pipefail' "$script" || fail "shell: $script lacks set -euo pipefail"
  done < <(scripts)
}

# Public headers that include torch, or a header that does.
with_torch() {
  local found more
  found=$(files 'include/*.hpp' | xargs grep -lE '#include <torch/' || true)
  while [[ -n $found ]]; do
    # shellcheck disable=SC2001
    more=$({ echo "$found"; files 'include/*.hpp' | xargs grep -lF -f <(sed 's|^include/\(.*\)|#include "\1"|' <<<"$found") || true; } | sort -u)
    [[ $more != "$found" ]] || break
    found=$more
  done
  echo "$found"
}

check_headers() {
  python3 tests/room_links.py || fail "headers: an include goes where the link lines of src/*/CMakeLists.txt do not"
  { files 'include/*.hpp' | grep -vxF "$(with_torch)" | if [[ -n ${MUFFLE_LINT_SINCE:-} ]]; then grep -xFf <(git diff --name-only "$MUFFLE_LINT_SINCE" --); else cat; fi || true; } |
    compile_alone || fail "headers: those above do not compile alone"
}

check_torch_headers() {
  local flags
  flags=$(grep -hoE -- '-isystem [^ ]*torch[^ ]*' "$build/compile_commands.json" | sort -u | tr '\n' ' ')
  # shellcheck disable=SC2086
  with_torch | compile_alone $flags || fail "torch-headers: those above do not compile alone"
}

# compile_alone FLAGS...: each header on stdin, as a file's only content.
compile_alone() {
  # shellcheck disable=SC2016
  xargs -P "$jobs" -I{} bash -c 'h=$1; shift; printf "#include \"%s\"\n" "${h#include/}" | ${CXX:-c++} -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Iinclude $(pkg-config --cflags-only-I eigen3) \
    -x c++ "$@" - || { echo "lint: $h does not compile alone" >&2; exit 1; }' _ {} "$@"
}

check_tidy() {
  local t
  t=$(tool clang-tidy) || exit "$missing"
  mkdir -p build
  cmake --preset cpu -B build/tidy -DCMAKE_UNITY_BUILD=OFF -DMUFFLE_PCH=OFF >build/configure-tidy.log 2>&1 ||
    { cat build/configure-tidy.log >&2; fail "tidy: see above"; return; }
  # In the build's list, and compiled without torch. clang 14 needs some help with the standard library (tests/fuzz/clang14).
  python3 - build/tidy/compile_commands.json "$PWD" <<'END' | xargs -P "$jobs" -n 1 "$t" -p build/tidy --extra-arg="-I$PWD/tests/fuzz/clang14" --quiet 2>/dev/null || fail "tidy: see above"
import json, sys
root = sys.argv[2] + "/"
for entry in json.load(open(sys.argv[1])):
    name = entry["file"]
    if name.startswith(root) and "/build/" not in name and "torch" not in entry["command"].lower() and "/tests/" not in name:
        print(name)
END
}

(($# > 0)) || set -- format shell headers
for what in "$@"; do
  case $what in
    format | shell | headers | tidy) "check_$what" ;;
    torch-headers) check_torch_headers ;;
    *) echo "lint: unknown check '$what'; see the head of $0" >&2; exit 2 ;;
  esac
done
if ((${#failed[@]} > 0)); then
  echo "lint: failed: ${failed[*]}" >&2
  exit 1
fi
echo "lint: $* ok"
