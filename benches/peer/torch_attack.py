"""ERAttack in PyTorch on the MLP 28-64-32-2: rows per second over a sweep of batch sizes, and row by row.

x' = x + project(x_t - alpha g / ||g|| - x), g the gradient of sum_i w_i |grad p_c|_i at x_t, with c and w (n-k on the
top k, -k on the rest) taken at x. A row whose predicted class would change stays at its last iterate for ever.
"""

import argparse
import json
import sys
import time

import torch
from torch import nn

SIZES, K = (28, 64, 32, 2), 8
STEPS, BUDGET = 100, 0.5
STEP_SIZE = 2.5 * BUDGET / STEPS
BATCHES = (128, 512, 1024, 2048, 4096, 8192, 16384)
LOOP_ROWS = 4


def build():
    torch.manual_seed(0)
    layers = []
    for inward, outward in zip(SIZES, SIZES[1:]):
        layers += [nn.Linear(inward, outward), nn.ReLU()]
    # Only inputs are differentiated, so no time goes to weights.
    return nn.Sequential(*layers[:-1]).requires_grad_(False)


def gap_weights(size, k):
    n = size.shape[1]
    return torch.full_like(size, -k).scatter_(1, size.topk(k, dim=1)[1], n - k)


def er_attack(model, x, k=K, steps=STEPS, budget=BUDGET, step_size=STEP_SIZE):
    """The attacked rows, and whether each was stopped by a change of class.

    One forward pass a step serves both the check of the class and the gradient at the same point.
    """
    candidate = x.detach()
    kept = candidate
    stopped = torch.zeros(len(x), 1, dtype=torch.bool)
    c = weights = None
    for step in range(steps + 1):
        last = step == steps
        point = candidate.detach().requires_grad_(not last)
        logits = model(point)
        predicted = logits.argmax(1, keepdim=True)
        if c is None:
            c = predicted
        stopped = stopped | (predicted != c)
        kept = torch.where(stopped, kept, candidate)
        if last:
            return kept, stopped.squeeze(1)
        p = logits.softmax(1).gather(1, c)
        size = torch.autograd.grad(p.sum(), point, create_graph=True)[0].abs()
        if weights is None:
            weights = gap_weights(size.detach(), k)
        g = torch.autograd.grad((weights * size).sum(), point)[0]
        g = g / g.norm(dim=1, keepdim=True).clamp_(min=1e-12)
        offset = kept - step_size * g - x
        offset = offset * (budget / offset.norm(dim=1, keepdim=True).clamp_(min=1e-12)).clamp_(max=1.0)
        candidate = x + offset


def rows_per_second(attack, rows, threads, seconds):
    """The best of at least two runs with one thread and two with all, for so many seconds after a warm-up."""
    best = float("inf")
    for count in sorted({1, threads}):
        torch.set_num_threads(count)
        attack()
        runs, deadline = 0, time.perf_counter() + seconds
        while runs < 2 or time.perf_counter() < deadline:
            start = time.perf_counter()
            attack()
            best = min(best, time.perf_counter() - start)
            runs += 1
    return rows / best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="at most; one is tried too")
    parser.add_argument("--seconds", type=float, default=5.0, help="per batch size")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    arguments = parser.parse_args()
    model = build()

    def loop(rows):
        for row in rows.split(1):
            er_attack(model, row)

    name = "mlp-" + "-".join(map(str, SIZES))
    results = []
    for batch in BATCHES:
        print(f"batch {batch}", file=sys.stderr)
        x = torch.rand(batch, SIZES[0])
        speed = rows_per_second(lambda: er_attack(model, x), batch, arguments.threads, arguments.seconds)
        results.append({"model": name, "step": "er-attack", "batch": batch, "rows_per_second": speed})
    best = max(results, key=lambda result: result["rows_per_second"])
    results.append({**best, "step": "er-attack-best-batch"})
    print("row by row", file=sys.stderr)
    x = torch.rand(LOOP_ROWS, SIZES[0])
    speed = rows_per_second(lambda: loop(x), LOOP_ROWS, arguments.threads, arguments.seconds)
    results.append({"model": name, "step": "er-attack-row-by-row", "batch": 1, "rows_per_second": speed})

    if arguments.json:
        print(json.dumps(results, indent=1))
        return
    print(f"PyTorch {torch.__version__}, at most {arguments.threads} threads, ERAttack of {STEPS} steps")
    for result in results:
        print(f"{result['step']:22} batch {result['batch']:<6} {result['rows_per_second']:.1f} rows/s")


if __name__ == "__main__":
    main()
