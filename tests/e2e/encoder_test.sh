#!/usr/bin/env bash
# A network that has seen no photograph, by launch/train_encoder.py: the same file by the same seed, and a release of its outputs that can be read out.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

python=/usr/bin/python3 # Debian's
"$python" -c 'import numpy, torch' 2>/dev/null || { echo "there is no PyTorch: apt-get install python3-torch"; exit 77; }
encoder() { OMP_NUM_THREADS=1 "$python" "$here/../../launch/train_encoder.py" "$work/$1/net.pt" --license CC0-1.0 --size 16 --images 200 --filters 8 "${@:2}"; }
mkdir "$work/one" "$work/again" "$work/other" "$work/untrained"

says 0 'net.pt: 2 outputs, 272 numbers an image of 16 x 16' encoder one
ends 0 encoder again
check "the same seed makes the same file" cmp "$work/one/net.pt" "$work/again/net.pt"
if [[ -n $thorough ]]; then
  ends 0 encoder other --seed 2
  check "another makes another" bash -c "! cmp -s '$work/one/net.pt' '$work/other/net.pt'"
  ends 0 encoder untrained --untrained
  check "weights that learned nothing are others" bash -c "! cmp -s '$work/one/net.pt' '$work/untrained/net.pt'"
fi
says 2 'at least 12 pixels' encoder other --size 8

python3 "$here/colour_shapes.py" "$work/data" 1000 200 16
cat >"$work/job.toml" <<END
[data]
format = "cifar"
dir = "$work/data"
features = "train.bin"
test_features = "test.bin"
records = 1000
classes = 10
shape = [3, 16, 16]
lo = 0.0
hi = 255.0
[map.perceptual]
kind = "perceptual"
network = "$work/one/net.pt"
[privacy]
epsilon = 5.0
delta = 1e-5
max_records_per_person = 1
[evaluate]
metrics = ["nearest-mean"]
[runtime]
deadline_s = 60.0
END
says 0 '2720 numbers' on 1 release --config "$work/job.toml" --insecure-seeded-noise 7 --out "$work/run"
check "the release says the file's licence" grep -qa '"license":"CC0-1.0"' "$work/run/release.mfl"
ends 0 on 1 evaluate --config "$work/job.toml" --out "$work/run"
check "ten classes of shapes and colours are told apart" at_least "$(python3 -c 'import json, sys; print(int(100 * json.load(open(sys.argv[1]))["nearest_mean"]["perceptual"]["accuracy"]))' "$work/run/metrics.json")" 30

# The exporters, of weights of their networks' names and kinds with a few channels, which this test makes.
"$python" - "$work" <<'END'
import sys
import torch

folder = sys.argv[1]


def weights(name, out, of, size=3):
    return {f"{name}.weight": torch.randn(out, of, size, size), f"{name}.bias": torch.randn(out)}


small, of = weights("conv0", 3, 3, 1), 3
for block, n in enumerate([2, 2, 4, 4, 1], 1):
    for i in range(1, n + 1):
        small.update(weights(f"conv{block}{i}", 2 + block, of))
        of = 2 + block
torch.save({"model": small}, f"{folder}/small.pth")
for name, blocks in (("vgg16", [2, 2, 3, 3, 3]), ("vgg19", [2, 2, 4, 4, 4])):
    state, at, of = {}, 0, 3
    for block, n in enumerate(blocks, 1):
        for i in range(n):
            state.update(weights(f"features.{at + 2 * i}", 2 + block, of))
            of = 2 + block
        at += 2 * n + 1
    torch.save(state, f"{folder}/{name}.pth")
END
export_network() { "$python" "$here/../../launch/export_network.py" "$1" "$work/$2.pth" "$work/$2.pt" --license "${3:-MIT}" "${@:4}"; }
says 0 'small.pt: 13 outputs' export_network small-vgg19 small
says 0 'vgg16.pt: 13 outputs' export_network vgg16 vgg16 Apache-2.0 --size 16
says 0 'vgg19.pt: 16 outputs' export_network vgg19 vgg19 BSD-3-Clause --size 16
says 2 'SPDX' export_network vgg16 vgg16 'Apache 2.0'
says 2 'SPDX' encoder other --license 'my own'
for name in small vgg16 vgg19; do
  ends 0 on 1 release --config "$work/job.toml" --set map.perceptual.network="$work/$name.pt" --set map.perceptual.resize=bilinear --set data.id="$name" \
    --insecure-seeded-noise 7 --out "$work/$name"
done
finish
