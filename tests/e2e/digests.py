#!/usr/bin/env python3
"""Looks for digests of a canary's records in all that runs left: tests/e2e/digests.py FOLDER... [--self-test]

The first FOLDER/data has points.idx (n x d float32) and labels.idx, beside other files of records, and every folder has the same there;
everything else below the folders is searched, whole, for MD5, SHA-1, SHA-2, SHA-3 and BLAKE2 (libsodium's lengths among them) of each file, of its
numbers alone, of each column and each record with and without its label, in either byte order; as bytes, hexadecimal digits and base64, whole or
their first 8 bytes alone, also in the midst of others.
--self-test hides one of each kind in each encoding and must find them.
"""
import base64
import functools
import hashlib
import pathlib
import re
import struct
import sys
import tempfile

FUNCTIONS = [getattr(hashlib, name) for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "blake2b", "blake2s")]
FUNCTIONS += [functools.partial(hashlib.blake2b, digest_size=size) for size in (16, 32)]  # crypto_generichash: the length is hashed, too
BEGINNING = 8  # bytes of a digest: enough to know it
HEX = re.compile(rb"[0-9a-fA-F]{16,}")
BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{11,}")


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
            yield i, record
            yield i, record + labels[i : i + 1]


def digests(data):
    """{a digest's beginning: what it is of, a record's number or a text}"""
    return {function(piece).digest()[:BEGINNING]: what for what, piece in private_pieces(data) for function in FUNCTIONS}


def readings(content):
    """What the bytes are, and what they may be an encoding of."""
    yield content
    for run in HEX.findall(content):
        for skip in (0, 1):
            yield bytes.fromhex(run[skip : skip + (len(run) - skip) // 2 * 2].decode())
    for run in BASE64.findall(content):
        for skip in range(4):
            yield base64.b64decode(run[skip : skip + (len(run) - skip) // 4 * 4], b"-_" if b"-" in run or b"_" in run else b"+/")
        yield base64.b64decode(run + b"=" * (-len(run) % 4) if len(run) % 4 != 1 else run[:-1], b"-_" if b"-" in run or b"_" in run else b"+/")


def found(folder, wanted):
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] == "data":
            continue
        content = str(name).encode() + b"\n" + (path.read_bytes() if path.is_file() else b"")
        for reading in readings(content):
            for at in range(len(reading) - BEGINNING + 1):
                if reading[at : at + BEGINNING] in wanted:
                    what = wanted[reading[at : at + BEGINNING]]
                    yield f"{name}: a digest of {what if isinstance(what, str) else f'record {what}'}"


def self_test(data, wanted):
    pieces = {type(what).__name__ + str(what)[-9:]: piece for what, piece in private_pieces(data) if isinstance(what, str) or what == 7}
    for what, piece in pieces.items():
        for function in FUNCTIONS:
            digest = function(piece).digest()
            text = digest.hex().encode()
            written = [digest, text, text.upper(), b"abc" + text, base64.b64encode(digest), base64.urlsafe_b64encode(digest), base64.b64encode(b"12" + digest)]
            written += [digest[:BEGINNING], text[: 2 * BEGINNING], base64.b64encode(digest[:BEGINNING]), base64.b64encode(digest[:BEGINNING]).rstrip(b"=")]
            with tempfile.TemporaryDirectory() as scratch:
                for number, form in enumerate(written):
                    (pathlib.Path(scratch) / str(number)).write_bytes(b"{" + form + b"}")
                names = {line.split(":")[0] for line in found(pathlib.Path(scratch), wanted)}
            if len(names) < len(written):
                sys.exit(f"digests.py does not find {getattr(function, 'keywords', function)} of {what} in {len(written) - len(names)} encodings")


def main():
    folders = [pathlib.Path(name) for name in sys.argv[1:] if name != "--self-test"]
    wanted = digests(folders[0] / "data")
    if "--self-test" in sys.argv:
        self_test(folders[0] / "data", wanted)
    leaks = [leak for folder in folders for leak in found(folder, wanted)]
    print("\n".join(leaks[:20]) or "no digest of a record")
    sys.exit(1 if leaks else 0)


main()
