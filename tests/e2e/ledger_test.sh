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

says 0 'allowed: .*asks for mu 0.268.*budget is mu 0.3' on 2 release "${job[@]}" --dry-run --out "$work/a"
check "a dry run wrote no ledger and released nothing" test ! -e "$ledger" -a ! -e "$work/a/release.mfl"
mkdir "$work/loop" && ln -s release.mfl "$work/loop/release.mfl"
says 74 "loop/release.mfl' leads nowhere" on 1 release "${job[@]}" --dry-run --out "$work/loop"

says 0 "new ledger created at $ledger, nothing spent yet" on 2 release "${job[@]}" --out "$work/a"
check "the first release is one charge" test "$(charges)" = 1
ends 0 "$MUFFLE" ledger verify --ledger "$ledger" --data-id fashion
before=$(sha256sum "$work/a/release.mfl" "$ledger")
ends 0 on 1 release "${job[@]}" --out "$work/a"
check "a requeued job hands out the same bytes for nothing" test "$before" = "$(sha256sum "$work/a/release.mfl" "$ledger")"
rm "$work/a/privacy.json"
ends 0 on 1 release "${job[@]}" --out "$work/a"
check "the statement is made again if it is missing" test -s "$work/a/privacy.json"

arithmetic='spent so far mu 0\.268.* asks for mu 0\.268.* together mu 0\.379.*budget is mu 0\.3.*remains mu 0\.2'
for n in 1 2; do says 77 "$arithmetic" on $n release "${job[@]}" --out "$work/b"; done
check "what is refused is not released" test ! -e "$work/b/release.mfl"
says 77 'REFUSED' on 1 release "${job[@]}" --dry-run --out "$work/b"
ends 0 on 1 release "${job[@]}" --epsilon 0.2 --out "$work/c"
check "a smaller one fits, as a second charge" test "$(charges)" = 2

# Leaving the budget out does not lift it; another one is not slipped in; naming half of it is refused; so is another data set.
plain=("${small[@]}" --set data.id=fashion --set "privacy.ledger=$ledger")
ends 77 on 1 release "${plain[@]}" --out "$work/d"
ends 78 on 1 release "${plain[@]}" --set privacy.budget_epsilon=9 --out "$work/d"
ends 78 on 1 release "${small[@]}" --set privacy.budget_epsilon=1 --out "$work/d"
ends 76 on 1 release "${small[@]}" --set data.id=mnist --set "privacy.ledger=$ledger" --out "$work/d"
ends 77 on 1 release "${job[@]}" --epsilon 0.01 --insecure-seeded-noise 1 --out "$work/d" # it fits into no budget
ends 0 "$MUFFLE" ledger budget --ledger "$ledger" --data-id fashion --epsilon 9 # people can raise it
ends 0 on 1 release "${plain[@]}" --out "$work/d"

# Whom the charges protect: mu of another unit is not added, whatever is left of the budget.
unit=("${plain[@]}" --epsilon 0.2 --set privacy.release_counts=true --out "$work/unit")
says 77 'different units of privacy' on 1 release "${unit[@]}" --set privacy.max_records_per_person=50
says 77 'different units of privacy' on 1 release "${unit[@]}" --set privacy.adjacency=add-remove-one --set data.records=0
check "and cost nothing" test ! -e "$work/unit/release.mfl"
# Ledgers that would not be found again: a relative path with a budget; a name that is mistyped, which is told; a second name.
ends 78 on 1 release "${small[@]}" --set data.id=fashion --set privacy.ledger=ledger.jsonl --set privacy.budget_epsilon=1 --out "$work/unit"
says 0 'new ledger created' "$MUFFLE" ledger budget --ledger "$work/typo.jsonl" --data-id fashion --none
ln "$ledger" "$work/second-name.jsonl"
ends 76 on 1 release "${plain[@]}" --out "$work/d"
rm "$work/second-name.jsonl"

# A lost artifact is not drawn again; nor is one that was exchanged accepted.
mv "$work/d/release.mfl" "$work/d/elsewhere"
says 76 "$(sha256sum "$work/d/elsewhere" | cut -c1-64)" on 2 release "${plain[@]}" --out "$work/d"
mv "$work/d/elsewhere" "$work/d/release.mfl"
ends 0 on 1 release "${plain[@]}" --out "$work/d"

# Killed while it embeds: nothing is charged. (tests/release/release_kill_test kills at every other step.)
count=$(charges)
ends 137 at embed.batch kill-before on 1 release "${plain[@]}" --out "$work/killed"
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
    ends 0 on "$n" "${waits[@]}"
    check "the same command goes through, for one charge" test "$(charges)" = $((count + 1))
  done
done

# Two processes, one run folder: one release.
count=$(charges)
on 1 release "${plain[@]}" --epsilon 0.3 --out "$work/twice" >"$work/log1" 2>&1 &
first=$!
ends 0 on 1 release "${plain[@]}" --epsilon 0.3 --out "$work/twice"
wait "$first" || { cat "$work/log1" >&2; fail "the first of two"; }
check "two at once are one charge" test "$(charges)" = $((count + 1))

# Without any settings there is a ledger beside the run folder.
mkdir "$work/default"
ends 0 on 1 release "${small[@]}" --out "$work/default/run/"
check "has a ledger beside its folder" compgen -G "$work/default/ledger-unnamed-*.jsonl"

# Rollback and damage.
head=$(show | sed -n 's/.*"head": "\([0-9a-f]*\)".*/\1/p')
ends 0 "$MUFFLE" ledger verify --ledger "$ledger" --head "$head"
cp "$ledger" "$work/whole"
sed -i '$d' "$ledger" # a rollback keeps the chain, but not the head
ends 0 "$MUFFLE" ledger verify --ledger "$ledger"
ends 76 "$MUFFLE" ledger verify --ledger "$ledger" --head "$head"
sed '2s/"mu":0\.2/"mu":0.1/' "$work/whole" >"$ledger"
says 76 'line 2' "$MUFFLE" ledger verify --ledger "$ledger"
ends 76 on 2 release "${plain[@]}" --out "$work/e"
check "nothing is released on it" test ! -e "$work/e/release.mfl"
sed '2d' "$work/whole" >"$ledger"
ends 76 "$MUFFLE" ledger show --ledger "$ledger"
head -c -30 "$work/whole" >"$ledger" # a torn line, which the next job mends
ends 76 "$MUFFLE" ledger verify --ledger "$ledger"
ends 0 on 1 release "${job[@]/privacy.budget_epsilon=1.3/privacy.budget_epsilon=9.0}" --out "$work/a"
ends 0 "$MUFFLE" ledger verify --ledger "$ledger"
ends 74 "$MUFFLE" ledger show --ledger "$work/none.jsonl"
ends 2 "$MUFFLE" ledger
finish
