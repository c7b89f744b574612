#!/usr/bin/env python3
"""Checks that includes go where the rooms' link lines go: tests/room_links.py [ROOT]

A room is a folder src/ROOM with its muffle_room(... DEPENDS ...) and include/muffle/ROOM. It includes headers of itself and of the rooms
that it links, directly or through others, and nobody else's; it links only rooms that come before it in src/CMakeLists.txt. What is after
the release (model, train, synth) reaches no room that sees a record. A file hashes, or calls bytes or a file public, only if HASHES_ALLOWED
says what and why; none in rooms that see records, but those in HASHES_BESIDE_RECORDS, which read none. Rooms of parties do not speak of ranks. That each kind of mistake is found is shown on copies of the tree.
"""
import pathlib
import re
import shutil
import sys
import tempfile

SEES_RECORDS = {"data", "embed", "round", "job", "app"}
# A hash of records tells as much as they do to those who know all of them but one. Which files hash, and what.
HASHES_ALLOWED = {
    "include/muffle/core/hash.hpp": "SHA-256 itself: of what the caller calls public",
    "src/core/hash.cpp": "the same",
    "src/core/container.cpp": "checksums of files that muffle writes",
    "src/core/chained_file.cpp": "lines of ledgers and journals",
    "include/muffle/core/stage_notes.hpp": "hashes nothing; takes files that the caller calls public",
    "src/core/stage_notes.cpp": "files that the caller calls public",
    "src/schema/table_json.cpp": "schemas of tables, which people wrote",
    "src/features/table_numbers.cpp": "columns of the schema, and the hash of the map of vectors",
    "src/site/own_networks.cpp": "a site's copies of public networks, to compare them with what a proposal states",
    "src/networks/network.cpp": "a public network's file, to compare it with what a release states",
    "include/muffle/privacy/ledger.hpp": "hashes nothing; a parameter has the name",
    "src/privacy/ledger.cpp": "lines of the ledger",
    "src/privacy/ledger_report.cpp": "lines of the ledger",
    "src/crypto/masks.cpp": "greetings and keys",
    "src/crypto/signature.cpp": "the release that is signed",
    "src/crypto/site_keys.cpp": "the roster",
    "src/crypto/fingerprint.cpp": "public keys",
    "src/comm/agree.cpp": "settings",
    "src/release/plan_json.cpp": "the release plan, which is public",
    "include/muffle/release/artifact.hpp": "hashes nothing; a field has the name",
    "src/release/artifact.cpp": "the release, with its noise",
    "src/release/artifact_header.cpp": "the same",
    "src/release/statement.cpp": "the same",
    "src/release/combine.cpp": "releases, with their noise",
    "src/release/charged_document.cpp": "the release with its noise, or a contribution, which is covered by masks",
    "src/release/contribution_book.cpp": "contributions, which are covered by masks, and releases",
    "src/release/round_release.cpp": "the release, with its noise",
    "include/muffle/release/messages.hpp": "hashes nothing; a field has the name",
    "src/release/transaction.cpp": "the release, with its noise",
    "src/release/verification.cpp": "the release, with its noise",
    "src/release/messages.cpp": "messages of a round, which are public or masked",
    "include/muffle/http/server.hpp": "hashes nothing; a message's SHA-256 as its sender announces it",
    "src/http/spool.hpp": "hashes nothing; the same",
    "src/http/spool.cpp": "messages of a round, which are public or masked",
    "src/http/admission.cpp": "hashes nothing; compares what a coordinator has signed",
    "src/http/shelf.cpp": "the same",
    "src/http/client.cpp": "the same",
    "src/http/certificates.cpp": "requests and certificates of TLS, with their public keys",
    "src/model/model_file.cpp": "the model",
    "src/train/trainer.cpp": "the release, with its noise",
    "src/train/closed_form.cpp": "the release, with its noise",
    "src/synth/sampler.cpp": "the model",
    "include/muffle/synth/listed_samples.hpp": "samples: listed_samples() alone makes one",
    "src/synth/sample_files.hpp": "samples",
    "src/synth/sample_files.cpp": "samples, and files that claim to be: nothing is written of those that are not",
    "src/train/event_file.cpp": "events of the training, which sees the release",
    "src/report/public_material.cpp": "the release, with its noise, and the model",
    "src/cluster/facts.cpp": "the program",
}
# Families whose kinds may hash: their tables, how a kind's file ends, and what it hashes.
HASHES_OF_KINDS = {
    "src/features/map_kinds.inc": ("_map.cpp", "what the map expands to: its public settings, seed and schema"),
    "src/model/generator_kinds.inc": ("_generator.cpp", "numbers of the model"),
}
# Rooms that see records, in files other than these.
HASHES_BESIDE_RECORDS = {
    "src/app/config.cpp": "settings",
    "src/app/place_of_data.cpp": "the paths of the record files, not what they hold",
    "src/app/train_command.cpp": "the release, with its noise",
    "src/app/sample_command.cpp": "the model",
    "src/job/proposal.cpp": "a job's proposal: public settings, and a name of the records",
    "src/round/sync.cpp": "the release, with its noise",
    "src/round/own_traces.cpp": "a site's own messages, which are public or covered by masks",
    "src/round/holder.cpp": "a round's id and number",
    "src/round/holder_published.cpp": "the release's numbers, with their noise",
    "src/round/holder_verifying.cpp": "the release, with its noise",
    "src/embed/self_check.cpp": "what maps make of records that are made up in it",
}
# Hashes of private bytes that stay in memory: why they are there, and why none gets out.
HASHES_IN_MEMORY = {
    "src/crypto/pair_keys.cpp": "a vector of sums, with fresh entropy, into a secret key that is used once",
    "src/core/private_digest.cpp": "keyed, and made a PrivateDigest, which can be compared and nothing else",
    "include/muffle/schema/table_text.hpp": "of a field, to look its category up in a map",
}
HASHES = re.compile(
    r"\b(sha256\w*|Sha256|Public(Bytes|File)|crypto_\w*hash\w*|crypto_(onetime)?auth\w*|EVP_\w+|XXH\w+|md5\w*|crc32\w*|adler32\w*|std::hash)\b"
)
READS = re.compile(r"\b(open_shard|open_records|RecordSource|RecordStream|Batch|Row)\b")
WRITES = re.compile(r"\b(NewFile|write_file\w*|ofstream|fopen|printf|log_local|note_local|spdlog|to_hex|fmt|cout|cerr|LocalDetail|\w*Comm|Messages)\b")
# A site is an institution, a rank a process of its job: rounds and keys are of sites and parties.
NO_RANKS = {"round", "crypto"}
RANK = re.compile(r"(?i)\brank|rank\b")
AFTER_THE_RELEASE = {"sampling", "pair_graph", "moments", "model", "train", "synth", "interop"}
TORCH_IN_HEADERS = {"networks", "model", "train", "evaluate"}


def without_comments(text):
    return re.sub(r"#.*", "", text)


def kinds_that_hash(root):
    """Files of the kinds of HASHES_OF_KINDS."""
    for table, (ending, _) in HASHES_OF_KINDS.items():
        for kind in re.findall(r"^MUFFLE_KIND\((\w+)\)", (root / table).read_text(), re.M):
            yield f"{table.rsplit('/', 1)[0]}/{kind}{ending}"


def room_links(root):
    """{room: the rooms that it links itself}, lowest floor first."""
    order = re.search(r"foreach\(room ([^)]*)\)", (root / "src/CMakeLists.txt").read_text()).group(1).split()
    links = {}
    for room in order:
        text = without_comments((root / "src" / room / "CMakeLists.txt").read_text())
        found = set()
        call = re.search(r"muffle_room\(\s*%s\b(.*?)\)" % room, text, re.S)
        depends = re.search(r"\bDEPENDS\b([a-z_\s]*)", call.group(1))
        if depends:
            found |= set(depends.group(1).split())
        links[room] = (found | set(re.findall(r"muffle::(\w+)", text))) & set(order)
        links[room].discard(room)
    return order, links


def closure(room, links):
    seen, todo = set(), [room]
    while todo:
        r = todo.pop()
        if r not in seen:
            seen.add(r)
            todo += links[r]
    return seen


def problems(root):
    order, links = room_links(root)
    for file in HASHES_ALLOWED:
        if file.split("/")[-2] in SEES_RECORDS | {"evaluate"}:
            yield f"{file}: HASHES_ALLOWED names it, and its room sees records"
    for file in HASHES_ALLOWED | HASHES_BESIDE_RECORDS:
        if not HASHES.search((root / file).read_text()):
            yield f"{file}: HASHES_ALLOWED names it, and it hashes nothing"
    for file in HASHES_BESIDE_RECORDS:
        for reads in READS.finditer(re.sub(r'"[^"]*"|//.*', "", (root / file).read_text())):
            yield f"{file}: {reads.group()}: it hashes, and so reads no record"
    for file in HASHES_IN_MEMORY:
        text = (root / file).read_text()
        if not HASHES.search(text):
            yield f"{file}: HASHES_IN_MEMORY names it, and it hashes nothing"
        for writes in WRITES.finditer(re.sub(r'"[^"]*"|//.*', "", text)):
            yield f"{file}: {writes.group()}: it hashes records, and so writes, logs and sends nothing"
    allowed = HASHES_ALLOWED.keys() | HASHES_BESIDE_RECORDS.keys() | HASHES_IN_MEMORY.keys() | set(kinds_that_hash(root))
    for table in HASHES_OF_KINDS:
        if table.split("/")[-2] in SEES_RECORDS:
            yield f"{table}: HASHES_OF_KINDS names it, and its room sees records"
    rooms = {p.name for p in (root / "include/muffle").iterdir() if p.is_dir()} | {p.name for p in (root / "src").iterdir() if p.is_dir()}
    for room in sorted(rooms - set(order)):
        yield f"{room}: a folder that src/CMakeLists.txt does not name"
    for room in order:
        for below in sorted(links[room]):
            if order.index(below) > order.index(room):
                yield f"src/{room}/CMakeLists.txt: links {below}, which is above it"
        reached = closure(room, links)
        if room in AFTER_THE_RELEASE:
            for private in sorted(reached & SEES_RECORDS):
                yield f"src/{room}/CMakeLists.txt: reaches {private}, which sees records; what follows a release must not"
        public = root / "include/muffle" / room
        own = root / "src" / room
        for file in sorted([*public.glob("**/*"), *own.glob("**/*")]):
            if file.suffix not in {".hpp", ".cpp", ".cu", ".cuh", ".inc"}:
                continue
            for number, line in enumerate(file.read_text().splitlines(), 1):
                where = f"{file.relative_to(root)}:{number}"
                if room in NO_RANKS and RANK.search(line):
                    yield f"{where}: ranks are a job's own; {room} knows parties"
                hashes = HASHES.search(re.sub(r'"[^"]*"|//.*', "", line))
                if hashes and str(file.relative_to(root)) not in allowed:
                    yield f"{where}: {hashes.group()}: a hash of records tells as much as they do, and HASHES_ALLOWED does not say what this one is of"
                m = re.match(r'\s*#\s*include\s*([<"])([^>"]+)', line)
                if not m:
                    continue
                name = m.group(2)
                if name.startswith("muffle/"):
                    other = name.split("/")[1]
                    if other not in reached:
                        yield f"{where}: includes {name}, but {room} does not link {other}"
                elif m.group(1) == '"' and "/" in name and name != "../core/cuda_check.hpp":  # it needs CUDA: no public header
                    yield f"{where}: includes {name}: a room's own headers lie beside the file that includes them"
                if file.is_relative_to(public):
                    if name in {"mpi.h", "nccl.h"} or name.startswith("torch/") and room not in TORCH_IN_HEADERS:
                        yield f"{where}: public headers of {room} do without {name}"


def self_test(root):
    """Each mistake, made in a copy of the tree, is found."""
    mistakes = [
        ("include/muffle/core/error.hpp", '#include "muffle/data/source.hpp"\n', "does not link data"),
        ("src/train/checkpoint.cpp", '#include "muffle/embed/audit.hpp"\n', "does not link embed"),
        ("include/muffle/privacy/gaussian.hpp", "#include <torch/torch.h>\n", "do without torch"),
        ("src/app/main.cpp", '#include "../data/arrays.hpp"\n', "own headers lie beside"),
        ("src/evaluate/metrics.cpp", "const auto h = muffle::sha256(records);\n", "evaluate/metrics.cpp:"),
        ("src/job/drive.cpp", "const auto h = muffle::sha256(sums);\n", "job/drive.cpp:"),
        ("src/app/evaluate_command.cpp", "const auto h = muffle::sha256_file_hex(muffle::PublicFile(samples));\n", "app/evaluate_command.cpp:"),
        ("src/data/shard.cpp", "crypto_generichash(out, 16, row, 8, key, 32);\n", "data/shard.cpp:"),
        ("src/data/person_bound.cpp", "crypto_shorthash(out, row, 8, key);\n", "data/person_bound.cpp:"),
        ("src/core/private_digest.cpp", "void tell(PrivateDigest d) { log_local(std::to_string(d.value_)); }\n", "core/private_digest.cpp: log_local"),
        ("src/embed/audit.cpp", "const auto h = std::hash<std::string>()(bytes);\n", "embed/audit.cpp:"),
        ("src/round/covered.cpp", "// what a rank has\n", "round/covered.cpp:"),
        ("include/muffle/crypto/masks.hpp", "int my_rank = 0;\n", "crypto/masks.hpp:"),
        ("src/data/shard.cpp", "crc32(0, row, 8);\n", "data/shard.cpp:"),
        ("src/app/evaluate_command.cpp", "work.input = muffle::PublicFile(records);\n", "app/evaluate_command.cpp:"),
        ("src/app/place_of_data.cpp", "data::open_shard(records, 0, 1);\n", "app/place_of_data.cpp: open_shard"),
        ("src/features/block.cpp", "Sha256 all;\n", "features/block.cpp:"),
        ("src/core/CMakeLists.txt", "target_link_libraries(muffle_core PUBLIC muffle::schema)\n", "links schema, which is above"),
        ("src/release/CMakeLists.txt", "target_link_libraries(muffle_release PUBLIC muffle::data)\n", "model/CMakeLists.txt: reaches data"),
    ]
    for file, text, found in mistakes:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            for part in ("src", "include"):
                shutil.copytree(root / part, copy / part)
            assert (copy / file).exists(), file
            with (copy / file).open("a") as f:
                f.write(text)
            if not any(found in p for p in problems(copy)):
                yield f"room_links.py does not notice {text.strip()} in {file}"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    found = [*problems(root), *self_test(root)]
    for p in found:
        print("lint:", p, file=sys.stderr)
    sys.exit(1 if found else 0)


main()
