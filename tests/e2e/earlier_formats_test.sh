#!/usr/bin/env bash
# Files of an earlier format: a release and a model of version 2, as muffle wrote them in 2026, are refused (76) with a message that names
# both versions and what to do; nothing takes them for damaged ones. Never read by chance: a release is a promise about its noise.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
files=$(cd "$(dirname "${BASH_SOURCE[0]}")/../data-files/version-2" && pwd)

# refuses FILE ARGS...
refuses() {
  local file=$1 rc=0
  shift
  "$MUFFLE" "$@" >"$work/log" 2>&1 || rc=$?
  check "$1 of $(basename "$file"): 76, not $rc" test "$rc" = 76
  check "and says of which version it is, and what this muffle reads" grep -qE "$(basename "$file")' is a muffle-release file of version 2; this muffle reads version [3-9] alone" "$work/log"
  check "not that it is damaged" bash -c "! grep -qiE 'checksum|damaged|truncated' '$work/log'"
}
for map in rff moments; do
  refuses "$files/$map-release.mfl" verify "$files/$map-release.mfl"
  refuses "$files/$map-release.mfl" train --release "$files/$map-release.mfl" --out "$work/train"
  check "nothing was trained" test ! -e "$work/train/model.mfl"
done
finish
