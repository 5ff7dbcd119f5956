//! Which cell of the grid a chunk's name stands for.

/// How an array names its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Whether names begin with `c` and a separator.
    prefixed: bool,
    separator: char,
}

impl Keys {
    /// `c/0/1`, and `c` for an array of rank 0.
    #[must_use]
    pub const fn version_3(separator: char) -> Self {
        Self { prefixed: true, separator }
    }

    /// `0.1`, and `0` for an array of rank 0.
    #[must_use]
    pub const fn version_2(separator: char) -> Self {
        Self { prefixed: false, separator }
    }

    /// Read a name as the cell of an array of this rank; `None` for what is no chunk's name.
    ///
    /// The cell may have any number of coordinates: a stray file of another rank is worth telling.
    #[must_use]
    pub fn cell(self, name: &str, rank: usize) -> Option<Vec<i64>> {
        let numbers = if self.prefixed {
            match name.strip_prefix('c')? {
                "" => return Some(Vec::new()),
                rest => rest.strip_prefix(self.separator)?,
            }
        } else {
            name
        };
        let cell: Vec<i64> = numbers.split(self.separator).map(coordinate).collect::<Option<_>>()?;
        let scalar = rank == 0 && !self.prefixed && cell == [0];
        Some(if scalar { Vec::new() } else { cell })
    }

    /// The name of a cell's chunk.
    #[must_use]
    pub fn name(self, cell: &[i64]) -> String {
        let mut name = String::from(if self.prefixed { "c" } else { "" });
        for coordinate in cell {
            if !name.is_empty() {
                name.push(self.separator);
            }
            name.push_str(&coordinate.to_string());
        }
        if name.is_empty() {
            name.push('0');
        }
        name
    }
}

/// A coordinate as a writer would write it: digits, without sign or leading zero.
fn coordinate(text: &str) -> Option<i64> {
    let canonical = text == "0" || text.starts_with(|first: char| matches!(first, '1'..='9'));
    if canonical && text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_cells_are_each_others_inverse() {
        let mut tried = 0;
        for keys in [Keys::version_3('/'), Keys::version_3('.'), Keys::version_2('.'), Keys::version_2('/')] {
            for cell in [vec![], vec![0], vec![7], vec![0, 10], vec![i64::MAX, 0, 1]] {
                assert_eq!(keys.cell(&keys.name(&cell), cell.len()), Some(cell));
                tried += 1;
            }
        }
        assert_eq!(tried, 20);
    }

    #[test]
    fn what_no_writer_writes_is_no_chunk() {
        let v2 = Keys::version_2('.');
        for name in ["", ".", "0.", "01", "-1", "+1", "0/1", "1.0x", "9223372036854775808", ".zarray", "c/0"] {
            assert_eq!(v2.cell(name, 1), None, "{name}");
        }
        let v3 = Keys::version_3('/');
        for name in ["", "c/", "c0", "c/00", "zarr.json", "0/1", "c/0.1", "cc"] {
            assert_eq!(v3.cell(name, 1), None, "{name}");
        }
        assert_eq!(v2.cell("1.2.3", 2), Some(vec![1, 2, 3]));
        assert_eq!(v2.cell("1", 0), Some(vec![1]));
    }
}
