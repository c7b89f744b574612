"""Records of a network from its exported arrays, by docs/reference/artifact-format.md ("A network's function") alone.

networks.py MODEL.npz MODEL.pt: compares them with what the TorchScript of the same model makes of the same codes.
"""
import json
import sys

import numpy
import torch
from torch.nn import functional

torch.set_num_threads(1)
arrays = dict(numpy.load(sys.argv[1]))
description = json.loads(bytes(arrays.pop("description")))
script = torch.jit.load(sys.argv[2])
settings, schema = description["generator"], description["schema"]
a = {name: torch.from_numpy(array) for name, array in arrays.items()}


def norm(x, name):
    scaled = (x - a[name + ".running_mean"]) / torch.sqrt(a[name + ".running_var"] + 1e-5)
    return scaled * a[name + ".weight"] + a[name + ".bias"]


def output(code, labels):
    h = torch.cat([code, functional.one_hot(labels, schema["classes"]).float()], 1)
    for i in range(len(settings["hidden"])):
        h = torch.relu(norm(h @ a[f"hidden{i}.weight"].T, f"norm{i}"))
    if settings["kind"] != "convolutional":
        return h @ a["out.weight"].T + a["out.bias"]
    _, height, width = schema["shape"]
    image = norm(h @ a["seed_image.weight"].T, "seed_norm").reshape(len(h), -1, height // 4, width // 4)
    for i in range(2):
        image = functional.interpolate(image, scale_factor=2, mode="bilinear", align_corners=True)
        image = functional.conv2d(image, a[f"conv{i}.weight"], a[f"conv{i}.bias"], padding=2)
        image = torch.relu(image) if i == 0 else image
    return image.reshape(len(h), -1)


def closed_form(code, coin, labels):
    """Of images, or of vectors, which have no `rows`."""
    c = {name[len("closed_form."):]: array for name, array in a.items() if name.startswith("closed_form.")}
    g = torch.einsum("nij,nj->ni", c["factor"][labels], code)
    if len(c["rows"]):
        side = len(c["rows"])
        g = c["rows"].T @ (g * c["unweight"]).reshape(len(g), -1, side, side) @ c["columns"]
        g = g.reshape(len(code), -1)
    return torch.where(coin < settings["plain_share"], c["centre"][labels] + g, c["location"][labels] + c["stretch"][labels] * g)


def same(what, ours, theirs, most):
    apart = float((ours.double() - theirs.double()).abs().max())
    print(f"{what}: at most {apart:.2g} apart")
    assert apart <= most and theirs.double().std() > 0, what


codes = script.codes(3, 0, 200)
labels = torch.arange(200) % schema["classes"]
drawn = script.draw(codes, labels)
latent, rest = codes[:, : settings["code"]], codes[:, settings["code"] :]
y = output(latent, labels)
if settings["kind"] == "tabular":
    # The tests' table: ages of 0 .. 99 in bins of the same size, so a position is the number itself; then three wards and the missing one.
    same("age", torch.sigmoid(y[:, 0]), drawn[:, 0], 1e-5)
    numbers = 3  # age, admitted, left
    ward = (torch.cumsum(torch.softmax(y[:, numbers : numbers + 4], 1), 1) <= rest[:, :1]).sum(1)
    same("ward", ward, torch.floor(drawn[:, 1] * 4), 0)
elif settings["residual"]:
    same("records", (closed_form(latent, rest, labels) + y).clamp(0, 1), drawn, 1e-5)
else:
    same("records", torch.sigmoid(y), drawn, 1e-5)
