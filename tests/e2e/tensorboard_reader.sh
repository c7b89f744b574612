#!/usr/bin/env bash
# Opens a training's curves with TensorBoard's own reader and holds them against the training's log:
#   tests/e2e/tensorboard_reader.sh RUN_FOLDER
# Installs TensorBoard (without TensorFlow, 180 MB with what it needs, 11 s) from PyPI into a folder of its own, or uses the Python that PYTHON
# names. By hand, since it needs the network; the tests in tests/train/event_file_test.cpp hold the bytes.
set -euo pipefail
run=${1:?"usage: $0 RUN_FOLDER"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ -z ${PYTHON:-} ]]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check 'tensorboard>=2.15' 'setuptools<81' # it imports pkg_resources
  PYTHON=$work/venv/bin/python
fi
"$PYTHON" - "$run" <<'END'
import json, re, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = sys.argv[1]
curves = EventAccumulator(f"{run}/tensorboard", size_guidance={"scalars": 0}).Reload()
points = {tag: [(e.step, e.value) for e in curves.Scalars(tag)] for tag in curves.Tags()["scalars"]}
expected = {"train/loss", "train/learning_rate", "throughput/steps_per_s", "throughput/samples_per_s",
            "throughput/share_of_time_in_collectives"}
assert set(points) == expected, f"tags {sorted(points)}"
for tag, series in points.items():
    steps = [step for step, _ in series]
    assert steps == sorted(steps), f"{tag}: steps out of order"
    print(f"{tag}: {len(series)} points, steps {steps[0]} to {steps[-1]}, {series[0][1]:.5g} -> {series[-1][1]:.5g}")

# The log has six digits of the loss at every tenth of the training.
loss = dict(points["train/loss"])
logged = {}
for line in open(f"{run}/logs/rank-0.jsonl"):
    found = re.search(r"train: step (\d+) loss ([-+.e\d]+)", json.loads(line)["message"])
    if found: logged[int(found[1])] = float(found[2])
both = sorted(set(loss) & set(logged))
assert both, "no step is in the log and in the curves"
for step in both:
    assert abs(loss[step] - logged[step]) <= 1e-5 * abs(logged[step]), (step, loss[step], logged[step])
share = [value for _, value in points["throughput/share_of_time_in_collectives"]]
assert all(0 <= s <= 1.05 for s in share), "shares of time"
rates, samples = dict(points["throughput/steps_per_s"]), dict(points["throughput/samples_per_s"])
assert len({round(samples[s] / rates[s], 2) for s in rates}) == 1, "samples a step"
print(f"the losses of {len(both)} steps are those of the log")
END
