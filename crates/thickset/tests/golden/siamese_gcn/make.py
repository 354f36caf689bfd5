"""Golden values of the Siamese GCN, by PyTorch autograd in float64. Run without arguments; writes beside itself.

layers: 0 pair split, 1 graph conv, 2 act, 3 graph conv, 4 node mean, 5 cosine, 6 linear.
A row is [edges of graph s | edges of graph t], each the upper triangle of a symmetric A (zero diagonal), row by row.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
from network import Golden, normal  # noqa: E402

NODES, HIDDEN, EMBEDDING = 6, 5, 4
EDGES = NODES * (NODES - 1) // 2
COSINE_FLOOR = 1e-12


def normalised_adjacency(edges):
    i, j = torch.triu_indices(NODES, NODES, offset=1)
    rows = torch.arange(edges.shape[0])[:, None]
    upper = edges.new_zeros(edges.shape[0], NODES, NODES).index_put((rows, i, j), edges)
    adjacency = upper + upper.transpose(1, 2)
    root = (1 + adjacency.abs().sum(2)).rsqrt()
    loops = torch.eye(NODES, dtype=edges.dtype)
    return root[:, :, None] * (adjacency + loops) * root[:, None, :]


class SiameseGcn(Golden):
    seed, rows, classes = 2419, 3, 2

    def make_weights(self, generator):
        return {
            "layers.1.weight": normal(generator, HIDDEN, NODES, scale=1.5),
            "layers.1.bias": normal(generator, HIDDEN, scale=0.3),
            "layers.3.weight": normal(generator, EMBEDDING, HIDDEN, scale=1.0),
            "layers.3.bias": normal(generator, EMBEDDING, scale=0.3),
            "layers.6.weight": normal(generator, self.classes, 1, scale=3.0),
            "layers.6.bias": normal(generator, self.classes, scale=0.3),
        }

    def draw_inputs(self, generator):
        return torch.randn((self.rows, 2 * EDGES), generator=generator, dtype=torch.float64)

    def forward(self, weights, x, act, watch=lambda preactivation: None):
        """The penultimate activation is the cosine; `watch` sees every preactivation."""

        def embed(edges):
            a = normalised_adjacency(edges)
            # The node features are the identity, so A X W' is A W'.
            hidden = a @ weights["layers.1.weight"].T + weights["layers.1.bias"]
            watch(hidden)
            nodes = a @ act(hidden) @ weights["layers.3.weight"].T + weights["layers.3.bias"]
            return nodes.mean(1)

        u, v = embed(x[:, :EDGES]), embed(x[:, EDGES:])
        squares = u.square().sum(1) * v.square().sum(1)
        cosine = ((u * v).sum(1) / (squares + COSINE_FLOOR).sqrt()).unsqueeze(1)
        return F.linear(cosine, weights["layers.6.weight"], weights["layers.6.bias"]), cosine

    def kink_margins(self, weights, x, act):
        margins = [x.abs()]  # the degree takes |a_ij|
        if act is torch.relu:
            self.forward(weights, x, act, lambda preactivation: margins.append(preactivation.abs()))
        return margins


if __name__ == "__main__":
    SiameseGcn().make(FOLDER)
