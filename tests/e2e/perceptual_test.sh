#!/usr/bin/env bash
# Outputs of a public network as a feature map, as a user meets it: a small network that the test makes itself, colour images in CIFAR-10's format.
# What is no network of the map is refused before anything is charged; sums are bit-equal for any ranks; a release names no path, and none is opened.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
: "${MAKE_NETWORK:?}"

python3 "$(dirname "${BASH_SOURCE[0]}")/colour_shapes.py" "$work/data" 600 200 8
for variant in good other nan negative shape keeps bare large; do "$MAKE_NETWORK" "$work/$variant.pt" $variant; done
cp "$work/good.pt" "$work/moved.pt"
head -c 1000 "$work/good.pt" >"$work/cut.pt"
cat >"$work/job.toml" <<EOF
[data]
format = "cifar"
dir = "$work/data"
features = "train.bin"
test_features = "test.bin"
records = 600
classes = 10
shape = [3, 8, 8]
lo = 0.0
hi = 255.0
[map.deep]
kind = "perceptual"
network = "$work/good.pt"
layers = ["second"]
pool = "channel"
moments = 2
[map.texture]
kind = "perceptual"
network = "$work/good.pt"
labelled = false
weight = 0.5
[privacy]
epsilon = 5.0
delta = 1e-5
max_records_per_person = 1
[model]
generator = "convolutional"
code = 8
hidden = [32]
channels = [16, 8]
[train]
steps = 20
batch = 60
[sample]
count = 200
formats = ["npz"]
[evaluate]
metrics = ["classifiers", "nearest-mean"]
classifiers = ["logistic_regression"]
[runtime]
deadline_s = 60.0
EOF
job=(--config "$work/job.toml")

# The whole job: 10 x 10 numbers by class, and 4 x 8 x 8 + 5 x 4 x 4 of all.
says 0 '436 numbers are released' "$MUFFLE" plan "${job[@]}"
check "the plan has the map without labels" grep -q 'map texture (336 features' "$work/log"
ends 0 on 2 run "${job[@]}" --out "$work/run"
there "$work/run" release.mfl privacy.txt model.mfl samples.npz metrics.json
ends 0 "$MUFFLE" verify --allow-unsigned "$work/run/release.mfl"
check "what the map with labels carries is read out" grep -A2 '"nearest_mean"' "$work/run/metrics.json"
check "the statement tells the two kinds of maps apart" grep -q 'without labels' "$work/run/privacy.txt"
check "and says that the network is public" grep -q 'the file that the map "deep" is made by.*licence MIT' "$work/run/privacy.txt"
check "the release names the file by its hash" grep -qa "$(sha256sum "$work/good.pt" | head -c 64)" "$work/run/release.mfl"
check "and its licence" grep -qa '"license":"MIT"' "$work/run/release.mfl"
check "and no path" bash -c "! grep -qaE 'good|$work' '$work/run/release.mfl' '$work/run/model.mfl'"

# Bit-equal sums: the noise is the same, the ranks are not.
for n in 1 2 3; do
  ends 0 on "$n" release "${job[@]}" --insecure-seeded-noise 7 --set runtime.threads=$((4 - n)) --out "$work/seeded-$n"
  check "$n ranks make the sums of one" test "$(payload "$work/seeded-$n/release.mfl")" = "$(payload "$work/seeded-1/release.mfl")"
done

# What is no network of the map. expect_error looks for what is left: artifacts and charges.
refused() { expect_error "$1" "$2" "$3" release "${job[@]}" --set "map.deep.network=$work/$4.pt" --set 'map.deep.layers=[]' --set "data.id=$4" "${@:5}"; }
refused 78 'nowhere.pt.*no such file' 2 nowhere
refused 78 'cut.pt.*no TorchScript file' 1 cut
refused 78 'bare.pt.*extra/muffle.json' 1 bare
refused 78 'nan.pt.*not finite' 2 nan
refused 78 'negative.pt.*declares.*non-negative' 1 negative
refused 78 'second has the shape 3 x 5 x 4 x 4.*3 x 5 x 4 x 5' 1 shape
refused 78 'keeps.pt.*attributes' 1 keeps
refused 78 '32 x 32 pixels.*8 x 8.*resize' 1 large
refused 78 'no output "third".*first, second' 1 good --set 'map.deep.layers=["third"]'
check "none of them was charged" test "$(cat "$work"/ledger-*.jsonl "$work"/*/ledger-*.jsonl 2>/dev/null | grep -c INTENT || true)" = 4

# Whoever trains on a release has the network, wherever it lies: found by its hash, and by nothing that the release says.
there_is() { mkdir -p "$work/$1" && cp "$work/run/release.mfl" "$work/$1"; }
there_is moved
ends 0 on 1 train "${job[@]}" --set "map.deep.network=$work/moved.pt" --set "map.texture.network=$work/moved.pt" --release "$work/moved/release.mfl" --out "$work/moved"
there_is other
says 78 'SHA-256.*is not at hand' on 1 train "${job[@]}" --set "map.deep.network=$work/other.pt" --set "map.texture.network=$work/other.pt" \
  --release "$work/other/release.mfl" --out "$work/other"
# A release alone can be read out.
there_is alone
ends 0 on 1 evaluate "${job[@]}" --set 'evaluate.metrics=["nearest-mean"]' --out "$work/alone"
check "as with samples" test "$(number accuracy "$work/alone/metrics.json")" = "$(sed -n '/"nearest_mean"/,$p' "$work/run/metrics.json" >"$work/mean"; number accuracy "$work/mean")"
# Records in place of a network, which training moves nearer to the release.
there_is particles
particles=("${job[@]}" --set model.generator=particles --set model.particles=30 --set train.learning_rate=0.05 --set train.steps=40)
ends 0 on 2 train "${particles[@]}" --release "$work/particles/release.mfl" --out "$work/particles"
check "they come nearer" python3 -c 'import re, sys; a, b = map(float, re.search(r"loss ([0-9.e-]+) -> ([0-9.e-]+),", open(sys.argv[1]).read()).groups()); sys.exit(b >= 0.98 * a)' "$work/log"
says 0 'asked for, and the model has 30 different ones of each' "$MUFFLE" sample "${particles[@]}" --count 301 --out "$work/particles"
ends 0 "$MUFFLE" sample "${particles[@]}" --count 300 --out "$work/particles"
check "and none is named repeated" bash -c "! grep -q repeated '$work/log'"
# Images are compared in a network's outputs, and how is said beside the number.
ends 0 on 1 evaluate "${job[@]}" --set 'evaluate.metrics=["frechet-distance"]' --set "evaluate.frechet_network=$work/other.pt" --set 'evaluate.frechet_layers=["second"]' --samples "$work/run/samples.npz" --out "$work/frechet"
check "the convention is printed" grep -q "5 numbers an image (means over places) in second of the network with SHA-256 $(sha256sum "$work/other.pt" | head -c 64)" "$work/log"
check "and written" grep -q "\"sha256\": \"$(sha256sum "$work/other.pt" | head -c 64)\"" "$work/frechet/metrics.json"
check "with the distance" at_least "$(python3 -c 'import json, sys; print(int(1e9 * json.load(open(sys.argv[1]))["frechet_distance"]["synthetic"]))' "$work/frechet/metrics.json")" 1
expect_error 78 'cut.pt.*no TorchScript' 1 run "${job[@]}" --set 'evaluate.metrics=["frechet-distance"]' --set "evaluate.frechet_network=$work/cut.pt" --set data.id=scored
# Drawing needs none.
rm "$work/good.pt"
ends 0 on 1 sample "${job[@]}" --model "$work/run/model.mfl" --count 50 --out "$work/drawn"
ends 0 "$MUFFLE" verify --allow-unsigned "$work/run/release.mfl"

# VGG-19's size at 32 x 32 pixels, two moments, ten classes: 606,208 numbers a record, 48 MB of sums. It stays within what `plan` says, beside the program's own.
if [[ -n $thorough ]]; then
  python3 "$(dirname "${BASH_SOURCE[0]}")/colour_shapes.py" "$work/large-data" 40 10 32
  large=("${job[@]}" --set "data.dir=$work/large-data" --set 'data.shape=[3,32,32]' --set data.records=40 --set "map.deep.network=$work/large.pt" --set 'map.deep.layers=[]'
    --set map.deep.pool=none --set "map.texture.network=$work/large.pt" --set map.texture.layers='[]' --set map.texture.weight=1e-3 --set runtime.threads=1)
  says 0 '6365184 numbers are released' "$MUFFLE" plan "${large[@]}"
  ends 0 "$MUFFLE" plan "${large[@]}" --format json
  said=$(number release_root "$work/log")
  peak() { python3 -c 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)' "$@"; }
  own=$(peak "$MUFFLE" release --config "$work/job.toml" --set "map.deep.network=$work/moved.pt" --set "map.texture.network=$work/moved.pt" --set data.id=own --out "$work/own")
  used=$(peak "$MUFFLE" release "${large[@]}" --set data.id=large --out "$work/large")
  check "of the $said bytes that \`plan\` says a release of 6,365,184 numbers takes $((used - own))" at_least "$said" $((used - own))
  check "and they are no small part" at_least $((used - own)) $((said / 4))
fi
finish
