"""Exports whose gradients no difference quotient finds, by their formulas with 60 digits and exact derivatives (mpmath), without any evaluator
of ONNX: classes that are all but certain (a probability of 1 - 1e-13 has no differences in double precision), a support-vector machine within a
stack (its stopped iteration jumps), values exactly at an end of a clipped range (two slopes), a normaliser that two specifications read
differently, and numbers that are categories (no slope in the column, one in each of its 0-and-1 features).

Made with scikit-learn 1.9.1, skl2onnx 1.20.0, onnx 1.23.2, onnxruntime 1.31.1, mpmath 1.3, NumPy 2.4. `python make.py [SHARED]` from this folder:
`grad:proba` [rows, classes, columns], or `grad:features` [rows, classes, features] where columns are categories. With SHARED, the folder of the
shared exports, also `lda_of_shared.npz`: the gradient of `sklearn/lda.onnx` itself, whose stored one is scikit-learn's.
"""

import pathlib
import sys
import warnings

import numpy as np
import onnx
from mpmath import exp, lu_solve, matrix, mp, mpf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "onnx"))
import make as small  # noqa: E402

warnings.filterwarnings("ignore")
small.FOLDER = str(pathlib.Path(__file__).resolve().parent)
mp.dps = 60


class Dual:
    """A number and its derivative by each input."""

    def __init__(self, value, slopes):
        self.value, self.slopes = value, slopes

    def __add__(self, other):
        if not isinstance(other, Dual):
            return Dual(self.value + other, self.slopes)
        return Dual(self.value + other.value, [a + b for a, b in zip(self.slopes, other.slopes)])

    __radd__ = __add__

    def __mul__(self, other):
        if not isinstance(other, Dual):
            return Dual(self.value * other, [a * other for a in self.slopes])
        slopes = [a * other.value + self.value * b for a, b in zip(self.slopes, other.slopes)]
        return Dual(self.value * other.value, slopes)

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    def inverse(self):
        return Dual(1 / self.value, [-a / self.value**2 for a in self.slopes])

    def exp(self):
        value = exp(self.value)
        return Dual(value, [value * a for a in self.slopes])


def exact(values):
    return [mpf(float(value)) for value in values]


def inputs(row):
    return [Dual(value, [mpf(int(at == place)) for at in range(len(row))]) for place, value in enumerate(exact(row))]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b)), mpf(0))


def softmax(scores):
    most = max(score.value for score in scores)
    powers = [(score - most).exp() for score in scores]
    total = sum(powers[1:], powers[0]).inverse()
    return [power * total for power in powers]


def logistic(scores):
    return [(1 + (-score).exp()).inverse() for score in scores]


def attributes(model, operator, place=0):
    node = [node for node in model.graph.node if node.op_type == operator][place]
    return {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}


def constants(model):
    return {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}


def linear(x, given):
    weights = np.array(given["coefficients"]).reshape(len(given["intercepts"]), -1)
    scores = [dot(x, exact(row)) + shift for row, shift in zip(weights, exact(given["intercepts"]))]
    return {b"SOFTMAX": softmax, b"LOGISTIC": logistic}[given["post_transform"]](scores)


def scaled(x, model):
    given = attributes(model, "Scaler")
    return [(value - offset) * scale for value, offset, scale in zip(x, exact(given["offset"]), exact(given["scale"]))]


def stopped(pairs):
    """libsvm's coupling of pairwise probabilities as it is stopped."""
    k = len(pairs)
    others = [[j for j in range(k) if j != t] for t in range(k)]
    q = [[sum(pairs[j][t] ** 2 for j in others[t]) if t == u else -pairs[u][t] * pairs[t][u] for u in range(k)] for t in range(k)]
    p = [mpf(1) / k] * k
    for _ in range(100):
        qp = [dot(q[t], p) for t in range(k)]
        error = dot(p, qp)
        if max(abs(one - error) for one in qp) < mpf("0.005") / k:
            break
        for t in range(k):
            step = (error - qp[t]) / q[t][t]
            p[t] += step
            error = (error + step * (step * q[t][t] + 2 * qp[t])) / (1 + step) ** 2
            for j in range(k):
                qp[j] = (qp[j] + step * q[t][j]) / (1 + step)
                p[j] /= 1 + step
    return p


def support_vectors(x, given):
    """Values as libsvm stops, slopes of what its iteration approaches: of two classes the logit's, of more the probabilities'."""
    counts = list(given["vectors_per_class"])
    k, width = len(counts), len(x)
    vectors = np.array(given["support_vectors"]).reshape(-1, width)
    weights = np.array(given["coefficients"]).reshape(k - 1, -1)
    gamma = exact(given["kernel_params"])[0]
    assert given["kernel_type"] == b"RBF"

    def kernel(vector):
        away = [value - other for value, other in zip(x, exact(vector))]
        return (dot(away, away) * -gamma).exp()

    kernels = [kernel(vector) for vector in vectors]
    start = np.concatenate([[0], np.cumsum(counts)])
    pairs, place = {}, 0
    for i in range(k):
        for j in range(i + 1, k):
            of_i, of_j = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
            score = dot(kernels[of_i], exact(weights[j - 1][of_i])) + dot(kernels[of_j], exact(weights[i][of_j]))
            score = score + exact(given["rho"])[place]
            pairs[i, j] = (1 + (score * exact(given["prob_a"])[place] + exact(given["prob_b"])[place]).exp()).inverse()
            pairs[j, i] = 1 - pairs[i, j]
            place += 1
    values = stopped([[pairs[i, j].value if i != j else mpf(0) for j in range(k)] for i in range(k)])
    if k == 2:
        factor = values[0] * values[1] / (pairs[0, 1].value * pairs[1, 0].value)
        return [Dual(value, [factor * a for a in pairs[i, 1 - i].slopes]) for i, value in enumerate(values)]
    # The limit p solves Q p = b with one b for all classes, and sums to one; so do its derivatives, of Q' p + Q p'.
    q = [[dot(*[[pairs[j, i] for j in range(k) if j != i]] * 2) if i == u else -(pairs[u, i] * pairs[i, u]) for u in range(k)] for i in range(k)]
    system, one = matrix(k + 1), matrix(k + 1, 1)
    one[k] = 1
    for i in range(k):
        system[i, k] = system[k, i] = 1
        for j in range(k):
            system[i, j] = q[i][j].value
    limit = lu_solve(system, one)
    slopes = [[] for _ in range(k)]
    for column in range(width):
        right = matrix(k + 1, 1)
        for i in range(k):
            right[i] = -sum(q[i][j].slopes[column] * limit[j] for j in range(k))
        moved = lu_solve(system, right)
        for i in range(k):
            slopes[i].append(moved[i])
    return [Dual(value, slope) for value, slope in zip(values, slopes)]


def stack(model, x):
    first = linear(x, attributes(model, "LinearClassifier"))
    second = support_vectors(scaled(x, model), attributes(model, "SVMClassifier"))
    if len(first) == 2:
        first, second = first[1:], second[1:]
    return linear(first + second, attributes(model, "LinearClassifier", 1))


def gaussian(model, x):
    given = constants(model)
    scores = []
    for c, (means, spreads) in enumerate(zip(given["theta"][0], given["sigma"][0])):
        away = [value - mean for value, mean in zip(x, exact(means))]
        squares = [one * one * (1 / spread) for one, spread in zip(away, exact(spreads))]
        shift = exact([given["jointi"][0][c], given["sigma_sum_log"][0][c]])
        scores.append(sum(squares, mpf(0)) * mpf("-0.5") + sum(shift))
    return softmax(scores)


def normalised(model, x):
    """By the largest number, as onnxruntime does; scikit-learn and onnx.reference take the largest absolute one."""
    x = scaled(x, model)
    most = max(x, key=lambda value: value.value).inverse()
    return linear([value * most for value in x], attributes(model, "LinearClassifier"))


def clipped(model, x):
    """Flat at the ends themselves, as beyond them."""
    given, kept = constants(model), []
    for value, scale, shift in zip(x, given["Mu_Mulcst"], given["Ad_Addcst"]):
        at = np.float32(float(value.value)) * scale + shift
        inside = 0 < at < 1
        kept.append(value * exact([scale])[0] + exact([shift])[0] if inside else Dual(mpf(min(max(float(at), 0), 1)), [mpf(0)] * len(x)))
    return linear(kept, attributes(model, "LinearClassifier"))


def categories(model, x):
    """By 0-and-1 features, one for each value that a column may have."""
    encoders = [node for node in model.graph.node if node.op_type in ("OneHotEncoder", "LabelEncoder")]
    features, used = [], []
    for column, encoder in zip(x, encoders):
        given = {one.name: onnx.helper.get_attribute_value(one) for one in encoder.attribute}
        keys = given.get("cats_int64s") or given["keys_floats"]
        is_hot = [mpf(int(float(column.value) == key)) for key in keys]
        # A number for each value, as far as it is above the one for a value that nobody knows.
        numbers = None if encoder.op_type == "OneHotEncoder" else [value - given["default_int64"] for value in given["values_int64s"]]
        used.append((len(features), is_hot, numbers, given.get("default_int64", 0)))
        features += is_hot
    hot = [Dual(value, [mpf(int(at == place)) for at in range(len(features))]) for place, value in enumerate(features)]
    read = []
    for start, is_hot, numbers, otherwise in used:
        own = hot[start : start + len(is_hot)]
        read += own if numbers is None else [dot(own, exact(numbers)) + otherwise]
    return linear(read, attributes(model, "LinearClassifier"))


def slopes(of, model, rows):
    return np.array([[[float(a) for a in p.slopes] for p in of(model, inputs(row))] for row in rows])


def case(name, model, of, x, y, rows, key="grad:proba"):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType

    model.fit(x, y)
    types = [("X", FloatTensorType([None, x.shape[1]]))]
    exported = to_onnx(model, initial_types=types, options={id(model): {"zipmap": False}}, target_opset={"": 17, "ai.onnx.ml": 3})
    onnx.save(exported, f"{small.FOLDER}/{name}.onnx")
    small.save(name, {"X": rows}, {key: slopes(of, exported, rows)})
    theirs = np.load(f"{small.FOLDER}/{name}.npz")["out:probabilities"]
    ours = np.array([[float(p.value) for p in of(exported, inputs(row))] for row in rows])
    assert np.abs(ours - theirs).max() < 1e-6, name


def of_shared(folder):
    path = pathlib.Path(folder) / "sklearn" / "lda"
    model, rows = onnx.load(f"{path}.onnx"), np.load(f"{path}.npz")["in:X"]
    found = slopes(lambda model, x: linear(x, attributes(model, "LinearClassifier")), model, rows)
    np.savez_compressed(f"{small.FOLDER}/lda_of_shared.npz", **{"grad:proba": found})


def main():
    from sklearn.datasets import load_iris
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import StackingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, Normalizer, OneHotEncoder, OrdinalEncoder, StandardScaler
    from sklearn.svm import SVC

    x, y = load_iris(return_X_y=True)
    x = x.astype(np.float32)
    two, rows, whole = (y > 0).astype(int), x[::13], np.round(x)
    case("lda_certain", LinearDiscriminantAnalysis(), lambda model, x: linear(x, attributes(model, "LinearClassifier")), x, two, rows)
    case("gaussian_certain", GaussianNB(), gaussian, x, y, rows)
    case("normalizer_max", make_pipeline(StandardScaler(), Normalizer("max"), LogisticRegression()), normalised, x, two, rows)
    # Ranges of powers of two, so that the ends are exactly 0 and 1 whatever rounds.
    ranges = (np.round((x - x.min(0)) / (x.max(0) - x.min(0)) * 64) / 64 * [1, 2, 4, 8]).astype(np.float32)
    ends = np.stack([ranges.min(0), ranges.max(0), *ranges[::13]])
    case("clip_at_ends", make_pipeline(MinMaxScaler(clip=True), LogisticRegression()), clipped, ranges, y, ends)
    members = [("a", LogisticRegression()), ("b", make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)))]
    for name, classes in [("stack_two", two), ("stack_three", y)]:
        case(name, StackingClassifier(members, final_estimator=LogisticRegression()), stack, x, classes, rows)
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    for name, encoder in [("onehot_numbers", OneHotEncoder(handle_unknown="ignore")), ("ordinal_numbers", ordinal)]:
        case(name, make_pipeline(encoder, LogisticRegression()), categories, whole, y, whole[::13], "grad:features")
    if sys.argv[1:]:
        of_shared(sys.argv[1])


if __name__ == "__main__":
    main()
