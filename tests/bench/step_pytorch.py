#!/usr/bin/env python3
"""The training step of tests/bench/train_gpu_bench.cpp as one writes it first in PyTorch: the convolutional generator of
DP-MERF, random Fourier features of the batch in full, torch's autograd, Adam. Prints the median and the best time of a
step, eager and as a CUDA graph.

    python3 tests/bench/step_pytorch.py [--batch 500] [--steps 200] [--device cuda]
"""
import argparse
import math
import statistics
import time

import torch
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = False  # as muffle, whatever PyTorch's defaults are
torch.backends.cudnn.allow_tf32 = False

CLASSES, HALF, DIMS, CODE = 10, 5000, 784, 5


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(CODE + CLASSES, 200, bias=False)
        self.norm = nn.BatchNorm1d(200)
        self.seed = nn.Linear(200, 16 * 7 * 7, bias=False)
        self.seed_norm = nn.BatchNorm1d(16 * 7 * 7)
        self.conv0 = nn.Conv2d(16, 8, 5, padding=2)
        self.conv1 = nn.Conv2d(8, 1, 5, padding=2)

    def forward(self, code, one_hot):
        h = torch.relu(self.norm(self.hidden(torch.cat([code, one_hot], 1))))
        h = self.seed_norm(self.seed(h)).reshape(-1, 16, 7, 7)
        h = nn.functional.interpolate(h, scale_factor=2, mode="bilinear", align_corners=True)
        h = torch.relu(self.conv0(h))
        h = nn.functional.interpolate(h, scale_factor=2, mode="bilinear", align_corners=True)
        return torch.sigmoid(self.conv1(h)).reshape(-1, DIMS)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    device = torch.device(args.device)
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(1)
    generator = Generator().to(device)
    graphs = device.type == "cuda"
    optimizer = torch.optim.Adam(generator.parameters(), lr=0.01, capturable=graphs)
    omega = torch.randn(HALF, DIMS, device=device) / math.sqrt(127.0)
    target = torch.randn(CLASSES, 2 * HALF, device=device) * 1e-3
    code = torch.randn(args.batch, CODE, device=device)
    labels = torch.arange(args.batch, device=device) % CLASSES

    def step():
        optimizer.zero_grad(set_to_none=False)
        one_hot = torch.zeros(args.batch, CLASSES, device=device).scatter_(1, labels.unsqueeze(1), 1.0)
        angles = generator(code, one_hot) @ omega.t()
        phi = torch.cat([torch.cos(angles), torch.sin(angles)], 1) / math.sqrt(HALF)
        loss = (one_hot.t() @ phi / args.batch - target).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    def timed(name, run):
        """Each step draws its codes and looks at its loss, as muffle does."""
        times = []
        for i in range(args.steps + 10):
            start = time.perf_counter()
            code.copy_(torch.randn(args.batch, CODE))
            run().item()
            if i >= 10:
                times.append((time.perf_counter() - start) * 1e3)
        print(f"{name}: median {statistics.median(times):.3f} ms, best {min(times):.3f} ms "
              f"(batch {args.batch}, {device}, torch {torch.__version__})")

    timed("eager", step)
    if graphs:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step()

        def replay():
            graph.replay()
            return loss

        timed("CUDA graph", replay)


if __name__ == "__main__":
    main()
