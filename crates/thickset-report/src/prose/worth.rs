//! Is the network's accuracy worth its less stable reasons? It is held against a linear model fitted to the same rows.

use thickset::audit::figure::Summary;
use thickset::metric::{accuracy, auc, distinctness};
use thickset::statistics::Estimate;

use crate::number::{percent, points, score};

/// Loss of P@k that is worth mentioning.
const LOSS: f64 = 0.005;

/// How two accuracies compare.
enum Gain {
    /// More than the intervals leave open.
    Clear,
    /// More or less, but the intervals overlap, or there are none.
    Open,
    /// Less, and the intervals say so.
    Worse,
}

/// What the comparison says, a sentence each.
pub fn of(summary: &Summary, linear: &Summary) -> Vec<String> {
    let Some((gain, compared)) = predictions(summary, linear) else {
        return vec!["Without labels it cannot be said whether the network's accuracy is worth its less stable reasons.".to_owned()];
    };
    let lost = linear.precision_at_k().value - summary.precision_at_k().value;
    let kept = format!(
        "Under the same attacks the linear model keeps {} of its reasons, the network {}.",
        percent(linear.precision_at_k().value),
        percent(summary.precision_at_k().value)
    );
    let conclusion = conclusion(&gain, lost);
    let conclusion = match both(summary, linear, |one| one.value(&distinctness::FIGURE)) {
        Some((network, linear)) if network.is_finite() && linear.is_finite() => {
            format!("{conclusion} {}", sameness(network, linear))
        }
        _ => conclusion,
    };
    vec![compared, kept, conclusion]
}

/// Weighs accuracy against the stability that the network has less than the linear model.
fn conclusion(gain: &Gain, lost: f64) -> String {
    let is_less = lost > LOSS;
    let is_more = lost < -LOSS;
    match gain {
        Gain::Clear if is_less => format!(
            "So the network's accuracy is paid for with {} of stability; whether that is worth it depends on what a wrong reason costs.",
            points(lost)
        ),
        Gain::Clear => "So the network is more accurate and loses nothing in stability.".to_owned(),
        Gain::Open if is_less => {
            "So nothing here shows that the network is worth its less stable reasons: the linear model may do.".to_owned()
        }
        Gain::Open if is_more => "So the network's reasons are the more stable ones, at no clear cost in accuracy.".to_owned(),
        Gain::Open => {
            "So neither is shown to be better in accuracy or stability: the linear model is the simpler one.".to_owned()
        }
        Gain::Worse if is_more => {
            format!("So the linear model is the more accurate one, and the network the more stable one, by {}.", points(lost))
        }
        Gain::Worse => "So the linear model is the better one in accuracy, and at no cost in stability.".to_owned(),
    }
}

fn sameness(network: f64, linear: f64) -> String {
    let figures = format!("distinctness {} against {}", score(network), score(linear));
    if linear + LOSS >= network {
        format!(
            "The network's reasons differ no more from row to row than the linear model's ({figures})."
        )
    } else if linear <= LOSS {
        format!(
            "What the linear model cannot do is give different rows different reasons ({figures})."
        )
    } else {
        format!(
            "The network's reasons differ more from row to row than the linear model's ({figures})."
        )
    }
}

/// What both have.
fn both<T>(
    summary: &Summary,
    linear: &Summary,
    of: impl Fn(&Summary) -> Option<T>,
) -> Option<(T, T)> {
    of(summary).zip(of(linear))
}

/// Compares AUCs, or accuracies where an AUC is missing.
fn predictions(summary: &Summary, linear: &Summary) -> Option<(Gain, String)> {
    let finite = |estimate: &Estimate| estimate.value.is_finite();
    let auc = |one: &Summary| one.estimate(&auc::FIGURE).filter(finite);
    if let Some((network, linear)) = both(summary, linear, auc) {
        let difference = network.value - linear.value;
        let figures = format!("{} against {}", score(network.value), score(linear.value));
        let apart = network
            .interval
            .zip(linear.interval)
            .is_some_and(|(one, other)| one.low > other.high || one.high < other.low);
        let by = score(difference.abs());
        return Some(match (apart, difference > 0.0) {
            (true, true) => (
                Gain::Clear,
                format!(
                    "The network's AUC is {by} above the linear model's ({figures}), more than their intervals leave open."
                ),
            ),
            (true, false) => (
                Gain::Worse,
                format!(
                    "The network's AUC is {by} below the linear model's ({figures}), more than their intervals leave open."
                ),
            ),
            (false, is_above) => {
                let side = if is_above { "above" } else { "below" };
                let figures =
                    format!("The network's AUC is {by} {side} the linear model's ({figures})");
                (
                    Gain::Open,
                    format!("{figures}; the difference is within the confidence intervals."),
                )
            }
        });
    }
    let (network, linear) = both(summary, linear, |one| one.value(&accuracy::FIGURE))?;
    let figures = format!(
        "The network predicts {} of the rows as labelled, the linear model {}; without intervals this settles nothing.",
        percent(network),
        percent(linear)
    );
    Some((Gain::Open, figures))
}

#[cfg(test)]
mod tests {
    use thickset::statistics::Interval;

    use super::*;

    fn estimate(value: f64, half: f64) -> Estimate {
        let (low, high) = (value - half, value + half);
        Estimate {
            value,
            interval: Some(Interval { low, high }),
            count: 200,
        }
    }

    fn summary(precision: Estimate, area: Estimate, right: f64, distinct: f64) -> Summary {
        let mut summary = Summary::new(precision);
        summary.set(&auc::FIGURE, Some(area.into()));
        summary.set(&accuracy::FIGURE, Some(right.into()));
        summary.set(&distinctness::FIGURE, Some(distinct.into()));
        summary
    }

    fn pair(network_auc: f64, precision: f64) -> (Summary, Summary) {
        (
            summary(
                estimate(precision, 0.01),
                estimate(network_auc, 0.01),
                0.8,
                0.4,
            ),
            summary(estimate(1.0, 0.0), estimate(0.8, 0.01), 0.75, 0.0),
        )
    }

    fn said(network_auc: f64, precision: f64) -> String {
        let (summary, linear) = pair(network_auc, precision);
        of(&summary, &linear).join(" ")
    }

    #[test]
    fn a_clear_gain_is_paid_for_with_stability() {
        assert!(
            said(0.86, 0.8).contains("paid for with 20.0 points"),
            "{}",
            said(0.86, 0.8)
        );
        assert!(said(0.86, 1.0).contains("loses nothing in stability"));
    }

    #[test]
    fn a_gain_within_the_intervals_proves_nothing() {
        assert!(said(0.81, 0.8).contains("the linear model may do"));
        assert!(said(0.79, 0.8).contains("0.010 below"));
    }

    #[test]
    fn a_worse_network_is_called_worse() {
        assert!(said(0.7, 0.8).contains("linear model is the better one"));
    }

    #[test]
    fn a_linear_model_of_several_classes_can_be_the_less_stable_one() {
        assert!(conclusion(&Gain::Open, -0.1).contains("the more stable ones"));
        assert!(conclusion(&Gain::Worse, -0.1).ends_with("by 10.0 points."));
    }

    #[test]
    fn without_labels_nothing_is_claimed() {
        let (mut summary, mut linear) = pair(0.8, 0.9);
        summary.set(&auc::FIGURE, None);
        summary.set(&accuracy::FIGURE, None);
        linear.set(&auc::FIGURE, None);
        assert!(of(&summary, &linear)[0].starts_with("Without labels"));
    }
}
