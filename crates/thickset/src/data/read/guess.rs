//! Guessing what a text file's columns are from its first records: numbers as programs write them, numbers as people write
//! them, dates, times, or texts.
//!
//! Some texts can be read in two ways: `1,234` and `03/04/2024`. What the file's other columns decide then holds for these too; if
//! none decides, the file's delimiter does, and a note says so.

use std::collections::BTreeSet;

use csv::ByteRecord;

use super::number_form::{AmountForm, DateOrder, NumberForm, is_no_number, take_apart};
use super::read_rule::ReadRule;
use super::sniff::is_missing;
use super::table::{ColumnType, parse_number};

/// In the window, a column with at least this share of numbers, and more than [`FEW_VALUES`] different ones, is a number
/// column with an error in it; otherwise it is a category.
const NUMBER_SHARE: f64 = 0.9;

/// A column with at most this many different numbers beside texts reads as a category, like `1`, `2`, `3+`.
const FEW_VALUES: usize = 20;

/// With fewer cells than this, eight digits are never called a date.
const LEAST_COMPACT: usize = 20;

/// The decimal and the thousands mark of amounts. The first that fits wins, with a decimal point or with a decimal comma before
/// the others.
const POINT: [(char, Option<char>); 4] = [
    ('.', None),
    ('.', Some(',')),
    ('.', Some(' ')),
    ('.', Some('\'')),
];
const COMMA: [(char, Option<char>); 4] = [
    (',', None),
    (',', Some('.')),
    (',', Some(' ')),
    (',', Some('\'')),
];

/// What a column is taken for.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    pub kind: ColumnType,
    /// How its numbers are written, if not as programs do.
    pub form: Option<NumberForm>,
    /// What a person should know of it: the rest of a sentence that begins with the column.
    pub note: Option<&'static str>,
}

impl Guess {
    const TEXT: Self = Self {
        kind: ColumnType::Text,
        form: None,
        note: None,
    };
    const NUMBER: Self = Self {
        kind: ColumnType::Number,
        form: None,
        note: None,
    };

    fn form(form: NumberForm) -> Self {
        Self {
            form: Some(form),
            ..Self::NUMBER
        }
    }
}

/// What the columns at these positions are.
pub fn columns(
    window: &[ByteRecord],
    positions: &[usize],
    rule: &ReadRule,
    delimiter: u8,
) -> Vec<Guess> {
    let cells: Vec<Cells> = positions
        .iter()
        .map(|&position| Cells::new(window, position, &rule.missing))
        .collect();
    let habits = Habits::of(&cells, rule, delimiter);
    cells.iter().map(|cells| cells.guess(habits)).collect()
}

/// How the file writes what can be read in two ways.
#[derive(Clone, Copy)]
struct Habits {
    /// A comma is the decimal mark, because the user or a column says so.
    comma: bool,
    /// A comma probably is.
    likely_comma: bool,
    /// Dates begin with the day rather than with the month; `None` if nothing decides.
    day_first: Option<bool>,
    semicolons: bool,
}

impl Habits {
    fn of(cells: &[Cells], rule: &ReadRule, delimiter: u8) -> Self {
        let semicolons = delimiter == b';';
        let writes = |comma| cells.iter().any(|cells| cells.writes_decimals(comma));
        let comma = rule
            .decimal
            .map_or_else(|| writes(true), |mark| mark == ',');
        let point = rule
            .decimal
            .map_or_else(|| writes(false), |mark| mark == '.');
        let only = |order, other| {
            let fits = |cells: &&Cells| cells.are_dates(order) && !cells.are_dates(other);
            cells.iter().find(fits).is_some()
        };
        let day = only(DateOrder::DayMonthYear, DateOrder::MonthDayYear);
        let month = only(DateOrder::MonthDayYear, DateOrder::DayMonthYear);
        Self {
            comma,
            likely_comma: comma || (semicolons && !point),
            day_first: rule.day_first.or((day != month).then_some(day)),
            semicolons,
        }
    }
}

/// The texts of a column that are not missing.
struct Cells<'a> {
    texts: Vec<&'a str>,
    /// Words like `unknown`, which are gaps among many numbers and a category among few.
    words: usize,
    /// Different texts, counted up to one more than [`FEW_VALUES`].
    different: usize,
}

impl<'a> Cells<'a> {
    fn new(window: &'a [ByteRecord], position: usize, missing: &[String]) -> Self {
        let (mut texts, mut words) = (Vec::new(), 0);
        let mut different = BTreeSet::new();
        for record in window {
            // Bytes that are not text are reported, with their line, when the row is stored.
            let Some(Ok(text)) = record.get(position).map(std::str::from_utf8) else {
                continue;
            };
            if is_missing(text, missing) {
                continue;
            }
            if is_no_number(text) {
                // A dash or the like is no category.
                words += usize::from(text.chars().any(char::is_alphabetic));
                continue;
            }
            if different.len() <= FEW_VALUES {
                different.insert(text);
            }
            texts.push(text);
        }
        Self {
            texts,
            words,
            different: different.len(),
        }
    }

    /// How many cells are numbers of this form.
    fn count(&self, form: &NumberForm) -> usize {
        self.texts
            .iter()
            .filter(|text| form.parse(text).is_some())
            .count()
    }

    /// Whether so many numbers make a column of numbers.
    #[expect(clippy::cast_precision_loss, reason = "at most a thousand cells")]
    fn are_enough(&self, numbers: usize) -> bool {
        let few = self.different <= FEW_VALUES;
        let share = numbers as f64 / self.texts.len().max(1) as f64;
        let words = few && self.words > 0;
        numbers > 0 && ((numbers == self.texts.len() && !words) || (share >= NUMBER_SHARE && !few))
    }

    fn are_dates(&self, order: DateOrder) -> bool {
        let found = self.count(&NumberForm::Date { order });
        found > 0 && found == self.texts.len()
    }

    /// The unit beside the numbers, empty where there is none; `None` if the texts are no amounts of one unit.
    fn unit(&self) -> Option<String> {
        let mut unit = String::new();
        let mut amounts = 0;
        for written in self.texts.iter().filter_map(|text| take_apart(text)) {
            amounts += 1;
            if written.unit.is_empty() {
                continue;
            }
            if unit.is_empty() {
                written.unit.clone_into(&mut unit);
            } else if unit != written.unit {
                return None;
            }
        }
        self.are_enough(amounts).then_some(unit)
    }

    /// The forms of amounts that fit most cells.
    fn amounts(&self) -> Vec<AmountForm> {
        let Some(unit) = self.unit() else {
            return Vec::new();
        };
        let forms = POINT
            .iter()
            .chain(&COMMA)
            .map(|&(decimal, thousands)| AmountForm {
                decimal,
                thousands,
                unit: (!unit.is_empty()).then(|| unit.clone()),
            });
        let forms: Vec<(usize, AmountForm)> = forms
            .map(|form| (self.count(&NumberForm::Amount(form.clone())), form))
            .collect();
        let most = forms.iter().map(|(count, _)| *count).max().unwrap_or(0);
        if !self.are_enough(most) {
            return Vec::new();
        }
        let best = forms.into_iter().filter(|(count, _)| *count == most);
        best.map(|(_, form)| form).collect()
    }

    /// Whether a comma (or a point) stands before decimals here, and cannot be anything else.
    fn writes_decimals(&self, comma: bool) -> bool {
        let mark = if comma { ',' } else { '.' };
        let forms = self.amounts();
        self.texts.iter().any(|text| text.contains(mark))
            && !forms.is_empty()
            && forms.iter().all(|form| form.decimal == mark)
    }

    /// Whether some number of four digits or more has no thousands mark.
    fn has_long_numbers(&self) -> bool {
        let is_long = |text: &&str| {
            let digits = text.split(['.', ',']).next().unwrap_or_default();
            digits.chars().filter(char::is_ascii_digit).count() > 3
                && !digits.contains([' ', '\'', '\u{a0}', '\u{202f}', '\u{2019}'])
        };
        self.texts
            .iter()
            .any(|text| is_long(&text.trim_matches(|letter: char| !letter.is_ascii_digit())))
    }

    fn guess(&self, habits: Habits) -> Guess {
        let plain = self
            .texts
            .iter()
            .filter(|text| parse_number(text).is_some())
            .count();
        if self.are_enough(plain) {
            return self.plain(habits);
        }
        if let Some(guess) = self.amount(habits) {
            return guess;
        }
        self.date(habits).unwrap_or_else(|| {
            if self.are_enough(self.count(&NumberForm::Clock)) {
                Guess::form(NumberForm::Clock)
            } else {
                Guess::TEXT
            }
        })
    }

    /// Numbers as programs write them, unless they are codes or dates, or their points are thousands marks.
    fn plain(&self, habits: Habits) -> Guess {
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if self
            .texts
            .iter()
            .any(|text| text.len() > 1 && text.starts_with('0') && is_digits(text))
        {
            return Guess {
                note: Some(
                    "has numbers with leading zeros, as codes have; it is read as a category",
                ),
                ..Guess::TEXT
            };
        }
        let compact = NumberForm::Date {
            order: DateOrder::Compact,
        };
        let is_year = |text: &&str| ["19", "20"].iter().any(|century| text.starts_with(century));
        if self.texts.len() >= LEAST_COMPACT
            && self.different > FEW_VALUES
            && self.texts.iter().all(is_year)
            && self.count(&compact) == self.texts.len()
        {
            return Guess::form(compact);
        }
        let grouped = AmountForm {
            decimal: ',',
            thousands: Some('.'),
            unit: None,
        };
        let has_points = self.texts.iter().any(|text| text.contains('.'));
        let form = NumberForm::Amount(grouped);
        if habits.comma
            && has_points
            && !self.has_long_numbers()
            && self.count(&form) == self.texts.len()
        {
            return Guess {
                note: Some(
                    "has points only before three digits, in a file with decimal commas; they are read as thousands marks",
                ),
                ..Guess::form(form)
            };
        }
        Guess::NUMBER
    }

    fn amount(&self, habits: Habits) -> Option<Guess> {
        let mut forms = self.amounts();
        // Where some numbers of four digits have no mark, the mark of others is not one of thousands, if it can be another.
        if self.has_long_numbers() && forms.iter().any(|form| form.thousands.is_none()) {
            forms.retain(|form| form.thousands.is_none());
        }
        let has = |mark| self.texts.iter().any(|text| text.contains(mark));
        let is_open = |forms: &[AmountForm]| {
            let by = |decimal| forms.iter().any(|form| form.decimal == decimal);
            by('.') && by(',') && has(',')
        };
        let marks = if habits.likely_comma && (has(',') || habits.comma) {
            COMMA.iter().chain(&POINT)
        } else {
            POINT.iter().chain(&COMMA)
        };
        let mut marks = marks.copied();
        let chosen = marks.find_map(|(decimal, thousands)| {
            forms
                .iter()
                .find(|form| form.decimal == decimal && form.thousands == thousands)
        })?;
        let note = if !is_open(&forms) || habits.comma {
            None
        } else if chosen.decimal == ',' {
            Some(
                "has commas only before three digits; they are read as decimal commas (`--decimal .` reads them as thousands marks)",
            )
        } else {
            Some(
                "has commas only before three digits; they are read as thousands marks (`--decimal ,` reads them as decimal commas)",
            )
        };
        Some(Guess {
            note,
            ..Guess::form(NumberForm::Amount(chosen.clone()))
        })
    }

    fn date(&self, habits: Habits) -> Option<Guess> {
        let orders: Vec<DateOrder> = DateOrder::ALL
            .into_iter()
            .filter(|&order| order != DateOrder::Compact)
            .filter(|&order| self.are_enough(self.count(&NumberForm::Date { order })))
            .collect();
        let (first, rest) = orders.split_first()?;
        let form = |order| Guess::form(NumberForm::Date { order });
        if rest.is_empty() || *first == DateOrder::YearMonthDay {
            return Some(form(*first));
        }
        let points = self
            .texts
            .iter()
            .any(|text| text.contains('.') && !text.contains('/'));
        let day_first = habits
            .day_first
            .or((points || habits.semicolons).then_some(true));
        Some(match day_first {
            Some(true) => form(DateOrder::DayMonthYear),
            Some(false) => form(DateOrder::MonthDayYear),
            None => Guess {
                note: Some(
                    "has dates that could begin with the day or with the month; they are read as month, day, year (`--day-first` reads them as day, month, year)",
                ),
                ..form(DateOrder::MonthDayYear)
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guesses for columns of these cells, in a file with this delimiter.
    fn guess_all(columns_of: &[&[&str]], delimiter: u8, rule: &ReadRule) -> Vec<Guess> {
        let rows = columns_of
            .iter()
            .map(|cells| cells.len())
            .max()
            .unwrap_or(0);
        let window: Vec<ByteRecord> = (0..rows)
            .map(|row| {
                let cells = columns_of.iter().map(|cells| cells[row % cells.len()]);
                ByteRecord::from(cells.collect::<Vec<&str>>())
            })
            .collect();
        let positions: Vec<usize> = (0..columns_of.len()).collect();
        columns(&window, &positions, rule, delimiter)
    }

    fn guess(cells: &[&str]) -> Guess {
        guess_all(&[cells], b',', &ReadRule::default()).remove(0)
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "a column of plain numbers has no form"
    )]
    fn amount(decimal: char, thousands: Option<char>, unit: &str) -> Option<NumberForm> {
        Some(NumberForm::Amount(AmountForm {
            decimal,
            thousands,
            unit: (!unit.is_empty()).then(|| unit.to_owned()),
        }))
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "a column of plain numbers has no form"
    )]
    fn date(order: DateOrder) -> Option<NumberForm> {
        Some(NumberForm::Date { order })
    }

    #[test]
    fn columns_of_other_people_are_what_they_are() {
        for (cells, kind, form) in [
            (&["1", "2.5", "-3e5"][..], ColumnType::Number, None),
            (
                &["1.234,56", "7,1", "12"],
                ColumnType::Number,
                amount(',', Some('.'), ""),
            ),
            (
                &["1234,56", "7,1"],
                ColumnType::Number,
                amount(',', None, ""),
            ),
            (
                &["1,234.50", "7.1"],
                ColumnType::Number,
                amount('.', Some(','), ""),
            ),
            (
                &["1,234,567", "7"],
                ColumnType::Number,
                amount('.', Some(','), ""),
            ),
            (
                &["1 234,5", "7,25"],
                ColumnType::Number,
                amount(',', Some(' '), ""),
            ),
            (
                &["$1,234.50", "-$7.10"],
                ColumnType::Number,
                amount('.', Some(','), "$"),
            ),
            (&["12%", "7.5%"], ColumnType::Number, amount('.', None, "%")),
            (
                &["12,5 %", "7,25 %"],
                ColumnType::Number,
                amount(',', None, "%"),
            ),
            (
                &["36 months", "60 months"],
                ColumnType::Number,
                amount('.', None, "months"),
            ),
            (
                &["0,125", "0,250"],
                ColumnType::Number,
                amount(',', None, ""),
            ),
            (
                &["2024-01-31", "2023-12-01"],
                ColumnType::Number,
                date(DateOrder::YearMonthDay),
            ),
            (
                &["2024-01-31T10:00:00Z", "2023-12-01 09:30:00"],
                ColumnType::Number,
                date(DateOrder::YearMonthDay),
            ),
            (
                &["01/31/2024", "12/01/2023"],
                ColumnType::Number,
                date(DateOrder::MonthDayYear),
            ),
            (
                &["31/01/2024", "01/12/2023"],
                ColumnType::Number,
                date(DateOrder::DayMonthYear),
            ),
            (
                &["03.04.2024", "01.12.2023"],
                ColumnType::Number,
                date(DateOrder::DayMonthYear),
            ),
            (
                &["Dec-2015", "Jan-2016"],
                ColumnType::Number,
                date(DateOrder::MonthYear),
            ),
            (
                &["14:30", "09:15:10"],
                ColumnType::Number,
                Some(NumberForm::Clock),
            ),
            (&["01234", "98765"], ColumnType::Text, None),
            (&["A11", "A12"], ColumnType::Text, None),
            (&["$5", "€6"], ColumnType::Text, None),
            (&["10.0.0.1", "10.0.0.2"], ColumnType::Text, None),
            (&["1", "2", "3+"], ColumnType::Text, None),
            (&["1", "unknown"], ColumnType::Text, None),
            (&["1", "-", "3"], ColumnType::Number, None),
            (&["yes", "no"], ColumnType::Text, None),
            (&["", "NA"], ColumnType::Text, None),
        ] {
            let found = guess(cells);
            assert_eq!((found.kind, found.form), (kind, form), "{cells:?}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_follows_the_rest_of_the_file() {
        let rule = ReadRule::default();
        let open: &[&str] = &["1,234", "5,678"];
        let alone = &guess_all(&[open], b',', &rule)[0];
        assert_eq!(alone.form, amount('.', Some(','), ""));
        assert!(alone.note.unwrap().contains("--decimal ,"));
        let semicolons = &guess_all(&[open], b';', &rule)[0];
        assert_eq!(semicolons.form, amount(',', None, ""));
        let beside = &guess_all(&[open, &["0,5", "1,25"]], b'\t', &rule)[0];
        assert_eq!(
            (beside.form.clone(), beside.note),
            (amount(',', None, ""), None)
        );
        let long = &guess_all(&[&["1,234", "12345"]], b',', &rule)[0];
        assert_eq!(long.form, amount(',', None, ""));
        let told = ReadRule {
            decimal: Some(','),
            ..ReadRule::default()
        };
        assert_eq!(
            guess_all(&[open], b',', &told)[0].form,
            amount(',', None, "")
        );

        let points: &[&str] = &["1.234", "12.500", "950"];
        assert_eq!(guess_all(&[points], b';', &rule)[0].form, None);
        let grouped = &guess_all(&[points, &["0,5"]], b';', &rule)[0];
        assert_eq!(grouped.form, amount(',', Some('.'), ""));

        let dates: &[&str] = &["03/04/2024", "05/06/2024"];
        let alone = &guess_all(&[dates], b',', &rule)[0];
        assert_eq!(alone.form, date(DateOrder::MonthDayYear));
        assert!(alone.note.unwrap().contains("--day-first"));
        let beside = &guess_all(&[dates, &["31/01/2024"]], b',', &rule)[0];
        assert_eq!(
            (beside.form.clone(), beside.note),
            (date(DateOrder::DayMonthYear), None)
        );
        let told = ReadRule {
            day_first: Some(true),
            ..ReadRule::default()
        };
        assert_eq!(
            guess_all(&[dates], b',', &told)[0].form,
            date(DateOrder::DayMonthYear)
        );
    }

    #[test]
    fn eight_digits_are_dates_only_if_all_of_them_are() {
        let dates: Vec<String> = (0..30).map(|day| format!("202401{:02}", day + 1)).collect();
        let mut cells: Vec<&str> = dates.iter().map(String::as_str).collect();
        assert_eq!(guess(&cells).form, date(DateOrder::Compact));
        cells.push("20241399");
        assert_eq!(
            (guess(&cells).kind, guess(&cells).form),
            (ColumnType::Number, None)
        );
    }

    #[test]
    fn words_among_many_numbers_are_gaps() {
        let numbers: Vec<String> = (0..40).map(|number| format!("{number}")).collect();
        let mut cells: Vec<&str> = numbers.iter().map(String::as_str).collect();
        cells.extend(["unknown"; 20]);
        assert_eq!(guess(&cells).kind, ColumnType::Number);
    }
}
