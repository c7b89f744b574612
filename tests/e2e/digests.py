#!/usr/bin/env python3
"""Looks for digests of a canary's records in all that a run left: tests/e2e/digests.py FOLDER [--self-test]

FOLDER/data has points.idx (n x d float32) and labels.idx, beside other files of records; everything else below FOLDER is searched, whole,
for MD5, SHA-1, SHA-2, SHA-3 and BLAKE2 of each file, of its numbers alone, of each column and each record with and without its label, in either
byte order; as bytes, hexadecimal digits and base64. --self-test hides one of each encoding and must find them.
"""
import base64
import hashlib
import pathlib
import struct
import sys
import tempfile

FUNCTIONS = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "blake2b", "blake2s"]


def idx(path):
    """(shape, the numbers' bytes) of an IDX file."""
    raw = path.read_bytes()
    dims = raw[3]
    return struct.unpack(f">{dims}I", raw[4 : 4 + 4 * dims]), raw[4 + 4 * dims :]


def private_pieces(data):
    """(what it is, bytes) of all whose digest would tell something."""
    for path in sorted(data.iterdir()):
        yield path.name, path.read_bytes()
        yield path.name + " without its header", idx(path)[1]
    (n, d), points = idx(data / "points.idx")
    labels = idx(data / "labels.idx")[1]
    swapped = struct.pack(f"<{n * d}f", *struct.unpack(f">{n * d}f", points))
    for numbers in (points, swapped):
        yield "all numbers", numbers
        for column in range(d):
            yield f"column {column}", b"".join(numbers[4 * (i * d + column) :][:4] for i in range(n))
        for i in range(n):
            record = numbers[4 * d * i : 4 * d * (i + 1)]
            yield f"record {i}", record
            yield f"record {i} and its label", record + labels[i : i + 1]


def needles(data):
    """{length: {how a digest may be written: what it is of}}"""
    out = {}
    for what, piece in private_pieces(data):
        for function in FUNCTIONS:
            digest = hashlib.new(function, piece).digest()
            text = digest.hex().encode()
            written = [digest, text, text.upper(), base64.b64encode(digest).rstrip(b"="), base64.urlsafe_b64encode(digest).rstrip(b"=")]
            for form in written:
                out.setdefault(len(form), {})[form] = f"{function} of {what}"
    return out


def found(folder, wanted):
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] == "data":
            continue
        content = str(name).encode() + b"\n" + (path.read_bytes() if path.is_file() else b"")
        for length, forms in wanted.items():
            for at in range(len(content) - length + 1):
                what = forms.get(content[at : at + length])
                if what:
                    yield f"{name}: {what}"


def self_test(wanted):
    with tempfile.TemporaryDirectory() as scratch:
        for length, forms in wanted.items():
            form = next(reversed(forms))
            (pathlib.Path(scratch) / "leak").write_bytes(b"{" + form + b"}")
            if not list(found(pathlib.Path(scratch), {length: forms})):
                sys.exit(f"digests.py does not find {forms[form]}")


def main():
    folder = pathlib.Path(sys.argv[1])
    wanted = needles(folder / "data")
    if "--self-test" in sys.argv:
        self_test(wanted)
    leaks = list(found(folder, wanted))
    print("\n".join(leaks[:20]) or "no digest of a record")
    sys.exit(1 if leaks else 0)


main()
