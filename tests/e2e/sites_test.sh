#!/usr/bin/env bash
# Rounds between institutions: what docs/how-to/sites.md tells a newcomer to type makes a release; and what people's verbs
# refuse. No test here needs records of its own.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")

# The page, from nothing to a verified release.
page() {
  mkdir -p "$work/page/build/cpu/bin"
  ln -s "$MUFFLE" "$work/page/build/cpu/bin/muffle"
  check "docs/how-to/sites.md" python3 "$here/page.py" "$root/docs/how-to/sites.md" "$work/page"
  there "$work/page" status.html
}

words() { "$MUFFLE" "$1" card "--$1" "$2" | sed -n 's/^fingerprint *//p'; }
site() { "$MUFFLE" site "$1" --site "$2" "${@:3}"; }
coordinator() { "$MUFFLE" coordinator "$1" --coordinator "$work/trial" "${@:2}"; }

# A consortium of three, as the page makes it, with a person at NORTH who approves.
make_consortium() {
  exchange=$work/exchange
  mkdir "$exchange"
  says 0 'fingerprint  [a-z]{5}(-[a-z]{5}){7}' "$MUFFLE" coordinator init --name TRIAL --out "$work/trial" --exchange "$exchange"
  ends 0 "$MUFFLE" keygen --name alice --out "$work/people"
  local name folder other
  for name in NORTH SOUTH WEST; do
    folder=$work/${name,,}
    local approver=()
    if [[ $name == NORTH ]]; then approver=(--approver "$work/people/alice.pub"); fi
    ends 0 "$MUFFLE" site init --name $name --out "$folder" --key-holder --exchange "$exchange" "${approver[@]}"
    ends 0 coordinator admit $name --words "$(words site "$folder")"
  done
  for name in north south west; do
    ends 0 site pin "$work/$name" TRIAL --words "$(words coordinator "$work/trial")"
    for other in north south west; do
      [[ $other == "$name" ]] || ends 0 site pin "$work/$name" ${other^^} --words "$(words site "$work/$other")"
    done
  done
}

study() {
  cat <<'END'
[data]
schema = "stays.schema.toml"
[map.pairs]
kind = "pairs"
[privacy]
epsilon = 1.0
delta = 1e-5
adjacency = "add-remove-one"
max_records_per_person = 1
release_counts = true
END
}

schema() {
  cat <<'END'
[[columns]]
name = "days"
type = "integer"
lo = 0
hi = 63
bins = 8
[[columns]]
name = "ward"
type = "category"
values = ["surgery", "medicine", "children"]
END
}

# Outside the thorough tier: by what a hospital installs, which starts in a fraction of the time. The page has the same verbs of muffle.
people() {
  if [[ -z $thorough ]]; then local MUFFLE=${MUFFLE%/*}/muffle-site; fi
  make_consortium
  study >"$work/study.toml"
  schema >"$work/stays.schema.toml"
  propose=(coordinator propose --config "$work/study.toml" --title "stays")

  # Keys.
  says 78 'already' "$MUFFLE" site init --name NORTH --out "$work/north"
  check "keys are their owner's alone" test -z "$(find "$work/north/keys" -type f -name '*.key' -perm /077)"
  says 78 'no folder of a site' site card "$work"
  says 2 'no-records needs --key-holder' "$MUFFLE" site init --name X --out "$work/x" --no-records
  # Fingerprints.
  says 78 'another fingerprint than you were told.*Nothing was pinned' site pin "$work/north" SOUTH --words "$(words site "$work/west")"
  says 78 'eight words' site pin "$work/north" SOUTH --words 'that is us'
  says 78 "no card of 'EAST'" site pin "$work/north" EAST --words "$(words site "$work/west")"
  says 78 'own card' site pin "$work/north" NORTH --words "$(words site "$work/north")"
  # Before the charter, and before the members accept it.
  says 78 'no charter of this coordinator' "${propose[@]}"
  says 0 'no charter of .TRIAL. yet' site join "$work/north"
  says 2 'needs --title' coordinator charter
  says 0 'charter 1' coordinator charter --title Stays
  says 0 'says all of that already' coordinator charter
  says 78 'has not countersigned' "${propose[@]}"
  local name
  for name in north south west; do says 0 'has accepted it' site join "$work/$name"; done
  says 0 'has accepted it' site join "$work/north" # again
  # What the theorem refuses; a dry run.
  for wish in '--least 1' '--colluding 3' '--colluding-holders 3' '--holder NORTH --holder SOUTH'; do
    # shellcheck disable=SC2086
    ends 78 "${propose[@]}" $wish
  done
  says 0 'noise if 2 contribute: 1.323 sigma' "${propose[@]}" --dry-run
  check "a dry run proposes nothing" test -z "$(compgen -G "$exchange/*-proposal.mfm")"
  ends 0 "${propose[@]}"
  # The policy, and a person.
  says 0 'WAITS +approvals .*0 of 1' site show "$work/north"
  ends 0 "$MUFFLE" keygen --name mallory --out "$work/people"
  says 78 "'mallory' is none of policy.approvers" site approve "$work/north" --key "$work/people/mallory.key"
  says 0 "approvals +1 of 1: alice \\(20[0-9]{2}-[0-9]{2}-[0-9]{2}\\)" site approve "$work/north" --key "$work/people/alice.key"
  sed -i 's/^largest_epsilon = .*/largest_epsilon = 0.5/' "$work/south/site.toml"
  says 0 "REFUSED +epsilon " site show "$work/south"
  says 0 "declines, and will say so with the code 'policy'" site show "$work/south"
  sed -i 's/^approvals = .*/approvals = 2/' "$work/west/site.toml"
  says 78 'no round could ever be approved' site show "$work/west"
  sed -i 's/^approvals = .*/approvals = 0\nepsilon = 1/' "$work/west/site.toml"
  says 78 "unknown key 'policy.epsilon'" site show "$work/west"
  sed -i '/^epsilon = 1/d' "$work/west/site.toml"
  MUFFLE_POLICY__LARGEST_EPSILON=0.5 says 0 'policy.largest_epsilon = 1' site show "$work/west" # no environment overrides it
  # A key holder that has pinned nobody opens nothing, and keeps its round keys.
  cp -a "$work/north" "$work/unpinned"
  rm "$work/unpinned/pins"
  says 0 'waits for a person who pins its coordinator' "$MUFFLE" site step --site "$work/unpinned" --exchange "$exchange"
  check "its round keys are there" test "$(ls "$work/unpinned/keys/round-keys")" = "$(ls "$work/north/keys/round-keys")"
  check "settings are their owner's alone" test -z "$(find "$work/north/site.toml" -perm /077)"
  # A decline, once.
  says 0 'has declined' site decline "$work/west"
  ends 0 site decline "$work/west" --code budget
  says 0 'WEST +declined \(person\)' "$MUFFLE" round status "$exchange" --html "$work/status.html"
  check "the page is there and needs no other file" test -s "$work/status.html" -a "$(grep -cE 'https?:|<script|src=' "$work/status.html")" = 0
  # Files that are none of ours.
  local proposal
  says 0 'values +none' "$MUFFLE" round show "$exchange"/*-decline-*.mfm "$exchange"/charter-1.mfm
  says 76 'study.toml' "$MUFFLE" round show "$work/study.toml"
  proposal=$(compgen -G "$exchange/*-proposal.mfm")
  flip "$proposal" 300 1 "$work/flipped"
  cp "$work/flipped" "$exchange/card-0123456789abcdef.mfm"
  head -c 200000 /dev/urandom >"$exchange/round-keys-0123456789abcdef-0.mfm"
  says 0 'kept aside +card-0123456789abcdef.mfm' "$MUFFLE" round status "$exchange"
  cp "$proposal" "$work/kept"
  cp "$work/flipped" "$proposal"
  says 76 'no proposal' site show "$work/north"
  says 0 'kept aside .*-proposal.mfm' "$MUFFLE" round status "$exchange"
  cp "$work/kept" "$proposal"
  says 2 'none of the rounds begins like that|names no round' site show "$work/north" 0000
  # A member is revoked: the round's policy says no.
  says 0 'charter 2' coordinator charter --revoke WEST
  says 0 "REFUSED +charter .*revoked" site show "$work/north"
  says 78 'does not have this site' site join "$work/west"
  # Whoever carries the exchange takes the charter away: it was seen, and stays.
  rm "$exchange/charter-2.mfm"
  says 0 "REFUSED +charter .*charter 2 has revoked" site show "$work/north"
  says 0 'charter 2 says all of that already' coordinator charter
  check "the coordinator puts it back" test -s "$exchange/charter-2.mfm"
  # Whoever lost the keys makes new ones; what the records have spent stays spent.
  cp "$work/west/keys/CACHEDIR.TAG" "$work/tag"
  check "what lies beside the keys says so" grep -q -- '--ledger' "$work/tag"
  says 74 'lost.jsonl' "$MUFFLE" site init --name WEST --out "$work/west-again" --ledger "$work/lost.jsonl"
  check "and nothing was made" test ! -e "$work/west-again/keys"
  ends 0 "$MUFFLE" ledger budget --ledger "$work/old.jsonl" --data-id stays-of-west --epsilon 3
  says 0 "old.jsonl of 'stays-of-west' goes on: 0 charges" "$MUFFLE" site init --name WEST --out "$work/west-again" --ledger "$work/old.jsonl"
  check "its settings name the ledger" grep -qx "ledger = \"$work/old.jsonl\"" "$work/west-again/site.toml"
  check "and its records" grep -qx 'id = "stays-of-west"' "$work/west-again/site.toml"
  # The round is given up, once and for all to see.
  ends 2 coordinator abandon --code none
  says 0 'the round is abandoned' coordinator abandon
  says 69 'is abandoned \(person\)' coordinator step
  says 0 'abandoned by the coordinator \(person\)' "$MUFFLE" round status "$exchange"
}

# One key holder is gone for good once it has contributed: the release comes all the same.
stand_ins() {
  schema >"$work/stays.schema.toml"
  study >"$work/simulated.toml"
  { echo days,ward; for i in {1..90}; do echo "$((i % 40)),medicine"; done; } >"$work/stays.csv"
  says 0 'the others have stood in' "$MUFFLE" simulate --config "$work/simulated.toml" --set "data.dir=$work" --set data.features=stays.csv \
    --sites 4 --missing 1 --wait 30 --out "$work/gone"
  says 0 'SITE-4 +is missing: the others are asked to stand in' "$MUFFLE" round status "$work/gone/exchange"
  says 0 'of 1 key holders who were missing others gave the keys' "$MUFFLE" verify "$work"/gone/exchange/*-release.mfl \
    --evidence "$work/gone/exchange" --require-signature "$work/gone/coordinator/card.mfm"
  # What was kept for it is erased with the release; the receipts are there.
  local i
  for i in 1 2 3; do says 0 'sent a receipt' site step "$work/gone/site-$i"; done
  check "no share is left" test -z "$(find "$work"/gone/site-*/keys/shares -type f)"
}

# Likewise of two rounds: who is missing in the first is back in the second, in which another one is.
stand_ins_in_rounds() {
  { schema | sed /bins/d; echo 'role = "label"'; } >"$work/stays.schema.toml"
  study >"$work/learned.toml"
  { echo days,ward; for i in {1..90}; do echo "$((i % 40)),medicine"; done; } >"$work/stays.csv"
  ends 0 "$MUFFLE" simulate --config "$work/learned.toml" --set "data.dir=$work" --set data.features=stays.csv \
    --set privacy.rounds=2 --set data.expected_records=100 --sites 4 --missing 1 --wait 30 --folder --out "$work/back"
  local exchange=$work/back/exchange release first
  release=$(compgen -G "$exchange/*-release.mfl")
  first=$(basename "$(compgen -G "$exchange/*-sum.mfm")" -sum.mfm)
  says 0 'SITE-4 +is missing' "$MUFFLE" round status "$exchange" --round "$first"
  says 0 'SITE-3 +is missing' "$MUFFLE" round status "$exchange" --round "$(basename "$release" -release.mfl)"
  says 0 'round: earlier rounds +of the 1 before the last.*of 1 key holders who were missing' "$MUFFLE" verify "$release" \
    --evidence "$exchange" --require-signature "$work/back/coordinator/card.mfm"
  check "what the second counts is chosen again" grep -Eq '^ *pass +rounds' "$work/log"
  says 0 'opens nothing more' "$MUFFLE" site step "$first" --site "$work/back/site-4"
  rm "$exchange/$first-stand-in-request.mfm"
  says 76 'earlier rounds.*stand-in-request' "$MUFFLE" verify "$release" --evidence "$exchange" \
    --require-signature "$work/back/coordinator/card.mfm"
}

# Two rounds under one charge: bins are learned in the first, pairs counted in the second. Of so few records the label is a column like the others; sites
# compare their schema's file, which says "label".
rounds() {
  { schema | sed /bins/d; echo 'role = "label"'; } >"$work/stays.schema.toml"
  study >"$work/learned.toml"
  { echo days,ward; for i in {1..90}; do echo "$((i % 40)),medicine"; done; } >"$work/stays.csv"
  ends 0 "$MUFFLE" simulate --config "$work/learned.toml" --set "data.dir=$work" --set data.features=stays.csv \
    --set privacy.rounds=2 --set data.expected_records=100 --sites 3 --folder --out "$work/learned"
  local exchange=$work/learned/exchange release first
  release=$(compgen -G "$exchange/*-release.mfl")
  first=$(basename "$(compgen -G "$exchange/*-sum.mfm")" -sum.mfm)
  says 0 'round: earlier rounds +of the 1 before the last' "$MUFFLE" verify "$release" --evidence "$exchange" \
    --require-signature "$work/learned/coordinator/card.mfm" --ledger "$work/learned/site-2/ledger.jsonl"
  check "one charge a site" test "$(cat "$work"/learned/site-*/ledger.jsonl | grep -c INTENT)" = 3
  says 0 'round 1 of 2' "$MUFFLE" round status "$exchange"
  says 0 "label: 'ward', counted like any other column" "$MUFFLE" site show "$first" --site "$work/learned/site-1"
  check "its schema is the file's" grep -q "schema: $("$MUFFLE" schema hash "$work/stays.schema.toml")" "$work/log"
  says 0 'nothing more is charged' "$MUFFLE" site show "$(basename "$release" -release.mfl)" --site "$work/learned/site-1"
  ends 0 "$MUFFLE" keygen --name bob --out "$work/bob"
  says 78 'people approve its first one' "$MUFFLE" site approve "$(basename "$release" -release.mfl)" --key "$work/bob/bob.key" --site "$work/learned/site-1"
  local coordinator=(coordinator propose --coordinator "$work/learned/coordinator")
  says 78 'is proposed already' "$MUFFLE" "${coordinator[@]}" --after "$first"
  says 78 'is the last' "$MUFFLE" "${coordinator[@]}" --after "$(basename "$release" -release.mfl)"
  ends 2 "$MUFFLE" "${coordinator[@]}" --after "$first" --title again
  ends 2 "$MUFFLE" "${coordinator[@]}" --title again
  again_under_a_new_charter
  mkdir "$work/fit"
  cp "$release" "$work/fit/release.mfl"
  ends 0 "$MUFFLE" train --config "$work/learned.toml" --set "data.dir=$work" --set data.features=stays.csv --set privacy.rounds=2 \
    --set data.expected_records=100 --set model.generator=pair-graph --release "$work/fit/release.mfl" --out "$work/fit"
}

# A second release of theirs. A new charter declines its second round for nobody, people do; it is abandoned, proposed again, and released.
again_under_a_new_charter() {
  local i first second before
  proposals() { compgen -G "$work/learned/exchange/*-proposal.mfm" | sort; }
  coordinator=(--coordinator "$work/learned/coordinator")
  all() { for i in 1 2 3; do ends "$1" "$MUFFLE" site "$2" --site "$work/learned/site-$i"; done; }
  study | sed 's/^epsilon = .*/epsilon = 0.5/' >"$work/second.toml"
  ends 0 "$MUFFLE" coordinator propose "${coordinator[@]}" --title second --config "$work/second.toml" --set privacy.rounds=2 --set data.expected_records=100
  all 0 step
  ends 0 "$MUFFLE" coordinator step "${coordinator[@]}"
  all 0 step
  says 0 'published the noisy sum of round 1 of 2' "$MUFFLE" coordinator step "${coordinator[@]}"
  first=$("$MUFFLE" coordinator step "${coordinator[@]}" | sed -n 's/.*propose --after \([0-9a-f]*\).*/\1/p')
  before=$(proposals)
  ends 0 "$MUFFLE" coordinator propose "${coordinator[@]}" --after "$first"
  second=$(basename "$(comm -13 <(echo "$before") <(proposals))" -proposal.mfm)
  ends 0 "$MUFFLE" coordinator charter "${coordinator[@]}" --title "new rules"
  all 0 join
  for i in 1 2 3; do ends 0 "$MUFFLE" site decline "$second" --site "$work/learned/site-$i"; done
  says 69 'the round is abandoned: 0 contributions came' "$MUFFLE" coordinator step "${coordinator[@]}"
  says 69 "propose --after $first" "$MUFFLE" coordinator step "${coordinator[@]}"
  ends 0 "$MUFFLE" coordinator propose "${coordinator[@]}" --after "$first"
  all 69 step # for the round that was abandoned
  ends 69 "$MUFFLE" coordinator step "${coordinator[@]}"
  all 69 step
  says 69 'released [0-9]+ numbers' "$MUFFLE" coordinator step "${coordinator[@]}"
  check "two charges a site, for two releases" test "$(cat "$work"/learned/site-*/ledger.jsonl | grep -c INTENT)" = 6
}

# no_process_of FOLDER: none is there whose command line names it.
no_process_of() { ! pgrep -f -- "$1/" >/dev/null; }

# A whole round, each act a process; and what it refuses.
simulated() {
  schema >"$work/stays.schema.toml"
  study >"$work/simulated.toml"
  { echo days,ward; for i in {1..90}; do echo "$((i % 40)),medicine"; done; } >"$work/stays.csv"
  job=(simulate --config "$work/simulated.toml" --set "data.dir=$work" --set data.features=stays.csv)
  says 0 'the release is verified' "$MUFFLE" "${job[@]}" --sites 4 --out "$work/four"
  check "it went over TLS" grep -q 'is served at https://127.0.0.1:' "$work/log"
  # Three of them are key holders, who add the round up; SITE-4 is none.
  check "each site has the release" test "$(compgen -G "$work/four/site-*/exchange/*-release.mfl" | wc -l)" = 4
  check "SITE-4 has no contribution but its own" test "$(compgen -G "$work/four/site-4/exchange/*-contribution-*" | wc -l)" = 1
  check "a key holder has all" test "$(compgen -G "$work/four/site-1/exchange/*-contribution-*" | wc -l)" = 4
  check "no server is left" no_process_of "$work/four"
  says 0 'the release is verified' "$MUFFLE" "${job[@]}" --sites 3 --folder --out "$work/shared-folder"
  check "all saw one folder" test ! -e "$work/shared-folder/site-1/exchange"
  check "four sites were charged" test "$(cat "$work"/four/site-*/ledger.jsonl | grep -c INTENT)" = 4
  says 78 'holds a simulation already' "$MUFFLE" "${job[@]}" --sites 4 --out "$work/four"
  ends 2 "$MUFFLE" "${job[@]}" --sites 2 --out "$work/two"
  says 78 'reject-file.*Add .--set data.on_error=clamp' "$MUFFLE" "${job[@]}" --sites 3 --set data.on_error=reject-file --out "$work/strict"
  check "nothing was made" test ! -e "$work/strict"
  says 78 '4 or more' "$MUFFLE" "${job[@]}" --sites 3 --missing 1 --out "$work/few"
  says 74 'exit code 74' "$MUFFLE" "${job[@]}" --sites 3 --set data.features=none.csv --out "$work/none"
  check "no server is left after an error" no_process_of "$work/none"
  "$MUFFLE" "${job[@]}" --sites 3 --out "$work/killed" >"$work/killed.log" 2>&1 &
  local killed=$!
  check "a server is there" within 30 grep -q 'is served at' "$work/killed.log"
  kill -9 "$killed"
  wait "$killed" || true
  check "it ends with who started it" within 20 no_process_of "$work/killed"
  combined
}

# A site that came too late for the four makes a release alone, by the same plan, and joins them.
combined() {
  local made
  made=$(compgen -G "$work/four/exchange/*-release.mfl")
  { echo days,ward; for i in {1..40}; do echo "$((i % 40)),surgery"; done; } >"$work/late.csv"
  ends 0 "$MUFFLE" keygen --name LATE --out "$work/people"
  late=("$MUFFLE" release --config "$work/simulated.toml" --set "data.dir=$work" --set data.features=late.csv --set data.id=LATE)
  ends 0 "${late[@]}" --set "privacy.signing_key=$work/people/LATE.key" --out "$work/late"
  ends 0 "${late[@]}" --set "privacy.signing_key=$work/people/LATE.key" --set privacy.epsilon=0.5 --out "$work/other"
  ends 0 "${late[@]}" --out "$work/nameless"
  both=("$MUFFLE" release combine "$made" "$work/late/release.mfl")
  ends 2 "${both[@]}" --out "$work/five" # is anybody in both?
  says 0 'combined 2 releases' "${both[@]}" --people apart --signing-key "$work/people/LATE.key" --out "$work/five"
  says 78 'is there already' "${both[@]}" --people apart --out "$work/five"
  ends 0 "${both[@]}" --people shared --out "$work/shared"
  check "who is in both is promised less" python3 - "$work" <<'END'
import json, sys
one, both = (json.load(open(f"{sys.argv[1]}/{name}/privacy.json")) for name in ("five", "shared"))
assert one["epsilon"] == 1.0 and abs(both["mu"] / one["mu"] - 2**0.5) < 1e-9 and both["epsilon"] > 1.4, (one["epsilon"], both["epsilon"])
END
  says 78 'another plan' "$MUFFLE" release combine "$made" "$work/other/release.mfl" --people apart --out "$work/six"
  says 78 'nobody has signed it' "$MUFFLE" release combine "$made" "$work/nameless/release.mfl" --people apart --out "$work/six"
  says 78 'added to itself' "$MUFFLE" release combine "$made" "$made" --people apart --out "$work/six"
  parts=(--part "$made" --part "$work/late/release.mfl" --evidence "$work/four/exchange")
  says 0 'add up to it, bit for bit' "$MUFFLE" verify "$work/five/release.mfl" --require-signature "$work/people/LATE.pub" "${parts[@]}"
  says 79 'not added up again' "$MUFFLE" verify "$work/shared/release.mfl"
  flip "$work/five/release.mfl" 300 1 "$work/flipped.mfl"
  ends 76 "$MUFFLE" verify "$work/flipped.mfl" --allow-unsigned "${parts[@]}"
  # Models are made of it as of any other.
  ends 0 "$MUFFLE" train --config "$work/simulated.toml" --set model.generator=pair-graph --release "$work/five/release.mfl" --out "$work/five"
  ends 0 "$MUFFLE" sample --config "$work/simulated.toml" --set model.generator=pair-graph --count 50 --out "$work/five"
  check "50 records are there" test "$(wc -l <"$work/five/samples.csv")" = 51
}

# What people change at a site while it waits counts at once.
changed() {
  local name round
  make_consortium
  study >"$work/study.toml"
  schema >"$work/stays.schema.toml"
  ends 0 coordinator charter --title Stays
  for name in north south west; do ends 0 site join "$work/$name"; done
  { echo days,ward; for i in {1..60}; do echo "$((i % 40)),medicine"; done; } >"$work/north/stays.csv"
  sed -i -e 's/^format = .*/format = "csv"/' -e 's/^features = .*/features = "stays.csv"/' -e 's/^largest_epsilon = .*/largest_epsilon = 1.0/' "$work/north/site.toml"
  ends 0 coordinator propose --config "$work/study.toml" --title stays
  round=$(basename "$(compgen -G "$exchange/*-proposal.mfm")" -proposal.mfm)
  "$MUFFLE" site run --site "$work/north" --every 0.2 >"$work/run.log" 2>&1 &
  local run=$!
  check "it waits for a person" within 60 grep -q 'waits for approvals' "$work/run.log"
  sed -i 's/^largest_epsilon = .*/largest_epsilon = 0.5/' "$work/north/site.toml"
  check "a limit that was lowered binds at once" within 60 grep -q "declined with the code 'policy'.*epsilon" "$work/run.log"
  ends 0 coordinator abandon
  local code=0
  wait "$run" || code=$?
  check "it ends with the round" test "$code" = 69
  check "nothing was contributed" test -z "$(compgen -G "$exchange/$round-contribution-*")"
}

# People at a key holder are the release's gate; who declined is kept at the site, and told nobody.
gate() {
  local MUFFLE=${MUFFLE%/*}/muffle-site name round
  make_consortium
  study >"$work/study.toml"
  schema >"$work/stays.schema.toml"
  ends 0 coordinator charter --title Stays
  { echo days,ward; for i in {1..60}; do echo "$((i % 40)),medicine"; done; } >"$work/stays.csv"
  for name in north south west; do
    sed -i -e 's/^format = .*/format = "csv"/' -e "s|^features = .*|features = \"$work/stays.csv\"|" "$work/$name/site.toml"
    ends 0 site join "$work/$name"
  done
  sed -i 's/^opening_approvals = .*/opening_approvals = 2/' "$work/north/site.toml"
  says 78 'no sum could ever be opened' site show "$work/north"
  sed -i -e 's/^opening_approvals = .*/opening_approvals = 1/' -e 's/^approvals = .*/approvals = 0/' "$work/north/site.toml"
  ends 0 coordinator propose --config "$work/study.toml" --title declined
  ends 0 "$MUFFLE" keygen --name mallory --out "$work/people"
  says 78 "'mallory' is none of policy.approvers" site decline "$work/north" --key "$work/people/mallory.key"
  says 0 'alice has declined it for this site; that stays here' site decline "$work/north" --key "$work/people/alice.key"
  says 0 'alice said so on 20[0-9]{2}-[0-9]{2}-[0-9]{2}' site show "$work/north"
  check "the exchange does not say who" test -z "$(grep -rl "$(cut -d' ' -f2 "$work/people/alice.pub")" "$exchange")"
  round=$(basename "$(compgen -G "$exchange/*-proposal.mfm")" -proposal.mfm)
  ends 0 coordinator abandon
  ends 0 coordinator propose --config "$work/study.toml" --title stays
  round=$(next_round "$round")
  for name in north south west; do says 0 'contributed, for charge' site step "$work/$name" "$round"; done
  says 78 'has not sealed the round yet' site approve "$work/north" "$round" --opening --key "$work/people/alice.key"
  ends 0 coordinator step "$round"
  says 0 'waits for approvals of the opening: 0 of 1' site step "$work/north" "$round"
  check "nothing was opened" test -z "$(compgen -G "$exchange/$round-opening-*")"
  says 0 'WAITS +approvals of the opening' site show "$work/north" "$round"
  says 0 'sealed: 3 contributions count: NORTH, SOUTH, WEST' site approve "$work/north" "$round" --opening --key "$work/people/alice.key"
  for name in north south west; do says 0 'opened the sum of 3' site step "$work/$name" "$round"; done
  says 0 'released' coordinator step "$round"
  says 0 'sent a receipt' site step "$work/north" "$round"
}

# A site replaces its key while a round is under way: that round ends with the old one, the next has the new one, and the ledger counts both.
replaced() {
  local MUFFLE=${MUFFLE%/*}/muffle-site name first new
  make_consortium
  study >"$work/study.toml"
  schema >"$work/stays.schema.toml"
  ends 0 coordinator charter --title Stays
  { echo days,ward; for i in {1..60}; do echo "$((i % 40)),medicine"; done; } >"$work/stays.csv"
  ready() {
    sed -i -e 's/^format = .*/format = "csv"/' -e "s|^features = .*|features = \"$work/stays.csv\"|" -e 's/^approvals = .*/approvals = 0/' \
      -e 's/^approvers = .*/approvers = []/' "$1/site.toml"
  }
  for name in north south west; do
    ready "$work/$name"
    ends 0 site join "$work/$name"
  done
  ends 0 coordinator propose --config "$work/study.toml" --title first
  first=$(basename "$(compgen -G "$exchange/*-proposal.mfm")" -proposal.mfm)
  ends 0 site step "$work/north"
  # NORTH's new folder, with the ledger of the old one, whose people read the new fingerprint out.
  ends 0 "$MUFFLE" site init --name NORTH --out "$work/north-2" --key-holder --exchange "$exchange" --ledger "$work/north/ledger.jsonl"
  new=$(words site "$work/north-2")
  says 78 'admitted already|pinned already.*--replaces' coordinator admit NORTH --words "$new"
  says 0 'is pinned. The key that it had stays good' coordinator admit NORTH --words "$new" --replaces
  says 0 'charter 2' coordinator charter
  for name in south west; do
    says 78 'pinned already.*--replaces' site pin "$work/$name" NORTH --words "$new"
    ends 0 site pin "$work/$name" NORTH --words "$new" --replaces
    says 0 'has accepted it' site join "$work/$name"
    check "nobody counts as curious" test -z "$(site join "$work/$name" | grep 'NOT pinned')"
  done
  cp "$work/north/pins" "$work/north-2/pins"
  ready "$work/north-2"
  says 0 'has accepted it' site join "$work/north-2"
  says 78 'does not have this site' site join "$work/north"
  # The round under way ends by the key that it names.
  says 0 'ok +charter +version 1.*version 2 was seen since' site show "$work/south"
  says 0 'not invited' site show "$work/north-2"
  for name in south west; do says 0 'contributed, for charge' site step "$work/$name"; done
  ends 0 coordinator step
  for name in north south west; do says 0 'opened the sum of 3' site step "$work/$name"; done
  says 0 'released' coordinator step
  says 0 "data set 'NORTH', charge" "$MUFFLE" verify "$exchange/$first-release.mfl" --evidence "$exchange" --require-signature "$work/north/card.mfm" \
    --ledger "$work/north/ledger.jsonl"
  # The next one by the new key, from the same budget.
  ends 0 coordinator propose --config "$work/study.toml" --title second
  says 0 'The policy says yes' site show "$work/north-2" "$(next_round "$first")"
  for name in north-2 south west; do says 0 'contributed, for charge' site step "$work/$name"; done
  ends 0 coordinator step
  for name in north-2 south west; do says 0 'opened the sum of 3' site step "$work/$name"; done
  says 0 'released' coordinator step
  says 0 "charge of 'NORTH' for its contribution of data set 'NORTH', which is the one that counts" "$MUFFLE" verify \
    "$exchange/$(next_round "$first")-release.mfl" --evidence "$exchange" --require-signature "$work/north-2/card.mfm" --ledger "$work/north/ledger.jsonl"
  check "one ledger has both charges" test "$(grep -c INTENT "$work/north/ledger.jsonl")" = 2
  # The old key is of no more use: it is revoked by its fingerprint.
  says 0 'charter 3' coordinator charter --revoke "$(words site "$work/north")"
  says 0 'says all of that already' coordinator charter --revoke "$(words site "$work/north")"
  says 0 'has accepted it' site join "$work/north-2"
}
next_round() { find "$exchange" -name '*-proposal.mfm' ! -name "$1-*" -printf '%f\n' | sed s/-proposal.mfm//; }

# A site's act as a job of several ranks, and by muffle-site; the same round.
ranks() {
  local site_program name r
  site_program=$(dirname "$MUFFLE")/muffle-site
  make_consortium
  study >"$work/study.toml"
  schema >"$work/stays.schema.toml"
  ends 0 coordinator charter --title Stays
  for name in north south west; do
    { echo days,ward; for i in {1..60}; do echo "$((i % 40)),medicine"; done; } >"$work/$name/stays.csv"
    sed -i -e 's/^format = .*/format = "csv"/' -e 's/^features = .*/features = "stays.csv"/' -e 's/^largest_epsilon = .*/largest_epsilon = 1.0/' \
      -e 's/^approvals = .*/approvals = 0/' -e 's/^approvers = .*/approvers = []/' \
      -e 's/^deadline_s = .*/deadline_s = 60.0/' "$work/$name/site.toml"
    ends 0 "$site_program" site join --site "$work/$name"
  done
  says 0 'waits for|no round of this party' site step "$work/north"
  # What records hold must not decide who contributes.
  says 78 'not for rounds between institutions' coordinator propose --config "$work/study.toml" --set data.on_error=reject-file --title stays
  sed -i 's/^on_error = .*/on_error = "reject-file"/' "$work/north/site.toml"
  says 78 'not for rounds between institutions' site step "$work/north"
  sed -i 's/^on_error = .*/on_error = "clamp"/' "$work/north/site.toml"
  ends 0 coordinator propose --config "$work/study.toml" --title stays
  says 0 'does not fit the schema decides nothing' site show "$work/north"
  echo 12,nowhere >>"$work/north/stays.csv"
  # A line that is no row in the last rank's part: all end with the code, nobody is charged.
  echo 12,medicine,nowhere >>"$work/north/stays.csv"
  each "$work/said" 3 site step --site "$work/north" >"$work/log" 2>&1 || true
  check "all ranks end with 65 where one has a bad record" test "$(cat "$work"/said/*.code | tr '\n' ' ')" = "65 65 65 "
  check "nobody says which record it is" test -z "$(grep -rE 'nowhere|record 6[012]|line 6[23]' "$work"/said)"
  check "and nothing was charged" test -z "$(grep -l INTENT "$work/north/ledger.jsonl" 2>/dev/null)"
  sed -i '$d' "$work/north/stays.csv"
  says 2 'muffle-site is one process' on_ranks 2 "$site_program" site step --site "$work/north"
  # Rank 0 alone opens keys: another rank that did would never come back.
  says 0 'contributed, for charge' on_ranks 3 env LD_PRELOAD="$FILE_CALLS" MUFFLE_HANG=open@/keys/ MUFFLE_HANG_RANK=2 "$MUFFLE" site step --site "$work/north"
  cp "$work/north/outbox/"*-contribution-*.mfm "$work/first"
  says 0 "waits for the coordinator's seal" on 2 site step --site "$work/north"
  check "again, on other ranks: the same contribution" cmp "$work/first" "$work/north/outbox/"*-contribution-*.mfm
  says 0 'contributed, for charge' on 2 site step --site "$work/south"
  sed -i '1!d' "$work/west/stays.csv" # no record at all: nobody hears of it
  says 0 'contributed, for charge' "$site_program" site step --site "$work/west"
  ends 0 coordinator step
  for name in north south; do says 0 'opened the sum of 3' on 2 site step --site "$work/$name"; done
  says 0 'opened the sum of 3' "$site_program" site step --site "$work/west"
  says 0 'released' "$site_program" coordinator step --coordinator "$work/trial"
  says 0 'verdict: good' "$site_program" verify "$exchange"/*-release.mfl --evidence "$exchange" --require-signature "$work/trial/card.mfm"
  check "one charge each" test "$(cat "$work"/{north,south,west}/ledger.jsonl | grep -c INTENT)" = 3
  check "muffle-site needs neither MPI nor LibTorch nor CUDA" test -z "$(ldd "$site_program" | awk '{ print $1 }' | grep -E 'mpi|pmix|torch|c10|cuda|nccl|xgboost')"
}

parts=("$@")
if ((${#parts[@]} == 0)); then parts=(people simulated rounds stand_ins stand_ins_in_rounds page); fi
for part in "${parts[@]}"; do "$part"; done
finish
