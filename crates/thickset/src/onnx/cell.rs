//! Numbers that depend on one column of the table alone: what an encoder makes of it before columns meet.
//!
//! A pipeline's graph begins with such cells: a column, filled in where it is missing, scaled; or 0 and 1 for each of its values.
//! They are kept as expressions until something mixes columns, and are then taken apart into an encoding and the layers that are
//! left ([`super::columns`]).

use std::collections::BTreeSet;
use std::rc::Rc;

use super::by_key::ByKey;
use super::fold::{of_two, unary};

/// Expressions larger than this are computed by layers instead, so that each stays quick to walk and to evaluate.
const MOST_PARTS: usize = 2000;
/// And those nested deeper than this.
const MOST_DEPTH: usize = 60;

/// A value of a category.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Text(String),
    Whole(i64),
    /// A text that counts as another value, mostly the empty one of a missing value.
    Alias {
        from: String,
        of: String,
    },
}

impl Key {
    /// As a table's file spells it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Whole(number) => number.to_string(),
            Self::Alias { from, .. } => from.clone(),
        }
    }
}

/// An expression of one column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// The column's number.
    Column(usize),
    /// The column's text, where some texts count as others.
    Text {
        column: usize,
        replaced: Vec<(String, String)>,
    },
    Constant(f64),
    /// A number for each of some values of the column, and one for all others.
    Lookup {
        column: usize,
        keys: Rc<Vec<Key>>,
        values: ByKey,
        otherwise: f64,
    },
    /// One number stands in for another, mostly for a missing one.
    Replace {
        of: Rc<Cell>,
        missing: f64,
        with: f64,
    },
    Unary(Rc<str>, Rc<Cell>),
    Clip {
        of: Rc<Cell>,
        least: f64,
        most: f64,
    },
    Binary(Rc<str>, Rc<Cell>, Rc<Cell>),
    /// The second where the first is not 0, else the third.
    Select(Rc<[Cell; 3]>),
}

/// `slope x + shift` of a column's number `x`, which another number stands in for where it is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) column: usize,
    pub(super) slope: f64,
    pub(super) shift: f64,
    pub(super) stands_in: Option<f64>,
}

impl Cell {
    /// The function applied; categories stay categories.
    pub(super) fn unary(self, operator: &str) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(unary(operator, value)),
            Self::Lookup {
                column,
                keys,
                values,
                otherwise,
            } => Self::Lookup {
                column,
                keys,
                values: values.iter().map(|value| unary(operator, value)).collect(),
                otherwise: unary(operator, otherwise),
            },
            other => Self::Unary(operator.into(), Rc::new(other)),
        }
    }

    /// The function of two applied; `None` if they are of different columns.
    pub(super) fn binary(operator: &str, a: &Self, b: &Self) -> Option<Self> {
        let (first, second) = (a.column(), b.column());
        if first.is_some() && second.is_some() && first != second {
            return None;
        }
        match (a, b) {
            (Self::Constant(a), Self::Constant(b)) => {
                Some(Self::Constant(of_two(operator, *a, *b)))
            }
            (_, Self::Constant(0.0)) | (Self::Constant(0.0), _) if operator == "And" => {
                Some(Self::Constant(0.0))
            }
            // A number divided by itself, as a Box-Cox transform writes a one.
            _ if operator == "Div" && a == b => Some(Self::Constant(1.0)),
            (Self::Lookup { .. }, Self::Constant(b)) => Some(a.mapped(|a| of_two(operator, a, *b))),
            (Self::Constant(a), Self::Lookup { .. }) => Some(b.mapped(|b| of_two(operator, *a, b))),
            _ => Some(Self::Binary(
                operator.into(),
                Rc::new(a.clone()),
                Rc::new(b.clone()),
            )),
        }
    }

    fn mapped(&self, map: impl Fn(f64) -> f64) -> Self {
        let Self::Lookup {
            column,
            keys,
            values,
            otherwise,
        } = self
        else {
            return self.clone();
        };
        Self::Lookup {
            column: *column,
            keys: Rc::clone(keys),
            values: values.iter().map(&map).collect(),
            otherwise: map(*otherwise),
        }
    }

    /// The column it depends on.
    pub(super) fn column(&self) -> Option<usize> {
        match self {
            Self::Column(column) | Self::Text { column, .. } | Self::Lookup { column, .. } => {
                Some(*column)
            }
            Self::Constant(_) => None,
            Self::Replace { of, .. } | Self::Clip { of, .. } | Self::Unary(_, of) => of.column(),
            Self::Binary(_, a, b) => a.column().or_else(|| b.column()),
            Self::Select(parts) => parts.iter().find_map(Self::column),
        }
    }

    /// Whether it is too large to be kept as an expression.
    pub(super) fn is_too_large(&self) -> bool {
        fn count(cell: &Cell, depth: usize, parts: &mut usize) -> bool {
            *parts += 1;
            if depth > MOST_DEPTH || *parts > MOST_PARTS {
                return true;
            }
            match cell {
                Cell::Replace { of, .. } | Cell::Clip { of, .. } | Cell::Unary(_, of) => {
                    count(of, depth + 1, parts)
                }
                Cell::Binary(_, a, b) => count(a, depth + 1, parts) || count(b, depth + 1, parts),
                Cell::Select(inner) => inner.iter().any(|part| count(part, depth + 1, parts)),
                _ => false,
            }
        }
        count(self, 0, &mut 0)
    }

    /// Whether it cuts the column's number to a whole one.
    pub(super) fn is_cut(&self) -> bool {
        match self {
            Self::Unary(operator, of) => &**operator == "ToWhole" || of.is_cut(),
            Self::Replace { of, .. } | Self::Clip { of, .. } => of.is_cut(),
            Self::Binary(_, a, b) => a.is_cut() || b.is_cut(),
            Self::Select(parts) => parts.iter().any(Self::is_cut),
            _ => false,
        }
    }

    /// Its value where the column's number is `x`.
    #[expect(clippy::float_cmp, reason = "a stand-in replaces one number exactly")]
    pub(super) fn value(&self, x: f64) -> f64 {
        match self {
            Self::Column(_) => x,
            Self::Text { .. } => f64::NAN,
            Self::Constant(value) => *value,
            Self::Lookup {
                keys,
                values,
                otherwise,
                ..
            } => {
                #[expect(clippy::cast_precision_loss, reason = "categories are small numbers")]
                let is_it = |key: &Key| matches!(key, Key::Whole(whole) if *whole as f64 == x);
                keys.iter()
                    .position(is_it)
                    .map_or(*otherwise, |place| values.at(place))
            }
            Self::Replace { of, missing, with } => {
                let value = of.value(x);
                let is_missing = value == *missing || (value.is_nan() && missing.is_nan());
                if is_missing { *with } else { value }
            }
            Self::Unary(operator, of) => unary(operator, of.value(x)),
            Self::Clip { of, least, most } => of.value(x).max(*least).min(*most),
            Self::Binary(operator, a, b) => of_two(operator, a.value(x), b.value(x)),
            Self::Select(parts) => {
                let place = if parts[0].value(x) == 0.0 { 2 } else { 1 };
                parts[place].value(x)
            }
        }
    }

    /// The line that it is, if it is one.
    pub(super) fn line(&self) -> Option<Line> {
        match self {
            Self::Column(column) => Some(Line {
                column: *column,
                slope: 1.0,
                shift: 0.0,
                stands_in: None,
            }),
            Self::Replace { of, missing, with } if missing.is_nan() => {
                let line = of
                    .line()
                    .filter(|line| line.stands_in.is_none() && line.slope != 0.0)?;
                let stands_in = Some((with - line.shift) / line.slope);
                Some(Line { stands_in, ..line })
            }
            Self::Unary(operator, of) if &**operator == "Neg" => {
                of.line().map(|line| line.scaled(-1.0))
            }
            Self::Binary(operator, a, b) => {
                let (a, b) = match (&**a, &**b) {
                    (Self::Constant(a), b) => (Err(*a), b.line()?),
                    (a, Self::Constant(b)) => (Ok(*b), a.line()?),
                    _ => return None,
                };
                match (&**operator, a) {
                    ("Add", Ok(c) | Err(c)) => Some(b.shifted(c)),
                    ("Sub", Ok(c)) => Some(b.shifted(-c)),
                    ("Sub", Err(c)) => Some(b.scaled(-1.0).shifted(c)),
                    ("Mul", Ok(c) | Err(c)) if c != 0.0 => Some(b.scaled(c)),
                    ("Div", Ok(c)) if c != 0.0 => Some(b.scaled(1.0 / c)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The lines that it is made of, the innermost first.
    pub(super) fn lines(&self, found: &mut Vec<Self>) {
        /// What is made of more is no transform that is looked for.
        const MOST: usize = 16;
        match self {
            Self::Replace { of, .. } | Self::Clip { of, .. } | Self::Unary(_, of) => {
                of.lines(found);
            }
            Self::Binary(_, a, b) => {
                a.lines(found);
                b.lines(found);
            }
            Self::Select(parts) => parts.iter().for_each(|part| part.lines(found)),
            _ => {}
        }
        if found.len() < MOST && self.line().is_some() && !found.contains(self) {
            found.push(self.clone());
        }
    }

    /// What stands in for the column's number where it is missing, if something does before anything else is computed.
    pub(super) fn filled_with(&self) -> Option<f64> {
        match self {
            Self::Replace { of, missing, with } if missing.is_nan() => match &**of {
                Self::Column(_) => Some(*with),
                of => of.filled_with(),
            },
            Self::Replace { of, .. } | Self::Clip { of, .. } | Self::Unary(_, of) => {
                of.filled_with()
            }
            Self::Binary(_, a, b) => a.filled_with().or_else(|| b.filled_with()),
            Self::Select(parts) => parts.iter().find_map(Self::filled_with),
            _ => None,
        }
    }

    /// Every number that something is raised to.
    pub(super) fn exponents(&self, found: &mut BTreeSet<u64>) {
        match self {
            Self::Binary(operator, a, b) => {
                if let ("Pow", Self::Constant(exponent)) = (&**operator, &**b) {
                    found.insert(exponent.to_bits());
                }
                a.exponents(found);
                b.exponents(found);
            }
            Self::Replace { of, .. } | Self::Clip { of, .. } | Self::Unary(_, of) => {
                of.exponents(found);
            }
            Self::Select(parts) => parts.iter().for_each(|part| part.exponents(found)),
            _ => {}
        }
    }
}

impl Line {
    fn scaled(self, factor: f64) -> Self {
        Self {
            slope: self.slope * factor,
            shift: self.shift * factor,
            ..self
        }
    }

    fn shifted(self, shift: f64) -> Self {
        Self {
            shift: self.shift + shift,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(operator: &str, a: Cell, b: Cell) -> Cell {
        Cell::binary(operator, &a, &b).unwrap()
    }

    #[test]
    fn a_scaler_of_a_column_that_is_filled_in_is_a_line() {
        let filled = Cell::Replace {
            of: Rc::new(Cell::Column(3)),
            missing: f64::NAN,
            with: 51.0,
        };
        let centred = binary("Sub", filled, Cell::Constant(50.0));
        let scaled = binary("Mul", centred, Cell::Constant(0.25));
        let line = scaled.line().unwrap();
        assert_eq!((line.column, line.slope, line.shift), (3, 0.25, -12.5));
        assert_eq!(line.stands_in, Some(51.0));
        assert!((scaled.value(f64::NAN) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn what_is_done_to_a_category_is_done_to_its_numbers() {
        let keys = Rc::new(vec![Key::Text("a".to_owned()), Key::Text("b".to_owned())]);
        let cell = Cell::Lookup {
            column: 0,
            keys,
            values: [0.0, 1.0].into_iter().collect(),
            otherwise: 0.0,
        };
        let Cell::Lookup {
            values, otherwise, ..
        } = binary("Sub", Cell::Constant(1.0), cell)
        else {
            panic!("a category")
        };
        let values: Vec<f64> = values.iter().collect();
        assert_eq!((values, otherwise), (vec![1.0, 0.0], 1.0));
    }

    #[test]
    fn cells_of_two_columns_do_not_make_a_cell() {
        assert!(Cell::binary("Mul", &Cell::Column(0), &Cell::Column(1)).is_none());
        let mut cell = Cell::Column(0);
        for _ in 0..70 {
            cell = binary("Mul", cell.clone(), cell);
            if cell.is_too_large() {
                return;
            }
        }
        panic!("an expression that doubles each time becomes too large")
    }
}
