"""The work of `thickset bench speed`, in JAX under jit: time per training step, and input gradients per second.

The steps are those of `torch_step.py`: vanilla, grad-penalty and r2et, each with Adam, over the same models and batches. A
step is one compiled function that takes and gives back its weights in place. The Hessian term is exact (a tangent of the
input gradient) or a finite difference.

Each cell is timed with the faster of two ways to train, found on that cell first: a call for every batch, or one call
that scans over eight of them, which saves the calls. `--threads` binds the process to as many processors before XLA starts.
"""

import argparse
import functools
import json
import os
import statistics
import sys
import time

LEARNING_RATE, BETAS, EPSILON = 1e-3, (0.9, 0.999), 1e-8
PENALTY_WEIGHT, GAP_WEIGHT, HESSIAN_WEIGHT = 0.1, 0.1, 0.01
FINITE_DIFFERENCE_STEP = 1e-2
BATCHES = 32
SCANNED = 8
GRADIENT_BATCH = 4096
STEPS = ("vanilla", "grad-penalty", "r2et")
GRADIENT_MODEL = "mlp-28-64-32-2"
BATCH_NORM_EPSILON, BATCH_NORM_MOMENTUM = 1e-5, 0.1


def bind(threads):
    """XLA takes as many threads as the process may run on."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def uniform(random, shape, fan_in):
    import numpy as np

    return random.uniform(-1, 1, shape).astype(np.float32) / np.float32(fan_in) ** 0.5


class Mlp:
    def __init__(self, *sizes, batch=128, k=8):
        self.sizes, self.shape, self.classes, self.batch, self.k = sizes, (sizes[0],), sizes[-1], batch, k

    def parameters(self, random):
        pairs = zip(self.sizes, self.sizes[1:])
        return [(uniform(random, (i, o), i), uniform(random, (o,), i)) for i, o in pairs], None

    def logits(self, parameters, state, x, fit=False):
        for place, (weight, bias) in enumerate(parameters):
            x = x @ weight + bias
            if place + 1 < len(parameters):
                x = jax.nn.relu(x)
        return x, state


def convolve(x, weight):
    """A 3x3 convolution of NHWC images, padded by one."""
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pool(x, size):
    window = (1, size, size, 1)
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")


class Cnn:
    shape, classes, batch, k = (28, 28, 1), 10, 64, 50

    def parameters(self, random):
        convolutions = [(3, 3, 1, 32), (3, 3, 32, 64)]
        dense = [(3136, 128), (128, 64), (64, 10)]
        layers = [(s, s[0] * s[1] * s[2]) for s in convolutions] + [(s, s[0]) for s in dense]
        return [(uniform(random, s, fan), uniform(random, s[-1:], fan)) for s, fan in layers], None

    def logits(self, parameters, state, x, fit=False):
        for weight, bias in parameters[:2]:
            x = pool(jax.nn.relu(convolve(x, weight) + bias), 2)
        x = x.reshape(len(x), -1)
        for place, (weight, bias) in enumerate(parameters[2:]):
            x = x @ weight + bias
            if place < 2:
                x = jax.nn.relu(x)
        return x, state


class ResNet9:
    shape, classes, batch, k = (32, 32, 3), 10, 20, 100
    width = 64

    def parameters(self, random):
        import numpy as np

        w = self.width
        sizes = [(3, w), (w, 2 * w), (2 * w, 2 * w), (2 * w, 2 * w), (2 * w, 4 * w), (4 * w, 8 * w), (8 * w, 8 * w), (8 * w, 8 * w)]
        blocks = [(uniform(random, (3, 3, i, o), 9 * i), np.ones(o, np.float32), np.zeros(o, np.float32)) for i, o in sizes]
        state = [(np.zeros(o, np.float32), np.ones(o, np.float32)) for _, o in sizes]
        return (blocks, (uniform(random, (8 * w, 10), 8 * w), uniform(random, (10,), 8 * w))), state

    def logits(self, parameters, state, x, fit=False):
        blocks, (weight, bias) = parameters
        after = list(state)

        def block(place, x):
            kernel, scale, shift = blocks[place]
            x = convolve(x, kernel)
            mean, variance = state[place]
            if fit:
                mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
                share = BATCH_NORM_MOMENTUM
                after[place] = tuple((1 - share) * old + share * new for old, new in zip(state[place], (mean, variance)))
            return jax.nn.relu((x - mean) * (scale * jax.lax.rsqrt(variance + BATCH_NORM_EPSILON)) + shift)

        x = pool(block(1, block(0, x)), 2)
        x = block(3, block(2, x)) + x
        x = pool(block(5, pool(block(4, x), 2)), 2)
        x = block(7, block(6, x)) + x
        return pool(x, 4).reshape(len(x), -1) @ weight + bias, after


MODELS = {
    "mlp-28-64-32-2": Mlp(28, 64, 32, 2),
    "mlp-28-128-64-2": Mlp(28, 128, 64, 2),
    "cnn": Cnn(),
    "resnet9": ResNet9(),
}


def cross_entropy(logits, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()


def class_probability(model, parameters, state, x, c):
    logits, _ = model.logits(parameters, state, x)
    return jnp.take_along_axis(jax.nn.softmax(logits), c[:, None], 1).sum()


def gap(gradient, k):
    size = jnp.abs(gradient.reshape(len(gradient), -1))
    n = size.shape[1]
    salient = jax.lax.top_k(size, k)[0].sum(1)
    return (salient / k - (size.sum(1) - salient) / (n - k)).mean()


def row_norm(t):
    return jnp.sqrt(jnp.square(t.reshape(len(t), -1)).sum(1) + 1e-20)


def loss_of(model, step, exact, parameters, state, x, y):
    """The loss, and the running statistics after it."""
    if step == "vanilla":
        logits, after = model.logits(parameters, state, x, fit=True)
        return cross_entropy(logits, y), after
    logits, after = model.logits(parameters, state, x, fit=True)
    class_loss = cross_entropy(logits, y)
    if state is not None:
        logits, _ = model.logits(parameters, state, x)
    c = jax.lax.stop_gradient(logits.argmax(1))
    explain = jax.grad(lambda x: class_probability(model, parameters, state, x, c))
    if step == "grad-penalty":
        return class_loss + PENALTY_WEIGHT * jnp.square(explain(x).reshape(len(x), -1)).sum(1).mean(), after

    def direction(gradient):
        z = jnp.sign(jax.lax.stop_gradient(gradient))
        return z / row_norm(z).reshape(-1, *[1] * (x.ndim - 1))

    gradient, tangent = jax.linearize(explain, x)
    z = direction(gradient)
    if exact:
        curvature = row_norm(tangent(z)).mean()
    else:
        gradient = explain(x)
        curvature = row_norm(explain(x + FINITE_DIFFERENCE_STEP * z) - gradient).mean() / FINITE_DIFFERENCE_STEP
    return class_loss - GAP_WEIGHT * gap(gradient, model.k) + HESSIAN_WEIGHT * curvature, after


def adam(parameters, gradients, moments):
    first, second, count = moments
    count = count + 1
    of = jax.tree_util.tree_map
    first = of(lambda m, g: BETAS[0] * m + (1 - BETAS[0]) * g, first, gradients)
    second = of(lambda v, g: BETAS[1] * v + (1 - BETAS[1]) * g * g, second, gradients)
    shares = [1 - beta**count for beta in BETAS]

    def moved(p, m, v):
        return p - LEARNING_RATE * (m / shares[0]) / (jnp.sqrt(v / shares[1]) + EPSILON)

    return of(moved, parameters, first, second), (first, second, count)


def training_step(name, step, exact, scanned):
    """A function that trains on the next `scanned` batches."""
    import numpy as np

    model, random = MODELS[name], np.random.default_rng(0)
    parameters, state = model.parameters(random)
    x = random.standard_normal((BATCHES, model.batch, *model.shape)).astype(np.float32)
    y = random.integers(0, model.classes, (BATCHES, model.batch))
    zeros = jax.tree_util.tree_map(np.zeros_like, parameters)
    moments = (zeros, jax.tree_util.tree_map(np.zeros_like, parameters), jnp.float32(0))
    loss = functools.partial(loss_of, model, step, exact)

    def one(carried, batch):
        parameters, state, moments = carried
        (_, state), gradients = jax.value_and_grad(loss, has_aux=True)(parameters, state, *batch)
        parameters, moments = adam(parameters, gradients, moments)
        return (parameters, state, moments), None

    @functools.partial(jax.jit, donate_argnums=0)
    def some(carried, x, y):
        return jax.lax.scan(one, carried, (x, y))[0] if scanned > 1 else one(carried, (x[0], y[0]))[0]

    batches = [(jnp.asarray(x[i : i + scanned]), jnp.asarray(y[i : i + scanned])) for i in range(0, BATCHES, scanned)]
    carried = jax.tree_util.tree_map(jnp.array, (parameters, state, moments))
    position = 0

    def take():
        nonlocal carried, position
        carried = some(carried, *batches[position % len(batches)])
        position += 1
        jax.block_until_ready(carried)

    return take


def gradient_step():
    """A function that computes one batch of input gradients of p_c."""
    import numpy as np

    model, random = MODELS[GRADIENT_MODEL], np.random.default_rng(0)
    parameters, _ = model.parameters(random)
    parameters = jax.tree_util.tree_map(jnp.asarray, parameters)
    x = jnp.asarray(random.standard_normal((GRADIENT_BATCH, *model.shape)).astype(np.float32))

    @jax.jit
    def explained(parameters, x):
        c = model.logits(parameters, None, x)[0].argmax(1)
        return jax.grad(lambda x: class_probability(model, parameters, None, x, c))(x)

    return lambda: explained(parameters, x).block_until_ready()


def measure(take, seconds, at_least):
    """Milliseconds of each call, for so many seconds, after a warm-up that compiles."""
    times = []
    take()
    take()
    deadline = time.perf_counter() + seconds
    while len(times) < at_least or time.perf_counter() < deadline:
        start = time.perf_counter()
        take()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def time_cell(name, step, exact, seconds):
    ways = {1: training_step(name, step, exact, 1)}
    trials = {1: min(measure(ways[1], seconds / 10, 3))}
    # Of steps of half a second what a call costs is nothing, and compiling the scan takes minutes.
    if trials[1] < 500:
        ways[SCANNED] = training_step(name, step, exact, SCANNED)
        trials[SCANNED] = min(measure(ways[SCANNED], seconds / 10, 3)) / SCANNED
    scanned = min(trials, key=trials.get)
    times = [one / scanned for one in measure(ways[scanned], seconds, 5)]
    row = {
        "model": name,
        "step": step,
        "batch": MODELS[name].batch,
        "median_ms": statistics.median(times),
        "best_ms": min(times),
        "samples": len(times),
        "batches_a_call": scanned,
    }
    if step == "r2et":
        row["hessian"] = "exact" if exact else "finite-difference"
    return row


def time_gradients(seconds):
    times = measure(gradient_step(), seconds, 5)
    return {
        "model": GRADIENT_MODEL,
        "step": "input-gradient",
        "batch": GRADIENT_BATCH,
        "rows_per_second": GRADIENT_BATCH / statistics.median(times) * 1e3,
        "samples": len(times),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0, help="per cell")
    parser.add_argument("--only", choices=[*MODELS, "input-gradient"], help="one model, or the input gradients")
    parser.add_argument("--step", choices=STEPS, help="one kind of step")
    parser.add_argument("--hessian", choices=["finite-difference", "exact"], default="exact")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    arguments = parser.parse_args()
    bind(arguments.threads)
    global jax, jnp
    import jax
    import jax.numpy as jnp

    rows = []
    for name in MODELS:
        for step in STEPS:
            if arguments.only in (None, name) and arguments.step in (None, step):
                print(f"{name} {step}", file=sys.stderr)
                rows.append(time_cell(name, step, arguments.hessian == "exact", arguments.seconds))
    if arguments.only in (None, "input-gradient") and arguments.step is None:
        print("input-gradient", file=sys.stderr)
        rows.append(time_gradients(arguments.seconds))

    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"JAX {jax.__version__}, at most {arguments.threads} threads")
    for row in rows:
        if "rows_per_second" in row:
            speed = f"{row['rows_per_second']:.0f} rows/s"
        else:
            speed = f"median {row['median_ms']:.3f} ms, best {row['best_ms']:.3f} ms, {row['batches_a_call']} batches a call"
        print(f"{row['model']:16} {row['step']:14} batch {row['batch']:<5} {speed}")


if __name__ == "__main__":
    main()
