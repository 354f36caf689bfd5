"""Time thickset, PyTorch and JAX by turns on this machine, and print a Markdown table of ratios.

Run it from anywhere with the Python that has torch and jax (or one of them: `--peers`); cargo must be on the path unless
`--thickset` names a program. Nothing else should run meanwhile. A ratio above 1 says how many times faster thickset is.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WORKSPACE = HERE.parents[1]
PEERS = {"torch": "PyTorch", "jax": "JAX"}


def run(command, threads):
    """What a program printed as JSON, and the most memory that it took, in megabytes."""
    print("$ " + " ".join(map(str, command)), file=sys.stderr)
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    started = subprocess.Popen(command, cwd=WORKSPACE, env=environment, stdout=subprocess.PIPE, text=True)
    printed = started.stdout.read()
    _, status, used = os.wait4(started.pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        sys.exit(f"`{' '.join(map(str, command))}` ended with exit code {code}")
    return json.loads(printed), used.ru_maxrss / 1024


def built():
    """The program, built first, so that no compiler runs beside a measurement."""
    subprocess.run(["cargo", "build", "--release", "--workspace"], cwd=WORKSPACE, check=True)
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", WORKSPACE / "target"))
    return str(folder / "release" / "thickset")


def over_rounds(rounds):
    """The cells of several rounds as one: medians of medians, least of the best."""
    cells = {}
    for rows in rounds:
        for row in rows:
            cells.setdefault((row["model"], row["step"]), []).append(row)
    return {cell: summed(rows) for cell, rows in cells.items()}


def summed(rows):
    one = dict(rows[0])
    for field, of in (("median_ms", statistics.median), ("best_ms", min), ("rows_per_second", statistics.median)):
        if field in one:
            one[field] = of(row[field] for row in rows)
    return one


def speed(row):
    if row is None:
        return "none"
    if row["step"] == "input-gradient":
        return f"{row['rows_per_second']:,.0f} rows/s"
    return f"{row['median_ms']:.3g} ({row['best_ms']:.3g}) ms"


def ratio(ours, theirs):
    """How many times faster ours is, by medians."""
    if ours is None or theirs is None:
        return "none"
    if ours["batch"] != theirs["batch"]:
        sys.exit(f"batch of {ours['model']} {ours['step']} is {ours['batch']} in thickset and {theirs['batch']} in the peer")
    if ours["step"] == "input-gradient":
        return f"{ours['rows_per_second'] / theirs['rows_per_second']:.2f}x"
    return f"{theirs['median_ms'] / ours['median_ms']:.2f}x"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0, help="per cell and round, for everyone")
    parser.add_argument("--rounds", type=int, default=1, help="of everyone by turns")
    parser.add_argument("--only", help="one model, or input-gradient")
    parser.add_argument("--step", help="vanilla, grad-penalty or r2et alone; the memory printed is then that step's")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--hessian", choices=["finite-difference", "exact"], default="finite-difference", help="the peers' R2ET")
    parser.add_argument("--thickset", help="the program; built from this folder if absent")
    parser.add_argument("--results", type=pathlib.Path, help="a file for all that was measured, as JSON")
    arguments = parser.parse_args()

    common = ["--json", "--seconds", str(arguments.seconds)]
    only = arguments.only
    ours = [arguments.thickset or built(), "bench", "speed", *common]
    ours += [["--only", only], ["--step", only]][only == "input-gradient"] if only else []
    one_step = ["--step", arguments.step] if arguments.step else []
    ours += one_step
    commands = {"thickset": ours}
    for peer in arguments.peers:
        command = [sys.executable, HERE / f"{peer}_step.py", *common, "--threads", str(arguments.threads)]
        commands[peer] = command + ["--hessian", arguments.hessian] + (["--only", only] if only else []) + one_step
    found = {name: [] for name in commands}
    most = dict.fromkeys(commands, 0.0)
    for _ in range(arguments.rounds):
        for name, command in commands.items():
            rows, memory = run(command, arguments.threads)
            found[name].append(rows)
            most[name] = max(most[name], memory)
    if arguments.results:
        arguments.results.write_text(json.dumps(found, indent=1))

    found = {name: over_rounds(rounds) for name, rounds in found.items()}
    names = [PEERS[peer] for peer in arguments.peers]
    heads = ["model", "step", "batch", *(f"{name}, median (best)" for name in names), "thickset, median (best)"]
    heads += [f"faster than {name} by" for name in names]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    cells = dict.fromkeys(cell for peer in arguments.peers for cell in found[peer])
    for model, step in cells:
        mine = found["thickset"].get((model, step))
        theirs = [found[peer].get((model, step)) for peer in arguments.peers]
        batch = next(row["batch"] for row in theirs if row)
        line = [model, step, str(batch), *map(speed, theirs), speed(mine), *(ratio(mine, row) for row in theirs)]
        print(f"| {' | '.join(line)} |")
    print("\nMost memory: " + ", ".join(f"{PEERS.get(name, name)} {memory:,.0f} MB" for name, memory in most.items()))


if __name__ == "__main__":
    main()
