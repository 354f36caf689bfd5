//! Explanations against `PyTorch`, and by their axioms.

use thickset::Seed;
use thickset::data::{InputShape, Schema};
use thickset::explain::{
    Binding, ExplainConfig, ExplanationConfig, Of, Per, Points, concept, grad, grad_input,
    integrated_gradients, reduce::ReductionConfig, smooth_grad,
};
use thickset::metric::faithfulness::{Counts, Faithfulness};
use thickset::metric::measure::thickness::{Neighbours, ThicknessSampling};
use thickset::metric::thickness::{Form, Thickness};
use thickset::metric::{hessian_norm, measure, precision_at_k, ranking};
use thickset::model::{Activation, CnnConfig, Fresh, MlpConfig, ModelConfig};
use thickset_engine::{Network, Output, Tensor, one_hot};

use crate::golden::{Golden, both, close, table, values};

fn signed(explanation: ExplanationConfig) -> ExplainConfig {
    ExplainConfig {
        explanation,
        reduce: ReductionConfig::Signed,
        per: Per::Feature,
    }
}

fn grad_of(of: Of) -> ExplanationConfig {
    ExplanationConfig::Grad(grad::GradConfig { of })
}

fn attributed(golden: &Golden, config: &ExplainConfig, classes: &str, at: &str) -> Vec<f64> {
    let checked = config.check(&golden.schema()).unwrap();
    let binding = Binding {
        classes: &golden.indices(classes),
        ids: &golden.ids(),
        seed: Seed::new(1),
    };
    let explainer = checked.bind(&golden.network, binding).unwrap();
    values(explainer.importance(&golden.network, golden.batch(at)))
}

fn path(of: Of, steps: usize, rule: integrated_gradients::Rule) -> ExplanationConfig {
    ExplanationConfig::IntegratedGradients(integrated_gradients::IntegratedGradientsConfig {
        of,
        steps,
        rule,
        ..integrated_gradients::IntegratedGradientsConfig::default()
    })
}

#[test]
fn attributions_agree_with_pytorch_to_1e_9() {
    use integrated_gradients::Rule::{Midpoint, Right};
    for golden in both() {
        let check = |name: &str, config: ExplanationConfig, classes: &str, at: &str| {
            let got = attributed(&golden, &signed(config), classes, at);
            golden.close(name, &got, 1e-9);
        };
        check("grad_p", grad_of(Of::Probability), "pred", "x");
        check("grad_logit", grad_of(Of::Logit), "pred", "x");
        check("grad_loss", grad_of(Of::Loss), "y", "x");
        let times = ExplanationConfig::GradInput(grad_input::GradInputConfig::default());
        check("grad_x_input", times, "pred", "x");
        check(
            "ig_mid_100",
            path(Of::Probability, 100, Midpoint),
            "pred",
            "x",
        );
        check(
            "ig_right_100",
            path(Of::Probability, 100, Right),
            "pred",
            "x",
        );
        check("ig_logit_y_10_x", path(Of::Logit, 10, Midpoint), "y", "x");
        check(
            "ig_logit_y_10_xadv",
            path(Of::Logit, 10, Midpoint),
            "y",
            "x_adv",
        );
        let importance = attributed(&golden, &ExplainConfig::default(), "pred", "x");
        golden.close("importance", &importance, 1e-9);
        let n = golden.network.features();
        let order: Vec<f64> = importance
            .chunks(n)
            .flat_map(|row| ranking::descending(row).unwrap())
            .map(|feature| feature as f64)
            .collect();
        assert_eq!(order, golden.values("ranking"), "{}", golden.name);
    }
}

#[test]
fn smooth_grad_over_given_noise_agrees_with_pytorch() {
    for golden in both() {
        let n = golden.network.features();
        // The same noise for every row.
        let draws = golden.values("sg_noise").chunks(n);
        let noise: Vec<Vec<f64>> = draws.map(|draw| draw.repeat(golden.rows)).collect();
        let binding = Binding {
            classes: &golden.indices("pred"),
            ids: &golden.ids(),
            seed: Seed::new(1),
        };
        let base = ExplanationConfig::default();
        let x = golden.batch("x");
        let got =
            smooth_grad::attribute_with_noise(&base, &golden.network, x, binding, &noise).unwrap();
        golden.close("smoothgrad_given_noise", &values(got), 1e-9);
    }
}

#[test]
fn thickness_and_faithfulness_of_explanations_agree_with_pytorch() {
    for golden in both() {
        let n = golden.network.features();
        let checked = ExplainConfig::default().check(&golden.schema()).unwrap();
        let rows = Points {
            values: golden.values("x"),
            ids: &golden.ids(),
        };
        let network = &golden.network;
        let explained = checked.attribute(network, rows, Seed::new(1)).unwrap();
        let neighbours: Vec<Vec<f64>> = golden
            .values("thick_x")
            .chunks(golden.rows * n)
            .map(<[f64]>::to_vec)
            .collect();
        let sampling = ThicknessSampling {
            k: golden.k,
            neighbours: Neighbours::Given(&neighbours),
            immutable: &[],
            points: 10,
            seed: Seed::new(1),
            stream: "none are drawn",
        };
        let forms = [Form::Gap, Form::Probability];
        let found = sampling
            .measure(network, &checked, rows, &explained, &forms)
            .unwrap();
        let of = |get: fn(&[Thickness]) -> f64| -> Vec<f64> {
            found.iter().map(|forms| get(forms)).collect()
        };
        golden.close("thickness_gap", &of(|forms| forms[0].mean), 1e-9);
        golden.close("thickness_gap_min", &of(|forms| forms[0].least), 1e-9);
        golden.close("thickness_pr", &of(|forms| forms[1].mean), 1e-9);

        let found =
            measure::faithfulness::measure(network, &checked, rows, &explained, Counts::Every)
                .unwrap();
        let of = |get: fn(&Faithfulness) -> f64| -> Vec<f64> { found.iter().map(get).collect() };
        golden.close("dffot", &of(|row| row.dffot), 1e-9);
        // Removal works on single-precision rows.
        golden.close("comp", &of(|row| row.comprehensiveness), 1e-6);
        golden.close("suff", &of(|row| row.sufficiency), 1e-6);
    }
}

fn every() -> Vec<ExplanationConfig> {
    let path = integrated_gradients::IntegratedGradientsConfig {
        steps: 13,
        baseline: 0.1,
        ..integrated_gradients::IntegratedGradientsConfig::default()
    };
    let smooth = |base: ExplanationConfig| {
        ExplanationConfig::SmoothGrad(smooth_grad::SmoothGradConfig {
            base: Box::new(base),
            draws: 12,
            variance: Some(0.04),
        })
    };
    let mut all = vec![
        grad_of(Of::Probability),
        grad_of(Of::Logit),
        grad_of(Of::Loss),
        ExplanationConfig::GradInput(grad_input::GradInputConfig::default()),
        ExplanationConfig::IntegratedGradients(path),
        ExplanationConfig::Concept(concept::ConceptConfig {}),
    ];
    all.extend([
        smooth(all[0].clone()),
        smooth(all[4].clone()),
        smooth(all[5].clone()),
    ]);
    all
}

const REDUCTIONS: [ReductionConfig; 3] = [
    ReductionConfig::Absolute,
    ReductionConfig::NormalisedAbsolute,
    ReductionConfig::Signed,
];

/// The gradient in x of a weighted sum of importances, by the pullback and by recording.
fn both_ways(
    network: &Network,
    config: &ExplainConfig,
    schema: &Schema,
    x: &[f64],
) -> [Vec<f64>; 2] {
    let rows = x.len() / network.features();
    let ids: Vec<u64> = (0..rows as u64).collect();
    let classes: Vec<usize> = (0..rows).map(|row| row % network.classes()).collect();
    let binding = Binding {
        classes: &classes,
        ids: &ids,
        seed: Seed::new(3),
    };
    let explainer = config
        .check(schema)
        .unwrap()
        .bind(network, binding)
        .unwrap();
    let weights = |size: [usize; 2]| {
        let mut stream = Seed::new(4).stream("weights");
        let values = (0..size[0] * size[1]).map(|_| stream.normal()).collect();
        network.tensor(values, size)
    };
    let pulled = explainer.pull_back(network, network.batch(x), &mut |seen| {
        weights(seen.value.dims())
    });
    let tracked = network.batch(x).autodiff().require_grad();
    let importance = explainer.importance(network, tracked.clone());
    let weights = weights(importance.dims());
    // The logits of a ReLU network have a gradient that does not move with x; the second term keeps it recorded.
    let gradients = ((importance * weights).sum() + (tracked.clone() * 0.0).sum()).backward();
    [values(pulled), values(tracked.grad(&gradients).unwrap())]
}

#[test]
fn the_pullback_of_every_explanation_is_the_recorded_gradient() {
    for golden in both() {
        for explanation in every() {
            for reduce in REDUCTIONS {
                let config = ExplainConfig {
                    explanation: explanation.clone(),
                    reduce,
                    per: Per::Feature,
                };
                let [pulled, recorded] = both_ways(
                    &golden.network,
                    &config,
                    &golden.schema(),
                    golden.values("x"),
                );
                close(
                    &format!("{} {config:?}", golden.name),
                    &pulled,
                    &recorded,
                    1e-9,
                );
            }
        }
    }
}

#[test]
fn on_a_binary_relu_network_the_pullback_by_the_margin_is_the_recorded_gradient() {
    let model = ModelConfig::Mlp(MlpConfig {
        hidden: vec![9, 7],
        ..MlpConfig::default()
    });
    let network = model
        .network(&InputShape::Table, 6, 2, &mut Fresh::double(Seed::new(1)))
        .unwrap();
    let mut stream = Seed::new(2).stream("x");
    for scale in [1.0, 30.0] {
        let x: Vec<f64> = (0..40 * 6).map(|_| scale * stream.normal()).collect();
        for reduce in REDUCTIONS {
            let config = ExplainConfig {
                reduce,
                ..ExplainConfig::default()
            };
            let [pulled, recorded] = both_ways(&network, &config, &table(6), &x);
            close("binary", &pulled, &recorded, 1e-9);
        }
    }
}

#[test]
fn importances_of_columns_and_pixels_are_sums_over_their_features_and_have_their_pullback() {
    let [golden, _] = both();
    let mut schema = golden.schema();
    for (index, feature) in schema.features.iter_mut().enumerate() {
        feature.column = format!("column{}", index / 4);
    }
    let config = |per| ExplainConfig {
        per,
        ..ExplainConfig::default()
    };
    let explained = |per| {
        let checked = config(per).check(&schema).unwrap();
        let rows = Points {
            values: golden.values("x"),
            ids: &golden.ids(),
        };
        let explained = checked
            .attribute(&golden.network, rows, Seed::new(1))
            .unwrap();
        (checked.names(3), explained[0].importance.clone())
    };
    let (names, columns) = explained(Per::Column);
    let (_, features) = explained(Per::Feature);
    assert_eq!(names, ["column0", "column1", "column2"]);
    let sums: Vec<f64> = features.chunks(4).map(|part| part.iter().sum()).collect();
    close("columns", &columns, &sums, 1e-12);
    let [pulled, recorded] = both_ways(
        &golden.network,
        &config(Per::Column),
        &schema,
        golden.values("x"),
    );
    close("columns", &pulled, &recorded, 1e-9);

    let image = InputShape::Image {
        channels: 3,
        height: 8,
        width: 8,
    };
    let model = ModelConfig::Cnn(CnnConfig {
        channels: [3, 4],
        hidden: vec![6],
        activation: Activation::Softplus { beta: 2.0 },
    });
    let network = model
        .network(&image, 192, 3, &mut Fresh::double(Seed::new(1)))
        .unwrap();
    let schema = Schema::image(3, 8, 8, 255.0);
    let config = ExplainConfig {
        reduce: ReductionConfig::ChannelSum,
        ..ExplainConfig::default()
    };
    let mut stream = Seed::new(2).stream("x");
    let x: Vec<f64> = (0..2 * 192).map(|_| stream.uniform()).collect();
    let checked = config.check(&schema).unwrap();
    assert_eq!(checked.names(64)[9], "pixel[1,1]");
    assert_eq!(checked.inputs(9), [9, 73, 137]);
    let [pulled, recorded] = both_ways(&network, &config, &schema, &x);
    close("channel-sum", &pulled, &recorded, 1e-9);
}

#[test]
fn integrated_gradients_add_up_to_the_change_of_the_output() {
    for golden in both() {
        let config = signed(path(Of::Logit, 2000, integrated_gradients::Rule::Midpoint));
        let classes = golden.indices("pred");
        let attributions = attributed(&golden, &config, "pred", "x");
        let network = &golden.network;
        let logits = |x: Tensor<2>| values(network.logits(x));
        let (at_x, at_zero) = (
            logits(golden.batch("x")),
            logits(golden.batch("x").zeros_like()),
        );
        for (row, attributions) in attributions.chunks(network.features()).enumerate() {
            let place = row * network.classes() + classes[row];
            let sum: f64 = attributions.iter().sum();
            let change = at_x[place] - at_zero[place];
            // A kink of a ReLU within a step costs up to the step's length.
            assert!(
                (sum - change).abs() < 2e-3,
                "{}: {sum}, {change}",
                golden.name
            );
        }
    }
}

#[test]
fn smooth_grad_without_noise_is_its_base() {
    for golden in both() {
        for base in every().into_iter().take(6) {
            let smooth = ExplanationConfig::SmoothGrad(smooth_grad::SmoothGradConfig {
                base: Box::new(base.clone()),
                draws: 7,
                variance: Some(0.0),
            });
            let got = attributed(&golden, &signed(smooth), "pred", "x");
            let expected = attributed(&golden, &signed(base), "pred", "x");
            close(golden.name, &got, &expected, 1e-12);
        }
    }
}

#[test]
fn a_row_is_explained_with_the_same_bits_alone_and_in_any_batch() {
    let model = ModelConfig::Mlp(MlpConfig::default());
    let relu = model
        .network(&InputShape::Table, 28, 2, &mut Fresh::new(Seed::new(1)))
        .unwrap();
    let mut stream = Seed::new(2).stream("x");
    let x: Vec<f64> = (0..300 * 28).map(|_| stream.uniform()).collect();
    let ids: Vec<u64> = (0..300).map(|id| id * 7).collect();
    for network in [relu.smooth_twin(5.0), relu] {
        for explanation in every() {
            for reduce in REDUCTIONS {
                let config = ExplainConfig {
                    explanation: explanation.clone(),
                    reduce,
                    per: Per::Feature,
                };
                let checked = config.check(&table(28)).unwrap();
                let explain = |rows: std::ops::Range<usize>| {
                    let part = Points {
                        values: &x[rows.start * 28..rows.end * 28],
                        ids: &ids[rows],
                    };
                    checked.attribute(&network, part, Seed::new(5)).unwrap()
                };
                let together = explain(0..300);
                for range in [0..1, 7..8, 255..258, 299..300, 40..103] {
                    assert!(explain(range.clone()) == together[range], "{config:?}");
                }
            }
        }
    }
}

#[test]
fn settings_that_cannot_be_are_refused_with_a_sentence() {
    let schema = table(4);
    let refused = |text: &str| {
        let config: ExplainConfig = serde_json::from_str(text).unwrap();
        config.check(&schema).unwrap_err().to_string()
    };
    assert_eq!(
        refused(r#"{"explanation": {"kind": "integrated-gradients", "steps": 0}}"#),
        "`integrated-gradients.steps` must be in 1..=10000, got 0"
    );
    assert_eq!(
        refused(r#"{"explanation": {"kind": "smooth-grad", "variance": -1}}"#),
        "`smooth-grad.variance` must be finite and not negative, got -1"
    );
    assert_eq!(
        refused(r#"{"reduce": "channel-sum"}"#),
        "reduction `channel-sum` takes images, got a table"
    );
    for text in [
        r#"{"explanation": {"kind": "grad", "off": "logit"}}"#,
        r#"{"explanation": {"kind": "gradient"}}"#,
        r#"{"reduce": "squared"}"#,
        r#"{"explanations": {}}"#,
    ] {
        assert!(
            serde_json::from_str::<ExplainConfig>(text).is_err(),
            "{text}"
        );
    }
}

#[test]
fn every_explanation_and_reduction_of_the_registry_is_reachable_from_a_configuration() {
    use thickset::registry::{Family, family};
    for info in family(Family::Explanation) {
        let config: ExplanationConfig =
            serde_json::from_str(&format!(r#"{{"kind": "{}"}}"#, info.id)).unwrap();
        assert_eq!(config.kind(), info.id);
    }
    for info in family(Family::Reduction) {
        let config: ReductionConfig = serde_json::from_str(&format!("\"{}\"", info.id)).unwrap();
        assert_eq!(config.kind(), info.id);
    }
}

#[test]
fn precision_at_k_of_an_explanation_with_itself_is_one() {
    let [golden, _] = both();
    let importance = attributed(&golden, &ExplainConfig::default(), "pred", "x");
    let row = &importance[..golden.network.features()];
    assert!((precision_at_k::score(row, row, golden.k).unwrap() - 1.0).abs() < 1e-15);
}

#[test]
fn the_noise_of_smooth_grad_fits_the_kind_of_input() {
    let variance = |schema: &Schema| {
        let explain = ExplainConfig {
            explanation: "smooth-grad".parse().unwrap(),
            ..ExplainConfig::default()
        };
        let checked = explain.check(schema).unwrap();
        match &checked.config().explanation {
            ExplanationConfig::SmoothGrad(config) => config.variance,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(variance(&table(4)), Some(0.5));
    assert_eq!(variance(&Schema::image(1, 8, 8, 255.0)), Some(0.01));
    let graph = Schema::graph(5, -1.0, 1.0);
    assert_eq!(variance(&graph), Some(0.01));
    assert_eq!(variance(&Schema::pair(&graph)), Some(0.01));
}

#[test]
fn one_smooth_grad_around_another_draws_noise_of_its_own() {
    let [_, golden] = both();
    let explained = |text: &str| {
        let explain = ExplainConfig {
            explanation: text.parse().unwrap(),
            reduce: ReductionConfig::Signed,
            ..ExplainConfig::default()
        };
        let rows = Points {
            values: golden.values("x"),
            ids: &golden.ids(),
        };
        let checked = explain.check(&golden.schema()).unwrap();
        let explained = checked.attribute(&golden.network, rows, Seed::new(1));
        explained.unwrap()[0].importance.clone()
    };
    // With the same draw twice, its noise e would come to 2e, as if the variance were four times as large.
    let nested = explained(
        "{ kind = \"smooth-grad\", draws = 1, variance = 0.04, base = { kind = \"smooth-grad\", draws = 1, variance = 0.04 } }",
    );
    let doubled = explained("{ kind = \"smooth-grad\", draws = 1, variance = 0.16 }");
    let difference = nested.iter().zip(&doubled).map(|(a, b)| (a - b).abs());
    assert!(difference.fold(0.0, f64::max) > 1e-6);
}

#[test]
fn hessian_norms_are_pytorchs() {
    for golden in both() {
        let (network, n) = (&golden.network, golden.network.features());
        let pass = network.pass(golden.batch("x"));
        let classes = one_hot(
            &golden.indices("pred"),
            network.classes(),
            network.dtype(),
            &pass.logits().device(),
        );
        let gradient = pass.input_gradient(Output::Probability, classes);
        let norms = |rows: Vec<f64>, width: usize| -> Vec<f64> {
            let rows = rows.chunks(width);
            rows.map(|row| hessian_norm::score(row).unwrap()).collect()
        };
        let hessian = values(gradient.hessian().reshape([golden.rows, n * n]));
        golden.close("hessian_fro", &norms(hessian, n * n), 1e-9);
        let product = gradient.hessian_product(golden.batch("est_h_direction"));
        golden.close("est_h_exact", &norms(values(product), n), 1e-9);
    }
}
