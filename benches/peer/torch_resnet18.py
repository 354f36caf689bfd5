"""torchvision's ResNet-18 (random weights) in PyTorch and in thickset, which reads its ONNX export: milliseconds of a forward pass, an
input gradient and ERAttack, by turns in one run.

PyTorch gets its best of contiguous and channels-last images. That thickset computes the same network is what `cargo test --test onnx` shows.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torchvision
from torch import nn

from compare import built
from torch_attack import er_attack

K, BUDGET = 100, 0.5


class Rows(nn.Module):
    """Images as rows of numbers, as thickset has them."""

    def __init__(self, network, side, memory_format):
        super().__init__()
        self.network, self.side, self.memory_format = network.to(memory_format=memory_format), side, memory_format

    def forward(self, x):
        images = x.view(-1, 3, self.side, self.side).contiguous(memory_format=self.memory_format)
        return self.network(images)


def timed(work, seconds):
    work()
    times, deadline = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < deadline:
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times), min(times)


def gradient(model, x):
    point = x.clone().requires_grad_(True)
    p = model(point).softmax(1)[:, 0]
    return torch.autograd.grad(p.sum(), point)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--steps", type=int, default=5, help="of the attack")
    parser.add_argument("--seconds", type=float, default=5.0, help="per cell")
    parser.add_argument("--thickset", help="the program; built from this folder if absent")
    parser.add_argument("--keep", help="keep the export here")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    network = torchvision.models.resnet18(weights=None).eval().requires_grad_(False)
    x = torch.rand(arguments.batch, 3 * arguments.side**2)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(arguments.keep or folder) / "resnet18.onnx"
        example = torch.rand(2, 3, arguments.side, arguments.side)
        torch.onnx.export(network, (example,), str(path), dynamo=False, input_names=["image"], output_names=["logits"],
                          dynamic_axes={"image": {0: "rows"}, "logits": {0: "rows"}})
        program = arguments.thickset or built()
        command = [program, "bench", "file", path, "--batch", arguments.batch, "--steps", arguments.steps, "--seconds", arguments.seconds, "--json"]
        environment = {**os.environ, "RAYON_NUM_THREADS": str(arguments.threads)}
        ours = subprocess.run([str(part) for part in command], env=environment, stdout=subprocess.PIPE, check=True)
        ours = {one["step"]: one for one in json.loads(ours.stdout)}
    theirs = {}
    for memory_format in (torch.contiguous_format, torch.channels_last):
        model = Rows(network, arguments.side, memory_format)
        step_size = 2.5 * BUDGET / arguments.steps
        cells = {
            "forward": lambda: model(x),
            "input-gradient": lambda: gradient(model, x),
            "er-attack": lambda: er_attack(model, x, k=K, steps=arguments.steps, budget=BUDGET, step_size=step_size),
        }
        for step, work in cells.items():
            found = timed(work, arguments.seconds)
            theirs[step] = min(theirs.get(step, found), found)
            print(f"PyTorch {step} {memory_format}: {found[0]:.1f} ms", file=sys.stderr)
    print(f"| ResNet-18, {arguments.batch} images of {arguments.side} x {arguments.side} | PyTorch {torch.__version__}, median (best) | thickset, median (best) | PyTorch / thickset |")
    print("|---|---|---|---|")
    for step, (median, best) in theirs.items():
        one = ours[step]
        name = f"ERAttack, {arguments.steps} steps" if step == "er-attack" else step.replace("-", " ")
        print(f"| {name} | {median:.0f} ({best:.0f}) ms | {one['median_ms']:.0f} ({one['best_ms']:.0f}) ms | {median / one['median_ms']:.2f} |")


if __name__ == "__main__":
    main()
