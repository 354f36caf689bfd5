"""Exports whose converter is wrong, or whose framework is no reference for the gradient: compared with the graph itself, computed in double
precision, weights and all, by `onnx.reference`, and differentiated by central differences of fourth order.

Made with scikit-learn 1.9.1, skl2onnx 1.20.0, onnx 1.23.2, onnxruntime 1.31.1, NumPy 2.4. `python make.py` from this folder: each model with
onnxruntime's outputs and the gradients of all probabilities, [rows, classes, columns].
"""

import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops.aionnxml._op_run_aionnxml import OpRunAiOnnxMl

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "onnx"))
import make as small  # noqa: E402

warnings.filterwarnings("ignore")
small.FOLDER = str(pathlib.Path(__file__).resolve().parent)


class LinearClassifier(OpRunAiOnnxMl):
    """onnx's own rounds scores of two classes to single precision."""

    op_domain = "ai.onnx.ml"

    def _run(self, x, classlabels_ints=None, coefficients=None, intercepts=None, post_transform=None, **_):
        weight = np.array(coefficients, dtype=np.float64).reshape(-1, x.shape[1])
        scores = x @ weight.T + np.array(intercepts, dtype=np.float64)
        if scores.shape[1] == 1 and len(classlabels_ints) == 2:
            scores = np.concatenate([-scores, scores], 1)
        if post_transform == "SOFTMAX":
            scores = np.exp(scores - scores.max(1, keepdims=True))
            scores /= scores.sum(1, keepdims=True)
        elif post_transform == "LOGISTIC":
            scores = 0.5 * (1 + np.tanh(0.5 * scores))
        return scores.argmax(1), scores


def doubled(model):
    """The same graph with every number of double precision."""
    model = onnx.ModelProto.FromString(model.SerializeToString())

    def wide(tensor):
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))

    for tensor in model.graph.initializer:
        wide(tensor)
    for node in model.graph.node:
        for attribute in node.attribute:
            wide(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT:
                attribute.i = onnx.TensorProto.DOUBLE
    return model


def probabilities(model, is_score):
    evaluator = ReferenceEvaluator(doubled(model), new_ops=[LinearClassifier])

    def of(x):
        values = evaluator.run(["probabilities"], {"X": x.astype(np.float64)})[0]
        if is_score:
            values = np.exp(values - values.max(1, keepdims=True))
            values /= values.sum(1, keepdims=True)
        return values

    return of


def differences(of, x, step=1e-4):
    x = x.astype(np.float64)
    found = []
    for column in np.eye(x.shape[1]) * step:
        near, far = of(x + column) - of(x - column), of(x + 2 * column) - of(x - 2 * column)
        found.append((8 * near - far) / (12 * step))
    return np.stack(found, 2)


def case(name, model, x, y, rows, raw=False):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType

    model.fit(x, y)
    options = {"zipmap": False, "raw_scores": True} if raw else {"zipmap": False}
    types = [("X", FloatTensorType([None, x.shape[1]]))]
    exported = to_onnx(model, initial_types=types, options={id(model): options}, target_opset={"": 17, "ai.onnx.ml": 3})
    onnx.save(exported, f"{small.FOLDER}/{name}.onnx")
    small.save(name, {"X": rows}, {"grad:proba": differences(probabilities(exported, raw), rows)})


def main():
    from sklearn.datasets import make_blobs
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    # Classes that overlap: where a probability is 1 in single precision there is no gradient to compare.
    x, y = make_blobs(300, 4, centers=3, cluster_std=5.0, center_box=(-4, 4), random_state=1)
    x, two = (x * [1, 3, 0.5, 1] + [0, 10, 2, -1]).astype(np.float32), (y > 0).astype(int)
    rows = x[:10]
    case("lda_two", LinearDiscriminantAnalysis(), x, two, rows)
    case("lda_three", LinearDiscriminantAnalysis(), x, y, rows)
    case("lda_shrinkage", LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), x, y, rows)
    case("gaussian_three", GaussianNB(), x, y, rows)
    case("quadratic_three", QuadraticDiscriminantAnalysis(), x, y, rows)
    # Within the range of the training rows and beyond it, but not at its ends, where there are two slopes.
    within = x[((x > x.min(0)) & (x < x.max(0))).all(1)][:6]
    beyond = np.stack([x.max(0) + 1, x.min(0) - 1])
    mixed = np.where([[True, False, True, False]], within[:2], beyond)
    rows_and_beyond = np.concatenate([within, beyond, mixed]).astype(np.float32)
    case("minmax_clip", make_pipeline(MinMaxScaler(clip=True), LogisticRegression()), x, y, rows_and_beyond)
    case("raw_scores_three", LogisticRegression(max_iter=500), x, y, rows, raw=True)
    case("raw_scores_two", LogisticRegression(max_iter=500), x, two, rows, raw=True)


if __name__ == "__main__":
    main()
