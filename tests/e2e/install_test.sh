#!/usr/bin/env bash
# What `cmake --install` puts into a prefix works from there after the prefix was moved: a small job by the installed launcher with an
# installed configuration, man pages, completions. And what was put down is taken away again.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[[ -f ${BUILD:?}/manual/written ]] || { echo "the manual was not built (sanitizers, or one target alone)"; exit 77; }

# A build folder may be installed by somebody else meanwhile: the manifest is ours for this moment alone.
check "it installs" cmake --install "$BUILD" --prefix "$work/prefix" >"$work/log" 2>&1
cp "$BUILD/install_manifest.txt" "$work/manifest"
for file in bin/muffle bin/muffle-site share/man/man8/muffle-site.8 share/bash-completion/completions/muffle-site \
  share/zsh/site-functions/_party_muffle share/fish/vendor_completions.d/muffle-site.fish bin/muffle-local bin/muffle-mpirun share/man/man1/muffle-run.1 share/man/man5/muffle-config.5 \
  share/bash-completion/completions/muffle share/zsh/site-functions/_muffle share/fish/vendor_completions.d/muffle.fish \
  share/muffle/configs/schemas/adult.toml share/muffle/cluster/whole.sbatch share/doc/muffle/LICENSE share/doc/muffle/docs/README.md; do
  check "there is $file" test -s "$work/prefix/$file"
done
missing=0
while read -r file; do [[ -e $file ]] || missing=$((missing + 1)); done <"$work/manifest"
check "the manifest is true" test "$missing" = 0
check "no file of the prefix holds its name" test -z "$(grep -rlF "$work/prefix" "$work/prefix" || true)"

mkdir "$work/moved" "$work/elsewhere"
mv "$work/prefix" "$work/moved/muffle-1"
bin=$work/moved/muffle-1/bin
cd "$work/elsewhere"
unset MUFFLE_BINARY
check "the moved program runs" "$bin/muffle" --version
check "so does muffle-site" "$bin/muffle-site" site init --name NORTH --out north
check "which needs neither MPI nor LibTorch nor CUDA" test -z "$(ldd "$bin/muffle-site" | awk '/not found/ { print; next } { print $1 }' | grep -E 'not found|mpi|pmix|torch|c10|cuda|nccl|xgboost')"
check "so do its launcher and its configurations, on 2 ranks" "$bin/muffle-local" 2 release --config fashion-mnist.toml --set "data.dir=$DATA" \
  --set map.rff.count=200 --out out
there out release.mfl privacy.txt
says 74 'model.mfl' "$bin/muffle" sample --config fashion-mnist.toml --out out # which the part with LibTorch looks for
check "by the name that the documentation has" "$bin/muffle" plan --config configs/adult.toml --format json
ln -s "$bin/muffle-local" "$work/link"
check "a link to a launcher finds the program, too" "$work/link" 1 --version

mv "$work/moved/muffle-1" "$work/prefix"
touch "$work/prefix/share/somebody-else"
check "it is taken away again" cmake -D "MANIFEST=$work/manifest" -P "$root/cmake/Uninstall.cmake"
check "all of it, and nothing else" test "$(find "$work/prefix" -type f)" = "$work/prefix/share/somebody-else"
check "with the folders of its own" test ! -e "$work/prefix/share/muffle"
finish
