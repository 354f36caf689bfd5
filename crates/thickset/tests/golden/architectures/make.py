"""Losses of the papers on networks that are no MLP, and their parameter gradients, by torch autograd in float64.

    python make.py        # writes cnn/, resnet9/ and siamese_gcn/ beside this file

Weights and inputs are those of the folders of the same names beside this one, with softplus (beta 2) throughout.

`cnn`: the losses of SPEC.md that the MLPs have and R2ET's paper does not train on images (AT, TRADES, MART, with and without IGR, IG-NORM,
IG-SUM-NORM, AdvAAT, ART), SSR and CL. x_adv = x + 0.1 sign(noise).

`resnet9`, `siamese_gcn`: R2ET as `r2et_explanations/make.py` states it, L = CE - 0.7 mean gap + 0.3 ||J z||_2, for the explanations that
the paper takes for such data (B.1.3) and for concepts. Where a network has batch statistics, CE is with them and everything else with the
running ones.

Every loss is checked against central differences in two entries of each parameter.
"""

import importlib.util
import json
import pathlib
import platform
import sys

import safetensors
import safetensors.torch
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from network import BETA, central_difference, softplus  # noqa: E402

torch.set_num_threads(1)
GAP, HESSIAN = 0.7, 0.3
TRADES_BETA, MART_BETA, STEPS = 6.0, 5.0, 10
CL_K, CL_CAP = 5, 5.0
# To keep the files small, gradients of larger parameters are left out.
MOST_NUMBERS = 300


def module(folder):
    path = HERE.parent / folder / "make.py"
    spec = importlib.util.spec_from_file_location(f"golden_{folder}", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def read(folder):
    names = ("weights", "inputs")
    return [safetensors.torch.load_file(HERE.parent / folder / f"{name}.safetensors") for name in names]


class Cnn:
    folder = "cnn"

    def __init__(self):
        self.network = module("cnn").Cnn()
        self.weights, self.inputs = read("cnn")
        generator = torch.Generator().manual_seed(5)
        noise = torch.randn(self.inputs["x"].shape, generator=generator, dtype=torch.float64)
        self.inputs["x_adv"] = self.inputs["x"] + 0.1 * noise.sign()

    def logits(self, w, x):
        return self.network.forward(w, x, softplus)[0]

    def attribution(self, w, x, y):
        """IG of the true class's logit, zero baseline, midpoint rule."""
        total = 0.0
        for step in range(STEPS):
            at = ((step + 0.5) / STEPS * x).requires_grad_()
            picked = self.logits(w, at).gather(1, y[:, None]).sum()
            total = total + torch.autograd.grad(picked, at, create_graph=True)[0]
        return x * total / STEPS

    def path_norm(self, w, x, x_adv, y):
        """||IG(x -> x_adv)||_1 of the loss, right rule."""
        total = 0.0
        for step in range(STEPS):
            at = (x + (step + 1) / STEPS * (x_adv - x)).requires_grad_()
            loss = F.cross_entropy(self.logits(w, at), y, reduction="sum")
            total = total + torch.autograd.grad(loss, at, create_graph=True)[0]
        return ((x_adv - x) * total / STEPS).abs().sum(1).mean()

    names = (
        *("ce", "at", "trades", "mart", "at_igr", "trades_igr", "mart_igr", "advaat_pcl_term"),
        *("ig_norm", "ig_sum_norm", "art_term", "ssr_lambda_term", "cl_radius_term"),
    )

    def loss(self, w, name):
        x, x_adv, y = self.inputs["x"], self.inputs["x_adv"], self.inputs["y"]
        if name in ("ig_norm", "ig_sum_norm"):
            at = x if name == "ig_norm" else x_adv
            return F.cross_entropy(self.logits(w, at), y) + self.path_norm(w, x, x_adv, y)
        alone = {"art_term": lambda: self.art(w, x, y), "ssr_lambda_term": lambda: self.ssr(w, x)}
        alone["cl_radius_term"] = lambda: self.cl(w, x)
        return alone[name]() if name in alone else self.of_classes(w)[name]

    def of_classes(self, w):
        x, x_adv, y = self.inputs["x"], self.inputs["x_adv"], self.inputs["y"]
        clean, moved = self.logits(w, x), self.logits(w, x_adv)
        p, q = clean.softmax(1), moved.softmax(1)
        ce, at = F.cross_entropy(clean, y), F.cross_entropy(moved, y)
        trades = ce + TRADES_BETA * (p * (p.log() - q.log())).sum(1).mean()
        true = F.one_hot(y, p.shape[1]).bool()
        best_other = q.masked_fill(true, 0.0).amax(1)
        boosted = (F.cross_entropy(moved, y, reduction="none") - (1.0001 - best_other + 1e-12).log()).mean()
        p_y = p.gather(1, y[:, None]).squeeze(1)
        divergence = (p * (p.log() - (q + 1e-12).log())).sum(1)
        mart = boosted + MART_BETA * ((1.0000001 - p_y) * divergence).mean()
        a, b = self.attribution(w, x, y), self.attribution(w, x_adv, y)
        igr = (1 - F.cosine_similarity(a, b, dim=1, eps=0.0)).mean()
        a0, b0 = a - a.mean(1, keepdim=True), b - b.mean(1, keepdim=True)
        pcl = (1 - (F.cosine_similarity(a0, b0, dim=1, eps=0.0) + 1) / 2).mean()
        return {
            "ce": ce,
            "at": at,
            "trades": trades,
            "mart": mart,
            "at_igr": at + igr,
            "trades_igr": trades + igr,
            "mart_igr": mart + igr,
            "advaat_pcl_term": pcl,
        }

    def art(self, w, x, y):
        at = x.clone().requires_grad_()
        logits = self.logits(w, at)
        other = logits.detach().masked_fill(F.one_hot(y, logits.shape[1]).bool(), -torch.inf).argmax(1)

        def slope(classes):
            return torch.autograd.grad(logits.gather(1, classes[:, None]).sum(), at, create_graph=True)[0]

        def similar(g):
            return F.cosine_similarity(g, x, dim=1, eps=0.0)

        return F.softplus(similar(slope(other)) - similar(slope(y)), threshold=1e9).mean()

    def ssr(self, w, x):
        at = x.clone().requires_grad_()
        logits = self.logits(w, at)
        p = logits.softmax(1)
        rows = [torch.autograd.grad(logits[:, c].sum(), at, create_graph=True)[0] for c in range(logits.shape[1])]
        jacobian = torch.stack(rows, 1)
        inner = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
        matrix = jacobian.transpose(1, 2) @ inner @ jacobian
        vector = torch.linalg.eigh(matrix.detach())[1][:, :, -1]
        return (vector[:, None, :] @ matrix @ vector[:, :, None]).mean()

    def cl(self, w, x):
        at = x.clone().requires_grad_()
        logits = self.logits(w, at)
        c = logits.argmax(1, keepdim=True)
        g = torch.autograd.grad(logits.softmax(1).gather(1, c).sum(), at, create_graph=True)[0]
        signed = torch.stack(
            [torch.autograd.grad(g[:, i].sum(), at, create_graph=True)[0] for i in range(x.shape[1])], 1
        ) * g.detach().sign()[:, :, None]
        radii = []
        for row in range(len(x)):
            order = g[row].detach().abs().argsort(descending=True, stable=True)
            top, rest = order[:CL_K], order[CL_K:]
            gap = g[row].abs()[top][:, None] - g[row].abs()[rest][None, :]
            difference = signed[row][top][:, None, :] - signed[row][rest][None, :, :]
            radii.append((gap / (difference.square().sum(2).sqrt() + 1e-6)).min())
        return torch.stack(radii).clamp(max=CL_CAP).mean()


class Ranked:
    """R2ET on an explanation."""

    def __init__(self, folder, network, cases):
        self.folder, self.network, self.cases = folder, network, cases
        self.weights, self.inputs = read(folder)

    def is_trained(self, name):
        return self.network.is_trained(name)

    def logits(self, w, x):
        return self.network.forward(w, x, softplus)

    def class_loss(self, w, x, y):
        if self.folder == "resnet9":
            # Batch statistics; the running ones are not to be changed by it.
            copied = {n: t.clone() if "running" in n else t for n, t in w.items()}
            return F.cross_entropy(self.network.forward(copied, x, softplus, batch_statistics=True)[0], y)
        return F.cross_entropy(self.logits(w, x)[0], y)

    def gradient(self, w, x, c):
        p = self.logits(w, x)[0].softmax(1).gather(1, c).sum()
        return torch.autograd.grad(p, x, create_graph=True)[0]

    def importance(self, w, x, c, kind, reduce):
        raw = self.logits(w, x)[1] if kind == "concept" else self.gradient(w, x, c)
        raw = x * raw if kind == "grad-input" else raw
        if reduce == "signed":
            return raw
        if reduce == "absolute":
            return raw.abs()
        if reduce == "normalised-absolute":
            return raw.abs() / raw.abs().sum(1, keepdim=True)
        return raw.abs().reshape(len(raw), 3, -1).sum(1)

    @property
    def names(self):
        return tuple(self.cases)

    def loss(self, w, name):
        kind, reduce, k = self.cases[name]
        x, y = self.inputs["x"].clone().requires_grad_(), self.inputs["y"]
        c = self.logits(w, x)[0].argmax(1, keepdim=True)
        importance = self.importance(w, x, c, kind, reduce)
        n = importance.shape[1]
        order = importance.detach().argsort(dim=1, descending=True, stable=True)
        top = torch.zeros_like(importance).scatter(1, order[:, :k], 1.0)
        gap = (importance * (top * (n - k) - (1 - top) * k)).sum(1) / (k * (n - k))
        signs = self.gradient(w, x, c).detach().sign()
        z = signs / signs.abs().sum(1, keepdim=True).sqrt()
        u = torch.zeros_like(importance).requires_grad_()
        pulled = torch.autograd.grad(importance, x, u, create_graph=True)[0]
        change = torch.autograd.grad(pulled, u, z, create_graph=True)[0]
        norm = (change.square().sum(1) + 1e-20).sqrt()
        return self.class_loss(w, x, y) - GAP * gap.mean() + HESSIAN * norm.mean()


def explain(kind, reduce):
    return f'{{ kind = "{kind}", reduce = "{reduce}" }}'


def make(of, is_trained, more):
    weights = {n: t.clone().requires_grad_(is_trained(n)) for n, t in of.weights.items()}
    trained = {n: t for n, t in weights.items() if t.requires_grad}
    losses, gradients, worst = {}, {}, 0.0
    generator = torch.Generator().manual_seed(11)
    for name in of.names:
        loss = of.loss(weights, name)
        losses[name] = loss.item()
        found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
        for parameter, gradient in zip(trained, found):
            gradient = torch.zeros_like(trained[parameter]) if gradient is None else gradient
            scale = max(gradient.abs().max().item(), 1e-3)
            moved = {n: t.detach().clone() for n, t in of.weights.items()}
            for entry in torch.randint(gradient.numel(), (2,), generator=generator).tolist():
                slope = central_difference(lambda: of.loss(moved, name).item(), moved[parameter], entry, 1e-6)
                worst = max(worst, abs(slope - gradient.reshape(-1)[entry].item()) / scale)
            if gradient.numel() <= MOST_NUMBERS:
                gradients[f"{name}/{parameter}"] = gradient.detach().contiguous()
    print(f"{of.folder}: {len(losses)} losses, central differences within {worst:.1e}")
    assert worst < 1e-5, worst
    folder = HERE / of.folder
    folder.mkdir(exist_ok=True)
    predicted = of.logits(weights, of.inputs["x"])
    predicted = predicted[0] if isinstance(predicted, tuple) else predicted
    files = {
        "weights": of.weights,
        "inputs": of.inputs,
        "expected": {"pred": predicted.argmax(1)},
        "grads": gradients,
    }
    for name, tensors in files.items():
        path = folder / f"{name}.safetensors"
        safetensors.torch.save_file({n: t.contiguous() for n, t in sorted(tensors.items())}, path)
        path.chmod(0o644)
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__.split("+")[0],
        "safetensors": safetensors.__version__,
    }
    spec = {"model": {"beta": BETA}, "losses": losses, "versions": versions} | more
    (folder / "spec.json").write_text(json.dumps(spec, indent=1) + "\n")


def main():
    make(Cnn(), lambda name: True, {"k": CL_K})
    ranked = {
        "resnet9": {
            "grad_channel_sum": ("grad", "channel-sum", 20),
            "grad_normalised": ("grad", "normalised-absolute", 20),
            "grad_input": ("grad-input", "absolute", 20),
            "concept": ("concept", "signed", 5),
        },
        "siamese_gcn": {
            "grad_input": ("grad-input", "absolute", 5),
            "grad_input_signed": ("grad-input", "signed", 5),
            "grad_normalised": ("grad", "normalised-absolute", 5),
        },
    }
    networks = {"resnet9": module("resnet9").Resnet9(), "siamese_gcn": module("siamese_gcn").SiameseGcn()}
    for folder, cases in ranked.items():
        listed = [{"name": n, "explain": explain(kind, reduce), "k": k} for n, (kind, reduce, k) in cases.items()]
        of = Ranked(folder, networks[folder], cases)
        make(of, of.is_trained, {"gap_weight": GAP, "hessian_weight": HESSIAN, "cases": listed})


main()
