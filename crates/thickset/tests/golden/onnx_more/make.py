"""Exports that need more than layers one after the other: rows that stand at another axis (bagging, quadratic discriminants, members of an
ensemble that are stacked), support vectors of several classes, products by letters, images made larger.

Made with torch 2.15.0, scikit-learn 1.9.1, skl2onnx 1.20.0, onnx 1.23.2, onnxruntime 1.31.1, NumPy 2.4. `python make.py` from this folder:
each model with onnxruntime's outputs, and gradients: PyTorch's in double precision, or central differences of scikit-learn's
probabilities (of support vectors: of the probabilities that libsvm's iteration approaches, computed here).
"""

import pathlib
import sys
import warnings

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "onnx"))
import make as small  # noqa: E402

warnings.filterwarnings("ignore")
small.FOLDER = str(pathlib.Path(__file__).resolve().parent)


def differences(probabilities, x, step=1e-5):
    x = x.astype(np.float64)
    found = np.zeros((len(x), probabilities(x).shape[1], x.shape[1]))
    for column in range(x.shape[1]):
        above, below = x.copy(), x.copy()
        above[:, column] += step
        below[:, column] -= step
        found[:, :, column] = (probabilities(above) - probabilities(below)) / (2 * step)
    return found


def learned(name, model, x, y, probabilities=None):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType

    x = x.astype(np.float32)
    model.fit(x, y)
    types = [("X", FloatTensorType([None, x.shape[1]]))]
    exported = to_onnx(model, initial_types=types, options={id(model): {"zipmap": False}}, target_opset={"": 17, "ai.onnx.ml": 3})
    onnx.save(exported, f"{small.FOLDER}/{name}.onnx")
    rows = x[:: len(x) // 8][:8]
    proba = model.predict_proba(rows)
    of = probabilities(model) if probabilities else model.predict_proba
    assert np.abs(of(rows.astype(np.float64)) - proba).max() < (0.01 if probabilities else 1e-5)
    small.save(name, {"X": rows}, {"sk:proba": proba, "grad:proba": differences(of, rows)})


def coupled(model):
    """What libsvm's iteration approaches: the least sum of (r_ji p_i - r_ij p_j)^2 among probabilities."""

    def of(x):
        scores = model.decision_function(x)
        classes = len(model.classes_)
        found = []
        for row in scores:
            r = np.zeros((classes, classes))
            pair = 0
            for i in range(classes):
                for j in range(i + 1, classes):
                    r[i, j] = 1 / (1 + np.exp(model.probA_[pair] * row[pair] + model.probB_[pair]))
                    r[j, i] = 1 - r[i, j]
                    pair += 1
            q = -r.T * r
            np.fill_diagonal(q, (r**2).sum(0))
            border = np.block([[q, np.ones((classes, 1))], [np.ones((1, classes)), np.zeros((1, 1))]])
            found.append(np.linalg.solve(border, np.r_[np.zeros(classes), 1])[:classes])
        return np.array(found)

    return of


def scikit_learn():
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.datasets import load_iris
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.ensemble import BaggingClassifier, VotingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PowerTransformer, StandardScaler
    from sklearn.svm import SVC

    iris = load_iris()
    x, y = StandardScaler().fit_transform(iris.data)[::3], iris.target[::3]
    raw, two = iris.data[::3], (iris.target[::3] > 0).astype(int)
    four = (y + 2 * (x[:, 1] > 0)) % 4
    svc = lambda **more: SVC(probability=True, random_state=0, decision_function_shape="ovo", **more)  # noqa: E731
    learned("svc_three", svc(), x, y, coupled)
    learned("svc_four_poly", svc(kernel="poly"), x, four, coupled)
    learned("svc_calibrated", CalibratedClassifierCV(SVC(), cv=2), x, two)
    learned("quadratic", QuadraticDiscriminantAnalysis(), x, y)
    learned("bagging", BaggingClassifier(LogisticRegression(), 3, max_features=0.75, random_state=0), x, y)
    members = [("a", LogisticRegression()), ("b", GaussianNB())]
    learned("voting", VotingClassifier(members, voting="soft", flatten_transform=False), x, y)
    learned("bernoulli", BernoulliNB(binarize=None), (x > 0).astype(float), y)
    learned("box_cox", make_pipeline(PowerTransformer("box-cox"), LogisticRegression()), raw, y)


def powered():
    """Probabilities that no softmax ends in, behind scales in the thousands: far from its rows, scores are too large for single precision."""
    from sklearn.datasets import load_wine
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PowerTransformer
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType

    x, y = load_wine(return_X_y=True)
    x = x.astype(np.float32)
    model = make_pipeline(PowerTransformer(), GaussianNB(var_smoothing=1e-3)).fit(x, y)
    types = [("X", FloatTensorType([None, x.shape[1]]))]
    exported = to_onnx(model, initial_types=types, options={id(model): {"zipmap": False}}, target_opset={"": 17, "ai.onnx.ml": 3})
    onnx.save(exported, f"{small.FOLDER}/powered.onnx")
    small.save("powered", {"X": x[::14]})


class Stacked(nn.Module):
    def __init__(self):
        super().__init__()
        self.members = nn.ModuleList([nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)) for _ in range(3)])

    def forward(self, x):
        scores = torch.stack([member(x) for member in self.members])
        return (scores * torch.tensor([0.5, 0.3, 0.2])[:, None, None]).sum(0)


class Letters(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.mix = nn.Linear(4, 3), nn.Parameter(torch.randn(3, 4, 5) * 0.5)
        self.out = nn.Linear(5, 3)

    def forward(self, x):
        each = torch.einsum("bi,eio->beo", x, self.mix)
        mixed = torch.einsum("be,beo->bo", F.softmax(self.gate(x), 1), torch.sin(each))
        return self.out(mixed * torch.cos(mixed))


class Functions(nn.Module):
    """Functions of angles and hyperbolas, sums along an axis, a product of three by letters."""

    def __init__(self):
        super().__init__()
        self.first, self.out, self.mix = nn.Linear(4, 4), nn.Linear(20, 3), nn.Parameter(torch.randn(4, 3, 4) * 0.5)

    def forward(self, x):
        z = torch.tanh(self.first(x)) * 0.9
        angles = torch.tan(z) + torch.atan(z * 3) + torch.asin(z) + torch.acos(z * 0.5)
        curves = torch.sinh(z) - torch.cosh(z) + torch.asinh(z * 4) + torch.acosh(z * z + 1.5) + torch.atanh(z)
        sums = torch.cumsum(angles, 1) + torch.cumsum(curves.view(-1, 2, 2), 1).flatten(1)
        three = torch.einsum("bi,ijk,bk->bj", z, self.mix, curves)
        return self.out(torch.cat([angles, curves, sums, z, three, x[:, :1]], 1))


class Queries(nn.Module):
    """Missing numbers filled in, signed logarithms, and attention of learned queries with a matrix for each head, some of it hidden."""

    def __init__(self):
        super().__init__()
        self.register_buffer("usual", torch.tensor([0.5, -1.0, 2.0, 0.0]))
        self.register_buffer("mask", torch.triu(torch.full((4, 4), -1.0), 1))
        self.register_buffer("hidden", torch.triu(torch.full((3, 4), -torch.inf), 2))
        self.embed, self.queries = nn.Parameter(torch.randn(4, 6)), nn.Parameter(torch.randn(1, 2, 3, 6) * 0.4)
        self.keys, self.values, self.out = nn.Parameter(torch.randn(2, 6, 6) * 0.4), nn.Parameter(torch.randn(1, 2, 6, 3) * 0.4), nn.Linear(6, 3)

    def forward(self, x):
        x = torch.where(torch.isnan(x), self.usual, x)
        x = torch.sign(x) * torch.log1p(x.abs())
        tokens = (x @ self.mask + x).unsqueeze(1).unsqueeze(-1) * self.embed
        shares = torch.softmax(self.queries @ (tokens @ self.keys).transpose(-2, -1) + self.hidden, -1)
        return self.out((shares @ (tokens @ self.values)).mean(2).flatten(1))


class Beside(nn.Module):
    """One logit beside zeros, and a root mean square."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 6), nn.RMSNorm(6), nn.Linear(6, 1)

    def forward(self, x):
        z = self.last(F.silu(self.norm(self.first(x))))
        return torch.softmax(torch.cat([torch.zeros_like(z), z], 1), 1)


def larger(mode):
    layers = [nn.CircularPad2d(1), nn.Conv2d(1, 2, 3, stride=2), nn.GELU(), nn.Upsample(scale_factor=2, mode=mode)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(32, 3))


class Logs(nn.Module):
    """Ends in probabilities, as `small.gradients` takes the softmax of what comes out."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return torch.log(self.inner(x))


class Hot(nn.Module):
    """Columns of whole numbers as 0 and 1."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        return self.out(F.one_hot(x, 4).float().flatten(1))


class Attentive(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.attend, self.out = nn.Parameter(torch.randn(4, 6)), nn.MultiheadAttention(6, 2, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        tokens = x.unsqueeze(-1) * self.embed
        return self.out(self.attend(tokens, tokens, tokens)[0].mean(1))


def of_fixed_sizes(name, model, x, dynamo):
    """As one exports without saying that rows may be many."""
    more = {"external_data": False} if dynamo else {"opset_version": 17}
    torch.onnx.export(model.eval(), (x,), f"{small.FOLDER}/{name}.onnx", dynamo=dynamo, input_names=["x"], output_names=["y"], **more)
    small.stripped(f"{small.FOLDER}/{name}.onnx")
    small.save(name, {"x": x.numpy()})


def transposed():
    up = nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1, output_padding=1, groups=2)
    pool = nn.AvgPool2d(3, 2, 1, ceil_mode=True)
    return nn.Sequential(nn.Conv2d(1, 4, 2, stride=2), nn.SiLU(), up, pool, nn.Flatten(), nn.Linear(64, 3))


def pytorch_of_fixed_sizes():
    torch.manual_seed(5)
    for name, dynamo in [("one_row", True), ("one_row_legacy", False)]:
        of_fixed_sizes(name, Attentive(), torch.randn(1, 4), dynamo)
    of_fixed_sizes("hot", Hot(), torch.randint(0, 4, (5, 3)), True)
    small.torch_case("transposed", transposed(), (1, 6, 6), dynamo=True)
    small.torch_case("transposed_legacy", transposed(), (1, 6, 6))
    torch.manual_seed(6)
    small.torch_case("functions", Functions(), (4,), dynamo=True)
    queries = Queries()
    small.torch_case("queries", queries, (4,), dynamo=True)
    small.torch_case("queries_legacy", queries, (4,))


def pytorch():
    torch.manual_seed(3)
    for name, model, shape in [("stacked", Stacked(), (4,)), ("letters", Letters(), (4,)), ("beside", Logs(Beside()), (4,)),
                               ("nearest", larger("nearest"), (1, 4, 4)), ("bilinear", larger("bilinear"), (1, 4, 4))]:
        small.torch_case(name, model, shape, dynamo=True)
    small.torch_case("stacked_legacy", Stacked(), (4,))
    small.torch_case("nearest_legacy", larger("nearest"), (1, 4, 4), opset=11)


def texts():
    """A column of texts whose missing values are filled in, and a power transform behind a scaler."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, PowerTransformer, StandardScaler
    from sklearn.svm import SVC

    frame, y = small.people()
    frame = frame[["age", "income", "job"]].astype({"age": np.float32, "income": np.float32})
    frame["job"] = pd.Series(np.where(np.arange(len(frame)) % 7 == 0, "", frame["job"]), dtype=object)
    filled = make_pipeline(SimpleImputer(strategy="most_frequent", missing_values=""), OneHotEncoder(handle_unknown="ignore"))
    scaled = make_pipeline(StandardScaler(), PowerTransformer())
    front = ColumnTransformer([("numbers", scaled, ["age", "income"]), ("words", filled, ["job"])])
    small.sk_case("texts", make_pipeline(front, LogisticRegression()).fit(frame, y), frame)
    numbers = frame[["age", "income"]].to_numpy() / [10, 1e4]
    three = np.digitize(frame.age, [35, 55])
    svc = SVC(kernel="linear", probability=True, random_state=0, decision_function_shape="ovo")
    learned("svc_linear", svc, numbers, three, coupled)


if __name__ == "__main__":
    scikit_learn()
    powered()
    pytorch()
    pytorch_of_fixed_sizes()
    texts()
