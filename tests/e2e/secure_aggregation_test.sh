#!/usr/bin/env bash
# Secure aggregation and distributed noise with the built command: same bytes as without masks, keys that are checked, and
# a statement that says who was trusted.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

states() { check "it states $2" grep -qE -- "$2" "$work/$1"; }
seeded=("${small[@]}" --insecure-seeded-noise 5)

same_bits() {
  for n in 1 2 4; do
    ends 0 on "$n" release "${seeded[@]}" --out "$work/plain-$n"
    ends 0 on "$n" release "${seeded[@]}" --secure-aggregation --out "$work/masked-$n"
    check "$n rank(s): masks change no bit" test "$(payload "$work/plain-$n/release.mfl")" = "$(payload "$work/masked-$n/release.mfl")"
  done
  for n in 2 4; do
    check "$n rank(s): the same numbers as on one" test "$(payload "$work/plain-1/release.mfl")" = "$(payload "$work/plain-$n/release.mfl")"
  done
  states masked-4/privacy.txt 'Aggregation: masked'
  states masked-4/privacy.txt 'not signed'
}

site_keys() {
  for site in 0 1 2; do "$MUFFLE" keygen --out "$work/keys" --name "site$site" >"$work/log" || fail "keygen"; done
  check "secret keys are their owner's" test "$(stat -c %a "$work/keys/site1.key")" = 600
  ends 74 "$MUFFLE" keygen --out "$work/keys" --name site1
  ends 78 "$MUFFLE" keygen --out "$work/keys" --name ../site9
  for site in 0 1 2; do echo "$site $(cat "$work/keys/site$site.pub")"; done >"$work/sites.txt"
  keys=(--secure-aggregation --set "privacy.site_key=$work/keys/site{rank}.key" --set "privacy.site_roster=$work/sites.txt")
}

signed_shares() {
  ends 0 on 3 release "${small[@]}" "${keys[@]}" --distributed-noise --set privacy.colluding_ranks=2 --out "$work/shares"
  states shares/privacy.txt 'Aggregation: distributed noise'
  states shares/privacy.txt 'any 2 of the ranks'
  states shares/privacy.json '"signed_keys": true'
  states shares/privacy.json '"private": true'
  ends 0 "$MUFFLE" verify "$work/shares/release.mfl" --allow-unsigned
  # A requeued job finds the release, on any number of ranks, and draws nothing again.
  before=$(sha256sum <"$work/shares/release.mfl")
  ends 0 on 2 release "${small[@]}" "${keys[@]}" --distributed-noise --set privacy.colluding_ranks=2 --out "$work/shares"
  check "a release is kept" test "$before" = "$(sha256sum <"$work/shares/release.mfl")"
}

refusals() {
  expect_error 78 'roster lists 3 parties, but 2 ranks' 2 release "${small[@]}" "${keys[@]}"
  expect_error 78 'needs privacy.secure_aggregation' 2 release "${small[@]}" --distributed-noise
  expect_error 78 'number from 0 to 1' 2 release "${small[@]}" --secure-aggregation --distributed-noise --set privacy.colluding_ranks=2
  expect_error 78 'number from 0 to 0' 1 release "${small[@]}" --secure-aggregation --distributed-noise
  expect_error 78 'go together' 2 release "${small[@]}" --secure-aggregation --set "privacy.site_roster=$work/sites.txt"
  mv "$work/keys/site2.key" "$work/keys/kept" && cp "$work/keys/site1.key" "$work/keys/site2.key"
  expect_error 78 "party 2 belongs to site 'site2'" 3 release "${small[@]}" "${keys[@]}"
  mv "$work/keys/kept" "$work/keys/site2.key"
  # Ranks 0 and 1 are one site's: what they know together is more than one rank's.
  { echo "0 $(cat "$work/keys/site0.pub")"; echo "1 $(cat "$work/keys/site0.pub")"; echo "2 $(cat "$work/keys/site2.pub")"; } >"$work/two-sites.txt"
  cp "$work/keys/site0.key" "$work/keys/of0.key"; cp "$work/keys/site0.key" "$work/keys/of1.key"; cp "$work/keys/site2.key" "$work/keys/of2.key"
  two=(--secure-aggregation --set "privacy.site_key=$work/keys/of{rank}.key" --set "privacy.site_roster=$work/two-sites.txt")
  expect_error 78 'holds 2 of the ranks .* set privacy.colluding_ranks to 2 or more' 3 release "${small[@]}" "${two[@]}" --distributed-noise
  expect_error 78 'holds 1 of the ranks .* set privacy.colluding_ranks to 1 or more' 3 release "${small[@]}" "${keys[@]}" --distributed-noise --set privacy.colluding_ranks=0
  ends 0 on 3 release "${small[@]}" "${two[@]}" --distributed-noise --set privacy.colluding_ranks=2 --out "$work/two-shares"
  states two-shares/privacy.txt '2 sites take part, none with more than 2 of the ranks'
  ends 0 on 3 release "${small[@]}" "${two[@]}" --out "$work/two-masked"
  states two-masked/privacy.txt "is the other site's own"
  # Rank 2's own roster, with itself and strangers in it.
  for r in 0 1 2; do cp "$work/sites.txt" "$work/sites-$r.txt"; done
  "$MUFFLE" keygen --out "$work/stranger" --name site0 >/dev/null
  { echo "0 $(cat "$work/stranger/site0.pub")"; tail -2 "$work/sites.txt"; } >"$work/sites-2.txt"
  expect_error 76 'site roster differs' 3 release "${small[@]}" --secure-aggregation \
    --set "privacy.site_key=$work/keys/site{rank}.key" --set "privacy.site_roster=$work/sites-{rank}.txt"
  chmod 644 "$work/keys/site1.key"
  expect_error 78 'chmod 600' 3 release "${small[@]}" "${keys[@]}"
}

side_by_side same_bits 'site_keys signed_shares' 'site_keys refusals'
