#!/usr/bin/env bash
# Signed releases and `muffle verify` at the command line: exit codes, the privacy card, a job that was cut off between
# artifact and signature, and every kind of damage.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The key of RFC 8032, section 7.1, test 1: its secret half is public.
public=d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a
cat >"$work/ours.key" <<END
muffle-site-key 1
site clinic-1
secret 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60
public $public
END
chmod 600 "$work/ours.key"
echo "clinic-1 $public" >"$work/ours.pub"
echo "clinic-1 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c" >"$work/other.pub"

expect_code() {
  local rc=0
  "${@:2}" >"$work/log" 2>&1 || rc=$?
  ((rc == $1)) || { echo "exit $rc" >&2; sed 's/^/    /' "$work/log" >&2; return 1; }
}
says() { grep -qE -- "$1" "$work/log"; }
verify() { "$MUFFLE" verify "$@"; }

job=("${small[@]}" --set data.id=fashion --set "privacy.signing_key=$work/ours.key")
release=$work/runs/a/release.mfl
mkdir "$work/runs"

check "a key that is not there costs nothing" expect_code 74 on 2 release "${job[@]}" --set "privacy.signing_key=$work/none" --out "$work/runs/a"
check "no charge" bash -c "! grep -q INTENT '$work/runs/ledger-fashion.jsonl'"
chmod 644 "$work/ours.key"
check "nor one that others can read" expect_code 78 on 1 release "${job[@]}" --out "$work/runs/a"
chmod 600 "$work/ours.key"

check "a signed release" expect_code 0 on 2 release "${job[@]}" --out "$work/runs/a"
check "has a signature beside it" test -s "$release.sig"
check "it verifies" expect_code 0 verify "$release" --key "$work/ours.pub"
for line in 'pass +signature .*clinic-1' 'pass +ledger' 'pass +sigma .*by calibration' 'pass +delta' 'verdict: good' \
  'Unit of privacy: one person' 'Signed by: .clinic-1' 'epsilon .* at 1e-06' 'replace-one adjacency' 'Who is trusted'; do
  check "the card says $line" says "$line"
done
check "the secret is nowhere" bash -c "! grep -rq 9d61b19deffd5a60 '$work/runs'"
check "without a key, too" expect_code 0 verify "$release" --ledger "$work/runs/ledger-fashion.jsonl"
check "for the ledger that was named vouches" says 'verdict: good'
check "one that is found beside it" expect_code 0 verify "$release"
check "is checked" says 'pass +ledger'
check "but vouches for nothing" says 'verdict: consistent, but nobody vouches for it: .* the ledger beside it is unsigned'
mkdir "$work/alone"
cp "$release" "$work/alone/"
check "without key and ledger it is consistent" expect_code 0 verify "$work/alone/release.mfl"
check "and no more" says 'verdict: consistent, but nobody vouches for it: no signature checked, no ledger'
check "and as JSON" expect_code 0 verify "$release" --key "$work/ours.pub" --format json
check "with a format" says '"format": "muffle-verification"'
check "another key is 76" expect_code 76 verify "$release" --key "$work/other.pub"
check "a key file that is none is 78" expect_code 78 verify "$release" --key "$work/ours.key"
check "which does not show the secret" bash -c "! grep -q 9d61b19d '$work/log'"
check "a file that is not there is 74" expect_code 74 verify "$work/none.mfl"
check "no file at all is 2" expect_code 2 verify

# Cut off between the artifact and its signature: the same signature again, and no second draw.
sha256sum "$release" "$release.sig" "$work/runs/ledger-fashion.jsonl" >"$work/before"
rm "$release.sig"
check "a missing signature is 76 if demanded" expect_code 76 verify "$release" --key "$work/ours.pub"
check "and no matter if not" expect_code 0 verify "$release"
check "says so" says 'skipped +signature +not signed'
check "a requeued job" expect_code 0 on 1 release "${job[@]}" --out "$work/runs/a"
check "makes the same bytes" sha256sum --quiet -c "$work/before"

# Damage.
size=$(stat -c %s "$release")
flip() { # flip OFFSET: copies the release to $work/bad.mfl with one byte changed
  cp "$release" "$work/bad.mfl"
  local byte
  byte=$(od -An -tu1 -j "$1" -N 1 "$release")
  printf %b "\\x$(printf %02x $((byte ^ 4)))" | dd of="$work/bad.mfl" bs=1 seek="$1" conv=notrunc status=none
}
for at in 0 9 13 200 1200 $((size / 2)) $((size - 40)) $((size - 1)); do
  flip "$at"
  check "byte $at changed is 76" expect_code 76 verify "$work/bad.mfl"
  check "and there is no card" bash -c "! grep -q 'Privacy statement' '$work/log'"
done
cp "$release" "$work/bad.mfl"
sed 's/clinic-1/clinic-2/' "$release.sig" >"$work/bad.mfl.sig"
check "a changed signature is 76" expect_code 76 verify "$work/bad.mfl"
rm "$work/bad.mfl.sig"
check "another ledger is 76" bash -c "cd '$work' && mkdir x && '$MUFFLE' ledger budget --ledger x/l.jsonl --data-id fashion --none >/dev/null"
check "that has no such charge" expect_code 76 verify "$release" --ledger "$work/x/l.jsonl"
check "says so" says 'has no charge'
sed -i '$d' "$work/runs/ledger-fashion.jsonl"
check "a ledger without the COMMIT is 76" expect_code 76 verify "$release"

check "a release with seeded noise" expect_code 0 on 1 release "${small[@]}" --insecure-seeded-noise 1 --out "$work/seeded/a"
check "is 77" expect_code 77 verify "$work/seeded/a/release.mfl"
check "in loud letters" says 'N O T   P R I V A T E'

# A limit of 1 byte is the only one that the kernel heeds where core dumps go to a program.
if [[ $(ulimit -Hc) != 0 ]] || (($(id -u) == 0)); then
  mkfifo "$work/pipe"
  "$MUFFLE" verify "$work/pipe" >/dev/null 2>&1 &
  waiting=$!
  limited() {
    for _ in $(seq 100); do
      grep -qE '^Max core file size +1 +1 ' "/proc/$waiting/limits" && return
      sleep 0.1
    done
    return 1
  }
  check "no core is dumped, not even into a pipe" limited
  kill "$waiting"
fi
finish
