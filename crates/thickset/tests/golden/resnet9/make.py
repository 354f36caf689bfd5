"""Golden values of ResNet-9, by PyTorch autograd in float64. Run without arguments; writes beside itself.

layers: 0 conv 1 bn 2 act | 3 conv 4 bn 5 act 6 pool | 7 conv 8 bn 9 act 10 conv 11 bn 12 act 13 add(12, 6) |
14 conv 15 bn 16 act 17 pool | 18 conv 19 bn 20 act 21 pool | 22 conv 23 bn 24 act 25 conv 26 bn 27 act 28 add(27, 21) |
29 max pool over the whole map | 30 linear. Convolutions are 3x3, padding 1, without bias.
"""

import pathlib

import safetensors
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).parent
SEED = 2417
ROWS, CLASSES = 3, 3
SIDE, WIDTH = 16, 2
EPS, MOMENTUM = 1e-5, 0.1
BETA = 2.0
K, GAP_WEIGHT, HESSIAN_WEIGHT = 5, 0.01, 0.1
# No ReLU preactivation nor max-pool contest is closer than KINK to a kink; no entry of grad_p is nearer than SIGN, in
# units of the row's largest, to a change of sign or of the top-k set. So a float32 port sees the same pieces.
KINK, SIGN = 1e-3, 5e-5
# To keep the files small the softplus case stores the gradient of `r2et` alone, for parameters up to this size.
SMALL_PARAMETER = 300


def softplus(a):
    # logaddexp has no linear cut-off, unlike torch.nn.functional.softplus.
    return torch.logaddexp(BETA * a, torch.zeros_like(a)) / BETA


def round_to_f32(t):
    return t.to(torch.float32).to(torch.float64)


CASES = {"relu": torch.relu, "softplus": softplus}
# Node number of each convolution: (channels in, channels out), in units of WIDTH; its batch norm is the next node.
CONVOLUTIONS = {0: (0, 1), 3: (1, 2), 7: (2, 2), 10: (2, 2), 14: (2, 4), 18: (4, 8), 22: (8, 8), 25: (8, 8)}


def is_trained(name):
    return "running" not in name


def make_weights(generator):
    def normal(*shape, scale):
        return round_to_f32(torch.randn(shape, generator=generator, dtype=torch.float64) * scale)

    def uniform(*shape):
        return round_to_f32(torch.rand(shape, generator=generator, dtype=torch.float64) + 0.5)

    weights = {}
    for node, (inward, outward) in CONVOLUTIONS.items():
        inward, outward = max(inward * WIDTH, 3 * (node == 0)), outward * WIDTH
        weights[f"layers.{node}.weight"] = normal(outward, inward, 3, 3, scale=(2.0 / (9 * inward)) ** 0.5)
        weights[f"layers.{node + 1}.weight"] = uniform(outward)
        # Positive on the whole: a patch of switched-off units would make a max pool choose between equal constants.
        weights[f"layers.{node + 1}.bias"] = round_to_f32(normal(outward, scale=0.2) + 0.5)
        weights[f"layers.{node + 1}.running_mean"] = torch.zeros(outward, dtype=torch.float64)
        weights[f"layers.{node + 1}.running_var"] = torch.ones(outward, dtype=torch.float64)
    weights["layers.30.weight"] = normal(CLASSES, 8 * WIDTH, scale=0.15)
    weights["layers.30.bias"] = normal(CLASSES, scale=0.2)
    # Running statistics near those of real activations, so that no unit sits in a far tail; then disturbed.
    forward(weights, draw_inputs(generator), torch.relu, batch_statistics=True, momentum=1.0)
    for node in CONVOLUTIONS:
        mean, var = (weights[f"layers.{node + 1}.running_{part}"] for part in ("mean", "var"))
        mean.copy_(round_to_f32(mean + normal(*mean.shape, scale=0.1)))
        var.copy_(round_to_f32(var * uniform(*var.shape)))
    return weights


def draw_inputs(generator):
    return torch.randn((ROWS, 3 * SIDE * SIDE), generator=generator, dtype=torch.float64)


def forward(weights, x, act, watch=lambda kind, tensor: None, batch_statistics=False, momentum=MOMENTUM):
    """Logits and penultimate activations; `watch` sees every preactivation and every max pool's input.

    With `batch_statistics` the running statistics in `weights` are updated in place, as PyTorch does in training.
    """

    def block(node, h):
        h = F.conv2d(h, weights[f"layers.{node}.weight"], padding=1)
        mean, var, scale, shift = (
            weights[f"layers.{node + 1}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
        )
        h = F.batch_norm(h, mean, var, scale, shift, batch_statistics, momentum, EPS)
        watch("act", h)
        return act(h)

    def pool(h, size):
        watch(size, h)
        return F.max_pool2d(h, size)

    h = block(0, x.reshape(-1, 3, SIDE, SIDE))
    h = pool(block(3, h), 2)
    h = block(10, block(7, h)) + h
    h = pool(block(14, h), 2)
    h = pool(block(18, h), 2)
    h = block(25, block(22, h)) + h
    h = pool(h, SIDE // 8).flatten(1)
    return F.linear(h, weights["layers.30.weight"], weights["layers.30.bias"]), h


def kink_margins(weights, x, act):
    margins = []

    def watch(kind, tensor):
        if kind == "act":
            if act is torch.relu:
                margins.append(tensor.abs())
        else:
            windows = F.unfold(tensor.flatten(0, 1).unsqueeze(1), kind, stride=kind)
            first, second = windows.topk(2, dim=1)[0].unbind(1)
            # A window of zeros is a tie without consequence: every path through it is off.
            margins.append(torch.where(first > 0, first - second, 1.0))

    forward(weights, x, act, watch)
    if act is torch.relu:
        forward({n: t.clone() for n, t in weights.items()}, x, act, watch, batch_statistics=True)
    return margins


def batch_mode(weights, inputs):
    """Logits with batch statistics, the running statistics after that pass, the gradient of the mean CE."""
    weights, x = leaves(weights, inputs["x"])
    logits, penultimate = forward(weights, x, torch.relu, batch_statistics=True)
    loss = F.cross_entropy(logits, inputs["y"])
    trained = {n: t for n, t in weights.items() if t.requires_grad}
    gradients = dict(zip(trained, torch.autograd.grad(loss, list(trained.values()))))
    expected = {"logits": logits, "penultimate": penultimate, "loss_ce": loss.reshape(1)}
    expected |= {n: t for n, t in weights.items() if not t.requires_grad}
    return {n: t.detach() for n, t in expected.items()}, {f"ce/{n}": t for n, t in gradients.items()}


def check_batch_mode(weights, inputs, expected, gradients, generator):
    def loss():
        statistics = {n: t.clone() for n, t in moved.items()}
        logits = forward(statistics, inputs["x"], torch.relu, batch_statistics=True)[0]
        return F.cross_entropy(logits, inputs["y"]).item()

    worst = 0.0
    for name, gradient in gradients.items():
        name = name.removeprefix("ce/")
        moved = {n: t.clone() for n, t in weights.items()}
        for entry in torch.randint(gradient.numel(), (3,), generator=generator).tolist():
            slope = central_difference(loss, moved[name], entry)
            worst = max(worst, abs(slope - gradient.reshape(-1)[entry].item()) / max(gradient.abs().max().item(), 1e-3))
    assert worst < 1e-6, worst
    single = [
        {n: t.to(torch.float32) if t.is_floating_point() else t for n, t in d.items()} for d in (weights, inputs)
    ]
    pairs = [(g[n], w[n]) for g, w in zip(batch_mode(*single), (expected, gradients)) for n in w]
    float32 = max(relative_error(got.double(), wanted) for got, wanted in pairs)
    assert float32 < 1e-4, float32
    print(f"batch statistics: central differences within {worst:.1e}, float32 within {float32:.1e}")


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
    trained = {n: t.detach().clone().requires_grad_(is_trained(n)) for n, t in weights.items()}
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
    }
    gradients = {}
    trained = {n: t for n, t in weights.items() if t.requires_grad}
    for name, loss in losses(weights, x, y, act).items():
        expected[f"loss_{name}"] = loss.reshape(1)
        for parameter, gradient in zip(trained, torch.autograd.grad(loss, list(trained.values()), retain_graph=True)):
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
            if not is_trained(name):
                continue
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
        if act is softplus:
            gradients = {
                n: t for n, t in gradients.items() if n.startswith("r2et/") and t.numel() <= SMALL_PARAMETER
            }
        all_expected |= {f"{case}/{n}": t for n, t in expected.items()}
        all_gradients |= {f"{case}/{n}": t for n, t in gradients.items()}
    expected, gradients = batch_mode(weights, inputs)
    check_batch_mode(weights, inputs, expected, gradients, generator)
    all_expected |= {f"batch/{n}": t for n, t in expected.items()}
    all_gradients |= {f"batch/{n}": t for n, t in gradients.items()}
    save("weights", weights)
    save("inputs", inputs)
    save("expected", all_expected)
    save("grads", all_gradients)


if __name__ == "__main__":
    main()
