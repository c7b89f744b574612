#!/usr/bin/env bash
# Secure aggregation and distributed noise with the built command: same bytes as without masks, keys that are checked, and
# a statement that says who was trusted.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

says() { grep -qE -- "$2" "$1"; }
seeded=("${small[@]}" --insecure-seeded-noise 5)

for n in 1 2 4; do
  on "$n" release "${seeded[@]}" --out "$work/plain-$n" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "plain, $n rank(s)"; }
  on "$n" release "${seeded[@]}" --secure-aggregation --out "$work/masked-$n" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "masked, $n rank(s)"; }
  check "$n rank(s): masks change no bit" test "$(payload "$work/plain-$n/release.mfl")" = "$(payload "$work/masked-$n/release.mfl")"
done
for n in 2 4; do
  check "$n rank(s): the same numbers as on one" test "$(payload "$work/plain-1/release.mfl")" = "$(payload "$work/plain-$n/release.mfl")"
done
check "the statement says masked" says "$work/masked-4/privacy.txt" 'Aggregation: masked'
check "and who is trusted" says "$work/masked-4/privacy.txt" 'not signed'

# Site keys.
for site in 0 1 2; do "$MUFFLE" keygen --out "$work/keys" --name "site$site" >"$work/log" || fail "keygen"; done
check "secret keys are their owner's" test "$(stat -c %a "$work/keys/site1.key")" = 600
rc=0; "$MUFFLE" keygen --out "$work/keys" --name site1 >"$work/log" 2>&1 || rc=$?
check "a key is never overwritten (74)" test "$rc" = 74
rc=0; "$MUFFLE" keygen --out "$work/keys" --name ../site9 >"$work/log" 2>&1 || rc=$?
check "names are checked (78)" test "$rc" = 78
for site in 0 1 2; do echo "$site $(cat "$work/keys/site$site.pub")"; done >"$work/sites.txt"
keys=(--secure-aggregation --set "privacy.site_key=$work/keys/site{rank}.key" --set "privacy.site_roster=$work/sites.txt")
on 3 release "${small[@]}" "${keys[@]}" --distributed-noise --set privacy.colluding_ranks=2 --out "$work/shares" >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; fail "distributed noise"; }
check "the statement says distributed noise" says "$work/shares/privacy.txt" 'Aggregation: distributed noise'
check "and against how many ranks" says "$work/shares/privacy.txt" 'any 2 of the ranks'
check "and that keys were signed" says "$work/shares/privacy.json" '"signed_keys": true'
check "it is private" says "$work/shares/privacy.json" '"private": true'
"$MUFFLE" verify "$work/shares/release.mfl" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "verify"; }
# A requeued job finds the release, on any number of ranks, and draws nothing again.
before=$(sha256sum <"$work/shares/release.mfl")
on 2 release "${small[@]}" "${keys[@]}" --distributed-noise --set privacy.colluding_ranks=2 --out "$work/shares" >"$work/log" 2>&1 || fail "again"
check "a release is kept" test "$before" = "$(sha256sum <"$work/shares/release.mfl")"

expect_error 78 'roster lists 3 ranks, but 2' 2 release "${small[@]}" "${keys[@]}"
expect_error 78 'needs privacy.secure_aggregation' 2 release "${small[@]}" --distributed-noise
expect_error 78 'number from 0 to 1' 2 release "${small[@]}" --secure-aggregation --distributed-noise --set privacy.colluding_ranks=2
expect_error 78 'number from 0 to 0' 1 release "${small[@]}" --secure-aggregation --distributed-noise
expect_error 78 'go together' 2 release "${small[@]}" --secure-aggregation --set "privacy.site_roster=$work/sites.txt"
mv "$work/keys/site2.key" "$work/keys/kept" && cp "$work/keys/site1.key" "$work/keys/site2.key"
expect_error 78 "rank 2 belongs to site 'site2'" 3 release "${small[@]}" "${keys[@]}"
mv "$work/keys/kept" "$work/keys/site2.key"
# Rank 2's own roster, with itself and strangers in it.
for r in 0 1 2; do cp "$work/sites.txt" "$work/sites-$r.txt"; done
"$MUFFLE" keygen --out "$work/stranger" --name site0 >/dev/null
{ echo "0 $(cat "$work/stranger/site0.pub")"; tail -2 "$work/sites.txt"; } >"$work/sites-2.txt"
expect_error 76 'site roster differs' 3 release "${small[@]}" --secure-aggregation \
  --set "privacy.site_key=$work/keys/site{rank}.key" --set "privacy.site_roster=$work/sites-{rank}.txt"
chmod 644 "$work/keys/site1.key"
expect_error 78 'chmod 600' 3 release "${small[@]}" "${keys[@]}"
finish
