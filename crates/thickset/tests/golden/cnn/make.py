"""Golden values of the CNN, by PyTorch autograd in float64. Run without arguments; writes beside itself.

layers: 0 conv 3x3, 1 act, 2 max pool 2, 3 conv 3x3, 4 act, 5 max pool 2, 6 linear, 7 act, 8 linear, 9 act, 10 linear.
"""

import pathlib

import safetensors
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).parent
SEED = 2471
ROWS, CLASSES = 4, 3
SIDE, CHANNELS, HIDDEN = 8, (1, 3, 4), (7, 6)
BETA = 2.0
K, GAP_WEIGHT, HESSIAN_WEIGHT = 5, 0.01, 0.1
# No ReLU preactivation nor max-pool contest is closer than KINK to a kink; no entry of grad_p is nearer than SIGN, in
# units of the row's largest, to a change of sign or of the top-k set. So a float32 port sees the same pieces.
KINK, SIGN = 1e-3, 2e-4


def softplus(a):
    # logaddexp has no linear cut-off, unlike torch.nn.functional.softplus.
    return torch.logaddexp(BETA * a, torch.zeros_like(a)) / BETA


def round_to_f32(t):
    return t.to(torch.float32).to(torch.float64)


CASES = {"relu": torch.relu, "softplus": softplus}


def make_weights(generator):
    def draw(*shape, fan_in):
        return round_to_f32(torch.randn(shape, generator=generator, dtype=torch.float64) * (2.0 / fan_in) ** 0.5)

    c0, c1, c2 = CHANNELS
    flat = c2 * (SIDE // 4) ** 2
    weights = {}
    for layer, inward, outward in ((0, c0, c1), (3, c1, c2)):
        weights[f"layers.{layer}.weight"] = draw(outward, inward, 3, 3, fan_in=9 * inward)
        weights[f"layers.{layer}.bias"] = draw(outward, fan_in=50)
    for layer, inward, outward in ((6, flat, HIDDEN[0]), (8, HIDDEN[0], HIDDEN[1]), (10, HIDDEN[1], CLASSES)):
        weights[f"layers.{layer}.weight"] = draw(outward, inward, fan_in=inward)
        weights[f"layers.{layer}.bias"] = draw(outward, fan_in=50)
    return weights


def draw_inputs(generator):
    return torch.randn((ROWS, CHANNELS[0] * SIDE * SIDE), generator=generator, dtype=torch.float64)


def forward(weights, x, act, watch=lambda kind, tensor: None):
    """Logits and penultimate activations; `watch` sees every preactivation and every max pool's input."""

    def activate(a):
        watch("act", a)
        return act(a)

    h = x.reshape(-1, CHANNELS[0], SIDE, SIDE)
    for layer in (0, 3):
        h = activate(F.conv2d(h, weights[f"layers.{layer}.weight"], weights[f"layers.{layer}.bias"], padding=1))
        watch("pool", h)
        h = F.max_pool2d(h, 2)
    h = h.flatten(1)
    for layer in (6, 8):
        h = activate(F.linear(h, weights[f"layers.{layer}.weight"], weights[f"layers.{layer}.bias"]))
    return F.linear(h, weights["layers.10.weight"], weights["layers.10.bias"]), h


def kink_margins(weights, x, act):
    margins = []

    def watch(kind, tensor):
        if kind == "act" and act is torch.relu:
            margins.append(tensor.abs())
        if kind == "pool":
            windows = F.unfold(tensor.flatten(0, 1).unsqueeze(1), 2, stride=2)
            first, second = windows.topk(2, dim=1)[0].unbind(1)
            # A window of zeros is a tie without consequence: every path through it is off.
            margins.append(torch.where(first > 0, first - second, 1.0))

    forward(weights, x, act, watch)
    return margins


def explanation(weights, x, act):
    """Logits, p_c and its input gradient, recorded; c is the class predicted at x."""
    logits = forward(weights, x, act)[0]
    c = logits.argmax(1, keepdim=True)
    p = logits.softmax(1).gather(1, c).squeeze(1)
    return logits, p, torch.autograd.grad(p.sum(), x, create_graph=True)[0]


def gap_weights(grad_p):
    n = grad_p.shape[1]
    ranking = grad_p.detach().abs().argsort(dim=1, descending=True, stable=True)
    return torch.full_like(grad_p, -K).scatter(1, ranking[:, :K], n - K)


def row_terms(weights, x, y, act):
    """Per row: CE, the gap sum and the norm of H z."""
    logits, _, g = explanation(weights, x, act)
    sign = g.detach().sign()
    z = sign / sign.norm(dim=1, keepdim=True)
    hz = torch.autograd.grad((g * z).sum(), x, create_graph=True)[0]
    ce = F.cross_entropy(logits, y, reduction="none")
    gap = (gap_weights(g) * g.abs()).sum(1)
    return ce, gap, (hz.square().sum(1) + 1e-20).sqrt()


def losses(weights, x, y, act):
    logits, _, g = explanation(weights, x, act)
    ce = F.cross_entropy(logits, y)
    row_ce, gap, curvature = row_terms(weights, x, y, act)
    return {
        "ce": ce,
        "grad_penalty": ce + g.square().sum(1).mean(),
        "r2et": (row_ce - GAP_WEIGHT * gap + HESSIAN_WEIGHT * curvature).mean(),
    }


def leaves(weights, x):
    trained = {n: t.detach().clone().requires_grad_(True) for n, t in weights.items()}
    return trained, x.detach().clone().requires_grad_(True)


def quantities(weights, inputs, act):
    """Everything that one case stores: (expected, parameter gradients)."""
    weights, x = leaves(weights, inputs["x"])
    y, v = inputs["y"], inputs["v"]
    logits, p, g = explanation(weights, x, act)
    c = logits.argmax(1, keepdim=True)

    def input_gradient(output):
        return torch.autograd.grad(output, x, retain_graph=True)[0]

    _, gap, curvature = row_terms(weights, x, y, act)
    expected = {
        "logits": logits,
        "probs": logits.softmax(1),
        "pred": c.squeeze(1),
        "penultimate": forward(weights, x, act)[1],
        "grad_p": g,
        "grad_logit": input_gradient(logits.gather(1, c).sum()),
        "grad_loss": input_gradient(F.cross_entropy(logits, y, reduction="sum")),
        "hvp_v": input_gradient((g * v).sum()),
        "grad_penalty_input": input_gradient(g.square().sum()),
        "gap_sum": gap,
        "hz_norm": curvature,
        "hessian": torch.stack([input_gradient(g[:, i].sum()) for i in range(x.shape[1])], 1),
    }
    gradients = {}
    for name, loss in losses(weights, x, y, act).items():
        expected[f"loss_{name}"] = loss.reshape(1)
        for parameter, gradient in zip(weights, torch.autograd.grad(loss, list(weights.values()), retain_graph=True)):
            gradients[f"{name}/{parameter}"] = gradient
    return ({n: t.detach() for n, t in expected.items()}, gradients)


def explanation_margins(weights, x, act):
    """Relative distance of grad_p from a sign change and from a swap at rank k.

    An entry that is exactly zero (every path to it is switched off) stays zero, so it is no danger.
    """
    size = explanation(weights, x, act)[2].abs()
    largest = size.amax(1, keepdim=True).detach()
    ranked = size.sort(dim=1, descending=True)[0]
    swap = (ranked[:, K - 1] - ranked[:, K]) / largest.squeeze(1)
    return torch.where(size > 0, size / largest, 1.0), swap


def separate(weights, x):
    """Move x, a little, until it is clear of every kink, of every sign change and of ties at rank k."""
    x = x.clone().requires_grad_(True)
    optimiser = torch.optim.Adam([x], lr=2e-3)
    for _ in range(3000):
        shortfall = torch.zeros((), dtype=x.dtype)
        for act in CASES.values():
            for margin in kink_margins(weights, x, act):
                shortfall = shortfall + (2 * KINK - margin).clamp(min=0).sum()
            for margin in explanation_margins(weights, x, act):
                shortfall = shortfall + (2 * SIGN - margin).clamp(min=0).sum()
        if shortfall == 0:
            break
        optimiser.zero_grad()
        shortfall.backward()
        optimiser.step()
    x = round_to_f32(x.detach()).requires_grad_(True)
    kink = min(m.min().item() for act in CASES.values() for m in kink_margins(weights, x, act))
    sign = min(m.min().item() for act in CASES.values() for m in explanation_margins(weights, x, act))
    print(f"distance from kinks {kink:.2e} (at least {KINK}), of explanations {sign:.2e} (at least {SIGN})")
    assert kink > KINK and sign > SIGN
    return x.detach()


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


def check_central_differences(weights, inputs, act, expected, gradients, generator):
    """Three entries of every parameter and eight of the input, against central differences."""
    worst = 0.0
    for loss in ("ce", "grad_penalty", "r2et"):
        for name, tensor in weights.items():
            gradient = gradients[f"{loss}/{name}"].reshape(-1)
            scale = max(gradient.abs().max().item(), 1e-3)
            moved = {n: t.clone() for n, t in weights.items()}
            for entry in torch.randint(tensor.numel(), (3,), generator=generator).tolist():
                slope = central_difference(
                    lambda: losses(moved, inputs["x"].clone().requires_grad_(True), inputs["y"], act)[loss].item(),
                    moved[name],
                    entry,
                )
                worst = max(worst, abs(slope - gradient[entry].item()) / scale)
    x = inputs["x"].clone()
    c = expected["pred"].unsqueeze(1)

    def probability():
        return forward(weights, x, act)[0].softmax(1).gather(1, c).sum().item()

    def penalty():
        return explanation(weights, x.clone().requires_grad_(True), act)[2].square().sum().item()

    for name, value in (("grad_p", probability), ("grad_penalty_input", penalty)):
        gradient = expected[name].reshape(-1)
        for entry in torch.randint(x.numel(), (8,), generator=generator).tolist():
            slope = central_difference(value, x, entry)
            worst = max(worst, abs(slope - gradient[entry].item()) / gradient.abs().max().item())
    step = 1e-5
    above, below = (
        explanation(weights, (inputs["x"] + s * inputs["v"]).requires_grad_(True), act)[2] for s in (step, -step)
    )
    worst = max(worst, relative_error(expected["hvp_v"], ((above - below) / (2 * step)).detach()))
    assert worst < 1e-6, worst
    return worst


def check_float32(weights, inputs, act, expected, gradients):
    """The same computation in float32 stays within 1e-4 of the largest entry of each tensor."""
    single = [
        {n: t.to(torch.float32) if t.is_floating_point() else t for n, t in d.items()} for d in (weights, inputs)
    ]
    worst = 0.0
    for got, wanted in zip(quantities(*single, act), (expected, gradients)):
        for name in wanted:
            if wanted[name].is_floating_point():
                worst = max(worst, relative_error(got[name].double(), wanted[name]))
            else:
                assert torch.equal(got[name], wanted[name])
    assert worst < 1e-4, worst
    return worst


def save(name, tensors):
    # One metadata key: with several, their order in the file would differ from run to run.
    made_with = f"PyTorch {torch.__version__.split('+')[0]}, safetensors {safetensors.__version__}"
    tensors = {n: t.detach().contiguous() for n, t in sorted(tensors.items())}
    path = FOLDER / f"{name}.safetensors"
    save_file(tensors, path, metadata={"made_with": made_with})
    path.chmod(0o644)


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    generator = torch.Generator().manual_seed(SEED)
    weights = make_weights(generator)
    x = separate(weights, draw_inputs(generator))
    inputs = {
        "x": x,
        "y": torch.arange(ROWS) % CLASSES,
        "v": round_to_f32(torch.randn(x.shape, generator=generator, dtype=torch.float64)),
    }
    all_expected, all_gradients = {}, {}
    for case, act in CASES.items():
        expected, gradients = quantities(weights, inputs, act)
        difference = check_central_differences(weights, inputs, act, expected, gradients, generator)
        single = check_float32(weights, inputs, act, expected, gradients)
        print(f"{case}: central differences within {difference:.1e}, float32 within {single:.1e}")
        assert all(t.abs().max() > 0 for t in gradients.values()), "a parameter without a gradient tests nothing"
        assert expected["grad_p"].abs().amax(1).min() > 0.01, "a row without an input gradient tests nothing"
        print(f"  probabilities {expected['probs'].tolist()}, largest |grad_p| {expected['grad_p'].abs().max():.3f}")
        all_expected |= {f"{case}/{n}": t for n, t in expected.items()}
        all_gradients |= {f"{case}/{n}": t for n, t in gradients.items()}
    save("weights", weights)
    save("inputs", inputs)
    save("expected", all_expected)
    save("grads", all_gradients)


if __name__ == "__main__":
    main()
