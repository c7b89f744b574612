#!/usr/bin/env bash
# Python reads what muffle writes, and muffle what Python wrote: numpy.load of samples.npz, and a release from an NPZ of numpy's.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python=python3 # one that has numpy: launch/install-debian.sh gives it to the system's
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
"$python" - "$work" <<'END'
import sys
import numpy as np
random = np.random.default_rng(5)
x = random.integers(0, 256, (60, 1, 4, 4), dtype=np.uint8)
y = np.arange(60) % 3
def idx(name, a):
    with open(f"{sys.argv[1]}/{name}", "wb") as f:
        f.write(bytes([0, 0, 8, a.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in a.shape) + a.astype(np.uint8).tobytes())
idx("x.idx", x[:, 0])
idx("y.idx", y)
np.savez(f"{sys.argv[1]}/stored.npz", x=x, y=y)
np.savez_compressed(f"{sys.argv[1]}/deflated.npz", x=x, y=y.astype(np.int32))
np.savez_compressed(f"{sys.argv[1]}/keras.npz", x_train=np.asfortranarray(x.transpose(0, 2, 3, 1)), y_train=y.reshape(60, 1))
seen = np.datetime64("2020-01-01T00:00:00", "ns") + random.integers(0, 366 * 86400, 60) * np.timedelta64(10**9, "ns")
rows = np.zeros(60, np.dtype([("seen", ">M8[ns]"), ("day", "M8[D]"), ("dose", "f2"), ("sex", "U5"), ("note", "S3")], align=True))
rows["seen"], rows["day"], rows["dose"], rows["sex"] = seen, seen.astype("M8[D]"), random.integers(0, 20, 60) / 2, random.choice(["woman", "man"], 60)
rows["seen"][7], rows["dose"][8] = np.datetime64("NaT"), np.nan
np.save(f"{sys.argv[1]}/rows.npy", rows)
END
job=("${tiny[@]}" --set data.classes=3 --set data.id=numpy --set model.generator=fully-connected --set 'model.hidden=[8]'
  --set train.steps=3 --set train.batch=20 --set sample.count=50 --set 'sample.formats=["npz","idx"]'
  --insecure-seeded-noise 3)

ends 0 on 2 run "${job[@]}" --data "$work/x.idx" --labels "$work/y.idx" --out "$work/run"
check "numpy.load reads the samples, which are those of the IDX files" "$python" - "$work/run" <<'END'
import sys
import numpy as np
npz = np.load(sys.argv[1] + "/samples.npz", allow_pickle=False)
assert sorted(npz.files) == ["x", "y"], npz.files
x, y = npz["x"], npz["y"]
assert x.shape == (50, 16) and y.shape == (50,), (x.shape, y.shape)
assert x.dtype in (np.uint8, np.float32) and np.issubdtype(y.dtype, np.integer), (x.dtype, y.dtype)
assert x.min() >= 0 and x.max() <= 255 and y.min() >= 0 and y.max() <= 2
def idx(name, header):
    return np.frombuffer(open(f"{sys.argv[1]}/{name}", "rb").read()[header:], dtype=np.uint8)
assert np.array_equal(np.rint(x).astype(np.uint8).ravel(), idx("samples-images.idx", 16))
assert np.array_equal(y.astype(np.uint8), idx("samples-labels.idx", 8))
END

for file in stored deflated; do
  ends 0 on 2 release "${job[@]}" --set data.format=npz --data "$work/$file.npz" --out "$work/$file"
  check "$file.npz: the release of the IDX files" test "$(payload "$work/$file/release.mfl")" = "$(payload "$work/run/release.mfl")"
done
ends 0 on 2 release "${job[@]}" --set data.format=npz --data "$work/keras.npz" --set 'data.arrays=["x_train","y_train"]' \
  --set data.layout=channels-last --out "$work/keras"
check "other names, Fortran order and channels last: the same" test "$(payload "$work/keras/release.mfl")" = "$(payload "$work/run/release.mfl")"

# Structured, aligned, with times of another byte order: a table.
cat >"$work/rows.toml" <<'END'
[[columns]]
name = "seen"
type = "datetime"
lo = 2020-01-01T00:00:00
hi = 2020-12-31T23:59:59
missing = true
[[columns]]
name = "day"
type = "date"
lo = 2020-01-01
hi = 2020-12-31
[[columns]]
name = "dose"
type = "decimal"
decimals = 1
step = 0.5
lo = 0
hi = 10
missing = true
[[columns]]
name = "sex"
type = "category"
values = ["woman", "man"]
[[constraints]]
kind = "compare"
left = "day"
op = "<="
right = "seen"
END
table=(--set data.format=npz --set "data.schema=$work/rows.toml" --data "$work/rows.npy")
says 0 '^Everything fits' "$MUFFLE" check "${table[@]}"
ends 0 "$MUFFLE" run "${table[@]}" --set data.records=60 --set data.id=rows --set map.pairs.kind=pairs --set privacy.epsilon=20 --set privacy.delta=1e-5 \
  --set privacy.max_records_per_person=1 --set model.generator=pair-graph --set sample.count=50 --set 'sample.formats=["csv"]' \
  --set 'evaluate.metrics=[]' --out "$work/rows"
rows_are() { ! sed 1d "$1" | grep -vqE '^(2020-[0-9-]{5}T[0-9:]{8})?,2020-[0-9-]{5},([0-9]+\.[05])?,(woman|man)$' && test "$(wc -l <"$1")" = 51; }
check "rows.npy: what comes back" rows_are "$work/rows/samples.csv"
# shellcheck disable=SC2016
check "and keeps the rule between a day and a time" awk -F, 'NR > 1 && $1 != "" && $2 > substr($1, 1, 10) { wrong = 1 } END { exit wrong }' "$work/rows/samples.csv"
finish
