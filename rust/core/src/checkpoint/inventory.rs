//! Which files a checkpoint has, and which recorded paths stay inside it.

use std::borrow::Cow;

use hashbrown::HashMap;

/// Sizes of the files below the directory of a part, by relative path with `/` between its parts.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    sizes: HashMap<Box<str>, u64, foldhash::fast::RandomState>,
}

/// What a recorded path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file of this many bytes.
    File(u64),
    /// Nothing.
    Missing,
    /// Somewhere outside the checkpoint.
    Outside,
}

impl<S: Into<Box<str>>> FromIterator<(S, u64)> for Inventory {
    fn from_iter<I: IntoIterator<Item = (S, u64)>>(files: I) -> Self {
        Self { sizes: files.into_iter().map(|(path, size)| (path.into(), size)).collect() }
    }
}

impl Inventory {
    /// Look up a path as some file recorded it.
    #[must_use]
    pub fn place(&self, recorded: &str) -> Place {
        if let Some(&size) = self.sizes.get(recorded) {
            return Place::File(size);
        }
        match within(recorded) {
            None => Place::Outside,
            Some(path) => self.sizes.get(path.as_ref()).map_or(Place::Missing, |&size| Place::File(size)),
        }
    }

    /// Every file and its size, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.sizes.iter().map(|(path, &size)| (path.as_ref(), size))
    }
}

/// Put a recorded path in its plain form; `None` if it leads outside the directory or is no path at all.
///
/// Absolute paths lead outside, in the spelling of any system. `a/../b` stays inside, `a/../../b` does not.
#[must_use]
pub fn within(recorded: &str) -> Option<Cow<'_, str>> {
    let drive = matches!(recorded.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    if recorded.starts_with(['/', '\\']) || drive || recorded.contains('\0') {
        return None;
    }
    if recorded.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains('\\')) {
        return Some(Cow::Borrowed(recorded));
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in recorded.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            // A backslash separates on one system and is an ordinary character on others: refuse to climb by it.
            part if part.split('\\').any(|piece| piece == "..") => return None,
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| Cow::Owned(parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_inside_or_is_refused() {
        for (recorded, plain) in [
            ("a", Some("a")),
            ("a/b", Some("a/b")),
            ("./a//b/", Some("a/b")),
            ("a/../b", Some("b")),
            ("a/..", None),
            ("..", None),
            ("../a", None),
            ("a/../../b", None),
            ("/a", None),
            ("\\a", None),
            ("C:\\a", None),
            ("c:/a", None),
            ("a\\..\\..\\b", None),
            ("a\0b", None),
            ("", None),
            (".", None),
            ("..a/b..", Some("..a/b..")),
            ("a:b", Some("a:b")),
        ] {
            assert_eq!(within(recorded).as_deref(), plain, "{recorded:?}");
        }
    }

    #[test]
    fn a_listed_file_is_found_under_any_spelling_of_its_path() {
        let inventory: Inventory = [("a/b", 3_u64)].into_iter().collect();
        assert_eq!(inventory.place("a/b"), Place::File(3));
        assert_eq!(inventory.place("./a/c/../b"), Place::File(3));
        assert_eq!(inventory.place("a/c"), Place::Missing);
        assert_eq!(inventory.place("../a/b"), Place::Outside);
    }
}
