#!/usr/bin/env bash
# The privacy ledger at the command line: a budget holds over run folders and processes, refusals have the arithmetic,
# a dry run does nothing, a job that is killed comes back without a second draw, and verify finds damage.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ledger=$work/ledgers/fashion.jsonl
mkdir "$work/ledgers"
job=("${small[@]}" --set data.id=fashion --set "privacy.ledger=$ledger" --set privacy.budget_epsilon=1.3)
show() { "$MUFFLE" ledger show --ledger "$ledger" --format json; }
charges() { show | grep -c '"charge":'; }
expect_code() {
  local rc=0
  "${@:2}" >"$work/log" 2>&1 || rc=$?
  ((rc == $1)) || { sed 's/^/    /' "$work/log" >&2; return 1; }
}

check "a dry run is allowed" expect_code 0 on 2 release "${job[@]}" --dry-run --out "$work/a"
check "and says what it would cost" grep -qE 'allowed: .*asks for mu 0.268.*budget is mu 0.3' "$work/log"
check "and wrote no ledger" test ! -e "$ledger"
check "and released nothing" test ! -e "$work/a/release.mfl"
mkdir "$work/loop" && ln -s release.mfl "$work/loop/release.mfl"
check "one that cannot look for a release is 74" expect_code 74 on 1 release "${job[@]}" --dry-run --out "$work/loop"
check "and says where" grep -q "loop/release.mfl' leads nowhere" "$work/log"

check "the first release" expect_code 0 on 2 release "${job[@]}" --out "$work/a"
check "says that its ledger is new" grep -q "new ledger created at $ledger, nothing spent yet" "$work/log"
check "is one charge" test "$(charges)" = 1
check "the chain is whole" expect_code 0 "$MUFFLE" ledger verify --ledger "$ledger" --data-id fashion
before=$(sha256sum "$work/a/release.mfl" "$ledger")
check "a requeued job" expect_code 0 on 1 release "${job[@]}" --out "$work/a"
check "hands out the same bytes for nothing" test "$before" = "$(sha256sum "$work/a/release.mfl" "$ledger")"
check "the statement is made again if it is missing" bash -c "rm '$work/a/privacy.json' && '$MUFFLE' release $(printf '%q ' "${job[@]}") --out '$work/a' >/dev/null 2>&1 && test -s '$work/a/privacy.json'"

for n in 1 2; do
  check "a second release of epsilon 1 is refused on $n rank(s)" expect_code 77 on $n release "${job[@]}" --out "$work/b"
  check "with the arithmetic" grep -qE 'spent so far mu 0\.268.* asks for mu 0\.268.* together mu 0\.379.*budget is mu 0\.3.*remains mu 0\.2' "$work/log"
  check "nothing was released" test ! -e "$work/b/release.mfl"
done
check "a dry run of it says so with 77" expect_code 77 on 1 release "${job[@]}" --dry-run --out "$work/b"
check "REFUSED" grep -q 'REFUSED' "$work/log"
check "a smaller one fits" expect_code 0 on 1 release "${job[@]}" --epsilon 0.2 --out "$work/c"
check "as a second charge" test "$(charges)" = 2

# Leaving the budget out does not lift it; another one is not slipped in; naming half of it is refused.
plain=("${small[@]}" --set data.id=fashion --set "privacy.ledger=$ledger")
check "the ledger's budget holds without the setting" expect_code 77 on 1 release "${plain[@]}" --out "$work/d"
check "another budget is refused" expect_code 78 on 1 release "${plain[@]}" --set privacy.budget_epsilon=9 --out "$work/d"
check "a budget needs a name and a place" expect_code 78 on 1 release "${small[@]}" --set privacy.budget_epsilon=1 --out "$work/d"
check "another data set's ledger is refused" \
  expect_code 76 on 1 release "${small[@]}" --set data.id=mnist --set "privacy.ledger=$ledger" --out "$work/d"
check "seeded noise fits into no budget" expect_code 77 on 1 release "${job[@]}" --epsilon 0.01 --insecure-seeded-noise 1 --out "$work/d"
check "people can raise it" expect_code 0 "$MUFFLE" ledger budget --ledger "$ledger" --data-id fashion --epsilon 9
check "and then it fits" expect_code 0 on 1 release "${plain[@]}" --out "$work/d"

# Whom the charges protect: mu of another unit is not added, whatever is left of the budget.
unit=("${plain[@]}" --epsilon 0.2 --set privacy.release_counts=true --out "$work/unit")
check "50 records a person are refused" expect_code 77 on 1 release "${unit[@]}" --set privacy.max_records_per_person=50
check "because of the unit" grep -q 'different units of privacy' "$work/log"
check "add/remove-one is refused" expect_code 77 on 1 release "${unit[@]}" --set privacy.adjacency=add-remove-one --set data.records=0
check "because of the unit, too" grep -q 'different units of privacy' "$work/log"
check "and cost nothing" test ! -e "$work/unit/release.mfl"
check "a relative ledger with a budget is refused" expect_code 78 on 1 release "${small[@]}" --set data.id=fashion \
  --set privacy.ledger=ledger.jsonl --set privacy.budget_epsilon=1 --out "$work/unit"
check "a ledger's name that is mistyped" expect_code 0 "$MUFFLE" ledger budget --ledger "$work/typo.jsonl" --data-id fashion --none
check "is told" grep -q 'new ledger created' "$work/log"
ln "$ledger" "$work/second-name.jsonl"
check "a ledger with two names is refused" expect_code 76 on 1 release "${plain[@]}" --out "$work/d"
rm "$work/second-name.jsonl"

# A lost artifact is not drawn again; nor is one that was exchanged accepted.
mv "$work/d/release.mfl" "$work/d/elsewhere"
check "a missing artifact is an error" expect_code 76 on 2 release "${plain[@]}" --out "$work/d"
check "that names its hash" grep -q "$(sha256sum "$work/d/elsewhere" | cut -c1-64)" "$work/log"
mv "$work/d/elsewhere" "$work/d/release.mfl"
check "put back it is fine" expect_code 0 on 1 release "${plain[@]}" --out "$work/d"

# Killed while it embeds: nothing is charged. (tests/release/release_kill_test kills at every other step.)
count=$(charges)
check "a job is killed while it embeds" expect_code 137 at embed.batch kill-before on 1 release "${plain[@]}" --out "$work/killed"
check "which costs nothing" test "$(charges)" = "$count"

# Told to stop while another process holds the ledger: 75 at once on every rank, for nothing; the same command goes through.
hold_ledger() {
  (flock 9 && : >"$work/held" && exec sleep 300) 9>>"$ledger.lock" &
  holder=$!
  until [[ -e $work/held ]]; do sleep 0.02; done
  rm "$work/held"
}
for moment in start charge; do
  for n in 1 2; do
    out=$work/waits-$moment-$n count=$(charges) rc=0
    waits=(release "${plain[@]}" --epsilon 0.2 --set runtime.deadline_s=200 --out "$out")
    if [[ $moment == start ]]; then
      hold_ledger # the coordinator, which waits for it, is told
      at ledger.wait#3 term each "$work/waited" "$n" "${waits[@]}" >"$work/log" 2>&1 || rc=$?
    else
      # Another rank is told while it embeds or waits for the coordinator's word; the ledger is taken before that.
      at_rank=$((n - 1)) at embed.batch wait each "$work/waited" "$n" "${waits[@]}" >"$work/log" 2>&1 &
      running=$!
      hold
      hold_ledger
      kill -TERM "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$out/logs/rank-$((n - 1)).jsonl" | tail -1)"
      let_go
      wait "$running" || rc=$?
    fi
    check "told at the $moment to stop, while another process holds the ledger, $n rank(s) end with 75" \
      test "$rc $(cat "$work/waited"/*.code | tr '\n' ' ')" = "75 $([[ $n == 1 ]] && echo '75 ' || echo '75 75 ')"
    if [[ $moment == start ]]; then check "and say what they waited for" grep -qs 'waiting for the privacy ledger' "$work/waited/0.stderr"; fi
    check "and charge nothing" test "$(charges)" = "$count"
    kill "$holder"
    check "the same command goes through" expect_code 0 on "$n" "${waits[@]}"
    check "for one charge" test "$(charges)" = $((count + 1))
  done
done

# Two processes, one run folder: one release.
count=$(charges)
on 1 release "${plain[@]}" --epsilon 0.3 --out "$work/twice" >"$work/log1" 2>&1 &
first=$!
on 1 release "${plain[@]}" --epsilon 0.3 --out "$work/twice" >"$work/log2" 2>&1 || { cat "$work/log2" >&2; fail "the second of two"; }
wait "$first" || { cat "$work/log1" >&2; fail "the first of two"; }
check "two at once are one charge" test "$(charges)" = $((count + 1))

# Without any settings there is a ledger beside the run folder.
mkdir "$work/default"
check "a job without ledger settings" expect_code 0 on 1 release "${small[@]}" --out "$work/default/run/"
check "has a ledger beside its folder" compgen -G "$work/default/ledger-unnamed-*.jsonl"

# Rollback and damage.
head=$(show | sed -n 's/.*"head": "\([0-9a-f]*\)".*/\1/p')
check "the head is found" expect_code 0 "$MUFFLE" ledger verify --ledger "$ledger" --head "$head"
cp "$ledger" "$work/whole"
sed -i '$d' "$ledger"
check "a rollback keeps the chain" expect_code 0 "$MUFFLE" ledger verify --ledger "$ledger"
check "but not the head" expect_code 76 "$MUFFLE" ledger verify --ledger "$ledger" --head "$head"
sed '2s/"mu":0\.2/"mu":0.1/' "$work/whole" >"$ledger"
check "a changed line is found" expect_code 76 "$MUFFLE" ledger verify --ledger "$ledger"
check "and named" grep -q 'line 2' "$work/log"
check "and nothing is released on it" expect_code 76 on 2 release "${plain[@]}" --out "$work/e"
check "nothing at all" test ! -e "$work/e/release.mfl"
sed '2d' "$work/whole" >"$ledger"
check "a missing line is found" expect_code 76 "$MUFFLE" ledger show --ledger "$ledger"
head -c -30 "$work/whole" >"$ledger"
check "a torn line is told" expect_code 76 "$MUFFLE" ledger verify --ledger "$ledger"
check "and mended by the next job" expect_code 0 on 1 release "${job[@]/privacy.budget_epsilon=1.3/privacy.budget_epsilon=9.0}" --out "$work/a"
check "so that it is whole again" expect_code 0 "$MUFFLE" ledger verify --ledger "$ledger"
check "a ledger that is not there is 74" expect_code 74 "$MUFFLE" ledger show --ledger "$work/none.jsonl"
check "ledger without a verb is 2" expect_code 2 "$MUFFLE" ledger
finish
