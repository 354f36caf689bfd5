"""Golden values of the CNN, by PyTorch autograd in float64. Run without arguments; writes beside itself.

layers: 0 conv 3x3, 1 act, 2 max pool 2, 3 conv 3x3, 4 act, 5 max pool 2, 6 linear, 7 act, 8 linear, 9 act, 10 linear.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
from network import Golden, normal, pool_margins  # noqa: E402

SIDE, CHANNELS, HIDDEN = 8, (1, 3, 4), (7, 6)


class Cnn(Golden):
    seed, rows, classes = 2471, 4, 3

    def make_weights(self, generator):
        def draw(*shape, fan_in):
            return normal(generator, *shape, scale=(2.0 / fan_in) ** 0.5)

        c0, c1, c2 = CHANNELS
        flat = c2 * (SIDE // 4) ** 2
        weights = {}
        for layer, inward, outward in ((0, c0, c1), (3, c1, c2)):
            weights[f"layers.{layer}.weight"] = draw(outward, inward, 3, 3, fan_in=9 * inward)
            weights[f"layers.{layer}.bias"] = draw(outward, fan_in=50)
        for layer, inward, outward in ((6, flat, HIDDEN[0]), (8, HIDDEN[0], HIDDEN[1]), (10, HIDDEN[1], self.classes)):
            weights[f"layers.{layer}.weight"] = draw(outward, inward, fan_in=inward)
            weights[f"layers.{layer}.bias"] = draw(outward, fan_in=50)
        return weights

    def draw_inputs(self, generator):
        return torch.randn((self.rows, CHANNELS[0] * SIDE * SIDE), generator=generator, dtype=torch.float64)

    def forward(self, weights, x, act, watch=lambda kind, tensor: None):
        """`watch` sees every preactivation and every max pool's input."""

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

    def kink_margins(self, weights, x, act):
        margins = []

        def watch(kind, tensor):
            if kind == "act" and act is torch.relu:
                margins.append(tensor.abs())
            if kind == "pool":
                margins.append(pool_margins(tensor, 2))

        self.forward(weights, x, act, watch)
        return margins


if __name__ == "__main__":
    Cnn().make(FOLDER)
