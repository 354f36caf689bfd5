"""The work of `thickset bench speed`, in PyTorch: time per training step, and input gradients per second.

Training steps, each with Adam:
  vanilla       cross-entropy
  grad-penalty  cross-entropy + mean over rows of the squared norm of the input gradient of p_c
  r2et          cross-entropy - gap + Hessian term

c is the class predicted at x. The gap is the mean over pairs (salient, other) of the difference in |grad p_c|. The
Hessian term is the norm of H z, z = sign(grad p_c) normalised: by a finite difference with one more input gradient, as
the paper has it, or exactly by differentiating once more. ResNet-9 takes its class loss with batch statistics and its
explanations with running statistics.

Each cell is timed with the fastest of PyTorch's own settings (kind of Adam, memory format; for a small model also one
thread instead of all), found on that cell first.
torch.compile is not among them: it does not support differentiating twice.
"""

import argparse
import dataclasses
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

LEARNING_RATE = 1e-3
PENALTY_WEIGHT, GAP_WEIGHT, HESSIAN_WEIGHT = 0.1, 0.1, 0.01
FINITE_DIFFERENCE_STEP = 1e-2
# Several batches of random labels: one alone is learnt by heart, and saturated outputs are not what training meets.
BATCHES = 32
GRADIENT_BATCH = 4096
ADAMS = {"fused": {"fused": True}, "foreach": {"foreach": True}, "loop": {"foreach": False}}
FORMATS = {"contiguous": torch.contiguous_format, "channels-last": torch.channels_last}


def mlp(*sizes):
    layers = []
    for inward, outward in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inward, outward), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


class ResNet9(nn.Module):
    def __init__(self, width=64, classes=10):
        super().__init__()

        def block(inward, outward, pool=False):
            convolution = nn.Conv2d(inward, outward, 3, padding=1, bias=False)
            layers = [convolution, nn.BatchNorm2d(outward), nn.ReLU(inplace=True)]
            return nn.Sequential(*layers, *[nn.MaxPool2d(2)] * pool)

        w = width
        self.stem = nn.Sequential(block(3, w), block(w, 2 * w, pool=True))
        self.residual1 = nn.Sequential(block(2 * w, 2 * w), block(2 * w, 2 * w))
        self.middle = nn.Sequential(block(2 * w, 4 * w, pool=True), block(4 * w, 8 * w, pool=True))
        self.residual2 = nn.Sequential(block(8 * w, 8 * w), block(8 * w, 8 * w))
        self.head = nn.Sequential(nn.MaxPool2d(4), nn.Flatten(), nn.Linear(8 * w, classes))

    def forward(self, x):
        x = self.stem(x)
        x = self.middle(self.residual1(x) + x)
        return self.head(self.residual2(x) + x)


class ResNet18(nn.Module):
    """With the small stem, a 3x3 convolution, or the large one, 7x7 of stride 2 and pooling."""

    def __init__(self, channels=3, classes=10, large=False):
        super().__init__()
        if large:
            convolution = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
            self.stem = nn.Sequential(convolution, nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        else:
            convolution = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
            self.stem = nn.Sequential(convolution, nn.BatchNorm2d(64), nn.ReLU())
        blocks, inward = [], 64
        for outward, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [Residual(inward, outward, stride), Residual(outward, outward, 1)]
            inward = outward
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(512, classes)

    def units(self, x):
        return self.blocks(self.stem(x)).mean((2, 3))

    def forward(self, x):
        return self.head(self.units(x))


class Residual(nn.Module):
    def __init__(self, inward, outward, stride):
        super().__init__()

        def norm(size, padding, step, source):
            return [nn.Conv2d(source, outward, size, stride=step, padding=padding, bias=False), nn.BatchNorm2d(outward)]

        self.main = nn.Sequential(*norm(3, 1, stride, inward), nn.ReLU(), *norm(3, 1, 1, outward))
        same = stride == 1 and inward == outward
        self.beside = nn.Identity() if same else nn.Sequential(*norm(1, 0, stride, inward))

    def forward(self, x):
        return F.relu(self.main(x) + self.beside(x))


class SiameseGcn(nn.Module):
    """Two graphs of 116 nodes, two graph convolutions and the node mean, their cosine, a linear head."""

    nodes = 116

    def __init__(self, hidden=256, embedding=128):
        super().__init__()
        self.first, self.second = nn.Linear(self.nodes, hidden), nn.Linear(hidden, embedding)
        self.head = nn.Linear(1, 2)
        upper = torch.triu_indices(self.nodes, self.nodes, offset=1)
        place = torch.full((self.nodes, self.nodes), upper.shape[1])
        place[upper[0], upper[1]] = torch.arange(upper.shape[1])
        place[upper[1], upper[0]] = torch.arange(upper.shape[1])
        self.register_buffer("place", place.flatten())

    def embed(self, edges):
        padded = F.pad(edges, (0, 1))
        adjacency = padded[:, self.place].view(-1, self.nodes, self.nodes) + torch.eye(self.nodes)
        root = adjacency.abs().sum(2).rsqrt()
        adjacency = root[:, :, None] * adjacency * root[:, None, :]
        # The mean of a convolution is a convolution of the mean.
        hidden = F.relu(self.first(adjacency))
        return self.second((adjacency.mean(1, keepdim=True) @ hidden).squeeze(1))

    def forward(self, x):
        both = self.embed(x.reshape(2 * len(x), -1)).view(len(x), 2, -1)
        cosine = F.cosine_similarity(both[:, 0], both[:, 1], dim=1, eps=1e-6)
        return self.head(cosine[:, None])


@dataclasses.dataclass(frozen=True)
class Cell:
    build: object
    shape: tuple
    classes: int
    batch: int
    k: int
    # What is ranked: the absolute gradient, the same summed over channels, the gradient times the input, or a layer's units.
    ranked: str = "grad"
    # Measured only when asked for.
    heavy: bool = False

    @property
    def is_image(self):
        return len(self.shape) == 3


MODELS = {
    "mlp-28-64-32-2": Cell(lambda: mlp(28, 64, 32, 2), (28,), 2, 128, 8),
    "mlp-28-128-64-2": Cell(lambda: mlp(28, 128, 64, 2), (28,), 2, 128, 8),
    "cnn": Cell(cnn, (1, 28, 28), 10, 64, 50),
    "resnet9": Cell(ResNet9, (3, 32, 32), 10, 20, 100),
    "siamese-gcn": Cell(SiameseGcn, (2 * 6670,), 2, 128, 50, "grad-input", True),
    "resnet18": Cell(ResNet18, (3, 32, 32), 10, 20, 100, "channel-sum", True),
    "resnet18-large": Cell(lambda: ResNet18(1, 2, True), (1, 496, 768), 2, 2, 50, "concept", True),
}
STEPS = ("vanilla", "grad-penalty", "r2et")
GRADIENT_MODEL = "mlp-28-64-32-2"


def class_probability(logits, c):
    return logits.softmax(1).gather(1, c).sum()


def explain(model, x, c):
    """Input gradient of p_c, recorded."""
    return torch.autograd.grad(class_probability(model(x), c), x, create_graph=True)[0]


def importance(model, x, gradient, ranked):
    if ranked == "concept":
        return model.units(x)
    if ranked == "grad-input":
        return (x * gradient).abs()
    return gradient.abs().sum(1).flatten(1) if ranked == "channel-sum" else gradient.flatten(1).abs()


def gap(size, k):
    """Mean of the difference over salient i and other j: the difference of two means."""
    n = size.shape[1]
    salient = size.topk(k, dim=1)[0].sum(1)
    return (salient / k - (size.sum(1) - salient) / (n - k)).mean()


def row_norm(t):
    return (t.flatten(1).square().sum(1) + 1e-20).sqrt()


def hessian_norm(model, x, c, gradient, exact, ranked, importances):
    z = gradient.detach().sign()
    z = z / row_norm(z).view(-1, *[1] * (x.dim() - 1))
    if ranked != "grad":
        # The change of what is ranked, by a finite difference.
        moved = (x.detach() + FINITE_DIFFERENCE_STEP * z).requires_grad_(True)
        slope = None if ranked == "concept" else explain(model, moved, c)
        beside = importance(model, moved, slope, ranked)
        return row_norm(beside - importances).mean() / FINITE_DIFFERENCE_STEP
    if exact:
        return row_norm(torch.autograd.grad((gradient * z).sum(), x, create_graph=True)[0]).mean()
    moved = (x.detach() + FINITE_DIFFERENCE_STEP * z).requires_grad_(True)
    return row_norm(explain(model, moved, c) - gradient).mean() / FINITE_DIFFERENCE_STEP


def loss_of(step, model, x, y, k, exact, has_batch_norm, ranked="grad"):
    if step == "vanilla":
        return F.cross_entropy(model(x), y)
    x = x.detach().requires_grad_(True)
    if has_batch_norm:
        class_loss = F.cross_entropy(model(x.detach()), y)
        model.eval()
    logits = model(x)
    c = logits.argmax(1, keepdim=True)
    gradient = torch.autograd.grad(class_probability(logits, c), x, create_graph=True)[0]
    if not has_batch_norm:
        class_loss = F.cross_entropy(logits, y)
    if step == "grad-penalty":
        loss = class_loss + PENALTY_WEIGHT * gradient.flatten(1).square().sum(1).mean()
    else:
        importances = importance(model, x, gradient, ranked)
        curvature = hessian_norm(model, x, c, gradient, exact, ranked, importances)
        loss = class_loss - GAP_WEIGHT * gap(importances, k) + HESSIAN_WEIGHT * curvature
    if has_batch_norm:
        model.train()
    return loss


def training_step(cell, step, exact, adam, memory_format):
    """A function that takes one training step on the next batch."""
    torch.manual_seed(0)
    model = cell.build()
    count = 4 if cell.heavy else BATCHES
    x = torch.randn(count, cell.batch, *cell.shape)
    y = torch.randint(cell.classes, (count, cell.batch))
    batches = [(rows, labels) for rows, labels in zip(x, y)]
    if cell.is_image:
        model = model.to(memory_format=FORMATS[memory_format])
        batches = [(rows.contiguous(memory_format=FORMATS[memory_format]), labels) for rows, labels in batches]
    has_batch_norm = any(isinstance(m, nn.BatchNorm2d) for m in model.modules())
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, **ADAMS[adam])
    parameters = list(model.parameters())
    position = 0

    def take():
        nonlocal position
        rows, labels = batches[position % count]
        position += 1
        optimiser.zero_grad(set_to_none=True)
        # Only weights: a plain backward() would also fill the gradient of every recorded input.
        loss_of(step, model, rows, labels, cell.k, exact, has_batch_norm, cell.ranked).backward(inputs=parameters)
        optimiser.step()

    return take


def gradient_step():
    """A function that computes one batch of input gradients of p_c, with weights that need none."""
    torch.manual_seed(0)
    model = MODELS[GRADIENT_MODEL].build().requires_grad_(False)
    x = torch.randn(GRADIENT_BATCH, *MODELS[GRADIENT_MODEL].shape).requires_grad_(True)

    def take():
        logits = model(x)
        return torch.autograd.grad(class_probability(logits, logits.argmax(1, keepdim=True)), x)[0]

    return take


def measure(take, seconds, at_least):
    """Milliseconds of each call, for so many seconds, after a warm-up."""
    times = []
    take()
    deadline = time.perf_counter() + seconds
    while len(times) < at_least or time.perf_counter() < deadline:
        start = time.perf_counter()
        take()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def fastest(candidates, seconds):
    """The candidate with the lowest median; each is built and given the same short trial."""
    return min(candidates, key=lambda build: statistics.median(measure(build(), seconds, 2)))


@dataclasses.dataclass(frozen=True)
class Setting:
    """What PyTorch leaves to its user; calling it prepares the step to time."""

    prepare: object
    threads: int
    adam: str = "fused"
    memory_format: str = "contiguous"

    def __call__(self):
        torch.set_num_threads(self.threads)
        return self.prepare(self)

    def varied(self, field, values):
        return [dataclasses.replace(self, **{field: value}) for value in values]


def time_cell(name, step, exact, threads, seconds):
    cell = MODELS[name]
    setting = Setting(lambda s: training_step(cell, step, exact, s.adam, s.memory_format), threads)
    choices = {"memory_format": FORMATS} if cell.is_image else {"threads": sorted({1, threads})}
    for field, values in (*choices.items(), ("adam", ADAMS)):
        setting = fastest(setting.varied(field, values), seconds / 10)
    times = measure(setting(), seconds, 5)
    row = {
        "model": name,
        "step": step,
        "batch": cell.batch,
        "median_ms": statistics.median(times),
        "best_ms": min(times),
        "samples": len(times),
        "threads": setting.threads,
        "adam": setting.adam,
        "memory_format": setting.memory_format,
    }
    if step == "r2et":
        row["hessian"] = "exact" if exact else "finite-difference"
    return row


def time_gradients(threads, seconds):
    setting = Setting(lambda _: gradient_step(), threads)
    setting = fastest(setting.varied("threads", sorted({1, threads})), seconds / 10)
    times = measure(setting(), seconds, 5)
    return {
        "model": GRADIENT_MODEL,
        "step": "input-gradient",
        "batch": GRADIENT_BATCH,
        "rows_per_second": GRADIENT_BATCH / statistics.median(times) * 1e3,
        "samples": len(times),
        "threads": setting.threads,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="at most")
    parser.add_argument("--seconds", type=float, default=5.0, help="per cell")
    parser.add_argument("--only", choices=[*MODELS, "input-gradient"], help="one model, or the input gradients")
    parser.add_argument("--step", choices=STEPS, help="one step")
    parser.add_argument("--hessian", choices=["finite-difference", "exact"], default="finite-difference")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    arguments = parser.parse_args()

    rows = []
    for name in MODELS:
        for step in [arguments.step] if arguments.step else STEPS:
            if arguments.only == name or arguments.only is None and not MODELS[name].heavy:
                print(f"{name} {step}", file=sys.stderr)
                rows.append(time_cell(name, step, arguments.hessian == "exact", arguments.threads, arguments.seconds))
    if arguments.only in (None, "input-gradient"):
        print("input-gradient", file=sys.stderr)
        rows.append(time_gradients(arguments.threads, arguments.seconds))

    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"PyTorch {torch.__version__}, at most {arguments.threads} threads")
    for row in rows:
        if "rows_per_second" in row:
            speed = f"{row['rows_per_second']:.0f} rows/s"
        else:
            speed = f"median {row['median_ms']:.3f} ms, best {row['best_ms']:.3f} ms"
        chosen = ", ".join(str(row[field]) for field in ("threads", "adam", "memory_format") if field in row)
        print(f"{row['model']:16} {row['step']:14} batch {row['batch']:<5} {speed} ({chosen})")


if __name__ == "__main__":
    main()
