"""Small exports with their inputs and onnxruntime's outputs.

Made with torch 2.15.0, torchvision 0.29.2, scikit-learn 1.9.1, skl2onnx 1.20.0, onnx 1.23.2, onnxruntime 1.31.1, NumPy 2.4.
`python make.py [more FOLDER]`: with `more`, larger exports that are not kept here are written to FOLDER.
"""

import sys
import warnings

import numpy as np
import onnx
import onnxruntime as ort
import torch
from torch import nn

warnings.filterwarnings("ignore")
FOLDER = "."


def run(path, feeds):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    results = session.run(None, feeds)
    out = {}
    for name, value in zip(names, results):
        if isinstance(value, list):  # a list of maps
            value = np.array([[row[key] for key in row] for row in value], dtype=np.float32)
        out["out:" + name] = value
    return out


def texts(value):
    return value.astype(str) if value.dtype == object else value


def save(name, feeds, extra=None):
    path = f"{FOLDER}/{name}.onnx"
    arrays = {"in:" + key: texts(value) for key, value in feeds.items()}
    arrays.update(run(path, feeds))
    arrays.update(extra or {})
    np.savez_compressed(f"{FOLDER}/{name}.npz", **arrays)
    print(name, len(open(path, "rb").read()))


def gradients(model, x):
    """Of the predicted class's probability, in double precision, and its Hessian times the sign of it."""
    model = model.double()
    x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    p = torch.softmax(model(x), 1)
    c = p.argmax(1)
    g, = torch.autograd.grad(p.gather(1, c[:, None]).sum(), x, create_graph=True)
    h, = torch.autograd.grad((g * g.detach().sign()).sum(), x, allow_unused=True)
    model.float()
    h = torch.zeros_like(x) if h is None else h
    return {"torch:class": c.numpy(), "torch:grad_p64": g.detach().numpy(), "torch:hvp_sign_p64": h.detach().numpy()}


def stripped(path):
    """Without where on a machine each node was made."""
    model = onnx.load(path)
    for part in [model, model.graph, *model.graph.node, *model.graph.initializer, *model.graph.input, *model.graph.output]:
        part.ClearField("doc_string")
        del part.metadata_props[:]
    del model.graph.value_info[:]
    onnx.save(model, path)


def torch_case(name, model, shape, rows=6, dynamo=False, opset=17):
    torch.manual_seed(len(name))
    model.eval()
    x = torch.randn(rows, *shape)
    path = f"{FOLDER}/{name}.onnx"
    if dynamo:
        torch.onnx.export(model, (x,), path, dynamo=True, input_names=["x"], output_names=["y"], external_data=False,
                          dynamic_shapes=({0: torch.export.Dim("batch")},))
    else:
        torch.onnx.export(model, (x,), path, dynamo=False, input_names=["x"], output_names=["y"], opset_version=opset,
                          dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}})
    stripped(path)
    extra = gradients(model, x.numpy())
    save(name, {"x": x.numpy()}, extra)


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.depth = nn.Conv2d(4, 4, 3, groups=4, stride=2, padding=1)
        self.down, self.up = nn.Linear(4, 2), nn.Linear(2, 4)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        x = nn.functional.silu(self.depth(nn.functional.hardswish(self.conv(x))))
        s = torch.sigmoid(self.up(torch.relu(self.down(x.mean((2, 3))))))
        x = x * s[:, :, None, None]
        return self.out(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Attention(nn.Module):
    """Each column a token, one head of attention over them."""

    def __init__(self, n=5, d=4):
        super().__init__()
        self.embed = nn.Parameter(torch.randn(n, d) * 0.5)
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(n * d, 3)
        self.d = d

    def forward(self, x):
        t = x[:, :, None] * self.embed
        a = torch.softmax(self.q(t) @ self.k(t).transpose(1, 2) / self.d**0.5, -1)
        t = self.norm(t + a @ self.v(t))
        return self.out(t.flatten(1))


class Odds(nn.Module):
    """Operators that are rare together: splits, slices, padding, maxima, clipping, powers, error function, where."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(12, 3)

    def forward(self, x):
        u, v = torch.chunk(self.a(x), 2, 1)
        w = torch.where(u > 0.1, u, 0.3 * v)
        m = torch.maximum(u, v)
        e = torch.erf(w) + torch.sqrt(torch.abs(m) + 1.0) + torch.pow(v, 2)
        n = nn.functional.softsign(e)[:, 1:3]
        n = nn.functional.pad(n, (1, 1), value=0.5)
        c = torch.cat([n, torch.exp(-m.clamp(-1, 1)), torch.log1p(torch.abs(v))], 1)
        return nn.functional.log_softmax(self.b(c) / (1 + c.norm(dim=1, keepdim=True)), 1)


class Conv1d(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(2, 4, 3, dilation=2, padding=2), nn.GELU(), nn.MaxPool1d(3, 2, 1, ceil_mode=True),
            nn.Conv1d(4, 4, 2), nn.GroupNorm(2, 4), nn.ELU(0.5), nn.AvgPool1d(2), nn.Flatten(), nn.Linear(12, 3))

    def forward(self, x):
        return self.net(x)


def small():
    torch.manual_seed(0)
    torch_case("mlp_tiny", nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), (3,))
    torch_case("squeeze_excite", SqueezeExcite(), (1, 6, 6))
    torch_case("squeeze_excite_dynamo", SqueezeExcite(), (1, 6, 6), dynamo=True)
    torch_case("attention", Attention(), (5,))
    torch_case("attention_dynamo", Attention(), (5,), dynamo=True)
    torch_case("odds", Odds(), (8,))
    torch_case("odds_dynamo", Odds(), (8,), dynamo=True)
    torch_case("conv1d", Conv1d(), (2, 12))
    pipelines()


def sk_case(name, model, frame, matrix=None, opset=17, **more):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    def kind(column):
        if column.dtype.kind in "if":
            return FloatTensorType([None, 1])
        return StringTensorType([None, 1])

    if matrix is not None:
        types = [("X", FloatTensorType([None, matrix.shape[1]]))]
        feeds = {"X": matrix.astype(np.float32)}
        proba = model.predict_proba(matrix.astype(np.float32))
    else:
        types = [(name, kind(frame[name])) for name in frame.columns]
        feeds = {c: frame[[c]].to_numpy(np.float32 if frame[c].dtype.kind in "if" else object) for c in frame.columns}
        proba = model.predict_proba(frame)
    options = more.pop("options", {id(model): {"zipmap": False}})
    exported = to_onnx(model, initial_types=types, options=options, target_opset={"": opset, "ai.onnx.ml": 3})
    onnx.save(exported, f"{FOLDER}/{name}.onnx")
    feeds = {key: value[:12] for key, value in feeds.items()}
    save(name, feeds, {"sk:proba": proba[:12]})


def people(rows=300, seed=0):
    import pandas as pd
    draws = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": draws.integers(18, 80, rows).astype(np.float64),
        "income": draws.lognormal(10, 1, rows).round(),
        "job": draws.choice(["clerk", "smith", "baker"], rows),
        "rooms": draws.integers(1, 6, rows).astype(np.float64),
    })
    frame["job"] = frame["job"].astype(object)
    y = (frame.age / 80 + (frame.job == "clerk") + draws.normal(0, 0.5, rows) > 1).astype(int)
    return frame, y


def pipelines():
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler

    frame, y = people()
    front = ColumnTransformer([
        ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["age", "income"]),
        ("words", OneHotEncoder(handle_unknown="ignore"), ["job"]),
        ("rest", MinMaxScaler(), ["rooms"]),
    ])
    mlp = MLPClassifier((8,), max_iter=60, random_state=0)
    sk_case("pipeline_mlp", make_pipeline(front, mlp).fit(frame, y), frame)
    ordinal = ColumnTransformer([("a", RobustScaler(), ["age", "income", "rooms"]), ("b", OrdinalEncoder(), ["job"])])
    sk_case("pipeline_ordinal", make_pipeline(ordinal, LogisticRegression()).fit(frame, y), frame)
    three = np.digitize(frame.age, [35, 55])
    numbers = frame[["age", "income", "rooms"]].to_numpy()
    ovr = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
    sk_case("pipeline_three", ovr.fit(numbers.astype(np.float32), three), None, numbers, options=None)


def more():
    import torchvision
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (FunctionTransformer, Normalizer, OneHotEncoder, PolynomialFeatures, PowerTransformer,
                                       QuantileTransformer, StandardScaler, KBinsDiscretizer)
    from sklearn.svm import SVC, LinearSVC
    from sklearn.ensemble import VotingClassifier, StackingClassifier

    torch.manual_seed(1)
    torch_case("resnet18", torchvision.models.resnet18(weights=None, num_classes=10), (3, 64, 64), rows=2)
    torch_case("resnet18_dynamo", torchvision.models.resnet18(weights=None, num_classes=10), (3, 64, 64), rows=2, dynamo=True)
    for name in ["mobilenet_v2", "squeezenet1_1", "shufflenet_v2_x0_5", "densenet121", "mobilenet_v3_small", "efficientnet_b0", "googlenet", "regnet_y_400mf", "convnext_tiny"]:
        try:
            kwargs = {"init_weights": True, "aux_logits": False} if name == "googlenet" else {}
            torch_case(name, getattr(torchvision.models, name)(weights=None, num_classes=7, **kwargs), (3, 64, 64), rows=1)
        except Exception as error:  # an export that torch itself cannot make
            print(name, "not made:", str(error)[:200])
    frame, y = people()
    numbers = frame[["age", "income", "rooms"]].to_numpy().astype(np.float32)
    scaled = StandardScaler().fit_transform(numbers).astype(np.float32)
    three = np.digitize(frame.age, [35, 55])
    cases = {
        "gaussian_nb": (GaussianNB(), y), "qda": (QuadraticDiscriminantAnalysis(), y),
        "svc_poly": (SVC(kernel="poly", probability=True), y), "svc_linear": (SVC(kernel="linear", probability=True), y),
        "svc_three": (SVC(probability=True), three),
        "ovr": (OneVsRestClassifier(LogisticRegression()), three),
        "sgd": (SGDClassifier(loss="log_loss"), y),
        "mlp_three": (MLPClassifier((6, 5), activation="tanh", max_iter=50), three),
        "calibrated_three": (CalibratedClassifierCV(LinearSVC()), three),
        "voting": (VotingClassifier([("a", LogisticRegression()), ("b", MLPClassifier((4,), max_iter=50))], voting="soft"), y),
        "stacking": (StackingClassifier([("a", LogisticRegression()), ("b", GaussianNB())]), y),
        "poly": (make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=500)), y),
        "power": (make_pipeline(PowerTransformer(), LogisticRegression()), y),
        "normalizer": (make_pipeline(Normalizer(), MLPClassifier((4,), max_iter=50)), y),
        "pca_mlp": (make_pipeline(StandardScaler(), PCA(2), MLPClassifier((4,), max_iter=50)), y),
        "kbins": (make_pipeline(KBinsDiscretizer(3), LogisticRegression()), y),
        "indicator": (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression()), y),
    }
    for name, (model, target) in cases.items():
        try:
            x = scaled
            if name == "indicator":
                x = scaled.copy(); x[::7, 0] = np.nan
            sk_case(name, model.fit(x, target), None, x)
        except Exception as error:
            print(name, "not made:", str(error)[:200])
    holes = frame.copy()
    holes.loc[::9, "age"] = np.nan
    words = ColumnTransformer([
        ("n", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "income"]),
        ("w", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), ["job"]),
        ("k", OneHotEncoder(handle_unknown="ignore"), ["rooms"]),
    ])
    for name, model in {"imputed_words": make_pipeline(words, MLPClassifier((6,), max_iter=50))}.items():
        try:
            sk_case(name, model.fit(holes, y), holes)
        except Exception as error:
            print(name, "not made:", str(error)[:200])


if __name__ == "__main__":
    if len(sys.argv) > 2:
        FOLDER = sys.argv[2]
        more()
    else:
        small()
