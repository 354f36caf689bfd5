"""How well pairs of ABIDE's brain graphs can be told apart at all: by a ridge regression on single graphs, and by the Siamese GCN in PyTorch.

    python benches/peer/torch_abide.py DATA/brain/abide-aal116-corr.i16.gz [--steps 5000] [--standardise]

Prints AUCs of persons and of pairs (same diagnosis or not). It shows whether a low AUC of `abide-pairs` comes from our training.
"""

import argparse
import gzip

import numpy as np
import torch

NODES = 116


def read(path):
    content = gzip.open(path).read()
    graphs, edges = np.frombuffer(content[8:16], "<u4")
    rows = np.frombuffer(content[16:], np.uint8).reshape(graphs, 1 + 2 * edges)
    correlations = np.ascontiguousarray(rows[:, 1:]).view("<i2").astype(np.float32) / 32767
    return correlations, rows[:, 0].astype(np.int64)


def auc(scores, positive):
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(len(scores))
    count = positive.sum()
    return (ranks[positive].sum() - count * (count - 1) / 2) / (count * (len(scores) - count))


def pair_auc(similarity, labels):
    left, right = np.triu_indices(len(labels), 1)
    return auc(similarity[left, right], labels[left] == labels[right])


def ridge(edges, labels, folds=5):
    """AUC of persons, and of pairs by the product of two persons' standardised scores; out of fold."""
    order = np.random.default_rng(0).permutation(len(labels))
    products = edges @ edges.T
    for penalty in (30, 100, 300, 1000):
        scores, pairs = np.zeros(len(labels)), []
        for fold in range(folds):
            test = order[fold::folds]
            train = np.setdiff1d(order, test)
            target = 2.0 * labels[train] - 1
            matrix = products[np.ix_(train, train)] + penalty * np.eye(len(train))
            weights = np.linalg.solve(matrix, target - target.mean())
            scores[test] = products[np.ix_(test, train)] @ weights
            own = (scores[test] - scores[test].mean()) / scores[test].std()
            pairs.append(pair_auc(np.outer(own, own), labels[test]))
        print(f"ridge, penalty {penalty}: persons {auc(scores, labels == 1):.3f}, pairs {np.mean(pairs):.3f}")


def siamese(edges, labels, steps, rate=0.001, hidden=64, size=32):
    """Two graph convolutions over the normalised adjacency, the mean over nodes, a cosine and a head that starts as a similarity."""
    torch.manual_seed(0)
    rows, columns = np.triu_indices(NODES, 1)
    matrix = np.zeros((len(labels), NODES, NODES), np.float32)
    matrix[:, rows, columns] = matrix[:, columns, rows] = edges
    matrix += np.eye(NODES, dtype=np.float32)
    root = np.abs(matrix).sum(2) ** -0.5
    graphs = torch.tensor(matrix * root[:, :, None] * root[:, None, :])
    first, second = torch.nn.Linear(NODES, hidden), torch.nn.Linear(hidden, size)
    head = torch.nn.Parameter(torch.tensor([4.0, -2.0]))
    parameters = [*first.parameters(), *second.parameters(), head]
    optimizer = torch.optim.Adam(parameters, lr=rate)

    def embed(graphs):
        inner = torch.relu(graphs @ first.weight.T + first.bias)
        return (graphs @ (inner @ second.weight.T) + second.bias).mean(1)

    def score(of):
        with torch.no_grad():
            own = torch.nn.functional.normalize(embed(graphs[of]), dim=1)
        return pair_auc((own @ own.T).numpy(), labels[of])

    order = torch.randperm(len(labels))
    train, test = order[: len(order) * 7 // 10], order[len(order) * 7 // 10 :]
    same = torch.tensor(labels)
    for step in range(1, steps + 1):
        left, right = (train[torch.randint(len(train), (64,))] for _ in range(2))
        cosine = torch.nn.functional.cosine_similarity(embed(graphs[left]), embed(graphs[right]))
        target = (same[left] == same[right]).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(head[0] * cosine + head[1], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % max(1, steps // 10) == 0:
            print(f"step {step}: loss {loss.item():.3f}, pairs: training {score(train):.3f}, test {score(test):.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--standardise", action="store_true", help="edges by their mean and deviation")
    arguments = parser.parse_args()
    edges, labels = read(arguments.file)
    ridge(edges, labels)
    if arguments.standardise:
        edges = (edges - edges.mean(0)) / edges.std(0)
    siamese(edges, labels, arguments.steps)


if __name__ == "__main__":
    main()
