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

verify() { ends "$1" "$MUFFLE" verify "${@:2}"; }
has() { check "it says $1" grep -qE -- "$1" "$work/log"; }

job=("${small[@]}" --set data.id=fashion --set "privacy.signing_key=$work/ours.key")
release=$work/runs/a/release.mfl
mkdir "$work/runs"

ends 74 on 2 release "${job[@]}" --set "privacy.signing_key=$work/none" --out "$work/runs/a"
check "a key that is not there costs nothing" bash -c "! grep -q INTENT '$work/runs/ledger-fashion.jsonl'"
chmod 644 "$work/ours.key" # others can read it
ends 78 on 1 release "${job[@]}" --out "$work/runs/a"
chmod 600 "$work/ours.key"

ends 0 on 2 release "${job[@]}" --out "$work/runs/a"
there "$work/runs/a" release.mfl.sig
verify 0 "$release" --require-signature "$work/ours.pub"
for line in 'pass +signature .*clinic-1' 'pass +ledger' 'pass +sigma .*by calibration' 'pass +delta' 'verdict: good' \
  'Unit of privacy: one person' 'Signed by: .clinic-1' 'epsilon .* at 1e-06' 'replace-one adjacency' 'Who is trusted'; do
  has "$line"
done
check "the secret is nowhere" bash -c "! grep -rq 9d61b19deffd5a60 '$work/runs'"
verify 0 "$release" --ledger "$work/runs/ledger-fashion.jsonl"
has 'verdict: good' # the ledger that was named vouches for it; one that is found beside it is checked, but vouches for nothing
verify 79 "$release"
has 'pass +ledger'
has 'verdict: consistent, but nobody vouches for it: .* the ledger beside it is unsigned'
mkdir "$work/alone"
cp "$release" "$work/alone/"
verify 79 "$work/alone/release.mfl"
has 'Demand a signature \(--require-signature KEY.pub\), name the ledger'
verify 0 "$work/alone/release.mfl" --allow-unsigned
has 'verdict: consistent, but nobody vouches for it: no signature checked, no ledger'
verify 0 "$release" --require-signature "$work/ours.pub" --format json
has '"format": "muffle-verification"'
verify 76 "$release" --require-signature "$work/other.pub"
verify 78 "$release" --require-signature "$work/ours.key"
check "what is no public key is not shown" bash -c "! grep -q 9d61b19d '$work/log'"
verify 74 "$work/none.mfl"
verify 2
verify 2 "$release" --require-signature "$work/ours.pub" --allow-unsigned

# Cut off between the artifact and its signature: the same signature again, and no second draw.
sha256sum "$release" "$release.sig" "$work/runs/ledger-fashion.jsonl" >"$work/before"
rm "$release.sig"
verify 76 "$release" --require-signature "$work/ours.pub"
verify 79 "$release"
has 'skipped +signature +not signed'
ends 0 on 1 release "${job[@]}" --out "$work/runs/a"
check "a requeued job makes the same bytes" sha256sum --quiet -c "$work/before"

# Damage.
size=$(stat -c %s "$release")
for at in 0 9 13 200 1200 $((size / 2)) $((size - 40)) $((size - 1)); do
  flip "$release" "$at" 4 "$work/bad.mfl"
  verify 76 "$work/bad.mfl"
  check "byte $at changed: there is no card" bash -c "! grep -q 'Privacy statement' '$work/log'"
done
cp "$release" "$work/bad.mfl"
sed 's/clinic-1/clinic-2/' "$release.sig" >"$work/bad.mfl.sig"
verify 76 "$work/bad.mfl"
rm "$work/bad.mfl.sig"
mkdir "$work/x"
ends 0 "$MUFFLE" ledger budget --ledger "$work/x/l.jsonl" --data-id fashion --none
verify 76 "$release" --ledger "$work/x/l.jsonl"
has 'has no charge'
sed -i '$d' "$work/runs/ledger-fashion.jsonl" # the COMMIT
verify 76 "$release"

ends 0 on 1 release "${small[@]}" --insecure-seeded-noise 1 --out "$work/seeded/a"
verify 77 "$work/seeded/a/release.mfl"
has 'N O T   P R I V A T E'

# Without noise: the same sums for any ranks, and every file says what it is.
for n in 1 2; do ends 0 on "$n" release "${small[@]}" --insecure-no-noise --set "data.id=none-$n" --out "$work/none-$n"; done
check "the exact sums do not depend on the ranks" test "$(payload "$work/none-1/release.mfl")" = "$(payload "$work/none-2/release.mfl")"
verify 77 "$work/none-1/release.mfl"
has 'N O T   P R I V A T E'
has 'no noise was added'
for file in release.mfl privacy.txt privacy.json; do check "$file says so" grep -qa 'NOT PRIVATE: no noise was added' "$work/none-1/$file"; done
check "and the ledger" grep -q '"secure_noise":false' "$work/ledger-none-1.jsonl"
ends 78 on 1 release "${small[@]}" --set data.id=none-1 --out "$work/none-1"
check "it stands for no private release" grep -q 'insecure-no-noise' "$work/log"
ends 2 "$MUFFLE" release "${small[@]}" --insecure-no-noise --insecure-seeded-noise 1 --out "$work/both"

# A limit of 1 byte is the only one that the kernel heeds where core dumps go to a program.
if [[ $(ulimit -Hc) != 0 ]] || (($(id -u) == 0)); then
  mkfifo "$work/pipe"
  "$MUFFLE" verify "$work/pipe" >/dev/null 2>&1 &
  waiting=$!
  check "no core is dumped, not even into a pipe" within 60 grep -qE '^Max core file size +1 +1 ' "/proc/$waiting/limits"
  kill "$waiting"
fi
finish
