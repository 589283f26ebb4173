//! Repeated measurements of the same quantity.

use serde::Serialize;

/// The values, run by run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Series {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) all: Vec<f64>,
}

impl Series {
    /// `None` if there are no values.
    pub(crate) fn of(all: Vec<f64>) -> Option<Self> {
        let mut sorted = all.clone();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            1 => *sorted.get(middle)?,
            _ => (sorted.get(middle - 1)? + sorted.get(middle)?) / 2.0,
        };
        Some(Self { median, min, max, all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let median = |all: &[f64]| Series::of(all.to_vec()).map(|series| series.median);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        let series = Series::of(vec![3.0, 1.0, 2.0]).expect("measured");
        assert_eq!((series.min, series.max), (1.0, 3.0));
        assert_eq!(series.all, [3.0, 1.0, 2.0]);
    }
}
