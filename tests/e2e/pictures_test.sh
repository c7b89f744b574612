#!/usr/bin/env bash
# A folder of pictures is the data set that its pixels are: releases are those of the same pixels as NPZ, bit for bit; and what is wrong with
# one is said before anything is charged, its name on its own rank alone.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python=python3 # one that has numpy: launch/install-debian.sh gives it to the system's
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
"$python" - "$work" <<'END'
import os
import struct
import sys
import zlib
import numpy as np
work = sys.argv[1]
random = np.random.default_rng(7)
large = random.integers(0, 256, (60, 8, 8), dtype=np.uint8)
x = large[:, :4, :4]
y = random.integers(0, 3, 60)
names = ["cat", "dog", "a b"]
def png(file, a):
    def piece(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.tobytes() for row in a)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", struct.pack(">IIBBBBB", a.shape[1], a.shape[0], 8, 0, 0, 0, 0))
                + piece(b"IDAT", zlib.compress(rows)) + piece(b"IEND", b""))
for i in range(60):
    png(f"{work}/pictures/{names[y[i]]}/picture-{i:03}.png", x[i])
    png(f"{work}/large/{y[i]}/{i:03}.png", large[i])
    png(f"{work}/listed/{59 - i:03}.png", x[i])
with open(f"{work}/labels.csv", "w") as f:
    f.write("file,label\n" + "".join(f"{59 - i:03}.png,{names[y[i]]}\n" for i in range(60)))
np.savez(f"{work}/pixels.npz", x=x, y=y)
sums = large.reshape(60, 4, 2, 4, 2).astype(int).sum(axis=(2, 4))
np.savez(f"{work}/halved.npz", x=((2 * sums + 4) // 8).astype(np.uint8), y=y)
END
job=("${tiny[@]}" --set data.classes=3 --set data.id=pictures --set model.generator=fully-connected --set 'model.hidden=[8]'
  --set train.steps=3 --set train.batch=20 --set sample.count=50 --insecure-seeded-noise 3)
png=(--set data.format=png --set 'data.class_names=["cat","dog","a b"]')
unsaid() { ! grep -q "$1" "$work"/said/*.stderr; }
same() { check "$1" test "$(payload "$work/$2/release.mfl")" = "$(payload "$work/$3/release.mfl")"; }

ends 0 on 1 release "${job[@]}" --set data.format=npz --data "$work/pixels.npz" --out "$work/npz"
for n in "${rank_counts[@]}"; do
  ends 0 on "$n" release "${job[@]}" "${png[@]}" --data "$work/pictures" --out "$work/on-$n"
  same "on $n ranks the release of the pixels" "on-$n" npz
done
ends 0 on 2 release "${job[@]}" "${png[@]}" --set data.shards=round-robin --data "$work/pictures" --out "$work/dealt"
same "dealt round: the same" dealt npz
ends 0 on 2 release "${job[@]}" "${png[@]}" --data "$work/listed" --labels "$work/labels.csv" --out "$work/listed-run"
same "named by a table, in its order: the same" listed-run npz
ends 0 on 1 release "${job[@]}" --set data.format=npz --data "$work/halved.npz" --out "$work/halved-npz"
ends 0 on 2 release "${job[@]}" --set data.format=png --set data.resize=stretch --data "$work/large" --out "$work/halved"
same "made smaller: that of the means of the pixels" halved halved-npz
check "how they are made smaller is in the run's configuration" grep -q 'resize = "stretch"' "$work/halved/config.resolved.toml"

# What muffle writes as pictures it reads as pictures.
ends 0 on 1 run "${job[@]}" "${png[@]}" --data "$work/pictures" --set 'sample.formats=["npz","png"]' --set 'evaluate.metrics=[]' --out "$work/run"
samples=("${job[@]}" --set data.records=50)
ends 0 on 1 release "${samples[@]}" "${png[@]}" --data "$work/run/samples-png" --out "$work/of-pictures"
ends 0 on 1 release "${samples[@]}" --set data.format=npz --data "$work/run/samples.npz" --out "$work/of-npz"
same "samples as pictures are the samples" of-pictures of-npz
check "in folders of the classes' names" test "$(ls "$work/run/samples-png")" = $'a b\ncat\ndog'
check "the statement says that they are public" grep -q "the classes' names" "$work/run/privacy.txt"
says 78 "samples.npz' has other classes than data.class_names says, .*: cat, dog, a b" on 1 evaluate "${job[@]:0:${#job[@]}-2}" --set data.format=png --set 'data.class_names=["dog","cat","a b"]' \
  --set "data.features=$work/pictures" --set "data.test_features=$work/pictures" --set 'evaluate.metrics=["classifiers"]' --out "$work/run"
ends 0 "$MUFFLE" report --run "$work/run"
check "and the report whose each line is" grep -q 'From the first line to the last: cat, dog, a b\.' "$work/run/report.html"

# The last record is cut off.
last=$(find "$work/pictures" -name 'picture-059.png')
head -c 60 "$last" >"$work/cut"
mv "$work/cut" "$last"
for n in "${rank_counts[@]}"; do
  expect_error 65 "a picture in '$work/pictures' is no record.*muffle check" "$n" release "${job[@]}" "${png[@]}" --data "$work/pictures"
  check "nobody's console has its name" unsaid picture-059
  check "its rank's log has" grep -q "picture-059.png' is cut off or damaged" "$out/logs/rank-$((n - 1)).jsonl"
done
says 65 "picture-059.png' is cut off or damaged" on 1 check "${tiny[@]}" --set data.classes=3 "${png[@]}" --data "$work/pictures"
rm "$last"
expect_error 65 "holds 59 records, the configuration says 60" 2 release "${job[@]}" "${png[@]}" --data "$work/pictures"
mkdir "$work/pictures/bird"
expect_error 65 "is no folder of pictures as data.format" 2 release "${job[@]}" "${png[@]}" --data "$work/pictures"
check "nobody's console has the class" unsaid bird
expect_error 78 'data.class_names needs a name of its own for each of the 3 classes' 1 release "${job[@]}" --set data.format=png \
  --set 'data.class_names=["cat"]' --data "$work/pictures"
expect_error 78 'data.resize is for pictures \(data.format = "png"\)' 1 release "${job[@]}" --set data.format=npz \
  --set data.resize=crop --data "$work/pixels.npz"
says 65 'needs no schema file.*data.class_names' "$MUFFLE" schema init "$work/large" --out "$work/schema.toml"
check "and none is made" test ! -e "$work/schema.toml"

# Real photographs: CIFAR-10's, as JPEGs in folders of their classes and in its own format. The project stores none.
photographs=(--config "$CONFIGS/cifar-10-moments.toml" --set "data.dir=\"$work\"" --set sample.count=100 --set 'evaluate.classifiers=["logistic_regression"]'
  --set data.id=photographs)
# released KIND [settings]
released() {
  local kind=$1 seed=(--insecure-seeded-noise 3)
  shift
  ends 0 on 1 check "${photographs[@]}" "$@"
  ends 0 on 1 release "${photographs[@]}" "$@" "${seed[@]}" --out "$work/$kind-1"
  ends 0 on 2 run "${photographs[@]}" "$@" "${seed[@]}" --out "$work/$kind-2"
  same "$kind: the same on one rank and two" "$kind-1" "$kind-2"
  there "$work/$kind-2" samples.npz metrics.json
}
if [[ -n ${MUFFLE_SHARED_DATA:-} ]]; then
  tar xJf "$MUFFLE_SHARED_DATA/cifar-10/folder-250-jpeg.tar.xz" -C "$work"
  xz -dc "$MUFFLE_SHARED_DATA/cifar-10/train-2000.bin.xz" >"$work/exact.bin"
  released jpeg --set data.format=png --set data.records=200 --set data.features=train --set data.test_features=test \
    --set 'data.class_names=["airplane","automobile","bird","cat","deer","dog","frog","horse","ship","truck"]'
  released exact --set data.records=2000 --set data.features=exact.bin --set data.test_features=exact.bin
else
  echo "left out: photographs of CIFAR-10 (MUFFLE_SHARED_DATA names a folder that holds cifar-10/)"
fi

finish
