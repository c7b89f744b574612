#!/usr/bin/env bash
# The closed form's jobs: FashionMNIST's whole config but for fewer samples and one quick classifier, the mixture's, colour images.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

out=$work/images
job=(--config "$CONFIGS/fashion-mnist-moments.toml" --set "data.dir=\"$DATA\"" --set sample.count=6000
  --set 'evaluate.classifiers=["logistic_regression"]')
ends 0 on 2 run "${job[@]}" --out "$out"
there "$out" release.mfl model.mfl samples.npz samples.png metrics.json
check "the statement names the square kernel's sensitivity" grep -qE '1\.41421' "$out/privacy.txt"
# At epsilon 1 it has some 0.79, with a standard deviation of 0.004 from release to release (docs/explanation/moments.md): 0.76 lies 7 of
# them below, so that no draw of the noise fails it, and a closed form that lost four hundredths does.
check "logistic regression is above 0.76 on real images" at_least "$(number accuracy "$out/metrics.json")" 0.76

before=$(sha256sum "$out/release.mfl" "$out/model.mfl" "$out/samples.npz")
ends 0 on 1 run "${job[@]}" --out "$out"
check "a second run keeps everything" test "$before" = "$(sha256sum "$out/release.mfl" "$out/model.mfl" "$out/samples.npz")"
ends 0 on 1 run "${job[@]}" --set model.plain_share=0.0 --out "$out"
check "another pixel law keeps the release" test "$(head -1 <<<"$before")" = "$(sha256sum "$out/release.mfl")"
check "and makes another model" test "$(sed -n 2p <<<"$before")" != "$(sha256sum "$out/model.mfl")"

# A training from the closed form on. After so few steps that it can be no better, the closed form stays.
out=$work/start
job=(--config "$CONFIGS/fashion-mnist-init.toml" --set "data.dir=\"$DATA\"" --set map.rff.count=200 --set map.proxy.count=100
  --set sample.count=2000 --set 'evaluate.metrics=[]' --set train.steps=3 --set train.learning_rate=1e-6)
says 0 'the closed form is kept: squared distance to the proxy' on 2 run "${job[@]}" --out "$out"
check "the model file is the closed form's" grep -qa '"generator":{"kind":"moments"' "$out/model.mfl"
check "and has both distances" grep -qaE '"after_training":-?[0-9.e-]+,"closed_form":-?[0-9.e-]+' "$out/model.mfl"
check "samples are there" test -s "$out/samples.npz"
ends 0 on 1 verify "$out/release.mfl" --allow-unsigned
check "verify names the proxy" grep -q 'proxy (rff) with a signed kernel' "$work/log"
ends 0 on 1 train "${job[@]}" --init random --set train.learning_rate=0.01 --out "$out"
check "the flag beats the file" grep -qa '"residual":false' "$out/model.mfl"

out=$work/mixture
ends 0 on 2 run --config "$CONFIGS/gaussian-mixture-2d-moments.toml" --set sample.count=9000 --out "$out"
check "the mixture's score is at most DP-MERF's 3.66e5" \
  at_least 3.66e5 "$(number per_90000_authors_convention "$out/metrics.json")"

# Colour images, made here by rule, in the format that cifar-10-moments.toml reads.
out=$work/colour
python3 "$(dirname "${BASH_SOURCE[0]}")/colour_shapes.py" "$work/shapes" 6000 1000 16
ends 0 on 2 run --config "$CONFIGS/cifar-10-moments.toml" --set "data.dir=\"$work/shapes\"" --set data.features=train.bin \
  --set data.test_features=test.bin --set data.records=6000 --set 'data.shape=[3,16,16]' --set sample.count=6000 \
  --set 'evaluate.classifiers=["logistic_regression"]' --out "$out"
# Some 0.81 at epsilon 10; guessing has 0.1.
check "logistic regression is above 0.7 on real colour images" at_least "$(number accuracy "$out/metrics.json")" 0.7
finish
