"""Golden values of segmented models and of the objectives `distinct`, `taught` and R2ET with its ranking loss, by float64 autograd.

Usage: python make.py, in its folder, with torch and safetensors. The formulas are those of `objective/term/ranking.rs`, `flips.rs`,
`overlap.rs`, `distinct.rs` and `taught.rs`, written here a second time. Names are `CASE/NAME` as in `../README.md`; the cases are
GATE-CLASSES for a segmented model, and `mlp`.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from network import central_difference, normal, round_to_f32, save  # noqa: E402

N, K, ROWS = 8, 3, 10
BLOCKS = [3, 3, 3]
DELTA, RADIUS, BETA = 0.4, 0.9, 5.0
MARGIN, SOFTNESS = 0.3, 0.15
DECAY, WEIGHT, DISTINCT_WEIGHT, DISTINCTNESS = 0.01, 0.5, 0.7, 0.9
TAUGHT_WEIGHT, TAUGHT_MARGIN, TAUGHT_SOFTNESS, GAP_WEIGHT = 0.6, 0.5, 0.25, 0.4
BEYOND = 1e-3


def scores(generator):
    """Two blocks of categories, features 2 to 4 and 5 to 7, and three prototypes of the numbers 0 and 1."""
    weight, bias = torch.zeros(9, N, dtype=torch.float64), torch.zeros(9, dtype=torch.float64)
    for gate in range(6):
        weight[gate, 2 + gate] = 1.0
    centres = round_to_f32(torch.rand(3, 2, generator=generator, dtype=torch.float64))
    weight[6:, :2] = centres
    bias[6:] = round_to_f32(-centres.square().sum(1) / 2)
    return weight, bias


def sparsemax(z):
    ordered = z.sort(dim=1, descending=True)[0]
    count = torch.arange(1, z.shape[1] + 1, dtype=z.dtype)
    inside = 1 + count * ordered > ordered.cumsum(1)
    size = inside.sum(1, keepdim=True)
    threshold = ((ordered * inside).sum(1, keepdim=True) - 1) / size
    return (z - threshold).clamp(min=0)


def gates(x, weights, gate):
    s = x @ weights["score_weight"].T + weights["score_bias"]
    pieces, start = [], 0
    for size in BLOCKS:
        block = s[:, start:start + size]
        if gate == "argmax":
            pieces.append(F.one_hot(block.argmax(1), size).to(x.dtype))
        else:
            pieces.append(sparsemax(block / DELTA))
        start += size
    return torch.cat(pieces, 1)


def segmented(x, weights, gate):
    pi = gates(x, weights, gate)
    of_map = torch.einsum("rq,mqn->rmn", pi, weights["gated_weight"]) + weights["weight"]
    out = torch.einsum("rmn,rn->rm", of_map, x) + pi @ weights["gated_bias"].T + weights["bias"]
    return torch.cat([torch.zeros_like(out), out], 1) if out.shape[1] == 1 else out


def mlp(x, weights):
    hidden = x @ weights["0.weight"].T + weights["0.bias"]
    hidden = torch.logaddexp(BETA * hidden, torch.zeros_like(hidden)) / BETA
    return hidden @ weights["2.weight"].T + weights["2.bias"]


def importance(model, x, classes):
    x = x if x.requires_grad else x.clone().requires_grad_(True)
    p = model(x).softmax(1).gather(1, classes).sum()
    return torch.autograd.grad(p, x, create_graph=True)[0].abs()


def levels(values):
    return (values / values.mean(1, keepdim=True) + 0.05).log()


def ranking(values, sets, margin=MARGIN, softness=SOFTNESS):
    """R of each row; `sets` is 1 for salient features."""
    level = levels(values)
    short = (margin - level.unsqueeze(2) + level.unsqueeze(1)) / softness
    each = softness * torch.logaddexp(short, torch.zeros_like(short))
    pair = sets.unsqueeze(2) * (1 - sets).unsqueeze(1)
    return (each * pair).sum((1, 2)) / pair.sum((1, 2))


def top(values):
    chosen = values.detach().argsort(dim=1, descending=True, stable=True)[:, :K]
    return torch.zeros_like(values).scatter(1, chosen, 1.0).detach()


def border_of(values):
    ordered = levels(values).detach().sort(dim=1, descending=True)[0]
    return (ordered[:, K - 1] + ordered[:, K]) / 2


def overlap(values, border):
    level = levels(values)
    degree = torch.sigmoid((level - border.unsqueeze(1)) / 0.1)
    shared = degree @ degree.T / K
    return (shared.sum() - shared.diagonal().sum()) / (len(values) * (len(values) - 1))


def flips(x, weights, gate):
    """Of each row the points beyond the borders that lie within the radius."""
    weight, bias = weights["score_weight"], weights["score_bias"]
    extra = DELTA if gate == "sparsemax" else 0.0
    points = []
    for row in x.detach():
        mine, start = [], 0
        score = weight @ row + bias
        for size in BLOCKS:
            opened = start + int(score[start:start + size].argmax())
            for other in range(start, start + size):
                way = weight[other] - weight[opened]
                if other == opened:
                    continue
                distance = (score[opened] - score[other] + extra) / way.norm()
                if distance <= RADIUS:
                    mine.append(row + (distance + BEYOND) / way.norm() * way)
            start += size
        points.append(mine)
    return points


def distinct(weights, x, y, gate, constants):
    """Sets, borders and the worst flips are constants: what the first call finds is kept for central differences."""
    model = lambda rows: segmented(rows, weights, gate)
    logits = model(x)
    classes = logits.argmax(1, keepdim=True)
    here = importance(model, x, classes)
    if not constants:
        sets = top(here)
        worst = x.detach().clone()
        for row, points in enumerate(flips(x, weights, gate)):
            own = sets[row:row + 1].repeat(len(points), 1)
            losses = ranking(importance(model, torch.stack(points), classes[row:row + 1].repeat(len(points), 1)), own)
            worst[row] = points[int(losses.argmax())]
        constants |= {"sets": sets, "worst": worst, "border": border_of(here)}
    sets, worst = constants["sets"], constants["worst"]
    terms = {
        "class": F.cross_entropy(logits, y),
        "decay": weights["gated_weight"].square().sum(),
        "ranking": ranking(here, sets).mean(),
        "flips": ranking(importance(model, worst, classes), sets).mean(),
        "overlap": (overlap(here, constants["border"]) - 1 + DISTINCTNESS).clamp(min=0),
    }
    weighed = {"class": 1.0, "decay": DECAY, "ranking": WEIGHT / 2, "flips": WEIGHT, "overlap": DISTINCT_WEIGHT}
    return sum(weighed[name] * term for name, term in terms.items()), terms


def taught(weights, x, y, x_adv, sets):
    model = lambda rows: mlp(rows, weights)
    logits = model(x)
    classes = logits.argmax(1, keepdim=True)
    of = lambda rows: ranking(importance(model, rows, classes), sets, TAUGHT_MARGIN, TAUGHT_SOFTNESS).mean()
    return F.cross_entropy(logits, y) + TAUGHT_WEIGHT * (of(x_adv) + of(x) / 2)


def r2et(weights, x, y):
    model = lambda rows: mlp(rows, weights)
    logits = model(x)
    here = importance(model, x, logits.argmax(1, keepdim=True))
    return F.cross_entropy(logits, y) + GAP_WEIGHT * ranking(here, top(here)).mean()


def check(loss, weights, generator):
    """Three entries of every parameter's gradient against central differences."""
    gradients = dict(zip(weights, torch.autograd.grad(loss(weights), list(weights.values()), allow_unused=True)))
    for name, gradient in gradients.items():
        if gradient is None:
            continue
        moved = {n: t.detach().clone() for n, t in weights.items()}
        scale = max(gradient.abs().max().item(), 1e-3)
        for entry in torch.randint(gradient.numel(), (3,), generator=generator).tolist():
            slope = central_difference(lambda: loss(moved).item(), moved[name], entry)
            assert abs(slope - gradient.reshape(-1)[entry].item()) < 1e-5 * scale, (name, slope, gradient.reshape(-1)[entry])
    return {name: gradient for name, gradient in gradients.items() if gradient is not None}


def main():
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(15)
    category = lambda: F.one_hot(torch.randint(3, (ROWS,), generator=generator), 3).to(torch.float64)
    noise = torch.rand(ROWS, 6, generator=generator, dtype=torch.float64) * 0.3
    x = torch.cat([torch.rand(ROWS, 2, generator=generator, dtype=torch.float64), torch.cat([category(), category()], 1) * 0.7 + noise], 1)
    x = round_to_f32(x)
    inputs = {"x": x, "y": torch.arange(ROWS) % 2, "x_adv": x + normal(generator, ROWS, N, scale=0.1)}
    weight, bias = scores(generator)
    files, expected, grads = {}, {}, {}
    for classes in (2, 3):
        maps = 1 if classes == 2 else classes
        fitted = {
            "weight": normal(generator, maps, N),
            "bias": normal(generator, maps, scale=0.3),
            "gated_weight": normal(generator, maps, 9, N, scale=0.7),
            "gated_bias": normal(generator, maps, 9, scale=0.3),
        }
        for gate in ("argmax", "sparsemax"):
            case = f"{gate}-{classes}"
            leaves = {n: t.clone().requires_grad_(True) for n, t in fitted.items()}
            whole = lambda some: {**some, "score_weight": weight, "score_bias": bias}
            constants = {}
            loss, terms = distinct(whole(leaves), x, inputs["y"], gate, constants)
            gradients = check(lambda some: distinct(whole(some), x, inputs["y"], gate, constants)[0], leaves, generator)
            model = lambda rows: segmented(rows, whole(leaves), gate)
            predicted = model(x).argmax(1, keepdim=True)
            expected |= {f"{case}/logits": model(x), f"{case}/importance": importance(model, x, predicted),
                         f"{case}/loss": loss.reshape(1)}
            expected |= {f"{case}/term {name}": term.reshape(1) for name, term in terms.items()}
            assert all(term > 0 for term in terms.values()), terms
            grads |= {f"{case}/layers.1.{name}": gradient for name, gradient in gradients.items()}
            files[case] = {f"layers.1.{name}": tensor for name, tensor in fitted.items()}
            files[case] |= {"layers.0.score_weight": weight, "layers.0.score_bias": bias}
            if case == "argmax-2":
                sets = top(importance(model, x, predicted))
    fitted = {"0.weight": normal(generator, 6, N, scale=0.6), "0.bias": normal(generator, 6, scale=0.3),
              "2.weight": normal(generator, 2, 6), "2.bias": normal(generator, 2, scale=0.3)}
    leaves = {n: t.clone().requires_grad_(True) for n, t in fitted.items()}
    for name, loss in (("taught", lambda some: taught(some, x, inputs["y"], inputs["x_adv"], sets)),
                       ("r2et", lambda some: r2et(some, x, inputs["y"]))):
        expected[f"mlp/{name}"] = loss(leaves).reshape(1)
        grads |= {f"mlp/{name}/layers.{n}": gradient for n, gradient in check(loss, leaves, generator).items()}
    files["mlp"] = {f"layers.{n}": t for n, t in fitted.items()}
    here = pathlib.Path(__file__).resolve().parent
    for case, tensors in files.items():
        (here / case).mkdir(exist_ok=True)
        save(here / case / "weights.safetensors", tensors)
        save(here / case / "inputs.safetensors", inputs)
        mine = lambda all_of: {n.removeprefix(f"{case}/"): t for n, t in all_of.items() if n.startswith(f"{case}/")}
        save(here / case / "expected.safetensors", mine(expected))
        save(here / case / "grads.safetensors", mine(grads))


main()
