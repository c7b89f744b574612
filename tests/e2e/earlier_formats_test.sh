#!/usr/bin/env bash
# Files of an earlier format: a release and a model of version 2, as muffle wrote them in 2026, are refused (76) with a message that names
# both versions and what to do; nothing takes them for damaged ones. Never read by chance: a release is a promise about its noise.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
files=$(cd "$(dirname "${BASH_SOURCE[0]}")/../data-files/version-2" && pwd)

# refuses FILE 'REGEX' ARGS...
refuses() {
  says 76 "$(basename "$1")' $2" "$MUFFLE" "${@:3}"
  check "and does not say that it is damaged" bash -c "! grep -qiE 'checksum|damaged|truncated' '$work/log'"
}
release='is a muffle-release file of version 2; this muffle reads version [3-9] alone.*Use the muffle that wrote it'
for map in rff moments; do
  refuses "$files/$map-release.mfl" "$release" verify "$files/$map-release.mfl"
  refuses "$files/$map-release.mfl" "$release" train --release "$files/$map-release.mfl" --out "$work/train"
  check "nothing was trained" test ! -e "$work/train/model.mfl"
done
refuses "$files/rff-model.mfl" 'is a muffle-model file of version 2; this muffle reads version [3-9] alone' \
  sample --model "$files/rff-model.mfl" --out "$work/samples"
refuses "$files/moments-model.mfl" 'is a closed form of an earlier muffle.*train again' sample --model "$files/moments-model.mfl" --out "$work/samples"
check "nothing was drawn" test ! -e "$work/samples/samples.npz"
finish
