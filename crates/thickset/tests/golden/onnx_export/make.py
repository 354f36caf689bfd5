"""What onnxruntime computes for the files that we write, and whether `onnx.checker` takes them.

Made with onnx 1.23.2, onnxruntime 1.31.1, NumPy 2.4. `python make.py` from anywhere: it has the files written by the test
`what_we_write_is_what_onnxruntime_computes`, checks and runs each, refuses a probability that differs by more than 1e-5 from ours
or a label that is not the likeliest class, and writes outputs.json.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort

HERE = pathlib.Path(__file__).resolve().parent
MOST = 1e-5


def feed(one):
    shape = [-1, *one["shape"]]
    if "texts" in one:
        return np.array(one["texts"], dtype=object).reshape(shape)
    return np.array([np.nan if value is None else value for value in one["numbers"]], dtype=np.float32).reshape(shape)


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = ["cargo", "test", "--workspace", "--test", "onnx", "what_we_write"]
        subprocess.run(command, cwd=HERE, env={**os.environ, "THICKSET_WRITE_EXPORTS": folder}, check=True)
        found, worst = [], 0.0
        for number in range(len(list(pathlib.Path(folder).glob("*.onnx")))):
            path = pathlib.Path(folder) / f"{number}.onnx"
            case = json.loads(path.with_suffix(".json").read_text())
            onnx.checker.check_model(str(path), full_check=True)
            session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            feeds = {one["name"]: feed(one) for one in case["inputs"]}
            label, probabilities = session.run(["label", "probabilities"], feeds)
            ours = np.array(case["probabilities"]).reshape(probabilities.shape)
            difference = float(np.abs(ours - probabilities).max())
            worst = max(worst, difference)
            print(f"{difference:.1e}  {probabilities.shape[0]:3} rows  {path.stat().st_size:9,} bytes  {case['name']}")
            if not difference <= MOST:
                sys.exit(f"{case['name']}: differs by {difference}")
            if [case["classes"][row.argmax()] for row in probabilities] != list(label):
                sys.exit(f"{case['name']}: labels {label}")
            # A batch of one must go in as well as many.
            alone = session.run(["probabilities"], {name: value[:1] for name, value in feeds.items()})[0]
            if not np.allclose(alone, probabilities[:1], atol=1e-6):
                sys.exit(f"{case['name']}: one row alone gives {alone}")
            kept = [float(f"{value:.9g}") for value in probabilities.ravel()]
            found.append({"name": case["name"], "graph": case["graph"], "probabilities": kept})
    versions = {"onnx": onnx.__version__, "onnxruntime": ort.__version__}
    text = json.dumps({"versions": versions, "exports": found}, indent=1)
    (HERE / "outputs.json").write_text(text + "\n")
    print(f"{len(found)} files, largest difference {worst:.1e}")


if __name__ == "__main__":
    main()
