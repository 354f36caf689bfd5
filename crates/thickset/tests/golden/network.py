"""What the makers of the `cnn`, `resnet9` and `siamese_gcn` golden values share: the quantities, their checks and the files.

A maker subclasses `Golden`, says what its network is, and calls `make()`.
"""

import pathlib

import safetensors
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

BETA = 2.0
K, GAP_WEIGHT, HESSIAN_WEIGHT = 5, 0.01, 0.1


def softplus(a):
    # logaddexp has no linear cut-off, unlike torch.nn.functional.softplus.
    return torch.logaddexp(BETA * a, torch.zeros_like(a)) / BETA


def round_to_f32(t):
    return t.to(torch.float32).to(torch.float64)


def normal(generator, *shape, scale=1.0):
    return round_to_f32(torch.randn(shape, generator=generator, dtype=torch.float64) * scale)


def pool_margins(tensor, size):
    """How far the largest entry of each window is ahead of the second."""
    windows = F.unfold(tensor.flatten(0, 1).unsqueeze(1), size, stride=size)
    first, second = windows.topk(2, dim=1)[0].unbind(1)
    # A window of zeros is a tie without consequence: every path through it is off.
    return torch.where(first > 0, first - second, 1.0)


def gap_weights(grad_p):
    n = grad_p.shape[1]
    ranking = grad_p.detach().abs().argsort(dim=1, descending=True, stable=True)
    return torch.full_like(grad_p, -K).scatter(1, ranking[:, :K], n - K)


def central_difference(value, tensor, entry, step=1e-5):
    flat = tensor.view(-1)
    kept = flat[entry].item()
    flat[entry] = kept + step
    above = value()
    flat[entry] = kept - step
    below = value()
    flat[entry] = kept
    return (above - below) / (2 * step)


def relative_error(got, wanted):
    return ((got - wanted).abs().max() / wanted.abs().max().clamp(min=1e-30)).item()


def in_float32(*tensors):
    return [{n: t.to(torch.float32) if t.is_floating_point() else t for n, t in group.items()} for group in tensors]


class Golden:
    """A network whose numbers are kept. A subclass has the constants and the four methods without a body."""

    cases = {"relu": torch.relu, "softplus": softplus}
    seed = rows = classes = None
    # No kink is closer than `kink`; no entry of grad_p is nearer than `sign`, in units of the row's largest, to a change of
    # sign or of the top-k set. So a float32 port sees the same pieces.
    kink, sign = 1e-3, 2e-4
    # The full Hessian is kept where it is small.
    has_hessian = True

    def make_weights(self, generator):
        raise NotImplementedError

    def draw_inputs(self, generator):
        raise NotImplementedError

    def forward(self, weights, x, act):
        """Logits and penultimate activations."""
        raise NotImplementedError

    def kink_margins(self, weights, x, act):
        """Distances of everything with a kink from it."""
        raise NotImplementedError

    def is_trained(self, name):
        return True

    def kept_gradients(self, case, gradients):
        """Those that are worth a place in the file."""
        return gradients

    def further(self, weights, inputs, generator):
        """More to keep, beyond the cases: (expected, parameter gradients)."""
        return {}, {}

    def explanation(self, weights, x, act):
        """Logits, p_c and its input gradient, recorded; c is the class predicted at x."""
        logits = self.forward(weights, x, act)[0]
        c = logits.argmax(1, keepdim=True)
        p = logits.softmax(1).gather(1, c).squeeze(1)
        return logits, p, torch.autograd.grad(p.sum(), x, create_graph=True)[0]

    def row_terms(self, weights, x, y, act):
        """Per row: CE, the gap sum and the norm of H z."""
        logits, _, g = self.explanation(weights, x, act)
        sign = g.detach().sign()
        z = sign / sign.norm(dim=1, keepdim=True)
        hz = torch.autograd.grad((g * z).sum(), x, create_graph=True)[0]
        ce = F.cross_entropy(logits, y, reduction="none")
        gap = (gap_weights(g) * g.abs()).sum(1)
        return ce, gap, (hz.square().sum(1) + 1e-20).sqrt()

    def losses(self, weights, x, y, act):
        logits, _, g = self.explanation(weights, x, act)
        ce = F.cross_entropy(logits, y)
        row_ce, gap, curvature = self.row_terms(weights, x, y, act)
        return {
            "ce": ce,
            "grad_penalty": ce + g.square().sum(1).mean(),
            "r2et": (row_ce - GAP_WEIGHT * gap + HESSIAN_WEIGHT * curvature).mean(),
        }

    def leaves(self, weights, x):
        trained = {n: t.detach().clone().requires_grad_(self.is_trained(n)) for n, t in weights.items()}
        return trained, x.detach().clone().requires_grad_(True)

    def quantities(self, weights, inputs, act):
        """Everything that one case stores: (expected, parameter gradients)."""
        weights, x = self.leaves(weights, inputs["x"])
        y, v = inputs["y"], inputs["v"]
        logits, p, g = self.explanation(weights, x, act)
        c = logits.argmax(1, keepdim=True)

        def input_gradient(output):
            return torch.autograd.grad(output, x, retain_graph=True)[0]

        _, gap, curvature = self.row_terms(weights, x, y, act)
        expected = {
            "logits": logits,
            "probs": logits.softmax(1),
            "pred": c.squeeze(1),
            "penultimate": self.forward(weights, x, act)[1],
            "grad_p": g,
            "grad_logit": input_gradient(logits.gather(1, c).sum()),
            "grad_loss": input_gradient(F.cross_entropy(logits, y, reduction="sum")),
            "hvp_v": input_gradient((g * v).sum()),
            "grad_penalty_input": input_gradient(g.square().sum()),
            "gap_sum": gap,
            "hz_norm": curvature,
        }
        if self.has_hessian:
            expected["hessian"] = torch.stack([input_gradient(g[:, i].sum()) for i in range(x.shape[1])], 1)
        trained = {n: t for n, t in weights.items() if t.requires_grad}
        gradients = {}
        for name, loss in self.losses(weights, x, y, act).items():
            expected[f"loss_{name}"] = loss.reshape(1)
            for parameter, gradient in zip(trained, torch.autograd.grad(loss, list(trained.values()), retain_graph=True)):
                gradients[f"{name}/{parameter}"] = gradient
        return ({n: t.detach() for n, t in expected.items()}, gradients)

    def explanation_margins(self, weights, x, act):
        """Relative distance of grad_p from a sign change and from a swap at rank k.

        An entry that is exactly zero (every path to it is switched off) stays zero, so it is no danger.
        """
        size = self.explanation(weights, x, act)[2].abs()
        largest = size.amax(1, keepdim=True).detach()
        ranked = size.sort(dim=1, descending=True)[0]
        swap = (ranked[:, K - 1] - ranked[:, K]) / largest.squeeze(1)
        return torch.where(size > 0, size / largest, 1.0), swap

    def separate(self, weights, x):
        """Move x, a little, until it is clear of every kink, of every sign change and of ties at rank k."""
        x = x.clone().requires_grad_(True)
        optimiser = torch.optim.Adam([x], lr=2e-3)
        for _ in range(3000):
            shortfall = torch.zeros((), dtype=x.dtype)
            for act in self.cases.values():
                for margin in self.kink_margins(weights, x, act):
                    shortfall = shortfall + (2 * self.kink - margin).clamp(min=0).sum()
                for margin in self.explanation_margins(weights, x, act):
                    shortfall = shortfall + (2 * self.sign - margin).clamp(min=0).sum()
            if shortfall == 0:
                break
            optimiser.zero_grad()
            shortfall.backward()
            optimiser.step()
        x = round_to_f32(x.detach()).requires_grad_(True)
        kink = min(m.min().item() for act in self.cases.values() for m in self.kink_margins(weights, x, act))
        sign = min(m.min().item() for act in self.cases.values() for m in self.explanation_margins(weights, x, act))
        print(f"distance from kinks {kink:.2e} (at least {self.kink}), of explanations {sign:.2e} (at least {self.sign})")
        assert kink > self.kink and sign > self.sign
        return x.detach()

    def check_central_differences(self, weights, inputs, act, expected, gradients, generator):
        """Three entries of every parameter and eight of the input, against central differences."""
        worst = 0.0
        for loss in ("ce", "grad_penalty", "r2et"):
            for name, tensor in weights.items():
                if not self.is_trained(name):
                    continue
                gradient = gradients[f"{loss}/{name}"].reshape(-1)
                scale = max(gradient.abs().max().item(), 1e-3)
                moved = {n: t.clone() for n, t in weights.items()}
                for entry in torch.randint(tensor.numel(), (3,), generator=generator).tolist():
                    slope = central_difference(
                        lambda: self.losses(moved, inputs["x"].clone().requires_grad_(True), inputs["y"], act)[loss].item(),
                        moved[name],
                        entry,
                    )
                    worst = max(worst, abs(slope - gradient[entry].item()) / scale)
        x = inputs["x"].clone()
        c = expected["pred"].unsqueeze(1)

        def probability():
            return self.forward(weights, x, act)[0].softmax(1).gather(1, c).sum().item()

        def penalty():
            return self.explanation(weights, x.clone().requires_grad_(True), act)[2].square().sum().item()

        for name, value in (("grad_p", probability), ("grad_penalty_input", penalty)):
            gradient = expected[name].reshape(-1)
            for entry in torch.randint(x.numel(), (8,), generator=generator).tolist():
                slope = central_difference(value, x, entry)
                worst = max(worst, abs(slope - gradient[entry].item()) / gradient.abs().max().item())
        step = 1e-5
        above, below = (
            self.explanation(weights, (inputs["x"] + s * inputs["v"]).requires_grad_(True), act)[2] for s in (step, -step)
        )
        worst = max(worst, relative_error(expected["hvp_v"], ((above - below) / (2 * step)).detach()))
        assert worst < 1e-6, worst
        return worst

    def check_float32(self, weights, inputs, act, expected, gradients):
        """The same computation in float32 stays within 1e-4 of the largest entry of each tensor."""
        worst = 0.0
        for got, wanted in zip(self.quantities(*in_float32(weights, inputs), act), (expected, gradients)):
            for name in wanted:
                if wanted[name].is_floating_point():
                    worst = max(worst, relative_error(got[name].double(), wanted[name]))
                else:
                    assert torch.equal(got[name], wanted[name])
        assert worst < 1e-4, worst
        return worst

    def make(self, folder):
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        generator = torch.Generator().manual_seed(self.seed)
        weights = self.make_weights(generator)
        x = self.separate(weights, self.draw_inputs(generator))
        inputs = {
            "x": x,
            "y": torch.arange(self.rows) % self.classes,
            "v": normal(generator, *x.shape),
        }
        all_expected, all_gradients = {}, {}
        for case, act in self.cases.items():
            expected, gradients = self.quantities(weights, inputs, act)
            difference = self.check_central_differences(weights, inputs, act, expected, gradients, generator)
            single = self.check_float32(weights, inputs, act, expected, gradients)
            print(f"{case}: central differences within {difference:.1e}, float32 within {single:.1e}")
            assert all(t.abs().max() > 0 for t in gradients.values()), "a parameter without a gradient tests nothing"
            assert expected["grad_p"].abs().amax(1).min() > 0.01, "a row without an input gradient tests nothing"
            print(f"  probabilities {expected['probs'].tolist()}, largest |grad_p| {expected['grad_p'].abs().max():.3f}")
            all_expected |= {f"{case}/{n}": t for n, t in expected.items()}
            all_gradients |= {f"{case}/{n}": t for n, t in self.kept_gradients(case, gradients).items()}
        expected, gradients = self.further(weights, inputs, generator)
        files = {
            "weights": weights,
            "inputs": inputs,
            "expected": all_expected | expected,
            "grads": all_gradients | gradients,
        }
        for name, tensors in files.items():
            save(pathlib.Path(folder) / f"{name}.safetensors", tensors)


def save(path, tensors):
    # One metadata key: with several, their order in the file would differ from run to run.
    made_with = f"PyTorch {torch.__version__.split('+')[0]}, safetensors {safetensors.__version__}"
    tensors = {n: t.detach().contiguous() for n, t in sorted(tensors.items())}
    save_file(tensors, path, metadata={"made_with": made_with})
    path.chmod(0o644)
