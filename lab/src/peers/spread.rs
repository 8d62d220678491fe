//! A median with its range, for figures of which there are too few for an interval, or which cannot be paired.

/// A median with the lowest and the highest value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Computes the spread; `None` if there are no values.
    pub(crate) fn from_values(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        Some(Self {
            median: looptax_model::stats::median(&mut values)?,
            least: *values.first()?,
            most: *values.last()?,
        })
    }

    /// Returns the text with `n_decimals` decimals, as in `1.0 (0.9 to 1.1)`.
    pub(crate) fn text(self, n_decimals: usize) -> String {
        let Self { median, least, most } = self;
        format!("{median:.n_decimals$} ({least:.n_decimals$} to {most:.n_decimals$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_comes_with_its_range() {
        let spread = |values: &[f64]| Spread::from_values(values.to_vec()).unwrap().text(1);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), "2.0 (1.0 to 3.0)");
        assert_eq!(spread(&[4.0, 1.0]), "2.5 (1.0 to 4.0)");
        assert!(Spread::from_values(Vec::new()).is_none());
    }
}
