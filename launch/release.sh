#!/usr/bin/env bash
# Makes what is given away of a version into a folder: source, Debian packages, checksums, and a signature of these.
#   launch/release.sh FOLDER [--key SSH-KEY] [--untested REASON]
# It refuses a tree with changes, a version whose part of CHANGELOG.md is not dated, and a tag that is another commit's; it runs the thorough
# tier first (hours), or writes REASON where it says what was not run. The packages are built from the archive, not from the checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() { sed -n '3p' "${BASH_SOURCE[0]}" | sed 's/^# *//' >&2; exit 2; }
folder=${1:-} key="" untested=""
[[ -n $folder && $folder != -* ]] || usage
shift
while (($#)); do
  case $1 in
    --key) key=${2:?} ;;
    --untested) untested=${2:?} ;;
    *) usage ;;
  esac
  shift 2
done
die() { echo "release: $*" >&2; exit 1; }

version=$(sed -nE 's/^project\(muffle VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
[[ -n $version ]] || die "no version in CMakeLists.txt"
[[ -z $(git status --porcelain) ]] || die "the tree has changes: commit them, or put them away"
grep -qE "^## $version \([0-9]{4}-[0-9]{2}-[0-9]{2}\)" CHANGELOG.md || die "CHANGELOG.md has no dated part '## $version (YYYY-MM-DD)'"
tagged=$(git rev-parse -q --verify "refs/tags/v$version^{commit}" || true)
[[ -z $tagged || $tagged == $(git rev-parse HEAD) ]] || die "v$version is another commit: raise the version"
[[ -z $key || -r $key ]] || die "no key at $key"
mkdir -p "$folder"
[[ -z $(ls -A "$folder") ]] || die "$folder is not empty"
folder=$(realpath "$folder")

start=$SECONDS
if [[ -z $untested ]]; then launch/test.sh thorough; fi
tested=$((SECONDS - start))

archive=$folder/muffle-$version.tar.xz
git archive --prefix="muffle-$version/" HEAD | xz -9e -T1 >"$archive"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xf "$archive"
start=$SECONDS
(
  cd "$work/muffle-$version"
  cmake --preset cpu -DMUFFLE_TESTS=OFF -DMUFFLE_WERROR=ON >"$work/log" 2>&1 && cmake --build build/cpu >>"$work/log" 2>&1 && cmake --build build/cpu --target package >>"$work/log" 2>&1
) || { tail -50 "$work/log" >&2; die "the archive does not build"; }
built=$((SECONDS - start))
cp "$work/muffle-$version/build/cpu/packages/"*.deb "$folder/"

{
  echo "muffle $version, commit $(git rev-parse HEAD), $(date -u +%F)"
  if [[ -n $untested ]]; then echo "NOT TESTED by launch/test.sh thorough: $untested"; else echo "launch/test.sh thorough: passed in $tested s"; fi
  echo "built from the archive in $built s by $(c++ --version | head -n 1)"
} >"$folder/RELEASE.txt"
(cd "$folder" && sha256sum -- * >SHA256SUMS.part && mv SHA256SUMS.part SHA256SUMS)
if [[ -n $key ]]; then ssh-keygen -Y sign -q -f "$key" -n muffle-release "$folder/SHA256SUMS"; fi
echo "release: $folder"
(cd "$folder" && du -b -- * | awk '{printf "  %12d  %s\n", $1, $2}')
[[ -n $key ]] || echo "release: not signed: --key names an SSH key; whoever checks runs ssh-keygen -Y verify -n muffle-release"
