#!/usr/bin/env bash
# Reports through the built command: a public one is made of public files alone, a private one is marked and its user's.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# ROWS FROM -> a CSV.
rows() {
  echo age,ward,died
  awk -v n="$1" -v from="$2" 'BEGIN { split("north|<b>south</b>|east", ward, "|")
    for (i = from; i < from + n; ++i) printf "%s,%s,%s\n", (i % 11 ? i * 37 % 100 : ""), ward[1 + int(i * 37 % 100 / 34)], (i * 37 % 100 > 60 ? "yes" : "no") }'
}
rows 600 0 >"$work/people.csv"
rows 300 700 >"$work/others.csv"
cat >"$work/people.toml" <<'EOF'
[[columns]]
name = "age"
type = "integer"
lo = 0
hi = 99
missing = true
[[columns]]
name = "ward"
type = "category"
values = ["north", "<b>south</b>", "east"]
[[columns]]
name = "died"
type = "boolean"
values = ["no", "yes"]
[[constraints]]
kind = "compare"
left = "age"
op = "<="
value = 95
EOF
cat >"$work/job.toml" <<EOF
[data]
schema = "$work/people.toml"
dir = "$work"
features = "people.csv"
test_features = "others.csv"
records = 600
id = "people"
[map.pairs]
kind = "pairs"
[privacy]
signing_key = "$work/ours.key"
ledger = "$work/ledger.jsonl"
epsilon = 5.0
max_records_per_person = 1
[model]
generator = "pair-graph"
[sample]
count = 400
formats = ["csv"]
[evaluate]
metrics = ["marginals"]
EOF
ends 0 "$MUFFLE" keygen --name clinic-1 --out "$work"
mv "$work"/*.key "$work/ours.key"
ends 0 on 1 run --config "$work/job.toml" --out "$work/run"
run=$work/run

says 0 'public files alone' "$MUFFLE" report --run "$run"
there "$run" report.html
cp "$run/report.html" "$work/first.html"
check "it says that it is public" grep -q '<meta name="muffle-report" content="public">' "$run/report.html"
# well_formed FILE: every tag that is opened is closed, there is no script, and nothing is asked for.
well_formed() {
  python3 - "$1" <<'EOF'
import html.parser, sys
void = {"meta", "img", "br"}
class Check(html.parser.HTMLParser):
    open_tags, charts, ids, links = [], 0, set(), set()
    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        assert tag not in ("script", "link", "iframe", "object", "b"), tag
        assert not any(name.startswith("on") for name in values), values
        assert values.get("src", "data:image/png;base64,").startswith("data:image/png;base64,")
        if "href" in values: self.links.add(values["href"])
        if "id" in values: self.ids.add("#" + values["id"])
        if tag == "svg":
            self.charts += 1
            assert values["role"] == "img" and values["aria-label"]
        if tag not in void: self.open_tags.append(tag)
    def handle_startendtag(self, tag, attributes): pass
    def handle_endtag(self, tag): assert self.open_tags.pop() == tag, tag
check = Check(convert_charrefs=True)
text = open(sys.argv[1], encoding="utf-8").read()
check.feed(text)
check.close()
assert not check.open_tags and check.charts >= 4 and check.links <= check.ids, (check.open_tags, check.charts, check.links - check.ids)
assert "http" not in text.replace("http-equiv", ""), "an address"
EOF
}
check "it is well formed, without script or address" well_formed "$run/report.html"
check "what the schema says is text in it" grep -q '&lt;b&gt;south' "$run/report.html"

# The same bytes, whatever the records are, and without any.
rows 600 5000 >"$work/people.csv"
rm "$run/metrics.json"
ends 0 "$MUFFLE" report --run "$run"
check "other records: the same bytes" cmp -s "$run/report.html" "$work/first.html"
mv "$work/people.csv" "$work/kept.csv"
mv "$work/others.csv" "$work/kept-others.csv"
mkdir "$work/alone"
cp "$run"/{release.mfl,release.mfl.sig,model.mfl,samples.csv,samples.json} "$work/alone"
mkdir "$work/alone/tensorboard" # of whatever training: it is bound to nothing
cp "$work/job.toml" "$work/alone/tensorboard/events.out.tfevents.1"
ends 0 "$MUFFLE" report --run "$work/alone"
check "no records, no settings: the same bytes" cmp -s "$work/alone/report.html" "$work/first.html"
rows 600 0 >"$work/people.csv"
mv "$work/kept-others.csv" "$work/others.csv"

# Nobody's path is in it, however files were named; a signature is a claim until it is checked.
ends 0 "$MUFFLE" report --release "$run/release.mfl" --model "$run/model.mfl" --samples "$run/samples.csv" --ledger "$work/ledger.jsonl" --out "$work/named.html"
check "no path of this machine" bash -c "! grep -qF '$work' '$work/named.html' '$run/report.html'"
check "the ledger's name is" grep -qF '&#39;ledger.jsonl&#39; has the charge' "$work/named.html"
check "who signed it is a claim" grep -qF 'claims to be &#39;clinic-1&#39;, unchecked' "$run/report.html"
check "and is told at the top" grep -q 'Nobody vouches for the release here' "$run/report.html"
check "but not if the ledger was named" bash -c "! grep -q 'Nobody vouches' '$work/named.html'"
ends 0 "$MUFFLE" ledger budget --ledger "$work/ledger.jsonl" --data-id people --epsilon 0.5
ends 0 "$MUFFLE" report --run "$run" --ledger "$work/ledger.jsonl" --about "Ward study, ask <Ada>" --out "$work/named.html"
check "who made it and for what stands at the top, as text" bash -c "sed '/<h2>Columns/,\$d' '$work/named.html' | grep -qF '<p>Ward study, ask &lt;Ada&gt;</p>'"
check "an overspent budget is told at the top" bash -c "sed '/<h2>Columns/,\$d' '$work/named.html' | grep -q 'budget.*FAILED'"
ends 0 "$MUFFLE" ledger budget --ledger "$work/ledger.jsonl" --data-id people --none

for words in 'What epsilon says' 'What was spent'; do # what the summary takes of the statement
  check "the summary says '$words'" bash -c "sed '/<h2[^>]*>Columns/q' '$run/report.html' | grep -q '$words'"
done
mkfifo "$work/pipe"
says 74 'report' timeout 60 "$MUFFLE" report --run "$run" --out "$work/pipe"
# Real records are for private ones.
says 2 'say --private' "$MUFFLE" report --run "$run" --config "$work/job.toml"
says 2 'say --private' "$MUFFLE" report --run "$run" --public --held-out "$work/others.csv"
ends 2 "$MUFFLE" report --run "$run" --public --private
says 78 'what public ones are called' "$MUFFLE" report --run "$run" --private --out "$work/report.html"
says 78 'is no private report' "$MUFFLE" report --run "$run" --private --out "$work/first.html"
check "nothing was written" test ! -e "$work/report.html"
umask=$(umask)
umask 0
says 0 'is PRIVATE' "$MUFFLE" report --run "$run" --private
umask "$umask"
private=$run/report-private.html
check "it is this user's alone" test "$(stat -c %a "$private")" = 600
check "it is well formed, too" well_formed "$private"
check "it says that it is private" grep -q '<meta name="muffle-report" content="private">' "$private"
check "each section is marked" test "$(grep -c '<p class="mark">PRIVATE' "$private")" = "$(grep -c '<section' "$private")"
check "the schema's rule is named, which no synthetic row breaks" grep -qF 'None of 400 synthetic rows breaks a rule of the schema: &#39;age&#39; &lt;= 95.' "$run/report.html"
broken=$(awk -F, 'NR > 1 && $1 != "" && $1 > 95 { ++n } END { print n }' "$work/people.csv")
check "and how many real ones do, in the private report" grep -qF ">$broken of 600 (" "$private"
check "which the public one does not have" bash -c "! grep -qF 'of 600 (' '$run/report.html'"
for words in 'Who was in the data' 'What can be guessed of a person' 'novelty, no guarantee' 'the floor is what knows nothing'; do
  check "it has '$words'" grep -q "$words" "$private"
done
says 78 'is no public report' "$MUFFLE" report --run "$run" --out "$private"
cp "$work/people.csv" "$work/copy.csv"
for same in people copy; do # an attack on the release's own records would find nothing
  says 78 "the release's own records" "$MUFFLE" report --run "$run" --private --config "$work/job.toml" --held-out "$work/$same.csv"
done
# Scores of other samples are none of these.
ends 0 on 1 evaluate --config "$work/job.toml" --out "$run"
check "scores of real records are this user's alone" test "$(stat -c %a "$run/metrics.json")" = 600
ends 0 "$MUFFLE" report --run "$run" --private
check "scores of these samples are shown" grep -q '<h3>muffle evaluate: marginals</h3>' "$private"
check "and their curves" grep -q 'aria-label="distribution function of age"' "$private"
sed -i 's/"samples_hash": "..../"samples_hash": "0000/' "$run/metrics.json"
ends 0 "$MUFFLE" report --run "$run" --private
check "of others they are not" bash -c "grep -q 'is of other samples' '$private' && ! grep -q '<h3>muffle evaluate' '$private'"
sed -i 's/"samples_hash": "0000/"samples_hash": "'"$(sha256sum <"$run/samples.csv" | cut -c 1-4)"'/' "$run/metrics.json"
cd "$run"
ends 0 "$MUFFLE" report --release release.mfl --model model.mfl --samples samples.csv --private --config "$work/job.toml" --out "$work/no-run.html"
cd - >/dev/null
check "nor those that lie where muffle was started" bash -c "! grep -q '<h3>muffle evaluate' '$work/no-run.html'"

# Test noise: nothing that reads like a public report.
ends 0 on 1 run --config "$work/job.toml" --set data.id=toys --set privacy.ledger="$work/toys.jsonl" --insecure-seeded-noise 7 --out "$work/toy"
says 0 'the release is NOT PRIVATE' "$MUFFLE" report --run "$work/toy"
toy=$work/toy/report.html
check "it is not called public" bash -c "! grep -q 'public files alone' '$work/log' && ! grep -q 'content=\"public\"' '$toy'"
check "NOT PRIVATE is on every page" grep -qF '<div class="every">NOT PRIVATE</div>' "$toy"
check "each section says so" test "$(grep -c '<p class="mark">NOT PRIVATE' "$toy")" = "$(grep -c '<section' "$toy")"
check "nothing is praised" bash -c "! grep -qE 'lie elsewhere than the release says|bounded by epsilon alone' '$toy'"
ends 0 "$MUFFLE" report --run "$work/toy" # one takes its own kind's place
sed 's/hi = 99/hi = 98/' "$work/people.toml" >"$work/older.toml"
sed 's/people.toml/older.toml/' "$work/job.toml" >"$work/older-job.toml"
says 78 "another schema.*column 'age'" "$MUFFLE" report --run "$run" --private --config "$work/older-job.toml"

# Files that do not belong together, or are not what they are said to be.
sed -i '2s/.*/50,east,no/' "$work/alone/samples.csv"
says 76 'does not list' "$MUFFLE" report --run "$work/alone"
says 76 'does not list' "$MUFFLE" report --release "$run/release.mfl" --samples "$work/people.csv" --out "$work/x.html"
ends 0 on 1 run --config "$work/job.toml" --set privacy.epsilon=4 --out "$work/other"
says 76 'made from another release' "$MUFFLE" report --release "$run/release.mfl" --model "$work/other/model.mfl" --out "$work/x.html"
says 2 'no release is named' "$MUFFLE" report --out "$work/x.html"
ends 0 "$MUFFLE" report --release "$run/release.mfl" --out "$work/x.html" # a release alone
check "of a release alone, too" grep -q 'What it must not be used for' "$work/x.html"
check "a closed form has no training" bash -c "! grep -q '>The training<' '$run/report.html'"

# A network's training is in its model, so it is that model's.
ends 0 on 1 run --config "$CONFIGS/gaussian-mixture-2d.toml" --set map.rff.count=20 --set model.generator=fully-connected --set train.steps=30 \
  --set sample.count=1000 --out "$work/network"
ends 0 "$MUFFLE" report --run "$work/network"
check "its curve is drawn" bash -c "sed '1,/>The training</d' '$work/network/report.html' | grep -q '<path class=\"made\" d=\"M[0-9.]* [0-9.]*L'"
finish
