//! What an arena is made of: handles, and nodes of twelve bytes.

/// The name of a thing in an arena. Two texts are equal if and only if their handles are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(u32);

impl Handle {
    /// Set in handles that are a whole number of 31 bits themselves.
    const INLINE: u32 = 1 << 31;
    pub(super) const NONE: Self = Self(0);
    pub(super) const FALSE: Self = Self(1);
    pub(super) const TRUE: Self = Self(2);
    pub(super) const EMPTY_TUPLE: Self = Self(3);
    /// Nothing at all: no node ever has this number.
    pub(super) const ABSENT: Self = Self(Self::INLINE - 1);

    /// The handle of the node with this number.
    pub(super) const fn of(number: u32) -> Self {
        Self(number)
    }

    /// The bits of the handle: the number of its node, unless it is a number itself.
    #[inline]
    pub(super) const fn word(self) -> u32 {
        self.0
    }

    /// The handle that is a number, if the number is small enough.
    #[inline]
    pub(super) const fn small(number: i32) -> Option<Self> {
        let bits = number.cast_unsigned();
        if bits >> 30 == 0 || bits >> 30 == 3 { Some(Self(bits | Self::INLINE)) } else { None }
    }

    /// The number that the handle is itself, if it is one of up to 31 bits.
    #[inline]
    #[must_use]
    pub const fn small_number(self) -> Option<i32> {
        if self.0 & Self::INLINE == 0 { None } else { Some((self.0 << 1).cast_signed() >> 1) }
    }

    /// The handle, unless it stands for nothing.
    pub(super) fn present(self) -> Option<Self> {
        (self != Self::ABSENT).then_some(self)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Bool,
    Int,
    /// A number beyond 64 bits: little-endian bytes.
    Big,
    /// A number beyond 64 bits: decimal digits.
    Digits,
    Float,
    Text,
    Bytes,
    /// Up to two items, in the node itself.
    Single,
    Pair,
    /// A range of the pool, as all that follow until told otherwise.
    Tuple,
    FrozenSet,
    List,
    Set,
    Dict,
    /// A dict that has become the state of an instance: Python copied it, so it must not change any more.
    State,
    /// Like those above, in several ranges.
    LongList,
    LongSet,
    LongDict,
    LongState,
    /// Number of a global.
    Global,
    /// Class and state.
    Instance,
    /// Callee and arguments.
    Call,
    /// Callee, and number of a making that says more.
    Made,
    /// What a persistent id is.
    Persistent,
}

/// What a thing takes when everything in it is written out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub(super) weight: f32,
    pub(super) depth: u8,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) content: [Handle; 2],
    /// The upper half of a 32-bit float: a bomb shows whatever the mantissa.
    weight: u16,
    depth: u8,
    pub(super) kind: Kind,
}

impl Node {
    #[inline]
    pub(super) fn new(kind: Kind, first: u32, second: u32) -> Self {
        Self { content: [Handle(first), Handle(second)], weight: 0, depth: 0, kind }.measured(Measure::ONE)
    }

    pub(super) fn measured(mut self, measure: Measure) -> Self {
        self.weight = u16::try_from(measure.weight.to_bits() >> 16).unwrap_or(u16::MAX);
        self.depth = measure.depth;
        self
    }

    pub(super) fn measure(self) -> Measure {
        Measure { weight: f32::from_bits(u32::from(self.weight) << 16), depth: self.depth }
    }

    /// The two words of a node that holds numbers rather than handles.
    pub(super) const fn words(self) -> (u32, u32) {
        let [first, second] = self.content;
        (first.0, second.0)
    }
}

impl Measure {
    pub(super) const ONE: Self = Self { weight: 1.0, depth: 0 };

    /// The measure of a thing with one more in it.
    #[inline]
    pub(super) fn around(self, inside: Self) -> Self {
        Self { weight: self.weight + inside.weight, depth: self.depth.max(inside.depth.saturating_add(1)) }
    }

    /// The measure of a thing that gets more items; `items` counts the thing itself once more.
    #[inline]
    pub(super) fn joined(self, items: Self) -> Self {
        Self { weight: self.weight + items.weight - 1.0, depth: self.depth.max(items.depth) }
    }
}

/// What is called and with what, where more than a callee and arguments is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Making {
    pub(super) arguments: Handle,
    pub(super) state: Handle,
    /// A dict of what was set by key afterwards.
    pub(super) items: Handle,
}

/// More things than can be numbered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Full;

pub(super) fn halves(bits: u64) -> (u32, u32) {
    let low = u32::try_from(bits & u64::from(u32::MAX)).unwrap_or_default();
    (low, u32::try_from(bits >> 32).unwrap_or_default())
}
