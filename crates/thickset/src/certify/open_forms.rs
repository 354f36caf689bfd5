//! The pairs whose order a part of the search leaves open, bounded once for every number of swaps that is asked about.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, vectorised};

use super::case::Case;
use super::pairs::{Form, Gradient};
use super::swaps::OpenPairs;

/// The pairs of a part that the first bounds leave open, and what sharper bounds say of those that were asked about.
pub(super) struct OpenForms {
    /// Bound, salient feature and other one, the most open pair first.
    edges: Vec<(f64, usize, usize)>,
    /// Of each pair its sharper bound, whether it is still open, and the form that leaves it so.
    sharpened: Vec<Option<(f64, bool, Form)>>,
}

impl OpenForms {
    pub(super) fn new(case: &Case<'_>, gradient: &Gradient<'_>) -> Self {
        let mut edges = vectorised(AllPairs { case, gradient });
        edges.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        Self {
            edges,
            sharpened: vec![None; case.salient.len() * case.others.len()],
        }
    }

    /// A form by which t features could still be lost.
    pub(super) fn lost(
        &mut self,
        case: &Case<'_>,
        gradient: &Gradient<'_>,
        t: usize,
    ) -> Option<Form> {
        vectorised(Losing {
            of: self,
            case,
            gradient,
            t,
        })
    }
}

/// The pairs that the first bounds leave open.
struct AllPairs<'c, 'a> {
    case: &'c Case<'a>,
    gradient: &'c Gradient<'a>,
}

impl VectorLoop for AllPairs<'_, '_> {
    type Output = Vec<(f64, usize, usize)>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { case, gradient } = self;
        let mut edges = Vec::new();
        for (row, &salient) in case.salient.iter().enumerate() {
            for (column, &other) in case.others.iter().enumerate() {
                if gradient.is_apart(salient, other) {
                    continue;
                }
                let (bound, form) = gradient.weakest(salient, other, false);
                if bound <= gradient.needed(form.salient, form.other) {
                    edges.push((bound, row, column));
                }
            }
        }
        edges
    }
}

/// Whether t features could be lost.
struct Losing<'f, 'c, 'a> {
    of: &'f mut OpenForms,
    case: &'c Case<'a>,
    gradient: &'c Gradient<'a>,
    t: usize,
}

impl VectorLoop for Losing<'_, '_, '_> {
    type Output = Option<Form>;

    #[inline(always)]
    fn run(self) -> Option<Form> {
        let Self {
            of: OpenForms { edges, sharpened },
            case,
            gradient,
            t,
        } = self;
        let columns = case.others.len();
        if t == 1 {
            // One open pair is enough: the most open one first.
            for &(_, row, column) in &*edges {
                let (_, is_open, form) = sharpen(sharpened, case, gradient, [row, column]);
                if is_open {
                    return Some(form);
                }
            }
            return None;
        }
        let mut open = OpenPairs::new(case.salient.len(), columns);
        for &(_, row, column) in &*edges {
            open.open(row, column);
        }
        loop {
            let complete = open.complete(t)?;
            // One closed pair breaks it: the one that is nearest to closed first.
            let mut mildest: Option<(f64, Form)> = None;
            let mut is_broken = false;
            for &(_, row, column) in edges.iter().rev() {
                if !complete.has(row, column) {
                    continue;
                }
                let (bound, is_open, form) = sharpen(sharpened, case, gradient, [row, column]);
                if !is_open {
                    open.close(row, column);
                    is_broken = true;
                    break;
                }
                if mildest.is_none_or(|(most, _)| bound > most) {
                    mildest = Some((bound, form));
                }
            }
            if !is_broken {
                return mildest.map(|(_, form)| form);
            }
        }
    }
}

/// The sharper bound of a pair, found once.
#[inline(always)]
fn sharpen(
    sharpened: &mut [Option<(f64, bool, Form)>],
    case: &Case<'_>,
    gradient: &Gradient<'_>,
    [row, column]: [usize; 2],
) -> (f64, bool, Form) {
    let known = &mut sharpened[row * case.others.len() + column];
    if let Some(known) = known {
        return *known;
    }
    let (bound, form) = gradient.weakest(case.salient[row], case.others[column], true);
    let is_open = bound <= gradient.needed(form.salient, form.other);
    *known = Some((bound, is_open, form));
    (bound, is_open, form)
}
