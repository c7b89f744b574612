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
EOF
cat >"$work/job.toml" <<EOF
[data]
schema = "$work/people.toml"
dir = "$work"
features = "people.csv"
test_features = "others.csv"
records = 600
[map.pairs]
kind = "pairs"
[privacy]
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
cp "$run"/{release.mfl,model.mfl,samples.csv,samples.json} "$work/alone"
ends 0 "$MUFFLE" report --run "$work/alone"
check "no records, no settings: the same bytes" cmp -s "$work/alone/report.html" "$work/first.html"
rows 600 0 >"$work/people.csv"
mv "$work/kept-others.csv" "$work/others.csv"

# Real records are for private ones.
says 2 'say --private' "$MUFFLE" report --run "$run" --config "$work/job.toml"
says 2 'say --private' "$MUFFLE" report --run "$run" --public --held-out "$work/others.csv"
ends 2 "$MUFFLE" report --run "$run" --public --private
says 78 'what public ones are called' "$MUFFLE" report --run "$run" --private --out "$work/report.html"
says 78 'is no private report' "$MUFFLE" report --run "$run" --private --out "$work/first.html"
check "nothing was written" test ! -e "$work/report.html"
(umask 0 && says 0 'is PRIVATE' "$MUFFLE" report --run "$run" --private)
private=$run/report-private.html
check "it is this user's alone" test "$(stat -c %a "$private")" = 600
check "it is well formed, too" well_formed "$private"
check "it says that it is private" grep -q '<meta name="muffle-report" content="private">' "$private"
check "each section is marked" test "$(grep -c '<p class="mark">PRIVATE' "$private")" = $(($(grep -c '<section' "$private") + 1))
for words in 'Who was in the data' 'What can be guessed of a person' 'novelty, no guarantee' 'independent (floor)'; do
  check "it has '$words'" grep -q "$words" "$private"
done
says 78 'is no public report' "$MUFFLE" report --run "$run" --out "$private"
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
finish
