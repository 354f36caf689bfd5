"""ERAttack in JAX on the MLP 28-64-32-2: rows per second over a sweep of batch sizes, and row by row.

The attack is that of `torch_attack.py`, with all its steps in one compiled loop. The gradient of sum_i w_i |grad p_c|_i at a
point is the Hessian of p_c times w sign(grad p_c), which one tangent of the gradient gives together with the gradient.
"""

import argparse
import json
import statistics
import sys
import time

from jax_step import bind

SIZES, K = (28, 64, 32, 2), 8
STEPS, BUDGET = 100, 0.5
STEP_SIZE = 2.5 * BUDGET / STEPS
BATCHES = (128, 512, 1024, 2048, 4096, 8192, 16384)
LOOP_ROWS = 4
LEAST_NORM = 1e-12


def build():
    import numpy as np

    random = np.random.default_rng(0)
    layers = []
    for inward, outward in zip(SIZES, SIZES[1:]):
        bound = inward**-0.5
        layers.append(tuple(jnp.asarray(random.uniform(-bound, bound, s).astype(np.float32)) for s in ((inward, outward), (outward,))))
    return layers


def logits_of(layers, x):
    for place, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if place + 1 < len(layers):
            x = jax.nn.relu(x)
    return x


def salient_of(size):
    places = jax.lax.top_k(size, K)[1]
    return jnp.zeros(size.shape, bool).at[jnp.arange(len(size))[:, None], places].set(True)


def er_attack(layers, x):
    """As in `torch_attack.py`: the last and the worst iterate of each row, how many of the top k the worst one keeps, the step
    at which the top k first changed (0 if never), and whether the row was stopped by a change of class."""
    n = x.shape[1]
    c = logits_of(layers, x).argmax(1)

    def probability(point):
        logits = logits_of(layers, point)
        return jnp.take_along_axis(jax.nn.softmax(logits), c[:, None], 1).sum(), logits

    explain = jax.grad(probability, has_aux=True)
    gradient, _ = explain(x)
    salient = salient_of(jnp.abs(gradient))
    weights = jnp.where(salient, float(n - K), float(-K))

    def at(step, state):
        candidate, kept, worst, stopped, least, first = state
        gradient, tangent, logits = jax.linearize(explain, candidate, has_aux=True)
        stopped = stopped | (logits.argmax(1) != c)
        keep = stopped[:, None]
        kept = jnp.where(keep, kept, candidate)
        still = (salient & salient_of(jnp.abs(gradient))).sum(1)
        first = jnp.where((first == 0) & ~stopped & (still < K), step, first)
        is_worse = ~stopped & (still < least)
        least = jnp.where(is_worse, still, least)
        worst = jnp.where(is_worse[:, None], candidate, worst)
        g = tangent(weights * jnp.sign(gradient))
        g = g / jnp.maximum(jnp.linalg.norm(g, axis=1, keepdims=True), LEAST_NORM)
        offset = kept - STEP_SIZE * g - x
        size = jnp.maximum(jnp.linalg.norm(offset, axis=1, keepdims=True), LEAST_NORM)
        return x + offset * jnp.minimum(BUDGET / size, 1.0), kept, worst, stopped, least, first

    rows = len(x)
    start = (x, x, x, jnp.zeros(rows, bool), jnp.full(rows, K), jnp.zeros(rows, int))
    _, *found = jax.lax.fori_loop(0, STEPS + 1, at, start)
    return found


def measure(attack, rows, seconds):
    """Median and best of at least three runs for so many seconds, after a warm-up that compiles."""
    attack()
    times, deadline = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < deadline:
        start = time.perf_counter()
        attack()
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    return {"median_ms": median * 1e3, "best_ms": min(times) * 1e3, "rows_per_second": rows / median}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0, help="per batch size")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    arguments = parser.parse_args()
    bind(arguments.threads)
    global jax, jnp
    import jax
    import jax.numpy as jnp
    import numpy as np

    layers = build()
    compiled = jax.jit(er_attack)

    def attack(rows):
        jax.block_until_ready(compiled(layers, rows))

    def drawn(rows):
        return jnp.asarray(np.random.default_rng(1).random((rows, SIZES[0]), np.float32))

    def loop(rows):
        for row in rows:
            attack(row)

    name = "mlp-" + "-".join(map(str, SIZES))
    results = []
    for batch in BATCHES:
        print(f"batch {batch}", file=sys.stderr)
        x = drawn(batch)
        results.append({"model": name, "step": "er-attack", "batch": batch, **measure(lambda: attack(x), batch, arguments.seconds)})
    best = max(results, key=lambda result: result["rows_per_second"])
    results.append({**best, "step": "er-attack-best-batch"})
    print("row by row", file=sys.stderr)
    rows = [drawn(1) for _ in range(LOOP_ROWS)]
    results.append({"model": name, "step": "er-attack-row-by-row", "batch": 1, **measure(lambda: loop(rows), LOOP_ROWS, arguments.seconds)})

    if arguments.json:
        print(json.dumps(results, indent=1))
        return
    print(f"JAX {jax.__version__}, at most {arguments.threads} threads, ERAttack of {STEPS} steps")
    for result in results:
        print(f"{result['step']:22} batch {result['batch']:<6} {result['rows_per_second']:.1f} rows/s")


if __name__ == "__main__":
    main()
