#!/usr/bin/env bash
# Rounds between institutions over HTTPS: muffle coordinator serve and muffle site sync, and in the thorough tier squid, tinyproxy and
# nginx in between, which are unpacked, never installed (PROXIES: a folder of theirs).
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# What a hospital installs; e2e.sites has the same verbs of muffle, and the thorough tier both. It starts in a fraction of the time.
if [[ -z $thorough ]]; then MUFFLE=$(dirname "$MUFFLE")/muffle-site; fi
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; wait || true; rm -rf "$work" || true' EXIT

words() { "$MUFFLE" "$1" card "--$1" "$2" | sed -n 's/^fingerprint *//p'; }
site() { "$MUFFLE" site "$1" --site "$work/$2" "${@:3}"; }
coordinator() { "$MUFFLE" coordinator "$1" --coordinator "$work/trial" "${@:2}"; }

# certificate NAME: NAME.pem and NAME.key for 127.0.0.1, signed by itself.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -addext "subjectAltName=IP:127.0.0.1" \
    -keyout "$work/$1.key" -out "$work/$1.pem" 2>/dev/null
}

# serve NAME ARGS...: starts a server, whose address is then in $address.
serve() {
  "$MUFFLE" coordinator serve --round "$work/exchange" "${@:2}" >"$work/$1.log" 2>&1 &
  servers+=($!)
  check "$1 serves" within 20 grep -q ' at http' "$work/$1.log"
  address=$(grep -oE 'https?://[0-9.:]+' "$work/$1.log" | head -1)
}

# syncs FETCHED SENT SITE ARGS...
syncs() { says 0 "^$1 fetched, $2 sent" site sync "${@:3}"; }

round_by_https() {
  mkdir "$work/exchange"
  certificate server
  certificate stranger
  says 78 'plain HTTP is served on this machine alone' "$MUFFLE" coordinator serve --round "$work/exchange" --listen 0.0.0.0:0
  says 74 'no folder' "$MUFFLE" coordinator serve --round "$work/nowhere" --listen 127.0.0.1:0
  serve first --listen 127.0.0.1:0 --cert "$work/server.pem" --key "$work/server.key"
  export MUFFLE_EXCHANGE_CA=$work/server.pem

  ends 0 "$MUFFLE" coordinator init --name TRIAL --out "$work/trial" --exchange "$work/exchange"
  local name found=1
  for name in NORTH SOUTH WEST; do
    ends 0 "$MUFFLE" site init --name $name --out "$work/${name,,}" --key-holder --exchange "$address"
    syncs $found 2 "${name,,}" # the cards and round keys of those before; its own two
    found=$((found + 2))
    ends 0 coordinator admit $name --words "$(words site "$work/${name,,}")"
  done
  ends 0 coordinator charter --title Stays --admission "by telephone"
  syncs 5 0 north # two cards, two messages of round keys, the charter
  ends 0 site pin north TRIAL --words "$(words coordinator "$work/trial")"
  ends 0 site join north
  syncs 0 1 north
  syncs 0 0 north
  check "what NORTH sent is what lies there" cmp "$work"/north/exchange/charter-1-*.mfm "$work"/exchange/charter-1-*.mfm
  # All else works where there is no network.
  if unshare -n true 2>/dev/null; then
    says 0 'Stays|fingerprint' unshare -n "$MUFFLE" site card --site "$work/north"
    says 69 'cannot be reached' unshare -n "$MUFFLE" site sync --site "$work/north"
  fi
}

networks_that_are_not_as_they_should_be() {
  says 78 'vouches for the certificate' env MUFFLE_EXCHANGE_CA="$work/stranger.pem" "$MUFFLE" site sync --site "$work/north"
  says 78 'there is nothing to carry' coordinator sync
  # A server that is started again, elsewhere, goes on from the folder.
  kill "${servers[0]}"
  check "SIGTERM ends it in order" wait "${servers[0]}"
  check "it says that it has stopped" grep -q 'has stopped' "$work/first.log"
  says 69 'cannot be reached' site sync north
  serve second --listen 127.0.0.1:0
  says 0 '^0 fetched, 0 sent' site sync north --exchange "$address"
  # A message of the site's own that is another one there, as after a restored backup.
  mkdir "$work/north/outbox"
  cp "$work"/north/exchange/card-*.mfm "$work/north/outbox"
  says 0 '^0 fetched' site sync north --exchange "$address"
  local mine
  mine=$(basename "$work"/north/exchange/charter-1-*.mfm)
  cp "$work/north/exchange/$mine" "$work/north/outbox"
  flip "$work/north/outbox/$mine" 200 1 "$work/north/exchange/$mine"
  says 76 'is there already' site sync north --exchange "$address"
  cp "$work/north/outbox/$mine" "$work/north/exchange/$mine"
}

# Several rounds and a key holder who is gone, through the server: who carries on, with what comes to whom.
far() { "$program" site "$1" --site "$work/far/${2,,}" "${@:3}"; }
# each ACT SITES...: there and back through the network, and in between the act.
each_far() {
  local act=$1 name
  for name in "${@:2}"; do
    ends 0 far sync "$name"
    says 0 "$act" far step "$name"
    ends 0 far sync "$name"
  done
}
far_coordinator() { "$program" coordinator "$1" --coordinator "$work/far/trial" "${@:2}"; }

make_far_consortium() {
  program=$(dirname "$MUFFLE")/muffle-site
  mkdir -p "$work/far/exchange"
  certificate far
  "$program" coordinator serve --round "$work/far/exchange" --listen 127.0.0.1:0 --cert "$work/far.pem" --key "$work/far.key" >"$work/far.log" 2>&1 &
  servers+=($!)
  check "the far server serves" within 20 grep -q ' at http' "$work/far.log"
  address=$(grep -oE 'https?://[0-9.:]+' "$work/far.log" | head -1)
  export MUFFLE_EXCHANGE_CA=$work/far.pem
  ends 0 "$program" coordinator init --name TRIAL --out "$work/far/trial" --exchange "$work/far/exchange"
  words_of() { "$program" "$1" card "--$1" "$work/far/$2" | sed -n 's/^fingerprint *//p'; }
  all=(NORTH SOUTH WEST EAST)
  local name other members=("${all[@]}" AUDIT) records
  for name in "${members[@]}"; do
    records=()
    if [[ $name == AUDIT ]]; then records=(--no-records); fi
    ends 0 "$program" site init --name "$name" --out "$work/far/${name,,}" --key-holder "${records[@]}" --exchange "$address"
    ends 0 far sync "$name"
    ends 0 far_coordinator admit "$name" --words "$(words_of site "${name,,}")"
    { echo days,ward; for i in {1..90}; do echo "$((i % 40)),medicine"; done; } >"$work/far/${name,,}/stays.csv"
    sed -i 's#^features = .*#features = "stays.csv"#; s#^format = .*#format = "csv"#' "$work/far/${name,,}/site.toml"
  done
  ends 0 far_coordinator charter --title Stays --admission "by telephone"
  for name in "${members[@]}"; do
    ends 0 far sync "$name"
    ends 0 far pin "$name" TRIAL --words "$(words_of coordinator trial)"
    for other in "${members[@]}"; do
      [[ $other == "$name" ]] || ends 0 far pin "$name" "$other" --words "$(words_of site "${other,,}")"
    done
    ends 0 far join "$name"
    ends 0 far sync "$name"
  done
  printf '[[columns]]\nname = "days"\ntype = "integer"\nlo = 0\nhi = 63\n[[columns]]\nname = "ward"\ntype = "category"\nvalues = ["surgery", "medicine"]\n' >"$work/stays.schema.toml"
  printf '[data]\nschema = "stays.schema.toml"\n[map.pairs]\nkind = "pairs"\n[privacy]\nepsilon = 0.5\ndelta = 1e-5\nadjacency = "add-remove-one"\nmax_records_per_person = 1\n' >"$work/far.toml"
}

rounds_by_https() {
  ends 0 far_coordinator propose --config "$work/far.toml" --title stays --set privacy.rounds=2 --set data.expected_records=360
  each_far 'contributed, for charge' "${all[@]}"
  says 0 'sealed 4 of 4' far_coordinator step
  each_far 'opened the sum of 4' NORTH SOUTH WEST
  says 0 'published the noisy sum of round 1 of 2' far_coordinator step
  local first release
  first=$(basename "$(compgen -G "$work/far/exchange/*-sum.mfm")" -sum.mfm)
  ends 0 far_coordinator propose --after "$first"
  each_far 'contributed, for charge' "${all[@]}"
  ends 0 far_coordinator step
  each_far 'opened the sum of 4' NORTH SOUTH WEST
  says 0 'released [0-9]+ numbers' far_coordinator step
  each_far 'the round is released' "${all[@]}"
  release=$(basename "$(compgen -G "$work/far/exchange/*-release.mfl")")
  check "EAST has the release" cmp "$work/far/exchange/$release" "$work/far/east/exchange/$release"
  check "two rounds, one charge each" test "$(cat "$work"/far/*/ledger.jsonl | grep -c INTENT)" = 4
  # Of contributions each site has its own alone, until it asks for the evidence.
  check "EAST has its own two contributions" test "$(compgen -G "$work/far/east/exchange/*-contribution-*" | wc -l)" = 2
  says 0 'no step of this site reads' far sync east
  says 0 'released: everybody can verify it' "$program" round status "$work/far/east/exchange" --round "${release%%-*}"
  says 0 'NORTH .*has verified what was published' "$program" round status "$work/far/exchange" --round "${release%%-*}"
  ends 76 "$program" verify "$work/far/east/exchange/$release" --evidence "$work/far/east/exchange" --require-signature "$work/far/trial/card.mfm"
  ends 0 far sync east --evidence
  says 0 'verdict: good' "$program" verify "$work/far/east/exchange/$release" --evidence "$work/far/east/exchange" \
    --require-signature "$work/far/trial/card.mfm" --ledger "$work/far/east/ledger.jsonl"
}

# Two rounds, of which the first learns bins, with a key holder, AUDIT, that is never heard of again: the others stand in for it in each.
gone_by_https() {
  local name first release
  local deadlines=(--days 0.05 --open-days 0.05)
  # By clocks that are three hours ahead, so that the days for openings are over.
  later() { LD_PRELOAD=$CLOCK_AHEAD MUFFLE_CLOCK_AHEAD=10800 "$@"; }
  local propose=(propose --config "$work/far.toml" --title gone --set privacy.rounds=2 --set data.expected_records=360 --missing-holders 1)
  for name in NORTH SOUTH EAST AUDIT; do propose+=(--holder "$name"); done
  for round in 1 2; do
    ends 0 far_coordinator "${propose[@]}" "${deadlines[@]}"
    each_far 'contributed, for charge' "${all[@]}"
    says 0 'sealed 4 of 4' far_coordinator step
    each_far 'opened the sum of 4' NORTH SOUTH EAST
    says 0 'asked the key holders who have opened to stand in for AUDIT' later far_coordinator step
    later each_far 'stood in for AUDIT' NORTH SOUTH EAST
    says 0 'others stood in for AUDIT' later far_coordinator step
    if ((round == 1)); then
      check "the first round has its sum" grep -q 'published the noisy sum of round 1 of 2' "$work/log"
      first=$(sed -nE 's/^round ([0-9a-f]{16}) \(gone\).*/\1/p' "$work/log")
      propose=(propose --after "$first")
    fi
  done
  check "the second one is the release" grep -Eq 'released [0-9]+ numbers' "$work/log"
  each_far 'sent a receipt: contributions and openings add up' NORTH SOUTH EAST
  for name in north south east; do
    check "$name has no share of a key left" test -z "$(find "$work/far/$name/keys/shares" -type f)"
  done
  check "one charge a site for each release" test "$(cat "$work"/far/*/ledger.jsonl | grep -c INTENT)" = 8
  ends 0 far sync west --evidence
  release=$(find "$work/far/west/exchange" -name '*-release.mfl' -newer "$work/far/exchange/$first-sum.mfm")
  says 0 'round: earlier rounds .*of 1 key holders who were missing others gave the keys' "$program" verify "$release" \
    --evidence "$work/far/west/exchange" --require-signature "$work/far/trial/card.mfm" --ledger "$work/far/west/ledger.jsonl"
  check "what the second counts is chosen again" grep -Eq '^ *pass +rounds' "$work/log"
  says 0 'AUDIT +is missing: the others are asked to stand in' "$program" round status "$work/far/exchange" --round "$first"
  each_far 'opens nothing more' AUDIT # who comes back after all
}

# Who connects shows a certificate, by the request that `site init` made.
client_certificates() {
  local north=$work/far/north
  check "the request is signed by its key" openssl req -in "$north/tls.csr" -noout -verify
  check "it names the site" grep -q 'CN *= *NORTH' <(openssl req -in "$north/tls.csr" -noout -subject)
  check "the key is its owner's alone" test -z "$(find "$north/keys/tls.key" -perm /077)"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout "$work/authority.key" -out "$work/authority.pem" 2>/dev/null
  openssl x509 -req -in "$north/tls.csr" -CA "$work/authority.pem" -CAkey "$work/authority.key" -days 2 -out "$north/north.pem" 2>/dev/null
  "$program" coordinator serve --round "$work/far/exchange" --listen 127.0.0.1:0 --cert "$work/far.pem" --key "$work/far.key" \
    --client-ca "$work/authority.pem" >"$work/strict.log" 2>&1 &
  servers+=($!)
  check "the strict server serves" within 20 grep -q ' at http' "$work/strict.log"
  address=$(grep -oE 'https?://[0-9.:]+' "$work/strict.log" | head -1)
  ends 69 far sync north --exchange "$address"
  sed -i 's#^client_cert = .*#client_cert = "north.pem"#; s#^client_key = .*#client_key = "keys/tls.key"#' "$north/site.toml"
  ends 0 far sync north --exchange "$address"
}

# A round that the disk cannot hold is not proposed.
no_room() {
  local before after
  sed 's/^hi = 63/&\nbins = 8/' "$work/stays.schema.toml" >"$work/bins.schema.toml"
  sed 's/stays.schema/bins.schema/' "$work/far.toml" >"$work/bins.toml"
  before=$(find "$work/far/trial/proposals" "$work/far/exchange" | sha256sum)
  # shellcheck disable=SC2016
  says 74 'there is no room for [0-9]+ bytes' bash -c 'trap "" XFSZ; ulimit -f 500; exec "$0" "$@"' "$program" coordinator propose \
    --coordinator "$work/far/trial" --config "$work/bins.toml" --title large
  after=$(find "$work/far/trial/proposals" "$work/far/exchange" | sha256sum)
  check "nothing was proposed" test "$before" = "$after"
}

# A whole round, whose contributions and openings have several parts: what touches records or keys runs where there is no network at all,
# what carries messages goes through the proxies, a different one for each site.
steps_without_a_network() {
  local name other
  for name in north south west; do
    ends 0 behind $name site sync $name
    [[ $name == north ]] || ends 0 site pin $name TRIAL --words "$(words coordinator "$work/trial")"
    for other in north south west; do
      [[ $other == "$name" ]] || ends 0 site pin $name ${other^^} --words "$(words site "$work/$other")"
    done
    ends 0 site join $name
    ends 0 behind $name site sync $name
    sed -i "s#^dir = .*#dir = \"$work\"#; s#^features = .*#features = \"stays.csv\"#; s#^format = .*#format = \"csv\"#" "$work/$name/site.toml"
  done
  printf '[[columns]]\nname = "%s"\ntype = "integer"\nlo = 0\nhi = 799\nbins = 800\n' ward stay >"$work/stays.schema.toml"
  printf '[data]\nschema = "stays.schema.toml"\n[map.pairs]\nkind = "pairs"\n[privacy]\nepsilon = 1.0\ndelta = 1e-5\nadjacency = "add-remove-one"\nmax_records_per_person = 1\n' >"$work/study.toml"
  printf 'ward,stay\n7,300\n700,0\n799,799\n' >"$work/stays.csv"
  says 0 'Proposed' coordinator propose --config "$work/study.toml" --title stays
  local act
  for act in contributed opened; do
    for name in north south west; do
      ends 0 behind $name site sync $name
      says 0 "$act" unshare -n "$MUFFLE" site step --site "$work/$name"
      says 0 '^[0-9]+ fetched, 1 sent' behind $name site sync $name
    done
    says 0 'sealed 3 of 3|released' unshare -n "$MUFFLE" coordinator step --coordinator "$work/trial"
  done
  for name in north south west; do
    ends 0 behind $name site sync $name
    says 0 'the round is released' unshare -n "$MUFFLE" site step --site "$work/$name"
  done
  says 0 'released: everybody can verify it' "$MUFFLE" round status "$work/north/exchange"
  # The evidence, through nginx and its buffers, and the release with it.
  ends 0 behind west site sync west --evidence
  contribution_bytes=$(stat -c %s "$(compgen -G "$work/west/exchange/*-contribution-*" | head -1)")
  check "a contribution has more than one part" test "$contribution_bytes" -gt $((4 << 20))
  says 0 'verdict: good' "$MUFFLE" verify "$(compgen -G "$work/west/exchange/*-release.mfl")" --evidence "$work/west/exchange" \
    --require-signature "$work/trial/card.mfm"
}

round_by_https
networks_that_are_not_as_they_should_be
if [[ -z $thorough ]]; then
  make_far_consortium
  rounds_by_https
  gone_by_https
  client_certificates
  no_room
fi
if [[ -n $thorough ]]; then
  # shellcheck source=tests/e2e/proxies.sh
  source "$(dirname "${BASH_SOURCE[0]}")/proxies.sh"
  steps_without_a_network
  what_was_captured
fi
((failures == 0))
