"""Reference values for the metrics and statistics, by scipy and scikit-learn. Writes expected.json beside itself.

Run: python make.py   (the versions used are in the output's "versions")
"""

import json
import pathlib
import platform

import numpy
import scipy
import sklearn
from scipy import stats
from scipy.spatial.distance import hamming, pdist, squareform
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity

SEED = 20240517


def similarities(rng):
    cases = []
    for n, levels in [(2, None), (5, None), (28, None), (28, 4), (100, 3), (784, None), (784, 20)]:
        a = rng.normal(size=n)
        b = a + rng.normal(size=n)
        if levels:
            a, b = numpy.round(a * levels / 4) / levels, numpy.round(b * levels / 4) / levels
        cases.append(
            {
                "a": a.tolist(),
                "b": b.tolist(),
                "kendall": float(stats.kendalltau(a, b, variant="b").statistic),
                "spearman": float(stats.spearmanr(a, b).statistic),
                "pearson": float(stats.pearsonr(a, b).statistic),
                "cosine": float(cosine_similarity([a], [b])[0, 0]),
                "midranks_a": stats.rankdata(a, method="average").tolist(),
                "order_a": numpy.argsort(-a, kind="stable").tolist(),
            }
        )
    return cases


def delong_variance(scores, labels):
    """From the definition: the covariance of the placement values, without any ranks."""
    positives, negatives = scores[labels == 1], scores[labels == 0]
    kernel = (positives[:, None] > negatives[None, :]) + 0.5 * (positives[:, None] == negatives[None, :])
    return kernel.mean(1).var(ddof=1) / len(positives) + kernel.mean(0).var(ddof=1) / len(negatives)


def delong_difference(first, second, labels):
    def placements(scores):
        positives, negatives = scores[labels == 1], scores[labels == 0]
        kernel = (positives[:, None] > negatives[None, :]) + 0.5 * (positives[:, None] == negatives[None, :])
        return kernel.mean(1), kernel.mean(0)

    (a10, a01), (b10, b01) = placements(first), placements(second)
    variance = (a10 - b10).var(ddof=1) / len(a10) + (a01 - b01).var(ddof=1) / len(a01)
    z = (a10.mean() - b10.mean()) / numpy.sqrt(variance)
    return float(a10.mean() - b10.mean()), float(variance**0.5), float(2 * stats.norm.sf(abs(z)))


def binary_aucs(rng):
    cases = []
    for n, rounded in [(10, False), (60, False), (60, True), (500, True)]:
        labels = (rng.random(n) < 0.4).astype(int)
        labels[:4] = [0, 1, 0, 1]
        first = labels * 0.8 + rng.normal(size=n)
        second = labels * 0.3 + rng.normal(size=n)
        if rounded:
            first, second = numpy.round(first, 1), numpy.round(second, 1)
        difference, error, p = delong_difference(first, second, labels)
        cases.append(
            {
                "scores": first.tolist(),
                "other": second.tolist(),
                "labels": labels.tolist(),
                "auc": float(roc_auc_score(labels, first)),
                "standard_error": float(delong_variance(first, labels) ** 0.5),
                "difference": difference,
                "difference_error": error,
                "difference_p": p,
            }
        )
    return cases


def multiclass_aucs(rng):
    cases = []
    for n, classes in [(30, 3), (200, 5)]:
        labels = rng.integers(0, classes, n)
        labels[:classes] = range(classes)
        logits = rng.normal(size=(n, classes)) + 1.5 * numpy.eye(classes)[labels]
        probabilities = scipy.special.softmax(logits, axis=1)
        cases.append(
            {
                "probabilities": probabilities.tolist(),
                "labels": labels.tolist(),
                "auc": float(roc_auc_score(labels, probabilities, multi_class="ovr", average="macro")),
            }
        )
    return cases


def means(rng):
    cases = []
    for n in [2, 3, 10, 200]:
        values = rng.gamma(2.0, size=n)
        low, high = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
        cases.append({"values": values.tolist(), "value": values.mean(), "low": low, "high": high})
    return cases


def medians(rng):
    cases = []
    for n in [6, 15, 101, 200]:
        values = rng.gamma(2.0, size=n)
        interval = stats.quantile_test(values, q=numpy.median(values), p=0.5).confidence_interval(0.95)
        cases.append(
            {"values": values.tolist(), "value": float(numpy.median(values)), "low": interval.low, "high": interval.high}
        )
    return cases


def exact_with_ties(differences):
    """Every pattern of signs, from the definition."""
    ranks = stats.rankdata(abs(differences))
    patterns = (numpy.arange(2 ** len(ranks))[:, None] >> numpy.arange(len(ranks))) & 1
    sums = patterns @ ranks
    seen = ranks[differences > 0].sum()
    return float(min(1.0, 2 * min((sums <= seen).mean(), (sums >= seen).mean())))


def paired(rng):
    cases = []
    for n, shift in [(5, 0.3), (12, 0.5), (12, 0.0), (40, 0.3), (50, 0.2), (51, 0.2), (300, 0.1)]:
        first, second = rng.normal(size=n) + shift, rng.normal(size=n)
        t = stats.ttest_rel(first, second)
        auto = stats.wilcoxon(first, second)
        exact = stats.wilcoxon(first, second, method="exact")
        approximate = stats.wilcoxon(first, second, method="asymptotic", correction=False)
        corrected = stats.wilcoxon(first, second, method="asymptotic", correction=True)
        cases.append(
            {
                "first": first.tolist(),
                "second": second.tolist(),
                "t": t.statistic,
                "t_p": t.pvalue,
                "t_low": t.confidence_interval(0.95).low,
                "t_high": t.confidence_interval(0.95).high,
                "w": auto.statistic,
                "w_auto_p": auto.pvalue,
                "w_exact_p": exact.pvalue,
                "w_normal_p": approximate.pvalue,
                "w_corrected_p": corrected.pvalue,
            }
        )
    return cases


def paired_with_ties(rng):
    """Eighths, as P@8 has them: exact in binary, with many ties and zeros."""
    cases = []
    for n in [8, 14, 18, 60]:
        first, second = rng.integers(3, 9, n) / 8, rng.integers(2, 9, n) / 8
        second[0], first[0] = 0.0, 1.0
        differences = first - second
        differences = differences[differences != 0]
        approximate = stats.wilcoxon(first, second, method="asymptotic", correction=False)
        corrected = stats.wilcoxon(first, second, method="asymptotic", correction=True)
        cases.append(
            {
                "first": first.tolist(),
                "second": second.tolist(),
                "w": approximate.statistic,
                "w_exact_p": exact_with_ties(differences) if len(differences) <= 18 else None,
                "w_normal_p": approximate.pvalue,
                "w_corrected_p": corrected.pvalue,
            }
        )
    return cases


def shares(rng):
    """Shares of classes that agree, by scikit-learn and scipy."""
    cases = []
    for n, classes in [(1, 2), (7, 2), (250, 10)]:
        first = rng.integers(0, classes, n)
        second = numpy.where(rng.random(n) < 0.7, first, rng.integers(0, classes, n))
        cases.append(
            {
                "first": first.tolist(),
                "second": second.tolist(),
                "accuracy": float(accuracy_score(first, second)),
                "sensitivity": float(hamming(first, second)),
            }
        )
    return cases


def top_k_sets(rng):
    """Sets of the k largest, ties to the lower index. For sets of one size Dice's distance is one less the overlap."""
    cases = []
    for rows, n, k, levels in [(2, 5, 1, None), (6, 28, 8, None), (9, 28, 8, 3), (12, 100, 20, 10)]:
        values = rng.normal(size=(rows, n))
        if levels:
            values = numpy.round(values * levels / 4) / levels
        is_top = numpy.zeros((rows, n), dtype=bool)
        for row, order in enumerate(numpy.argsort(-values, axis=1, kind="stable")):
            is_top[row, order[:k]] = True
        distances = pdist(is_top, metric="dice")
        cases.append(
            {
                "values": values.tolist(),
                "k": k,
                "precision": (1 - squareform(distances)[0]).tolist(),
                "distinctness": float(distances.mean()),
            }
        )
    return cases


def main():
    rng = numpy.random.default_rng(SEED)
    expected = {
        "versions": {
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "similarities": similarities(rng),
        "binary_aucs": binary_aucs(rng),
        "multiclass_aucs": multiclass_aucs(rng),
        "means": means(rng),
        "medians": medians(rng),
        "paired": paired(rng),
        "paired_with_ties": paired_with_ties(rng),
        "shares": shares(rng),
        "top_k_sets": top_k_sets(rng),
    }
    path = pathlib.Path(__file__).with_name("expected.json")
    path.write_text(json.dumps(expected, indent=None, separators=(",", ":"), default=float) + "\n")


main()
