"""Contributions of the two golden MLPs by brute force: a midpoint rule of many steps, gradients by the chain rule, in plain Python.

    python3 make.py > expected.json      # made with Python 3, standard library alone
"""
import json
import math
import pathlib
import struct

STEPS = 4000
CLASS = 1
HERE = pathlib.Path(__file__).parent


def tensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = (8 + size + at for at in entry["data_offsets"])
        kind = {"F64": "d", "I64": "q"}[entry["dtype"]]
        found[name] = (entry["shape"], list(struct.unpack(f"<{(end - start) // 8}{kind}", data[start:end])))
    return found


def matrix(tensor):
    (rows, columns), values = tensor
    return [values[row * columns : (row + 1) * columns] for row in range(rows)]


def made(name):
    folder = HERE.parent / name
    spec = json.loads((folder / "spec.json").read_text())["model"]
    weights = tensors(folder / "weights.safetensors")
    layers = []
    for number in sorted({int(key.split(".")[1]) for key in weights}):
        layers.append((matrix(weights[f"net.{number}.weight"]), weights[f"net.{number}.bias"][1]))
    rows = matrix(tensors(folder / "inputs.safetensors")["x"])
    classes, beta = spec["classes"], spec.get("beta", 1.0)
    score = [1.0 if one == CLASS else -1.0 / (classes - 1) for one in range(classes)]

    def slope(z):
        if spec["act"] == "relu":
            return 1.0 if z > 0 else 0.0
        return 1.0 / (1.0 + math.exp(-beta * z))

    def value(z):
        if spec["act"] == "relu":
            return max(z, 0.0)
        return max(z, 0.0) + math.log1p(math.exp(-abs(beta * z))) / beta

    def gradient(x):
        slopes = []
        for weight, bias in layers[:-1]:
            z = [sum(w * a for w, a in zip(row, x)) + b for row, b in zip(weight, bias)]
            slopes.append([slope(one) for one in z])
            x = [value(one) for one in z]
        adjoint = score
        for place in range(len(layers) - 1, -1, -1):
            weight, _ = layers[place]
            adjoint = [sum(a * row[i] for a, row in zip(adjoint, weight)) for i in range(len(weight[0]))]
            if place > 0:
                adjoint = [a * s for a, s in zip(adjoint, slopes[place - 1])]
        return adjoint

    features = len(rows[0])
    reference = [0.3 * math.sin(1.0 + place) for place in range(features)]
    expected = []
    for x in rows:
        way = [a - b for a, b in zip(x, reference)]
        mean = [0.0] * features
        for step in range(STEPS):
            t = (step + 0.5) / STEPS
            at = gradient([b + t * w for b, w in zip(reference, way)])
            mean = [m + g / STEPS for m, g in zip(mean, at)]
        expected.append([m * w for m, w in zip(mean, way)])
    return {"reference": reference, "class": CLASS, "contributions": expected}


print(json.dumps({name: made(name) for name in ["mlp_relu", "mlp_softplus"]}, indent=1))
