#!/usr/bin/env bash
# docs/how-to/python.md: what it tells its readers to run does run, with Debian's PyTorch, pandas and R, and prints what it shows.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

python=/usr/bin/python3 # Debian's
"$python" -c 'import numpy, pandas, torch' 2>/dev/null || { echo "there is no PyTorch or pandas: apt-get install python3-torch python3-pandas"; exit 77; }
Rscript -e 'library(jsonlite)' >/dev/null 2>&1 || { echo "there is no R: apt-get install r-base-core r-cran-jsonlite"; exit 77; }
mkdir "$work/bin" "$work/out"
ln -s "$python" "$work/bin/python3"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$MUFFLE" >"$work/bin/muffle"
chmod +x "$work/bin/muffle"
export PATH=$work/bin:$PATH OMP_NUM_THREADS=1

ends 0 on 2 run "${small[@]}" --set 'sample.formats=["npz"]' --set evaluate.metrics=[] --out "$work/out/fashion"
cp "$here/stays.toml" "$work/stays.toml"
python3 - >"$work/stays.csv" <<'END'
print("age,ward,admitted,left,note,died")
for i in range(600):
    age, month = i * 37 % 100, 1 + i % 11
    ward = ["north", '"south, west"', '"intensive ""care"""', "NA"][age // 25]
    print(f"{age},{ward},2020-{month:02}-{1 + i % 28:02},2020-{month + 1:02}-{1 + i % 20:02},private {i},{'yes' if age > 60 else 'no'}")
END
table=(--set "data.schema=$work/stays.toml" --data "$work/stays.csv" --set data.records=600 --set privacy.epsilon=5 --set privacy.delta=1e-5
  --set privacy.max_records_per_person=1 --set runtime.deadline_s=60 --set sample.count=700 --set 'sample.formats=["csv"]' --set evaluate.metrics=[])
ends 0 on 1 run "${table[@]}" --set map.pairs.kind=pairs --set model.generator=pair-graph --out "$work/out/people"
check "the page" env -u MUFFLE_BINARY python3 "$here/page.py" "$here/../../docs/how-to/python.md" "$work"

# Tables by a network, and every refusal.
ends 0 on 1 run "${table[@]}" --set map.numbers.kind=table-rff --set map.numbers.count=50 --set map.entries.kind=one-hot --set model.generator=tabular --set train.steps=5 \
  --set train.batch=50 --set 'sample.formats=["npz"]' --out "$work/out/tabular"
says 0 'constraints' "$MUFFLE" export "$work/out/tabular/model.mfl" --format torchscript -o "$work/tabular.pt"
check "whose columns without rules are those of the samples" "$python" - "$work" <<'END'
import numpy, sys, torch
torch.set_num_threads(1)
x, y = torch.jit.load(sys.argv[1] + "/tabular.pt").sample(700)
samples = numpy.load(sys.argv[1] + "/out/tabular/samples.npz", allow_pickle=False)
# Ages of 0 .. 99 in five bins; codes of wards are their places in the schema, "NA" the last.
assert numpy.array_equal(numpy.floor(x[:, 0].double().numpy() * 100), samples["age"]), (x[:5, 0], samples["age"][:5])
assert numpy.array_equal(numpy.floor(x[:, 1].numpy() * 4), samples["ward"]), samples["ward"][:5]
assert numpy.array_equal(y.numpy(), samples["died"])
END
says 78 'closed form' "$MUFFLE" export "$work/out/people/model.mfl" --format torchscript -o "$work/no.pt"
says 78 'is for a release' "$MUFFLE" export "$work/out/people/model.mfl" --format mbi -o "$work/no"
says 78 'is for a model' "$MUFFLE" export "$work/out/people/release.mfl" --format npz -o "$work/no"
says 78 'none' "$MUFFLE" export "$work/out/fashion/release.mfl" --format mbi -o "$work/no"
says 74 'is there already' "$MUFFLE" export "$work/out/people/model.mfl" --format npz -o "$work/tabular.pt"
mkdir "$work/taken"
echo mine >"$work/taken/measurements.json"
says 74 'is there already' "$MUFFLE" export "$work/out/people/release.mfl" --format mbi -o "$work/taken"
check "of two files none is written where one is there" test ! -e "$work/taken/domain.json" -a "$(cat "$work/taken/measurements.json")" = mine
says 2 'format' "$MUFFLE" export "$work/out/people/model.mfl" -o "$work/no"
check "nothing was written" test ! -e "$work/no" -a ! -e "$work/no.pt"
finish
