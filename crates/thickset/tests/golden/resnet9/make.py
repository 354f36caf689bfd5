"""Golden values of ResNet-9, by PyTorch autograd in float64. Run without arguments; writes beside itself.

layers: 0 conv 1 bn 2 act | 3 conv 4 bn 5 act 6 pool | 7 conv 8 bn 9 act 10 conv 11 bn 12 act 13 add(12, 6) |
14 conv 15 bn 16 act 17 pool | 18 conv 19 bn 20 act 21 pool | 22 conv 23 bn 24 act 25 conv 26 bn 27 act 28 add(27, 21) |
29 max pool over the whole map | 30 linear. Convolutions are 3x3, padding 1, without bias.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
from network import Golden, central_difference, in_float32, normal, pool_margins, relative_error, round_to_f32  # noqa: E402

SIDE, WIDTH = 16, 2
EPS, MOMENTUM = 1e-5, 0.1
# To keep the files small the softplus case stores the gradient of `r2et` alone, for parameters up to this size.
SMALL_PARAMETER = 300
# Node number of each convolution: (channels in, channels out), in units of WIDTH; its batch norm is the next node.
CONVOLUTIONS = {0: (0, 1), 3: (1, 2), 7: (2, 2), 10: (2, 2), 14: (2, 4), 18: (4, 8), 22: (8, 8), 25: (8, 8)}


class Resnet9(Golden):
    seed, rows, classes = 2417, 3, 3
    sign = 5e-5
    has_hessian = False

    def is_trained(self, name):
        return "running" not in name

    def kept_gradients(self, case, gradients):
        if case == "relu":
            return gradients
        return {n: t for n, t in gradients.items() if n.startswith("r2et/") and t.numel() <= SMALL_PARAMETER}

    def make_weights(self, generator):
        def uniform(*shape):
            return round_to_f32(torch.rand(shape, generator=generator, dtype=torch.float64) + 0.5)

        weights = {}
        for node, (inward, outward) in CONVOLUTIONS.items():
            inward, outward = max(inward * WIDTH, 3 * (node == 0)), outward * WIDTH
            weights[f"layers.{node}.weight"] = normal(generator, outward, inward, 3, 3, scale=(2.0 / (9 * inward)) ** 0.5)
            weights[f"layers.{node + 1}.weight"] = uniform(outward)
            # Positive on the whole: a patch of switched-off units would make a max pool choose between equal constants.
            weights[f"layers.{node + 1}.bias"] = round_to_f32(normal(generator, outward, scale=0.2) + 0.5)
            weights[f"layers.{node + 1}.running_mean"] = torch.zeros(outward, dtype=torch.float64)
            weights[f"layers.{node + 1}.running_var"] = torch.ones(outward, dtype=torch.float64)
        weights["layers.30.weight"] = normal(generator, self.classes, 8 * WIDTH, scale=0.15)
        weights["layers.30.bias"] = normal(generator, self.classes, scale=0.2)
        # Running statistics near those of real activations, so that no unit sits in a far tail; then disturbed.
        self.forward(weights, self.draw_inputs(generator), torch.relu, batch_statistics=True, momentum=1.0)
        for node in CONVOLUTIONS:
            mean, var = (weights[f"layers.{node + 1}.running_{part}"] for part in ("mean", "var"))
            mean.copy_(round_to_f32(mean + normal(generator, *mean.shape, scale=0.1)))
            var.copy_(round_to_f32(var * uniform(*var.shape)))
        return weights

    def draw_inputs(self, generator):
        return torch.randn((self.rows, 3 * SIDE * SIDE), generator=generator, dtype=torch.float64)

    def forward(self, weights, x, act, watch=lambda kind, tensor: None, batch_statistics=False, momentum=MOMENTUM):
        """`watch` sees every preactivation and every max pool's input.

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

    def kink_margins(self, weights, x, act):
        margins = []

        def watch(kind, tensor):
            if kind == "act":
                if act is torch.relu:
                    margins.append(tensor.abs())
            else:
                margins.append(pool_margins(tensor, kind))

        self.forward(weights, x, act, watch)
        if act is torch.relu:
            self.forward({n: t.clone() for n, t in weights.items()}, x, act, watch, batch_statistics=True)
        return margins

    def batch_mode(self, weights, inputs):
        """Logits with batch statistics, the running statistics after that pass, the gradient of the mean CE."""
        weights, x = self.leaves(weights, inputs["x"])
        logits, penultimate = self.forward(weights, x, torch.relu, batch_statistics=True)
        loss = F.cross_entropy(logits, inputs["y"])
        trained = {n: t for n, t in weights.items() if t.requires_grad}
        gradients = dict(zip(trained, torch.autograd.grad(loss, list(trained.values()))))
        expected = {"logits": logits, "penultimate": penultimate, "loss_ce": loss.reshape(1)}
        expected |= {n: t for n, t in weights.items() if not t.requires_grad}
        return {n: t.detach() for n, t in expected.items()}, {f"ce/{n}": t for n, t in gradients.items()}

    def check_batch_mode(self, weights, inputs, expected, gradients, generator):
        def loss():
            statistics = {n: t.clone() for n, t in moved.items()}
            logits = self.forward(statistics, inputs["x"], torch.relu, batch_statistics=True)[0]
            return F.cross_entropy(logits, inputs["y"]).item()

        worst = 0.0
        for name, gradient in gradients.items():
            name = name.removeprefix("ce/")
            moved = {n: t.clone() for n, t in weights.items()}
            for entry in torch.randint(gradient.numel(), (3,), generator=generator).tolist():
                slope = central_difference(loss, moved[name], entry)
                worst = max(worst, abs(slope - gradient.reshape(-1)[entry].item()) / max(gradient.abs().max().item(), 1e-3))
        assert worst < 1e-6, worst
        pairs = [(g[n], w[n]) for g, w in zip(self.batch_mode(*in_float32(weights, inputs)), (expected, gradients)) for n in w]
        float32 = max(relative_error(got.double(), wanted) for got, wanted in pairs)
        assert float32 < 1e-4, float32
        print(f"batch statistics: central differences within {worst:.1e}, float32 within {float32:.1e}")

    def further(self, weights, inputs, generator):
        expected, gradients = self.batch_mode(weights, inputs)
        self.check_batch_mode(weights, inputs, expected, gradients, generator)
        return {f"batch/{n}": t for n, t in expected.items()}, {f"batch/{n}": t for n, t in gradients.items()}


if __name__ == "__main__":
    Resnet9().make(FOLDER)
