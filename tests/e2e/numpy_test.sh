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
finish
