//! Radii and worst cases of two trained networks, found by another program.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::ball::MoveNorm;
use super::super::explained::{Explained, Ranked};
use super::super::network::{DenseLayer, DenseNetwork};
use super::super::result::Status;
use super::super::rounding::Arithmetic;
use super::{free_moves, largest, radius, with_case, worst_case};

fn folder() -> Option<PathBuf> {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/research/certify");
    let folder = std::env::var_os("THICKSET_CERTIFY_REFERENCE").map_or_else(usual, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: {} is absent", folder.display());
    None
}

/// A network and rows: five counts, then numbers.
fn read(path: &Path) -> (DenseNetwork, Vec<Vec<f64>>) {
    let bytes = fs::read(path).unwrap();
    let words: Vec<[u8; 8]> = bytes
        .chunks_exact(8)
        .map(|word| word.try_into().unwrap())
        .collect();
    let count = |place: usize| usize::try_from(u64::from_le_bytes(words[place])).unwrap();
    let (features, first, second, rows) = (count(0), count(1), count(2), count(3));
    let mut numbers = words[5..].iter().map(|word| f64::from_le_bytes(*word));
    let mut take = |count: usize| -> Vec<f64> { numbers.by_ref().take(count).collect() };
    let mut dense = |inputs: usize, outputs: usize| DenseLayer {
        weight: take(inputs * outputs),
        bias: take(outputs),
        inputs,
    };
    let hidden = vec![dense(features, first), dense(first, second)];
    // The file has the difference of the logits; the other logit is zero.
    let mut head = dense(second, 1);
    head.weight.extend(vec![0.0; second]);
    head.bias.push(0.0);
    let values = take(rows * features);
    let network = DenseNetwork {
        hidden,
        head,
        arithmetic: Arithmetic::DOUBLE,
    };
    (
        network,
        values.chunks(features).map(<[f64]>::to_vec).collect(),
    )
}

/// The trained network of 28 features, 64 and 32 neurons, with its rows.
pub(super) fn adult() -> Option<(DenseNetwork, Vec<Vec<f64>>)> {
    Some(read(&folder()?.join("adult_s0_vanilla.bin")))
}

fn csv(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().map(cells).collect()
}

/// Rows of each network that are compared.
const ROWS: usize = 120;

#[test]
fn radii_are_those_of_the_reference() {
    let Some(folder) = folder() else { return };
    for name in ["adult_s0_vanilla", "bank_s0_r2et-no-h"] {
        let (network, rows) = read(&folder.join(format!("{name}.bin")));
        let expected = csv(&folder.join(format!("EH_{name}.csv")));
        let moves = free_moves(MoveNorm::L2, 0.5, network.features(), true);
        for (x, line) in rows.iter().zip(&expected).take(ROWS) {
            let class = largest(&network.run(x).0);
            let explained = Explained::new(&network, Ranked::Probability, class).unwrap();
            let found = with_case(&network, &explained, &moves, x, 8, radius);
            let seen = format!("{name}: {line:?}, {:?} {}", found.status, found.certified);
            if line[1] == "exact" {
                // The reference stops two millionths short of what it found.
                let reference: f64 = line[2].parse().unwrap();
                let stopped = found.certified * (1.0 - 2e-6);
                assert_eq!(found.status, Status::Exact, "{seen}");
                assert!((stopped - reference).abs() <= 1e-6, "{seen}");
            } else {
                assert_eq!(found.status, Status::Certified, "{seen}");
            }
        }
    }
}

#[test]
fn worst_cases_are_those_of_the_reference() {
    let Some(folder) = folder() else { return };
    let (network, rows) = read(&folder.join("adult_s0_vanilla.bin"));
    for line in csv(&folder.join("WH_adult_s0_vanilla.csv"))
        .iter()
        .take(ROWS)
    {
        let x = &rows[line[0].parse::<usize>().unwrap()];
        let class = largest(&network.run(x).0);
        let explained = Explained::new(&network, Ranked::Probability, class).unwrap();
        let within = line[1].parse().unwrap();
        let moves = free_moves(MoveNorm::L2, within, network.features(), true);
        let found = with_case(&network, &explained, &moves, x, 8, worst_case);
        let lost: usize = line[3].parse().unwrap();
        if line[2] == "exact" && found.status == Status::Exact {
            assert_eq!(8 - found.kept_at_least, lost, "{line:?}, {found:?}");
        }
        assert!(8 - found.kept_at_least >= lost, "{line:?}, {found:?}");
    }
}
