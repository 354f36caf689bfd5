//! A number for each of some values of a column. An encoder makes one such list for each value that it knows, nearly all zeros; so what most
//! places have is kept once, and only the others one by one.

/// Numbers in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ByKey {
    count: usize,
    /// What the places have that are not listed.
    usual: f64,
    /// Place and number, by place.
    others: Vec<(usize, f64)>,
}

impl ByKey {
    /// The numbers, one a place.
    pub(super) fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        let mut others = self.others.iter().peekable();
        (0..self.count).map(move |place| {
            others
                .next_if(|(other, _)| *other == place)
                .map_or(self.usual, |(_, value)| *value)
        })
    }

    /// The number at a place.
    pub(super) fn at(&self, place: usize) -> f64 {
        match self
            .others
            .binary_search_by_key(&place, |(other, _)| *other)
        {
            Ok(found) => self.others[found].1,
            Err(_) => self.usual,
        }
    }

    /// What it takes in memory, in numbers.
    pub(super) fn stored(&self) -> usize {
        2 * self.others.len()
    }
}

impl FromIterator<f64> for ByKey {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        // What more than half of them are, if there is such a number, is what is left when pairs of different ones cancel each other.
        let (mut usual, mut votes) = (0.0_f64, 0_usize);
        for &value in &values {
            if votes == 0 {
                usual = value;
            }
            if value.to_bits() == usual.to_bits() {
                votes += 1;
            } else {
                votes -= 1;
            }
        }
        let others = values.iter().copied().enumerate();
        Self {
            count: values.len(),
            usual,
            others: others
                .filter(|(_, value)| value.to_bits() != usual.to_bits())
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_come_back_in_order() {
        for values in [
            vec![],
            vec![3.0],
            vec![0.0, 1.0, 0.0, 0.0],
            vec![1.0, 0.0, 0.0, 0.0, 2.0],
            vec![1.0, 2.0, 3.0],
            vec![0.0, -0.0, f64::INFINITY],
        ] {
            let by_key: ByKey = values.iter().copied().collect();
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&by_key.iter().collect::<Vec<_>>()), bits(&values));
            for (place, value) in values.iter().enumerate() {
                assert_eq!(by_key.at(place).to_bits(), value.to_bits());
            }
        }
    }

    #[test]
    fn one_number_among_zeros_takes_little() {
        for place in 0..1000 {
            let values = (0..1000).map(|at| if at == place { 1.0 } else { 0.0 });
            assert_eq!(values.collect::<ByKey>().stored(), 2);
        }
    }
}
