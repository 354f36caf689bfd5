//! Metrics and statistics against scipy and scikit-learn (`golden/metrics/make.py`).

use serde::Deserialize;
use thickset::metric::ranking::TopK;
use thickset::metric::{
    accuracy, auc, cosine, distinctness, kendall, pearson, precision_at_k, ranking, sensitivity,
    spearman,
};
use thickset::statistics::{self, mean, median, t_test, wilcoxon, wilcoxon::PValueMethod};

/// Both sides compute in double precision; sums over hundreds of terms differ in their last digits.
const TOLERANCE: f64 = 1e-12;

/// Distribution functions and their inverses are computed by other series than scipy's.
const DISTRIBUTION_TOLERANCE: f64 = 1e-9;

#[derive(Deserialize)]
struct Golden {
    similarities: Vec<Similarity>,
    binary_aucs: Vec<BinaryAuc>,
    multiclass_aucs: Vec<MulticlassAuc>,
    means: Vec<Centre>,
    medians: Vec<Centre>,
    paired: Vec<Paired>,
    paired_with_ties: Vec<PairedWithTies>,
    shares: Vec<Shares>,
    top_k_sets: Vec<TopKSets>,
}

#[derive(Deserialize)]
struct Shares {
    first: Vec<usize>,
    second: Vec<usize>,
    accuracy: f64,
    sensitivity: f64,
}

#[derive(Deserialize)]
struct TopKSets {
    values: Vec<Vec<f64>>,
    k: usize,
    /// Of the first row and each of the rows.
    precision: Vec<f64>,
    distinctness: f64,
}

#[derive(Deserialize)]
struct Similarity {
    a: Vec<f64>,
    b: Vec<f64>,
    kendall: f64,
    spearman: f64,
    pearson: f64,
    cosine: f64,
    midranks_a: Vec<f64>,
    order_a: Vec<usize>,
}

#[derive(Deserialize)]
struct BinaryAuc {
    scores: Vec<f64>,
    other: Vec<f64>,
    labels: Vec<u8>,
    auc: f64,
    standard_error: f64,
    difference: f64,
    difference_error: f64,
    difference_p: f64,
}

#[derive(Deserialize)]
struct MulticlassAuc {
    probabilities: Vec<Vec<f64>>,
    labels: Vec<usize>,
    auc: f64,
}

#[derive(Deserialize)]
struct Centre {
    values: Vec<f64>,
    value: f64,
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct Paired {
    first: Vec<f64>,
    second: Vec<f64>,
    t: f64,
    t_p: f64,
    t_low: f64,
    t_high: f64,
    w: f64,
    w_auto_p: f64,
    w_exact_p: f64,
    w_normal_p: f64,
    w_corrected_p: f64,
}

#[derive(Deserialize)]
struct PairedWithTies {
    first: Vec<f64>,
    second: Vec<f64>,
    w: f64,
    w_exact_p: Option<f64>,
    w_normal_p: f64,
    w_corrected_p: f64,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/metrics/expected.json")).unwrap()
}

#[track_caller]
fn assert_near(found: f64, expected: f64, tolerance: f64) {
    let allowed = tolerance * expected.abs().max(1.0);
    assert!(
        (found - expected).abs() <= allowed,
        "found {found}, expected {expected}"
    );
}

#[test]
fn similarities_agree_with_scipy() {
    for case in golden().similarities {
        assert_near(
            kendall::score(&case.a, &case.b).unwrap(),
            case.kendall,
            TOLERANCE,
        );
        assert_near(
            spearman::score(&case.a, &case.b).unwrap(),
            case.spearman,
            TOLERANCE,
        );
        assert_near(
            pearson::score(&case.a, &case.b).unwrap(),
            case.pearson,
            TOLERANCE,
        );
        assert_near(
            cosine::score(&case.a, &case.b).unwrap(),
            case.cosine,
            TOLERANCE,
        );
        assert_eq!(ranking::midranks(&case.a).unwrap(), case.midranks_a);
        assert_eq!(ranking::descending(&case.a).unwrap(), case.order_a);
    }
}

#[test]
fn shares_of_equal_classes_agree_with_scikit_learn_and_scipy() {
    for case in golden().shares {
        let found = accuracy::score(&case.first, &case.second).unwrap();
        assert_near(found, case.accuracy, TOLERANCE);
        let found = sensitivity::score(&case.first, &case.second).unwrap();
        assert_near(found, case.sensitivity, TOLERANCE);
    }
}

#[test]
fn overlaps_of_top_k_sets_agree_with_scipys_distances() {
    for case in golden().top_k_sets {
        for (values, expected) in case.values.iter().zip(&case.precision) {
            let found = precision_at_k::score(&case.values[0], values, case.k).unwrap();
            assert_near(found, *expected, TOLERANCE);
        }
        let sets: Vec<TopK> = case
            .values
            .iter()
            .map(|values| TopK::of(values, case.k).unwrap())
            .collect();
        let found = distinctness::score(&sets).unwrap().unwrap();
        assert_near(found, case.distinctness, TOLERANCE);
    }
}

#[test]
fn areas_and_their_errors_agree_with_scikit_learn_and_the_definition() {
    for case in golden().binary_aucs {
        let positive: Vec<bool> = case.labels.iter().map(|label| *label == 1).collect();
        let first = auc::binary(&case.scores, &positive).unwrap().unwrap();
        let second = auc::binary(&case.other, &positive).unwrap().unwrap();
        assert_near(first.value, case.auc, TOLERANCE);
        assert_near(
            first.standard_error.unwrap(),
            case.standard_error,
            TOLERANCE,
        );
        let difference = statistics::auc::difference(&first, &second).unwrap();
        let interval = difference.estimate.interval.unwrap();
        assert_near(difference.estimate.value, case.difference, TOLERANCE);
        let width = 2.0 * 1.959_963_984_540_054 * case.difference_error;
        assert_near(interval.high - interval.low, width, DISTRIBUTION_TOLERANCE);
        assert_near(
            difference.p_value,
            case.difference_p,
            DISTRIBUTION_TOLERANCE,
        );
    }
    for case in golden().multiclass_aucs {
        let found = auc::score(&case.probabilities, &case.labels)
            .unwrap()
            .unwrap();
        assert_near(found.value, case.auc, TOLERANCE);
    }
}

#[test]
fn intervals_of_means_and_medians_agree_with_scipy() {
    for case in golden().means {
        let found = mean::estimate(&case.values).unwrap();
        let interval = found.interval.unwrap();
        assert_near(found.value, case.value, TOLERANCE);
        assert_near(interval.low, case.low, DISTRIBUTION_TOLERANCE);
        assert_near(interval.high, case.high, DISTRIBUTION_TOLERANCE);
    }
    for case in golden().medians {
        let found = median::estimate(&case.values).unwrap();
        let interval = found.interval.unwrap();
        assert_near(found.value, case.value, TOLERANCE);
        assert_near(interval.low, case.low, TOLERANCE);
        assert_near(interval.high, case.high, TOLERANCE);
    }
}

#[test]
fn paired_tests_agree_with_scipy() {
    for case in golden().paired {
        let comparison = statistics::paired::compare(&case.first, &case.second).unwrap();
        let interval = comparison.mean.interval.unwrap();
        assert_near(interval.low, case.t_low, DISTRIBUTION_TOLERANCE);
        assert_near(interval.high, case.t_high, DISTRIBUTION_TOLERANCE);
        let t = t_test::paired(&case.first, &case.second).unwrap();
        assert_near(t.statistic.unwrap(), case.t, TOLERANCE);
        assert_near(t.p_value, case.t_p, DISTRIBUTION_TOLERANCE);
        assert_near(comparison.wilcoxon.statistic, case.w, TOLERANCE);
        assert_near(
            comparison.wilcoxon.p_value,
            case.w_auto_p,
            DISTRIBUTION_TOLERANCE,
        );
        for (method, expected) in [
            (PValueMethod::Exact, case.w_exact_p),
            (PValueMethod::Normal { continuity: false }, case.w_normal_p),
            (
                PValueMethod::Normal { continuity: true },
                case.w_corrected_p,
            ),
        ] {
            let found = wilcoxon::paired(&case.first, &case.second, method).unwrap();
            assert_near(found.p_value, expected, DISTRIBUTION_TOLERANCE);
        }
    }
}

#[test]
fn signed_ranks_with_ties_and_zeros_agree_with_scipy_and_with_all_patterns_of_signs() {
    for case in golden().paired_with_ties {
        let p_value = |method| {
            wilcoxon::paired(&case.first, &case.second, method)
                .unwrap()
                .p_value
        };
        let exact = wilcoxon::paired(&case.first, &case.second, PValueMethod::Exact).unwrap();
        assert_near(exact.statistic, case.w, TOLERANCE);
        if let Some(expected) = case.w_exact_p {
            assert_near(exact.p_value, expected, TOLERANCE);
        }
        assert_near(
            p_value(PValueMethod::Normal { continuity: false }),
            case.w_normal_p,
            DISTRIBUTION_TOLERANCE,
        );
        assert_near(
            p_value(PValueMethod::Normal { continuity: true }),
            case.w_corrected_p,
            DISTRIBUTION_TOLERANCE,
        );
    }
}
