//! What a thing in an arena is, and the things in it.

use std::ops::Range;

use super::globals::Global;
use super::node::Handle;
use super::number::Big;

/// What a thing is.
#[derive(Clone, Debug)]
pub enum View<'a, R> {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number of up to 64 bits.
    Int(i64),
    /// A whole number of more bits.
    Big(Big<'a>),
    /// A number.
    Float(f64),
    /// Text: UTF-8, in which lone surrogates may occur.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A tuple.
    Tuple(Items<'a>),
    /// A list.
    List(Items<'a>),
    /// A set.
    Set(Items<'a>),
    /// A dict: keys and values in turn. Of equal keys Python keeps the last value.
    Dict(Items<'a>),
    /// Something named and not looked up.
    Global(&'a Global<R>),
    /// An instance of a class that was not called, with what would become its attributes.
    Instance {
        /// The class.
        class: Handle,
        /// What it would be built with.
        state: Option<Handle>,
    },
    /// What a call would return.
    Call {
        /// What would be called.
        callee: Handle,
        /// With which arguments: a tuple.
        arguments: Handle,
        /// What the result would be built with.
        state: Option<Handle>,
        /// A dict of what would be set in the result by key.
        items: Option<Handle>,
    },
    /// An object that whoever reads the pickle is asked for, by its id.
    Persistent(Handle),
}

impl<R> View<'_, R> {
    /// What kind of thing it is, for a sentence.
    #[must_use]
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a truth value",
            Self::Int(_) | Self::Big(_) => "a number",
            Self::Float(_) => "a float",
            Self::Text(_) => "a text",
            Self::Bytes(_) => "bytes",
            Self::Tuple(_) => "a tuple",
            Self::List(_) => "a list",
            Self::Set(_) => "a set",
            Self::Dict(_) => "a dict",
            Self::Global(_) => "a class or function",
            Self::Instance { .. } => "an instance",
            Self::Call { .. } => "the result of a call",
            Self::Persistent(_) => "a persistent object",
        }
    }
}

/// The things in a tuple, list or set; keys and values in turn in a dict.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    range: &'a [Handle],
    pool: &'a [Handle],
    segments: &'a [(Range<u32>, u32)],
    segment: u32,
}

impl<'a> Items<'a> {
    pub(super) const fn of(range: &'a [Handle]) -> Self {
        Self { range, pool: &[], segments: &[], segment: u32::MAX }
    }

    pub(super) fn range(pool: &'a [Handle], start: u32, length: u32) -> Self {
        Self::of(slice(pool, &(start..start.saturating_add(length))))
    }

    pub(super) const fn segmented(pool: &'a [Handle], segments: &'a [(Range<u32>, u32)], first: u32) -> Self {
        Self { range: &[], pool, segments, segment: first }
    }

    /// All of them at once, unless they lie in several places.
    #[must_use]
    pub const fn as_slice(&self) -> Option<&'a [Handle]> {
        if self.segment == u32::MAX { Some(self.range) } else { None }
    }

    /// Two by two: the keys and values of a dict.
    pub fn pairs(mut self) -> impl Iterator<Item = (Handle, Handle)> + use<'a> {
        std::iter::from_fn(move || self.next().zip(self.next()))
    }
}

impl Iterator for Items<'_> {
    type Item = Handle;

    #[inline]
    fn next(&mut self) -> Option<Handle> {
        loop {
            if let Some((&first, rest)) = self.range.split_first() {
                self.range = rest;
                return Some(first);
            }
            let (range, next) = self.segments.get(usize::try_from(self.segment).ok()?)?;
            self.range = slice(self.pool, range);
            self.segment = *next;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let here = self.range.len();
        (here, (self.segment == u32::MAX).then_some(here))
    }
}

fn slice<'a>(pool: &'a [Handle], range: &Range<u32>) -> &'a [Handle] {
    let (Ok(start), Ok(end)) = (usize::try_from(range.start), usize::try_from(range.end)) else { return &[] };
    pool.get(start..end).unwrap_or_default()
}
