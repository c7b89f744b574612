"""Writes the seeds of fuzz_formats: make_format_seeds.py tests/fuzz/corpus/formats. Needs numpy."""
import gzip
import io
import struct
import sys
import zipfile

import numpy

IDX, CIFAR, NPZ = 0, 1, 2  # lines of src/data/format_kinds.inc
LABELS, IMAGES, CLAMP, DEALT, TWO_RANKS, CLASSES, TWO_FILES = 1, 2, 4, 8, 16, 32, 64


def seed(name, kind, options, first, records):
    with open(f"{sys.argv[1]}/{name}", "wb") as file:
        # A piece is its length, 16 bits little-endian, and its bytes (fuzz.hpp).
        file.write(bytes([kind, options]) + struct.pack("<H", len(first)) + first + records)


def idx(code, dims, elements):
    return struct.pack(f">BBBB{len(dims)}I", 0, 0, code, len(dims), *dims) + elements


def npy(array):
    out = io.BytesIO()
    numpy.save(out, array)
    return out.getvalue()


def npz(compressed, **arrays):
    out = io.BytesIO()
    (numpy.savez_compressed if compressed else numpy.savez)(out, **arrays)
    return out.getvalue()


labels = idx(8, [3], bytes([0, 1, 2]))
images = idx(8, [3, 2, 2], bytes(range(0, 240, 20)))
floats = idx(13, [2, 4], struct.pack(">8f", 0, 1, 2, 254.5, 255, 3, 4, 5))
seed("idx-images", IDX, LABELS | IMAGES | CLASSES, labels, images)
seed("idx-dealt", IDX, LABELS | IMAGES | CLAMP | DEALT | TWO_RANKS | CLASSES, labels, images)
seed("idx-floats", IDX, 0, b"", floats)
seed("idx-gzip", IDX, LABELS | IMAGES | CLASSES, gzip.compress(labels, mtime=0), gzip.compress(images, mtime=0))
seed("idx-gzip-twice", IDX, 0, b"", gzip.compress(floats[:20], mtime=0) + gzip.compress(floats[20:], mtime=0))
cifar = bytes([0, 1, 2, 3, 4, 2, 250, 251, 252, 253, 7, 9, 9, 9, 9])
seed("cifar", CIFAR, CLASSES, b"", cifar)
seed("cifar-clamped", CIFAR, CLASSES | CLAMP | DEALT | TWO_RANKS | IMAGES, b"", cifar)
seed("cifar-two-files", CIFAR, CLASSES | CLAMP | TWO_FILES, cifar, cifar)
x, y = numpy.arange(12, dtype=numpy.uint8).reshape(3, 4), numpy.array([0, 1, 2], numpy.int64)
seed("npz-bytes", NPZ, CLASSES, b"", npz(False, x=x, y=y))
seed("npz-deflated", NPZ, CLASSES | CLAMP | TWO_RANKS, b"", npz(True, x=x.astype("<f8"), y=y.astype("<i4")))
seed("npz-unlabelled", NPZ, 0, b"", npz(False, x=x.astype("<f4")))
seed("npy", NPZ, LABELS | CLASSES, npy(y.astype(numpy.uint8)), npy(x.astype("<i2")))
