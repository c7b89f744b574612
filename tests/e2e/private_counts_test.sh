#!/usr/bin/env bash
# Class sizes and m kept private: add/remove adjacency, noisy counts in the release, labels drawn by the released counts.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# An imbalanced data set out of FashionMNIST: 6,000 records, of which classes 0..4 only have records (labels taken mod 5,
# and every record of class 4 made class 0).
mkdir "$work/data"
fashion 0 6000 "$work/data/images.idx" "$work/labels.idx"
{ head -c 8 "$work/labels.idx"; tail -c +9 "$work/labels.idx" | tr '\004\005\006\007\010\011' '\000\000\000\000\000\000'; } >"$work/data/labels.idx"
# The ledger adds up releases of one unit of privacy alone, so each adjacency has a data set of its own.
settings=("${small[@]}" --data "$work/data/images.idx" --labels "$work/data/labels.idx" --set privacy.release_counts=true
  --set 'sample.labels="released-counts"' --set 'evaluate.metrics=[]')

# in_the_day FOLDER FILE...: what of them, but a rank's private log, was written or read at a time of day. Asked right after a verb: to look
# into a folder is to read it.
in_the_day() {
  find "$@" -not -name 'rank-*.jsonl' -printf '%Ts %As %p\n' | awk '$1 % 86400 || $2 % 86400 { print $3 }' | wc -l
}
# telling_no_time WHAT CODE ARGS...: muffle ends so, and no file says when. `more`: files elsewhere, but no folders, which were looked into.
telling_no_time() {
  ends "$2" on 2 "${@:3}" --out "$work/add-remove-one-$1"
  check "$1 under add/remove-one: no time of day in the run folder and the ledger" \
    test "$(in_the_day "$work/add-remove-one-$1" "$work"/ledger-people-add* "${more[@]}")" = 0
}
more=()

begun=$(date +%s)
for adjacency in replace-one add-remove-one; do
  records=(--set data.records=6000)
  [[ $adjacency == add-remove-one ]] && records=(--set data.records=0)
  out=$work/$adjacency
  ends 0 on 2 run "${settings[@]}" "${records[@]}" --set "privacy.adjacency=$adjacency" \
    --set "data.id=people-$adjacency" --out "$out"
  if [[ $adjacency == add-remove-one ]]; then
    check "add/remove-one: no time of day in the run folder and the ledger" test "$(in_the_day "$out" "$work"/ledger-people-add*)" = 0
  fi
  there "$out" samples.npz
done
# One signed block and counts: 2 under replace-one (the counts cost nothing), sqrt(1 + 1) under add/remove-one.
check "replace-one: counts cost nothing" grep -qE '"sensitivity": *2(\.0)?,?$' "$work/replace-one/privacy.json"
check "add/remove-one: the bound is sqrt 2" grep -qE '"sensitivity": *1\.41421356' "$work/add-remove-one/privacy.json"
# Seven of ten classes were folded into class 0, so about 700 of the 1,000 samples are of class 0, and about 100 of class 1.
for adjacency in replace-one add-remove-one; do
  shares=$(grep -A2 '"class_counts"' "$work/$adjacency/samples.json" | tail -2 | tr -dc '0-9\n' | tr '\n' ' ')
  read -r zero one <<<"$shares"
  check "$adjacency: labels follow the released counts ($zero and $one)" test "$zero" -gt 600 -a "$zero" -lt 800 -a "$one" -lt 200
done
# Times tell m, too.
in_logs() { grep -rhE "$2" "$work/$1/logs" | wc -l; }
check "replace-one: each rank's log has the records a second and its collectives" \
  test "$(in_logs replace-one 'has embedded 3000 records in .* a second')-$(in_logs replace-one 'release: collectives of rank')" = 2-2
check "add/remove-one: none has either" test "$(in_logs add-remove-one 'has embedded [0-9]|release: collectives')" = 0
check "both: the sampling's" test "$(in_logs add-remove-one 'sample: .* a second; collectives of rank')" = 2
# Names and events that tell a second of this test.
telling() {
  python3 - "$1" "$begun" <<'EOF'
import pathlib, re, struct, sys, time
folder, begun, now = pathlib.Path(sys.argv[1]), int(sys.argv[2]), time.time()
for path in folder.rglob("*"):
    times = [float(n) for n in re.findall(r"\d{10}", path.name)]
    if path.name.startswith("events.out"):
        events, at = path.read_bytes(), 0
        while at < len(events):
            times.append(struct.unpack_from("<d", events, at + 13)[0])
            at += 16 + struct.unpack_from("<Q", events, at)[0]
    for t in times:
        if begun <= t <= now and t % 86400 > 60:  # of the first minute of a day it cannot be told
            print(path)
EOF
}
check "add/remove-one: no second of the run in a file name or event" test "$(telling "$work/add-remove-one" | wc -l)" = 0
if ((begun % 86400 > 120)); then check "replace-one: there are" test "$(telling "$work/replace-one" | wc -l)" -gt 5; fi
check "replace-one: files keep theirs" test "$(in_the_day "$work/replace-one")" -gt 5
check "nor in the ledger's lines" bash -c "! grep -hv 'T00:00:00Z' '$work'/ledger-people-add-remove-one.jsonl"
ends 78 on 1 release "${settings[@]}" --set data.records=6000 --set privacy.adjacency=add-remove-one --out "$work/refused"
# with_m RUNS...: the files (by name) in which every one of the runs has a line with m or m_r as a word. In one of two runs with noise,
# processes and times of their own it may be there by chance; in both it is there because of the records.
with_m() {
  local run
  for run in "$@"; do
    { find "$work/$run" \( -name '*.json*' -o -name '*.txt' -o -name '*.toml' \) -exec grep -lwE '6000|3000' {} + || true; } | sed "s#^$work/$run/##"
  done | sort | uniq -c | awk -v runs=$# '$1 == runs { print $2 }'
}
check "replace-one: m is in the outputs" test -n "$(with_m replace-one)"
ends 0 on 2 run "${settings[@]}" --set data.records=0 --set privacy.adjacency=add-remove-one --set data.id=people-add-remove-one \
  --out "$work/again"
check "add/remove-one: m is in no output ($(with_m add-remove-one again | tr '\n' ' '))" test -z "$(with_m add-remove-one again)"
ends 78 on 1 release "${settings[@]}" --set data.records=0 --set privacy.adjacency=add-remove-one --set privacy.release_counts=false \
  --set 'sample.labels="uniform"' --out "$work/refused"
# Every verb by itself, on one folder; a release that is kept; one that fails over its records.
verbs=("${small[@]}" --set data.dir="$work/data" --set data.features=images.idx --set data.labels=labels.idx
  --set privacy.release_counts=true --set privacy.adjacency=add-remove-one --set data.records=0 --set data.id=people-add-remove-one)
for verb in release release train sample; do telling_no_time verbs 0 "$verb" "${verbs[@]}"; done
for kind in --public --private; do ends 0 "$MUFFLE" report "$kind" --run "$work/add-remove-one-verbs"; done
check "report under add/remove-one: no time of day in the run folder" \
  test "$(in_the_day "$work/add-remove-one-verbs" -maxdepth 1 -not -name logs -not -name tensorboard)" = 0 # which this test looked into
more=("$work/add-remove-one-verbs"/{samples.npz,samples.json,config.resolved.toml})
# The quick tier's records are what configs/fashion-mnist.toml holds out.
held_out=()
if [[ " ${small[*]} " == *" data.features=t10k-"* ]]; then
  held_out=(--set data.test_features=train-images-idx3-ubyte.gz --set data.test_labels=train-labels-idx1-ubyte.gz)
fi
telling_no_time elsewhere 0 evaluate "${small[@]}" "${held_out[@]}" --set evaluate.train_limit=100 \
  --samples "$work/add-remove-one-verbs/samples.npz" # whose settings say nothing of the release's
more=()
# A run folder that goes by another name, too.
mkdir "$work/real"
ln -s "$work/real" "$work/add-remove-one-linked"
telling_no_time linked 0 release "${verbs[@]}"
check "nor in the folder itself" test "$(in_the_day "$work/real")" = 0
# Held-out records that are the release's own, under another name: their scores would tell m.
ln -s images.idx "$work/data/held-out.idx"
for verb in run evaluate; do
  says 78 "data.test_features names the release's own records" "$MUFFLE" "$verb" "${verbs[@]}" \
    --set data.test_features=held-out.idx --set data.test_labels=labels.idx --out "$work/add-remove-one-verbs"
done
head -c 4000000 "$work/data/images.idx" >"$work/data/short.idx"
telling_no_time failed 65 release "${verbs[@]}" --set data.features=short.idx
finish
