#!/usr/bin/env bash
# The Debian packages: built, or taken from the folder PACKAGES, looked at by lintian, installed in a fresh root, where an ordinary user makes
# a site, asks the doctor and runs the main job. Root alone; it needs mmdebstrap, lintian and a mirror of Debian.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
(($(id -u) == 0)) || { echo "only root makes a fresh root"; exit 77; }
for tool in mmdebstrap lintian; do command -v "$tool" >/dev/null || { echo "there is no $tool: apt-get install $tool"; exit 77; }; done

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=${PACKAGES:-$BUILD/packages}
if [[ -z ${PACKAGES:-} ]]; then
  # Not the target `package`, which builds all there is, and the tests.
  rm -f "$folder"/*.deb
  ends 0 cmake --build "$BUILD" -j2 --target muffle muffle-site muffle_manual
  start=$SECONDS
  ends 0 cpack --config "$BUILD/CPackConfig.cmake"
  echo "packed in $((SECONDS - start)) s"
fi
packages=("$folder"/muffle_*.deb "$folder"/muffle-site_*.deb)
du -h "${packages[@]}"
check "lintian has nothing to say" lintian --fail-on error,warning --suppress-tags-from-file "$root/cmake/lintian-left-as-is.txt" "${packages[@]}"
for package in "${packages[@]}"; do
  name=$(dpkg-deb -f "$package" Package)
  dpkg-deb -x "$package" "$work/$name"
  check "links of $name's pages lead somewhere" python3 "$root/tests/docs_links.py" --pages "$work/$name/usr/share/doc/$name"
done
check "muffle-site needs neither MPI nor LibTorch" bash -c "! dpkg-deb -f '${packages[1]}' Depends | grep -qE 'mpi|torch'"
check "muffle needs both" bash -c "dpkg-deb -f '${packages[0]}' Depends | grep -q 'openmpi-bin.*libtorch'"

# A root of Debian's with apt and nothing else.
root=$work/fresh
start=$SECONDS
mmdebstrap --quiet --variant=apt bookworm "$root"
echo "a root of $(du -sh "$root" | cut -f1) in $((SECONDS - start)) s"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
user() { chroot --userspec=steward:steward "$root" env -i PATH=/usr/bin:/bin HOME=/home/steward bash -c "cd && $1"; }
cp "${packages[@]}" "$root/root/"
cp /etc/resolv.conf "$root/etc/"
inside apt-get update -q >/dev/null
inside useradd --create-home steward

start=$SECONDS
ends 0 inside apt-get install -y -q --no-install-recommends "/root/${packages[1]##*/}"
echo "muffle-site installed in $((SECONDS - start)) s"
says 0 'fingerprint' user 'muffle-site site init --name NORTH --out north'
says 0 '^.TH MUFFLE.*CONFIG 5' user 'muffle-site man muffle-config' # which its one page names
check "no MPI came with it" bash -c "! ls '$root'/usr/lib/*/libmpi.so* 2>/dev/null"

start=$SECONDS
ends 0 inside apt-get install -y -q --no-install-recommends "/root/${packages[0]##*/}" dataset-fashion-mnist
echo "muffle installed in $((SECONDS - start)) s; the root has $(du -sh "$root" | cut -f1)"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null || true
trap 'umount "$root/dev/shm" "$root/dev" "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$work" || true' EXIT
ends 0 user 'muffle doctor --out doctor'
# shellcheck disable=SC2016  # the user's shell expands it
ends 0 user 'for c in mpirun pkill setsid setpriv; do command -v $c || exit 1; done' # which the launchers call
start=$SECONDS
ends 0 user 'muffle-local 2 run --config fashion-mnist-moments.toml --out run'
echo "the main job in $((SECONDS - start)) s"
there "$root/home/steward/run" release.mfl privacy.txt model.mfl metrics.json
finish
