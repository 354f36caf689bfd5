"""R2ET's loss and its parameter gradients for every explanation and reduction, by torch autograd in float64.

    python make.py        # writes mlp/ and cnn/ beside this file

L = CE - 0.7 mean gap + 0.3 ||J z||_2, batch means. I are the importances of the class c predicted at x, the gap is between the k
largest of a row and the rest, all pairs; J is the Jacobian of I in x; z = sign(g) / ||sign(g)||_2 with g the gradient of the
explained output, of p_c where that is a mean or a layer's units. The class, the ranking and z are constants for the gradient.
Norms are sqrt(sum of squares + 1e-20). Weights have the names and shapes of our files. Smoothing noise is that of a run with seed 0 at
step 0.
"""

import json
import pathlib
import platform

import numpy
import safetensors
import safetensors.torch
import torch
from streams import Stream
from torch.nn import functional

torch.set_default_dtype(torch.float64)
HERE = pathlib.Path(__file__).parent
ROWS, CLASSES, BETA = 5, 3, 2.0
GAP, HESSIAN, STEP = 0.7, 0.3, 0.001


def act(x):
    return functional.softplus(x, beta=BETA, threshold=1e9)


def mlp(w, x):
    units = act(functional.linear(x, w["layers.0.weight"], w["layers.0.bias"]))
    units = act(functional.linear(units, w["layers.2.weight"], w["layers.2.bias"]))
    return functional.linear(units, w["layers.4.weight"], w["layers.4.bias"]), units


def cnn(w, x):
    planes = x.reshape(-1, 3, 8, 8)
    for place in (0, 3):
        name = f"layers.{place}"
        planes = functional.conv2d(planes, w[f"{name}.weight"], w[f"{name}.bias"], padding=1)
        planes = functional.max_pool2d(act(planes), 2)
    units = act(functional.linear(planes.flatten(1), w["layers.6.weight"], w["layers.6.bias"]))
    return functional.linear(units, w["layers.8.weight"], w["layers.8.bias"]), units


MODELS = {
    "mlp": (
        mlp,
        {"layers.0": (7, 6), "layers.2": (5, 7), "layers.4": (CLASSES, 5)},
        6,
    ),
    "cnn": (
        cnn,
        {"layers.0": (3, 3, 3, 3), "layers.3": (4, 3, 3, 3), "layers.6": (6, 16), "layers.8": (CLASSES, 6)},
        192,
    ),
}

# Name, explanation as a run.toml has it, k, and how the change of the importances is taken.
CASES = {
    "mlp": [
        ("grad", '{ kind = "grad", reduce = "absolute" }', 2, "exact"),
        ("grad_signed", '{ kind = "grad", reduce = "signed" }', 2, "exact"),
        ("grad_normalised", '{ kind = "grad", reduce = "normalised-absolute" }', 2, "exact"),
        ("grad_normalised_fd", '{ kind = "grad", reduce = "normalised-absolute" }', 2, "finite-difference"),
        ("grad_logit", '{ kind = "grad", of = "logit", reduce = "absolute" }', 2, "exact"),
        ("grad_loss_signed", '{ kind = "grad", of = "loss", reduce = "signed" }', 2, "exact"),
        ("grad_input", '{ kind = "grad-input", reduce = "absolute" }', 2, "exact"),
        ("grad_input_signed_fd", '{ kind = "grad-input", reduce = "signed" }', 2, "finite-difference"),
        ("smooth_grad", '{ kind = "smooth-grad", draws = 12, variance = 0.1, reduce = "absolute" }', 2, "exact"),
        ("smooth_grad_normalised", '{ kind = "smooth-grad", draws = 12, variance = 0.1, reduce = "normalised-absolute" }', 2, "exact"),
        ("integrated_gradients", '{ kind = "integrated-gradients", steps = 13, reduce = "absolute" }', 2, "exact"),
        ("integrated_gradients_signed", '{ kind = "integrated-gradients", steps = 7, rule = "right", baseline = 0.2, reduce = "signed" }', 3, "exact"),
        ("concept", '{ kind = "concept" }', 2, "exact"),
        ("concept_fd", '{ kind = "concept" }', 2, "finite-difference"),
    ],
    "cnn": [
        ("grad_normalised", '{ kind = "grad", reduce = "normalised-absolute" }', 10, "exact"),
        ("grad_channel_sum", '{ kind = "grad", reduce = "channel-sum" }', 10, "exact"),
        ("grad_channel_sum_fd", '{ kind = "grad", reduce = "channel-sum" }', 10, "finite-difference"),
        ("grad_input_channel_sum", '{ kind = "grad-input", reduce = "channel-sum" }', 10, "exact"),
        ("integrated_gradients_channel_sum", '{ kind = "integrated-gradients", steps = 4, reduce = "channel-sum" }', 10, "exact"),
        ("concept", '{ kind = "concept" }', 2, "exact"),
    ],
}


def settings(text):
    """The inline table of a case."""
    pairs = (part.split(" = ") for part in text.strip("{} ").split(", "))
    return {key: json.loads(value) for key, value in pairs}


def output(network, w, x, classes, of):
    logits, _ = network(w, x)
    picked = {
        "probability": lambda: functional.softmax(logits, 1).gather(1, classes[:, None]),
        "logit": lambda: logits.gather(1, classes[:, None]),
        "loss": lambda: functional.cross_entropy(logits, classes, reduction="none"),
    }
    return picked[of]().sum()


def gradient(network, w, x, classes, of):
    return torch.autograd.grad(output(network, w, x, classes, of), x, create_graph=True)[0]


def noise(rows, features, draws, variance):
    seed = Stream(0, "train explanation", 0).bits()
    all_rows = []
    for row in range(rows):
        stream = Stream(seed, "smooth-grad", row)
        all_rows.append([[variance**0.5 * stream.normal() for _ in range(features)] for _ in range(draws)])
    return torch.tensor(all_rows).transpose(0, 1)


def attribution(network, w, x, classes, s):
    of = s.get("of", "probability")
    if s["kind"] == "grad":
        return gradient(network, w, x, classes, of)
    if s["kind"] == "grad-input":
        return x * gradient(network, w, x, classes, of)
    if s["kind"] == "concept":
        return network(w, x)[1]
    if s["kind"] == "smooth-grad":
        shifts = noise(*x.shape, s["draws"], s["variance"])
        return sum(gradient(network, w, x + shift, classes, of) for shift in shifts) / s["draws"]
    way = x - s.get("baseline", 0.0)
    shift = 1.0 if s.get("rule") == "right" else 0.5
    places = [(j + shift) / s["steps"] for j in range(s["steps"])]
    return way * sum(gradient(network, w, s.get("baseline", 0.0) + a * way, classes, of) for a in places) / s["steps"]


def importance(network, w, x, classes, s):
    raw = attribution(network, w, x, classes, s)
    reduce = s.get("reduce", "signed")
    if reduce == "signed":
        return raw
    if reduce == "absolute":
        return raw.abs()
    if reduce == "normalised-absolute":
        return raw.abs() / raw.abs().sum(1, keepdim=True)
    return raw.abs().reshape(len(raw), 3, -1).sum(1)


def loss(network, w, x, y, s, k, method):
    x = x.clone().requires_grad_()
    logits, _ = network(w, x)
    classes = logits.argmax(1)
    I = importance(network, w, x, classes, s)
    n = I.shape[1]
    top = torch.zeros_like(I).scatter(1, I.detach().argsort(dim=1, descending=True, stable=True)[:, :k], 1.0)
    gap = (I * (top * (n - k) - (1 - top) * k)).sum(1) / (k * (n - k))
    of = s.get("of", "probability") if s["kind"] in ("grad", "grad-input") else "probability"
    signs = gradient(network, w, x, classes, of).detach().sign()
    z = signs / signs.abs().sum(1, keepdim=True).sqrt()
    if method == "exact":
        # J z as the derivative in u of the gradient of <u, I>.
        u = torch.zeros_like(I).requires_grad_()
        pulled = torch.autograd.grad(I, x, u, create_graph=True)[0]
        change = torch.autograd.grad(pulled, u, z, create_graph=True)[0]
    elif s.get("reduce", "signed") in ("signed", "absolute"):
        beside = attribution(network, w, x + STEP * z, classes, s)
        change = (beside - attribution(network, w, x, classes, s)) / STEP
    else:
        change = (importance(network, w, x + STEP * z, classes, s) - I) / STEP
    norm = ((change * change).sum(1) + 1e-20).sqrt()
    return functional.cross_entropy(logits, y) - GAP * gap.mean() + HESSIAN * norm.mean()


def main():
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "safetensors": safetensors.__version__,
    }
    for name, (network, shapes, features) in MODELS.items():
        torch.manual_seed(7)
        w = {}
        for layer, shape in shapes.items():
            fan = numpy.prod(shape[1:])
            w[f"{layer}.weight"] = (torch.randn(shape) * (1.5 / fan**0.5)).requires_grad_()
            w[f"{layer}.bias"] = (torch.randn(shape[0]) * 0.1).requires_grad_()
        x, y = torch.randn(ROWS, features), torch.randint(CLASSES, (ROWS,))
        grads, cases = {}, []
        for case, explain, k, method in CASES[name]:
            total = loss(network, w, x, y, settings(explain), k, method)
            found = torch.autograd.grad(total, list(w.values()), allow_unused=True)
            for parameter, gradient_of in zip(w, found):
                gradient_of = torch.zeros_like(w[parameter]) if gradient_of is None else gradient_of
                grads[f"{case}/{parameter}"] = gradient_of.contiguous()
            cases.append({"name": case, "explain": explain, "k": k, "hessian": method, "loss": total.item()})
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        save = safetensors.torch.save_file
        save({key: value.detach() for key, value in w.items()}, folder / "weights.safetensors")
        save({"x": x, "y": y}, folder / "inputs.safetensors")
        save({"pred": network(w, x)[0].argmax(1)}, folder / "expected.safetensors")
        save(grads, folder / "grads.safetensors")
        spec = {
            "model": {"beta": BETA},
            "gap_weight": GAP,
            "hessian_weight": HESSIAN,
            "step": STEP,
            "cases": cases,
            "versions": versions,
        }
        (folder / "spec.json").write_text(json.dumps(spec, indent=1) + "\n")


main()
