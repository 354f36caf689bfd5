"""ERAttack in PyTorch on the MLP 28-64-32-2: rows per second over a sweep of batch sizes, and row by row.

x' = x + project(x_t - alpha g / ||g|| - x), g the gradient of sum_i w_i |grad p_c|_i at x_t, with c and w (n-k on the
top k, -k on the rest) taken at x. A row whose predicted class would change stays at its last iterate for ever. Each iterate
is scored by how much of the top k it keeps, and a row's worst one is what the attack found.
"""

import argparse
import json
import statistics
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


def er_attack(model, x, score=True, k=K, steps=STEPS, budget=BUDGET, step_size=STEP_SIZE):
    """The last and the worst iterate of each row, how many of the top k the worst one keeps, the step at which the top k
    first changed (0 if never), and whether the row was stopped by a change of class.

    One forward pass a step serves the check of the class, the score and the gradient at the same point. Without `score`
    nothing but the last iterate is found.
    """
    n = x.shape[1]
    candidate = kept = worst = x.detach()
    stopped = torch.zeros(len(x), 1, dtype=torch.bool)
    least = torch.full((len(x), 1), k)
    first = torch.zeros(len(x), 1, dtype=torch.long)
    c = weights = salient = None
    for step in range(steps + 1):
        last = step == steps
        point = candidate.detach().requires_grad_(score or not last)
        logits = model(point)
        predicted = logits.argmax(1, keepdim=True)
        if c is None:
            c = predicted
        stopped = stopped | (predicted != c)
        kept = torch.where(stopped, kept, candidate)
        if last and not score:
            break
        p = logits.softmax(1).gather(1, c)
        size = torch.autograd.grad(p.sum(), point, create_graph=not last)[0].abs()
        if weights is None:
            salient = torch.zeros_like(size, dtype=torch.bool).scatter_(1, size.detach().topk(k, dim=1)[1], True)
            weights = torch.where(salient, float(n - k), float(-k))
        elif score:
            still = salient.gather(1, size.detach().topk(k, dim=1, sorted=False)[1]).sum(1, keepdim=True)
            first = torch.where((first == 0) & ~stopped & (still < k), step, first)
            is_worse = ~stopped & (still < least)
            least = torch.where(is_worse, still, least)
            worst = torch.where(is_worse, candidate, worst)
        if last:
            break
        g = torch.autograd.grad((weights * size).sum(), point)[0]
        g = g / g.norm(dim=1, keepdim=True).clamp_(min=1e-12)
        offset = kept - step_size * g - x
        offset = offset * (budget / offset.norm(dim=1, keepdim=True).clamp_(min=1e-12)).clamp_(max=1.0)
        candidate = x + offset
    return kept, worst, least, first, stopped


def measure(attack, rows, threads, seconds):
    """Median and best of at least three runs for so many seconds after a warm-up, with one thread or all, whichever is faster."""
    trials = []
    for count in sorted({1, threads}):
        torch.set_num_threads(count)
        attack()
        times, deadline = [], time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < deadline:
            start = time.perf_counter()
            attack()
            times.append(time.perf_counter() - start)
        trials.append((statistics.median(times), min(times), count))
    median, best, count = min(trials)
    return {
        "median_ms": median * 1e3,
        "best_ms": best * 1e3,
        "rows_per_second": rows / median,
        "threads": count,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="at most; one is tried too")
    parser.add_argument("--seconds", type=float, default=5.0, help="per batch size and number of threads")
    parser.add_argument("--last-only", action="store_true", help="do not score the iterates, find the last one alone")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    arguments = parser.parse_args()
    model = build()

    def attack(rows):
        er_attack(model, rows, score=not arguments.last_only)

    def loop(rows):
        for row in rows.split(1):
            attack(row)

    name = "mlp-" + "-".join(map(str, SIZES))
    results = []
    for batch in BATCHES:
        print(f"batch {batch}", file=sys.stderr)
        x = torch.rand(batch, SIZES[0])
        timed = measure(lambda: attack(x), batch, arguments.threads, arguments.seconds)
        results.append({"model": name, "step": "er-attack", "batch": batch, **timed})
    best = max(results, key=lambda result: result["rows_per_second"])
    results.append({**best, "step": "er-attack-best-batch"})
    print("row by row", file=sys.stderr)
    x = torch.rand(LOOP_ROWS, SIZES[0])
    timed = measure(lambda: loop(x), LOOP_ROWS, arguments.threads, arguments.seconds)
    results.append({"model": name, "step": "er-attack-row-by-row", "batch": 1, **timed})

    if arguments.json:
        print(json.dumps(results, indent=1))
        return
    print(f"PyTorch {torch.__version__}, at most {arguments.threads} threads, ERAttack of {STEPS} steps")
    for result in results:
        print(f"{result['step']:22} batch {result['batch']:<6} {result['rows_per_second']:.1f} rows/s, {result['threads']} threads")


if __name__ == "__main__":
    main()
