"""ERAttack in thickset, PyTorch and JAX, by turns on the same machine: a Markdown table of rows per second.

Every round runs `thickset bench attack --json` and each peer's attack one after the other; the table shows the median over the
rounds of each cell, and the ratios that matter: all at their best batch size, all at 128, and thickset in batches beside a
peer row by row.
"""

import argparse
import os
import statistics
import sys

from compare import HERE, PEERS, built, run


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
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--last-only", action="store_true", help="PyTorch does not score its iterates; thickset and JAX always do")
    parser.add_argument("--thickset", help="the program; built from this folder if absent")
    arguments = parser.parse_args()
    common = ["--json", "--seconds", str(arguments.seconds)]
    commands = {"thickset": [arguments.thickset or built(), "bench", "attack", *common]}
    for peer in arguments.peers:
        commands[peer] = [sys.executable, HERE / f"{peer}_attack.py", *common, "--threads", str(arguments.threads)]
        if peer == "torch" and arguments.last_only:
            commands[peer].append("--last-only")
    found = {name: [] for name in commands}
    for number in range(arguments.rounds):
        print(f"round {number + 1} of {arguments.rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
        for name, command in commands.items():
            found[name].append(cells(run(command, arguments.threads)[0]))

    def median(name, cell):
        return statistics.median(one[cell] for one in found[name])

    ours = found.pop("thickset")
    for peer, theirs in found.items():
        name = PEERS[peer]
        print(f"| rows per second | {name} | thickset | thickset is faster by | in the rounds |\n|---|---|---|---|---|")
        pairs = [(cell, cell, cell) for cell in ours[0] if cell in theirs[0]]
        pairs.append((f"thickset in batches, {name} row by row", "best batch", "row by row"))
        for label, of_ours, of_theirs in pairs:
            mine = statistics.median(one[of_ours] for one in ours)
            rounds = ", ".join(f"{a[of_ours] / b[of_theirs]:.1f}" for a, b in zip(ours, theirs))
            peers = median(peer, of_theirs)
            print(f"| {label} | {peers:,.0f} | {mine:,.0f} | {mine / peers:.1f}x | {rounds} |")
        print()


if __name__ == "__main__":
    main()
