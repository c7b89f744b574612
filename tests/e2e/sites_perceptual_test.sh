#!/usr/bin/env bash
# Rounds between institutions by a public network: `muffle` sums by the site's own copy of it, `muffle-site` declines and says so,
# and whoever has no records (coordinator, key holders, verify) needs neither the file nor LibTorch.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
: "${MAKE_NETWORK:?}"
small_program=$(dirname "$MUFFLE")/muffle-site

python3 "$(dirname "${BASH_SOURCE[0]}")/colour_shapes.py" "$work/data" 300 10 8
for variant in good other branches; do "$MAKE_NETWORK" "$work/$variant.pt" $variant; done
cat >"$work/job.toml" <<END
[data]
format = "cifar"
dir = "$work/data"
features = "train.bin"
classes = 10
shape = [3, 8, 8]
lo = 0.0
hi = 255.0
[map.deep]
kind = "perceptual"
network = "$work/good.pt"
[privacy]
epsilon = 20.0
delta = 1e-5
adjacency = "add-remove-one"
max_records_per_person = 1
release_counts = true
[runtime]
deadline_s = 60.0
END

# The whole round, with a server between the sites; its sum is that of a job on all records, but for the noise.
says 78 'needs LibTorch.*use .muffle simulate.' "$small_program" simulate --config "$work/job.toml" --sites 3 --out "$work/small"
check "nothing was made" test ! -e "$work/small"
says 0 'the release is verified' "$MUFFLE" simulate --config "$work/job.toml" --sites 3 --out "$work/three"
exchange=$work/three/exchange
release=$(compgen -G "$exchange/*-release.mfl")
ends 0 "$MUFFLE" release --config "$work/job.toml" --insecure-no-noise --out "$work/job"
check "the round's sum is the job's, but for its noise" python3 - "$release" "$work/job/release.mfl" <<'END'
import json, struct, sys
def read(name):
    raw = open(name, "rb").read()
    size = struct.unpack("<I", raw[12:16])[0]
    count = struct.unpack("<Q", raw[16 + size:24 + size])[0] // 8
    return json.loads(raw[16:16 + size]), struct.unpack(f"<{count}q", raw[24 + size:24 + size + 8 * count])
(a, noisy), (b, plain) = read(sys.argv[1]), read(sys.argv[2])
sigma = a["maps"][0]["numbers"][0]["sigma_lattice"] * 1.5**0.5  # three sites' shares, made for two
assert len(noisy) == len(plain) == 10 * (4 * 64 + 5 * 16) + 10, len(plain)
plain = plain[:-10]  # the class counts have units of their own
off = [x - y for x, y in zip(noisy, plain)]
spread = (sum(d * d for d in off) / len(off)) ** 0.5
assert max(map(abs, plain)) > 3 * sigma, (max(map(abs, plain)), sigma)
# 3360 numbers: the spread is 1.2 % of sigma off; beyond 10 % it is by chance once in 10^15.
assert 0.9 * sigma < spread < 1.1 * sigma and max(map(abs, off)) < 7 * sigma, (spread, sigma)
END
check "the proposal names the file by its hash" grep -qa "$(sha256sum "$work/good.pt" | head -c 64)" "$exchange"/*-proposal.mfm
check "no message has a path" test -z "$(grep -rlaE 'good\.pt' "$exchange")"
mv "$work/good.pt" "$work/hidden.pt"
says 0 'verdict: good' "$small_program" verify "$release" --evidence "$exchange" --require-signature "$work/three/coordinator/card.mfm"
says 0 'network: the map deep is made by a public one, SHA-256 [0-9a-f]{64}, [0-9]+ bytes, licence MIT' "$small_program" site show --site "$work/three/site-1" --exchange "$exchange"
mv "$work/hidden.pt" "$work/good.pt"

# A second one over the folder, in which each site is a case of its own. Each has still what it had, but for its settings.
sites=(1 2 3)
at_site() { "$MUFFLE" site "$1" --site "$work/three/site-$2" --exchange "$exchange" "${@:3}"; }
set_networks() { sed -i "s#^networks = .*#networks = [$2]#" "$work/three/site-$1/site.toml"; }
charges() { grep -c INTENT "$work/three/site-$1/ledger.jsonl"; }
coordinator() { "$MUFFLE" coordinator "$1" --coordinator "$work/three/coordinator" "${@:2}"; }
propose() {
  local before
  before=$(compgen -G "$exchange/*-proposal.mfm" | sort)
  ends 0 "${1:-$MUFFLE}" coordinator propose --coordinator "$work/three/coordinator" --title again --config "$work/job.toml" "${@:2}"
  round=$(basename "$(comm -13 <(echo "$before") <(compgen -G "$exchange/*-proposal.mfm" | sort))" -proposal.mfm)
}
names='["a","b","c","d","e","f","g","h","i","j"]'
propose "$small_program" --set "data.class_names=$names"
set_networks 1 ''
says 0 'waits for networks: the map "deep" is made by a public network with the SHA-256 [0-9a-f]{64}.*features.networks of site.toml does not have' at_site step 1 "$round"
set_networks 1 "\"$work/other.pt\", \"nowhere.pt\""
says 0 "waits for networks: .*other.pt' is another file; cannot read '.*site-1/nowhere.pt'" at_site step 1 "$round"
says 0 'WAITS +networks' at_site show 1 "$round"
check "nothing was charged" test "$(charges 1)" = 1
# By the site's own copy, wherever it lies, on several ranks.
cp "$work/good.pt" "$work/three/site-1/copy.pt"
set_networks 1 "\"$work/other.pt\", \"copy.pt\""
# Classes in another order would be mixed up.
set_names() { sed -i "s/^class_names = .*/class_names = $1/" "$work/three/site-1/site.toml"; }
says 0 'classes: a, b, c, d, e, f, g, h, i, j' at_site show 1 "$round"
set_names "${names/'"a","b"'/'"b","a"'}"
says 78 'data.class_names in .*site-1/site.toml is not that of the round.s plan \(a, b, c.*No record was read' at_site step 1 "$round"
check "nothing was charged" test "$(charges 1)" = 1
set_names "$names"
says 0 'contributed, for charge' on 2 site step "$round" --site "$work/three/site-1" --exchange "$exchange"
says 0 'contributed, for charge' at_site step 2 "$round"
# Without LibTorch: people see it beforehand, and the site says so to all.
says 0 'REFUSED +program .*muffle-site has not.*muffle site step' "$small_program" site show "$round" --site "$work/three/site-3" --exchange "$exchange"
says 0 "declined with the code 'needs-torch'" "$small_program" site step "$round" --site "$work/three/site-3" --exchange "$exchange"
says 0 'SITE-3 +declined \(needs-torch\)' "$MUFFLE" round status "$exchange" --round "$round"
check "it was not charged" test "$(charges 3)" = 1
# The others make the release, and open the sum without LibTorch.
says 0 'sealed 2 of 3' coordinator step "$round"
for i in "${sites[@]}"; do says 0 'opened the sum of 2' "$small_program" site step "$round" --site "$work/three/site-$i" --exchange "$exchange"; done
says 0 'released' "$small_program" coordinator step "$round" --coordinator "$work/three/coordinator"
says 0 'sent a receipt: contributions and openings add up' "$small_program" site step "$round" --site "$work/three/site-3" --exchange "$exchange"

# A network that could fail by what an image holds: all would see it, so no record is read.
propose "$MUFFLE" --set "map.deep.network=$work/branches.pt"
set_names '[]'
set_networks 1 "\"$work/branches.pt\""
says 78 'branches.pt.*everybody sees.*No record was read' at_site step 1 "$round"
check "nothing was charged" test "$(charges 1)" = 2
check "and it is no failure of the records" test ! -e "$work/three/site-1/records-refused"
finish
