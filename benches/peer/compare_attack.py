"""ERAttack in thickset and in PyTorch, by turns on the same machine: a Markdown table of rows per second.

Every round runs `thickset bench attack --json` and `torch_attack.py --json` one after the other; the table shows the median over
the rounds of each cell, and the ratios that matter: both at their best batch size, both at 128, and thickset in batches beside
PyTorch row by row.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def run(command, threads):
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment, cwd=ROOT)
    return json.loads(done.stdout)


def cells(results):
    speed = {(one["step"], one["batch"]): one["rows_per_second"] for one in results}
    batched = {batch: speed for (step, batch), speed in speed.items() if step == "er-attack"}
    return {
        "best batch": max(batched.values()),
        **{f"batch {batch}": speed for batch, speed in batched.items()},
        "row by row": speed["er-attack-row-by-row", 1],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="per cell and round")
    parser.add_argument("--last-only", action="store_true", help="PyTorch does not score its iterates; thickset always does")
    parser.add_argument("--thickset", help="the program; built from this folder if absent")
    arguments = parser.parse_args()
    program = arguments.thickset
    if program is None:
        subprocess.run(["cargo", "build", "--release", "--workspace"], check=True, cwd=ROOT)
        folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        program = str(folder / "release" / "thickset")
    seconds = ["--seconds", str(arguments.seconds)]
    peer = [sys.executable, str(HERE / "torch_attack.py"), "--json", "--threads", str(arguments.threads), *seconds]
    if arguments.last_only:
        peer.append("--last-only")
    ours, theirs = [], []
    for number in range(arguments.rounds):
        print(f"round {number + 1} of {arguments.rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
        ours.append(cells(run([program, "bench", "attack", "--json", *seconds], arguments.threads)))
        theirs.append(cells(run(peer, arguments.threads)))

    def median(rounds, cell):
        return statistics.median(one[cell] for one in rounds)

    print("| rows per second | PyTorch | thickset | thickset is faster by | in the rounds |\n|---|---|---|---|---|")
    for cell in [cell for cell in ours[0] if cell in theirs[0]]:
        line(cell, median(theirs, cell), median(ours, cell), [a[cell] / b[cell] for a, b in zip(ours, theirs)])
    loop = [a["best batch"] / b["row by row"] for a, b in zip(ours, theirs)]
    line("thickset in batches, PyTorch row by row", median(theirs, "row by row"), median(ours, "best batch"), loop)


def line(cell, theirs, ours, ratios):
    rounds = ", ".join(f"{ratio:.1f}" for ratio in ratios)
    print(f"| {cell} | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.1f}x | {rounds} |")


if __name__ == "__main__":
    main()
