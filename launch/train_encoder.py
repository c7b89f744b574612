"""Makes a TorchScript network with muffle's manifest that has seen no photograph: it learns from images that this program draws, by a seed.

    python3 launch/train_encoder.py OUT.pt --license SPDX [--size PIXELS] [--seed N] [--images N] [--filters N] [--show IMAGE.png]

Nothing is downloaded, and the licence is whatever you give your own file. The images are colour: overlapping shapes with textures, horizons, noise
with a power law, gratings, gradients, fields of small untrained networks, and mixtures of all. From them, without labels:

patches    filters of 6 x 6 pixels, k-means of whitened patches and their negatives, after a ReLU; means of 3 x 3 places
whitened   their means in the four quarters of an image, made uncorrelated with unit variance, and the negatives, after a ReLU

A minute of one core and 1.5 GB of memory; a GPU is not used. Needs NumPy and PyTorch of at most LibTorch's version (Debian: python3-torch). The weights
are the same each time on one machine with one PyTorch (one thread is used); other processors and versions round otherwise. The file's bytes hold the
script's path and lines, too. So keep the file.
"""
import argparse
import math

import numpy as np
import torch
from export_network import spdx, write_network
from torch import nn
from torch.nn import functional

PATCH = 6  # pixels a side


class Images:
    """Draws images of `size` x `size` pixels. Fields are n x 1 x size x size around 0; n x 1 x 1 x 1 numbers differ between images."""

    def __init__(self, size, seed):
        self.size = size
        self.generator = torch.Generator().manual_seed(seed)
        y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
        self.x, self.y = x[None, None], y[None, None]
        self.fy, self.fx = (torch.from_numpy(f).float() for f in (np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None]))

    def between(self, n, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(n, 1, 1, 1, generator=self.generator)

    def normal(self, *shape):
        return torch.randn(*(shape if len(shape) > 1 else (*shape, 1, 1, 1)), generator=self.generator)

    def share(self, n, p):
        return (self.between(n) < p).float()

    def noise(self, n, low=0.5, high=2.5):
        """Noise whose amplitude is a power of the frequency, drawn out along a direction."""
        angle, stretch = math.pi * self.between(n), torch.exp(0.5 * self.normal(n))
        u = (self.fx * angle.cos() + self.fy * angle.sin()) * stretch
        v = (self.fy * angle.cos() - self.fx * angle.sin()) / stretch
        amplitude = torch.sqrt(u * u + v * v + (0.5 / self.size) ** 2) ** -self.between(n, low, high)
        z = torch.fft.irfft2(torch.fft.rfft2(self.normal(n, 1, self.size, self.size)) * amplitude, s=(self.size, self.size))
        z = z - z.mean((2, 3), keepdim=True)
        return z / z.std((2, 3), keepdim=True).clamp_min(1e-6)

    def grating(self, n):
        """Stripes, rings and checks, soft or sharp, warped or straight."""
        angle = 2 * math.pi * self.between(n)
        frequency = math.pi * torch.exp(self.between(n, math.log(0.5), math.log(self.size / 5)))
        sharpness = torch.exp(self.between(n, -1, 2))
        along, across = self.x * angle.cos() + self.y * angle.sin(), self.y * angle.cos() - self.x * angle.sin()
        radius = torch.sqrt((self.x - self.normal(n)) ** 2 + (self.y - self.normal(n)) ** 2)
        rings, checks = self.share(n, 0.25), self.share(n, 0.15)

        def wave(t):
            return torch.tanh(sharpness * torch.sin(frequency * t + 2 * math.pi * self.between(n))) / torch.tanh(sharpness)

        warp = 1.5 * self.between(n) ** 3 * self.noise(n, 1.5, 3) / frequency
        return wave(rings * radius + (1 - rings) * along + warp) * (checks * wave(across) + 1 - checks)

    def gradient(self, n):
        angle = 2 * math.pi * self.between(n)
        return self.between(n, 0.5, 1.5) * (self.x * angle.cos() + self.y * angle.sin()) + 0.3 * self.normal(n)

    def untrained(self, n):
        """A small network of the coordinates, its weights at random."""
        places = torch.stack([self.x, self.y, torch.sqrt(self.x**2 + self.y**2), torch.ones_like(self.x)], 1).reshape(1, 4, -1).expand(n, 4, -1)
        h = torch.sin(self.normal(n, 16, 4) * torch.exp(self.between(n, -0.2, 1.6))[..., 0] @ places)
        h = torch.tanh(0.6 * self.normal(n, 16, 16) @ h)
        return (0.5 * self.normal(n, 1, 16) @ h).view(n, 1, self.size, self.size)

    def flat(self, n):
        return torch.zeros(n, 1, self.size, self.size)

    def texture(self, n):
        """Two colours of one tint, more or less, mixed by a field; and a grain. n x 3 x size x size."""
        fields = (self.noise, self.grating, self.gradient, self.untrained, self.flat)
        kind, z = torch.randint(len(fields), (n,), generator=self.generator), self.flat(n)
        for k, field in enumerate(fields):
            at = (kind == k).nonzero()[:, 0]
            z[at] = field(len(at)) if len(at) > 0 else z[at]
        share = (0.5 + 0.5 * z * self.between(n, 0.2, 1.2)).clamp(0, 1)
        saturation = 0.35 * self.between(n) ** 1.5
        tint = 0.6 * saturation * self.normal(n, 3, 1, 1)
        a, b = ((self.between(n) + tint + 0.8 * saturation * self.normal(n, 3, 1, 1)).clamp(0, 1) for _ in range(2))
        return a * (1 - share) + b * share + torch.exp(self.between(n, -5, -2)) * self.noise(n, 0, 1.5)

    def shape(self, n, size):
        """A blob from diamond over disc to box, wobbling, somewhere: where it is (0 .. 1), and its own two coordinates."""
        x, y = self.x - 0.55 * self.normal(n), self.y - 0.55 * self.normal(n)
        angle, aspect = 2 * math.pi * self.between(n), torch.exp(0.45 * self.normal(n))
        u, v = (x * angle.cos() + y * angle.sin()) * aspect, (y * angle.cos() - x * angle.sin()) / aspect
        p = 1 + torch.exp(self.between(n, -0.3, 2))
        radius = ((u.abs() + 1e-4) ** p + (v.abs() + 1e-4) ** p) ** (1 / p)
        around, roughness, outline = torch.atan2(v, u), 0.5 * self.between(n) ** 2, 1
        for k in range(2, 7):
            outline = outline + self.normal(n) * roughness / k * torch.cos(k * around + 2 * math.pi * self.between(n))
        sharpness = self.size / 2 * torch.exp(self.between(n, -0.7, 1.2))
        return torch.sigmoid((size * outline - radius) * sharpness), u / size, v / size

    def draw(self, n, most_shapes=10):
        """n x 3 x size x size numbers of 0 to 1."""
        image = self.texture(n)
        edge = self.y - self.between(n, -0.7, 0.7) + 0.1 * self.between(n) ** 2 * self.noise(n, 1.5, 3)
        horizon = self.share(n, 0.3) * torch.sigmoid(0.4 * self.size * edge)
        image = image * (1 - horizon) + self.texture(n) * horizon
        shapes, largest = torch.exp(self.between(n, 0, math.log(most_shapes + 1))) - 1, self.between(n, 0.25, 0.9)
        for k in range(most_shapes):
            mask, u, v = self.shape(n, largest * self.between(n, 0.15, 1) ** (1 if k else 0.3))
            angle, mask = 2 * math.pi * self.between(n), mask * (k < shapes)
            shade = 1 + 0.5 * self.between(n) * (u * angle.cos() + v * angle.sin()).clamp(-1.5, 1.5)
            image = image * (1 - mask) + self.texture(n) * shade * mask
        image = image * torch.exp(0.35 * self.normal(n) * self.gradient(n))  # light from a side
        middle = image.mean((2, 3), keepdim=True)
        image = middle + (image - middle) * torch.exp(0.25 * self.normal(n))
        kernel = torch.tensor([1.0, 2.0, 1.0]) / 4
        blurred = functional.conv2d(functional.pad(image, (1, 1, 1, 1), mode="replicate"), (kernel[:, None] * kernel).expand(3, 1, 3, 3), groups=3)
        blur = self.between(n) ** 2
        return ((1 - blur) * image + blur * blurred).clamp(0, 1)


class Encoder(nn.Module):
    def __init__(self, filters, size):
        """Its weights are random ones, He's, until they are learned."""
        super().__init__()
        self.names = ["patches", "whitened"]
        side = size - PATCH + 1
        self.quarters = nn.AvgPool2d(side - side // 2, side // 2)
        self.patches = nn.Conv2d(3, 2 * filters, PATCH)
        self.whitened = nn.Conv2d(2 * filters, 16 * filters, 2)
        for layer in (self.patches, self.whitened):
            nn.init.kaiming_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        x = torch.relu(self.patches(x))
        return functional.avg_pool2d(x, 3), torch.relu(self.whitened(self.quarters(x)))


def covariance(x):
    """The rows' mean and covariance, in double precision."""
    x = x.double()
    mean = x.mean(0)
    return mean, (x - mean).T @ (x - mean) / len(x)


def set_both_signs(layer, weight, bias, threshold=0.0):
    """weight x + bias and its negative, both less the threshold."""
    weight = weight.reshape(-1, *layer.weight.shape[1:])
    layer.weight = nn.Parameter(torch.cat([weight, -weight]).float())
    layer.bias = nn.Parameter((torch.cat([bias, -bias]) - threshold).float())


def learn_patches(layer, images, generator, rounds=8):
    """Spherical k-means of whitened patches (Coates, Ng, Lee, AISTATS 2011), of either sign."""
    count = layer.weight.shape[0] // 2
    patches = torch.cat([functional.unfold(part, PATCH, stride=5).transpose(1, 2).reshape(-1, 3 * PATCH**2) for part in images[:5000].split(500)])
    patches = patches[torch.randperm(len(patches), generator=generator)[:60000]].double()
    mean, spread = covariance(patches)
    values, vectors = torch.linalg.eigh(spread)
    whitening = (vectors / torch.sqrt(values + 0.002)) @ vectors.T
    white = (patches - mean) @ whitening
    length = white.norm(dim=1)
    strong = white[length > 0.6 * length.median()]  # flat ones say nothing
    centres = functional.normalize(strong[:count], dim=1)
    for _ in range(rounds):
        products = strong @ centres.T
        nearest = products.abs().argmax(1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, strong * products.gather(1, nearest[:, None]))
        centres = functional.normalize(sums + 1e-6 * centres, dim=1)
    weight = centres @ whitening / (white @ centres.T).std()
    set_both_signs(layer, weight, -(weight @ mean), 0.5)


def learn_whitening(encoder, images):
    """(C + 0.003)^-1 = W' W for the correlations C of what the quarters hold."""
    held = torch.empty(len(images), encoder.whitened.weight[0].numel(), dtype=torch.double)  # in one piece, or the parts' gaps take gigabytes
    with torch.no_grad():
        for i in range(0, len(images), 32):
            held[i : i + 32] = encoder.quarters(torch.relu(encoder.patches(images[i : i + 32]))).flatten(1)
    mean, deviation = held.mean(0), held.std(0) + 1e-4
    _, correlations = covariance(held / deviation)
    weight = torch.linalg.inv(torch.linalg.cholesky(correlations + 0.003 * torch.eye(len(correlations)).double())) / deviation
    set_both_signs(encoder.whitened, weight, -(weight @ mean))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--license", required=True, type=spdx, help="SPDX identifier of the licence that you give the file, such as CC0-1.0")
    parser.add_argument("--size", type=int, default=32, help="height and width of its images (32)")
    parser.add_argument("--seed", type=int, default=1, help="of the images and of k-means (1)")
    parser.add_argument("--images", type=int, default=20000, help="how many to learn from (20000)")
    parser.add_argument("--filters", type=int, default=128, help="k-means' centres (128)")
    parser.add_argument("--show", metavar="IMAGE.png", help="write 100 such images there, and no network; needs Pillow")
    parser.add_argument("--untrained", action="store_true", help="learn nothing: random weights of the same shape, to compare with")
    args = parser.parse_args()
    if not args.out.endswith(".pt"):
        parser.error("OUT must end in .pt")
    if not (args.size >= 2 * PATCH and args.filters >= 1 and args.images >= 100):
        parser.error(f"takes at least {2 * PATCH} pixels a side, 1 filter and 100 images")
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    encoder, source = Encoder(args.filters, args.size), Images(args.size, args.seed)
    if args.show:
        from PIL import Image

        rows = (255 * source.draw(100)).round().byte().view(10, 10, 3, args.size, args.size)
        Image.fromarray(rows.permute(0, 3, 1, 4, 2).reshape(10 * args.size, 10 * args.size, 3).numpy()).save(args.show)
        return
    if not args.untrained:
        images = torch.cat([source.draw(min(500, args.images - i)) for i in range(0, args.images, 500)])
        learn_patches(encoder.patches, images, source.generator)
        learn_whitening(encoder, images)
    write_network(encoder, {"order": "rgb", "scale": 1.0, "mean": [0.0] * 3, "std": [1.0] * 3}, args.out, args.license, args.size)


if __name__ == "__main__":
    main()
