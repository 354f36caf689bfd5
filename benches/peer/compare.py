"""Time thickset and PyTorch one after the other on this machine, and print a Markdown table of ratios.

Run it from anywhere with the Python that has torch; cargo must be on the path. Nothing else should run meanwhile.
A ratio above 1 says how many times faster thickset is.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WORKSPACE = HERE.parents[1]


def run(command, threads):
    print("$ " + " ".join(map(str, command)), file=sys.stderr)
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    done = subprocess.run(command, cwd=WORKSPACE, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"`{' '.join(map(str, command))}` ended with exit code {done.returncode}")
    return json.loads(done.stdout)


def by_cell(rows):
    return {(row["model"], row["step"]): row for row in rows}


def cells(ours, theirs):
    """One row of the table: the two speeds and their ratio, medians compared with medians."""
    if "rows_per_second" in theirs:
        speeds = [f"{row['rows_per_second']:,.0f} rows/s" if row else "none" for row in (theirs, ours)]
        ratio = ours["rows_per_second"] / theirs["rows_per_second"] if ours else None
    else:
        speeds = [f"{row['median_ms']:.3g} ({row['best_ms']:.3g}) ms" if row else "none" for row in (theirs, ours)]
        ratio = theirs["median_ms"] / ours["median_ms"] if ours else None
    return [*speeds, f"{ratio:.2f}x" if ratio else "none"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0, help="per cell, on both sides")
    parser.add_argument("--only", help="one model, or input-gradient, on both sides")
    parser.add_argument("--hessian", choices=["finite-difference", "exact"], default="finite-difference")
    parser.add_argument("--ours", type=pathlib.Path, help="a file with thickset's JSON, instead of running it")
    parser.add_argument("--torch", type=pathlib.Path, help="a file with torch_step.py's JSON, instead of running it")
    arguments = parser.parse_args()

    if arguments.ours:
        ours = json.loads(arguments.ours.read_text())
    else:
        # Built first, so that no compiler runs beside a measurement.
        subprocess.run(["cargo", "build", "--release"], cwd=WORKSPACE, check=True)
        command = ["cargo", "run", "--quiet", "--release", "--", "bench", "speed", "--json"]
        command += ["--seconds", str(arguments.seconds)]
        if arguments.only:
            command += ["--step" if arguments.only == "input-gradient" else "--only", arguments.only]
        ours = run(command, arguments.threads)
    if arguments.torch:
        theirs = json.loads(arguments.torch.read_text())
    else:
        command = [sys.executable, HERE / "torch_step.py", "--json", "--threads", str(arguments.threads)]
        command += ["--seconds", str(arguments.seconds), "--hessian", arguments.hessian]
        command += ["--only", arguments.only] if arguments.only else []
        theirs = run(command, arguments.threads)

    ours, theirs = by_cell(ours), by_cell(theirs)
    print("| model | step | batch | PyTorch, median (best) | thickset, median (best) | thickset is faster by |")
    print("|---|---|---|---|---|---|")
    for (model, step), row in theirs.items():
        mine = ours.get((model, step))
        if mine and mine.get("batch", row["batch"]) != row["batch"]:
            sys.exit(f"batch of {model} {step} is {mine['batch']} in thickset and {row['batch']} in PyTorch")
        print("| " + " | ".join([model, step, str(row["batch"]), *cells(mine, row)]) + " |")
    for model, step in ours.keys() - theirs.keys():
        if arguments.only in (None, model):
            print(f"thickset also timed {model} {step}, which PyTorch did not", file=sys.stderr)


if __name__ == "__main__":
    main()
