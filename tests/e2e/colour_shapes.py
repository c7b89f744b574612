#!/usr/bin/env python3
"""A small colour image set in CIFAR-10's binary format, made by rule: ten classes, five shapes in each of two families of
colour, of varying place, size, shade and brightness, on a background of varying shade, with noise in every pixel.

usage: colour_shapes.py FOLDER [TRAIN [TEST [SIDE]]]   writes FOLDER/train.bin and FOLDER/test.bin
Needs nothing but Python. The same files every time.
"""
import os
import random
import sys


def inside(shape, dx, dy, r):
    """Whether a pixel at (dx, dy) from the centre belongs to the shape of radius r."""
    if shape == 0:  # disc
        return dx * dx + dy * dy <= r * r
    if shape == 1:  # square
        return max(abs(dx), abs(dy)) <= 0.85 * r
    if shape == 2:  # cross
        return min(abs(dx), abs(dy)) <= 0.3 * r and max(abs(dx), abs(dy)) <= r
    if shape == 3:  # ring
        return 0.3 * r * r <= dx * dx + dy * dy <= r * r
    return abs(dy) <= 0.3 * r  # bar across the image


def record(draw, label, side):
    """The label's byte and three planes of side x side bytes, red, green, blue."""
    shape, warm = label % 5, label // 5 == 0
    shade, bright = draw.uniform(0.05, 0.45), draw.uniform(0.6, 1.0)
    strong, weak = bright, bright * draw.uniform(0.1, 0.5)
    colour = (strong, bright * draw.uniform(0.3, 0.7), weak) if warm else (weak, bright * draw.uniform(0.3, 0.7), strong)
    r = side * draw.uniform(0.22, 0.34)
    cx, cy = side / 2 + draw.uniform(-2, 2), side / 2 + draw.uniform(-2, 2)
    mask = [inside(shape, x - cx + 0.5, y - cy + 0.5, r) for y in range(side) for x in range(side)]
    noise = draw.randbytes(3 * side * side)
    out = bytearray([label])
    for channel in range(3):
        here = noise[channel * len(mask):(channel + 1) * len(mask)]
        levels = (255 * shade, 255 * colour[channel])
        out += bytes(max(0, min(255, int(levels[m] + n / 8 - 16))) for m, n in zip(mask, here))
    return bytes(out)


def main():
    folder = sys.argv[1]
    train, test, side = (int(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((2, 6000), (3, 1000), (4, 16)))
    os.makedirs(folder, exist_ok=True)
    draw = random.Random(1)
    for name, count in (("train.bin", train), ("test.bin", test)):
        with open(os.path.join(folder, name), "wb") as f:
            for i in range(count):
                f.write(record(draw, i % 10, side))


if __name__ == "__main__":
    main()
