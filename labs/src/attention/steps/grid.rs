//! Matrices small enough to print, computed in plain float64.

use crate::protocol::Matrix;

/// A matrix, row by row; every row is equally long.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid(Vec<Vec<f64>>);

impl Grid {
    /// `columns` numbers a row.
    pub(crate) fn new(numbers: &[f64], columns: usize) -> Self {
        Self(numbers.chunks(columns).map(<[f64]>::to_vec).collect())
    }

    /// Every number, row by row.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> {
        self.0.iter().flatten().copied()
    }

    /// Rows and columns.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.0.len(), self.0.first().map_or(0, Vec::len))
    }

    /// The matrix product.
    pub(super) fn times(&self, right: &Self) -> Self {
        let columns = right.transposed();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum();
        Self(self.0.iter().map(|row| columns.0.iter().map(|column| dot(row, column)).collect()).collect())
    }

    /// Rows become columns.
    pub(super) fn transposed(&self) -> Self {
        let columns = self.0.first().map_or(0, Vec::len);
        Self((0..columns).map(|j| self.0.iter().map(|row| row[j]).collect()).collect())
    }

    /// Every number times `factor`.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        self.by_place(|_, _, x| x * factor)
    }

    /// −∞ above the diagonal: the future.
    pub(super) fn without_future(&self) -> Self {
        self.by_place(|i, j, x| if j > i { f64::NEG_INFINITY } else { x })
    }

    /// Number by number: `self ∘ right`.
    pub(super) fn hadamard(&self, right: &Self) -> Self {
        self.by_place(|i, j, x| x * right.0[i][j])
    }

    /// Takes from each row the one number that `column` has for it.
    pub(super) fn minus_column(&self, column: &Self) -> Self {
        self.by_place(|i, _, x| x - column.0[i][0])
    }

    /// One number a row: its sum.
    pub(super) fn row_sums(&self) -> Self {
        Self(self.0.iter().map(|row| vec![row.iter().sum()]).collect())
    }

    /// Each row as weights that add up to 1.
    pub(super) fn softmax(&self) -> Self {
        let weights = |row: &Vec<f64>| {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let raised: Vec<f64> = row.iter().map(|x| (x - largest).exp()).collect();
            let sum: f64 = raised.iter().sum();
            raised.into_iter().map(|x| x / sum).collect()
        };
        Self(self.0.iter().map(weights).collect())
    }

    /// As reported: −∞ has no number, and a zero no sign.
    pub(super) fn matrix(&self, name: &str) -> Matrix {
        let shown = |x: &f64| x.is_finite().then_some(*x + 0.0);
        Matrix { name: name.into(), rows: self.0.iter().map(|row| row.iter().map(shown).collect()).collect() }
    }

    fn by_place(&self, change: impl Fn(usize, usize, f64) -> f64) -> Self {
        let row =
            |(i, row): (usize, &Vec<f64>)| row.iter().enumerate().map(|(j, x)| change(i, j, *x)).collect();
        Self(self.0.iter().enumerate().map(row).collect())
    }
}
