"""Writes the seeds of fuzz_formats, fuzz_csv and fuzz_picture: make_format_seeds.py tests/fuzz/corpus. Needs numpy."""
import gzip
import io
import struct
import sys
import zipfile
import zlib

import numpy

IDX, CIFAR, NPZ = 0, 1, 2  # lines of src/data/format_kinds.inc
LABELS, IMAGES, CLAMP, DEALT, TWO_RANKS, CLASSES, TWO_FILES, TABLE = 1, 2, 4, 8, 16, 32, 64, 128
HEADER, SEMICOLON, TAB, BAR, COMMENT, REJECT, ROUND_ROBIN, PEOPLE = 1, 2, 4, 6, 8, 16, 32, 64  # of fuzz_csv


def seed(name, kind, options, first, records):
    with open(f"{sys.argv[1]}/formats/{name}", "wb") as file:
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
columns = {name: numpy.array([0, 1, 2], numpy.float64) for name in "abcd"}
seed("npz-table", NPZ, CLASSES | TABLE | CLAMP, b"", npz(False, y=numpy.array([0, 1, 2], numpy.uint8), **columns))
seed("npy-table", NPZ, CLASSES | TABLE | TWO_RANKS, b"", npy(numpy.arange(15, dtype=numpy.float32).reshape(3, 5) % 3))


def csv(name, options, text):
    with open(f"{sys.argv[1]}/csv/{name}", "wb") as file:
        file.write(bytes([options]) + (text if isinstance(text, bytes) else text.encode()))


head = "i,d,c,o,n,t,s,y,p\n"
rows = "-5,0.01,a,low,x,1970-01-02,1970-01-01T00:00:01,0,ann\n?,2.5,\"b,\"\"\",high,,2000-02-29,1970-01-01 23:59:59,1,bob\n"
more = "100,1e-1,\"c\nd\", low ,\"x\"\"y\",1999-12-31,1970-01-01T12:00:00,1,ann\r\n,2,-,high,\xe9,1970-01-01,1970-01-01T00:00:00,0,ann"
csv("header", HEADER, head + rows + more)
csv("people", HEADER | PEOPLE | ROUND_ROBIN, head + rows + more)
csv("bare", REJECT, "\ufeff" + rows)
csv("semicolons", HEADER | SEMICOLON | COMMENT, "#a \"comment\n#,\n" + (head + rows).replace(",", ";") + " \n")
csv("tabs", TAB, "1\t2\tA\tlow\t\t1970-01-01\t1970-01-01T00:00:00\t1\tx\n")
csv("blanks", HEADER | BAR | COMMENT, ' i d  c o\tn t s y p \n#1 0.01 A low "" 1970-01-01 "1970-01-01 00:00:00" 1 x\n\t2 2 "b,""" high "é\t" 1970-01-02 1970-01-01T00:00:01 0 ann')
csv("bars", BAR | REJECT, "1|2|A|low||1970-01-01|1970-01-01T00:00:00|1|x\r\r\n")
csv("order", HEADER, "p,y,s,t,o,c,d,i\nx,1,1970-01-01T00:00:00,1970-01-01,low,a,1,1\n")
csv("misfits", HEADER | PEOPLE, head + "-6,3,z,mid,,1970-13-01,x,2,\n999999999999999999999,nan,,,,,,,\n")
csv("quote", HEADER, head + '1,"2')
csv("gzip", HEADER | REJECT, gzip.compress((head + rows).encode(), mtime=0))


def picture(name, options, file):
    with open(f"{sys.argv[1]}/picture/{name}", "wb") as out:
        out.write(bytes([options]) + file)


def png(width, height, depth, colour, rows, interlaced=0, pieces=b""):
    def piece(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = piece(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
    more = b"".join(piece(kind, data) for kind, data in pieces or [])
    return b"\x89PNG\r\n\x1a\n" + head + more + piece(b"IDAT", zlib.compress(rows)) + piece(b"IEND", b"")


GREY, COLOUR, STRETCH, CROP = 0, 2, 4, 8  # of fuzz_picture
row = bytes(range(0, 240, 10))
palette = (b"PLTE", bytes(range(12)))
picture("grey", GREY, png(6, 4, 8, 0, (b"\1" + row[:6]) * 4))
picture("grey-1-bit", GREY, png(6, 4, 1, 0, b"\0\xa8" * 4))
picture("grey-tRNS", 1, png(6, 4, 8, 0, (b"\0" + row[:6]) * 4, pieces=[(b"tRNS", b"\0\x0a")]))
picture("colour", COLOUR, png(6, 4, 8, 2, (b"\4" + row[:18]) * 4))
picture("palette-2-bit", COLOUR, png(6, 4, 2, 3, b"\0\x1b\xe0" * 4, pieces=[palette]))
picture("interlaced", GREY | STRETCH, png(2, 2, 8, 0, b"\0\x0a" b"\0\x14" b"\0\x1e\x28", interlaced=1))
picture("cropped-note", GREY | CROP, png(6, 2, 8, 0, (b"\2" + row[:6]) * 2, pieces=[(b"zTXt", b"a\0\0" + zlib.compress(b"b" * 99))]))
