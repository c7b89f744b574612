"""Writes the files of tests/data/hdf5 with libhdf5, by h5py (3.16, HDF5 2.0): make_hdf5.py tests/data/hdf5

Each holds 23 records of 2 x 3 numbers, record i's are 6 i ... 6 i + 5, and their labels i mod 3, unless it says something else.
"""
import sys

import h5py
import numpy

out = sys.argv[1]
n = 23
x = numpy.arange(6 * n).reshape(n, 2, 3)
y = numpy.arange(n) % 3


def file(name, libver="earliest", **more):
    return h5py.File(f"{out}/{name}.h5", "w", libver=libver, **more)


# What muffle reads.
with file("gzip") as f:  # the older headers; chunks that stick out on all sides
    f.create_dataset("x", data=x.astype("<f4"), chunks=(5, 2, 2), compression="gzip", shuffle=True, fletcher32=True)
    f.create_dataset("y", data=y.astype("<i8"), chunks=(7,))
with file("newer", libver=("v108", "v108")) as f:  # the newer headers, groups in groups
    f.create_dataset("train/x", data=x.astype("<u1"))
    f.create_dataset("train/y", data=(y == 1))  # truth values
with file("big", userblock_size=1024) as f:  # behind another program's bytes; other byte order
    f.create_dataset("x", data=x.astype(">f8"), chunks=(4, 2, 3), compression="gzip")
    f.create_dataset("y", data=y.astype(">i2").reshape(n, 1))
with file("halves") as f:
    f.create_dataset("x", data=x.astype("<f2"))
    f.create_dataset("y", data=y.astype("u1"))
with file("many-chunks") as f:  # a tree of two levels: 300 records of one number
    f.create_dataset("x", data=(numpy.arange(300) % 256).astype("u1").reshape(300, 1), chunks=(1, 1))
    f.create_dataset("y", data=(numpy.arange(300) % 3).astype("u1"))
with file("many-names") as f:  # a group whose tree has several tables of symbols
    for i in range(40):
        f.create_dataset(f"a{i:02}", data=numpy.zeros(1, "u1"))
    f.create_dataset("x", data=x.astype("<u1"))
    f.create_dataset("y", data=y.astype("<u1"))
with file("compact") as f:
    for name, data in (("x", x.astype("u1")), ("y", y.astype("u1"))):
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple(data.shape)
        h5py.h5d.create(f.id, name.encode(), h5py.h5t.NATIVE_UINT8, space, plan).write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.ascontiguousarray(data))with file("latest", libver=("latest", "latest")) as f:
    f.create_dataset("x", data=x.astype("u1"), chunks=(5, 2, 3))
    f.create_dataset("y", data=y.astype("u1"))

# What it refuses.
with file("lzf") as f:
    f.create_dataset("x", data=x.astype("<f4"), chunks=(5, 2, 3), compression="lzf")
    f.create_dataset("y", data=y.astype("u1"))
with file("links") as f:
    f.create_dataset("real", data=y.astype("u1"))
    f["soft"] = h5py.SoftLink("/real")
    f["other"] = h5py.ExternalLink("gzip.h5", "/x")
    f.create_group("group")
    f.create_dataset("group/text", data=numpy.array([b"ab"] * n))
    f.create_dataset("group/number", data=1.0)
    f.create_dataset("holes", shape=(n, 2, 3), dtype="u1", chunks=(5, 2, 3))[10:] = 1
    f.create_dataset("never", shape=(n, 2, 3), dtype="u1")
    f.create_dataset("outside", shape=(n, 2, 3), dtype="u1", external=[("secret.bin", 0, 6 * n)])
