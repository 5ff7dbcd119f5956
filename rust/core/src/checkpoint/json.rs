//! JSON that keeps what careless readers lose: byte positions, the order and repetition of keys, whole integers.
//!
//! A document is checked once, whole and without recursion, by serde_json. After that a [`Value`] is a view of its
//! text, opened one level at a time: nothing that nobody asks for is ever built, however deep or large it is.

use std::borrow::Cow;
use std::fmt;

use hashbrown::HashSet;
use serde_core::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A document that is not JSON, or not the JSON that was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {byte_offset}")]
pub struct JsonError {
    /// Where, counted from the start of the document.
    pub byte_offset: usize,
    /// What.
    pub problem: Problem,
}

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There is nothing, or nothing but white space.
    #[error("nothing")]
    Empty,
    /// The document ends in the middle of a value.
    #[error("unexpected end")]
    Truncated,
    /// More bytes than the caller allows.
    #[error("{length} bytes, more than the {limit} allowed")]
    TooLarge {
        /// Bytes that are there.
        length: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// Bytes that are not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// Text that is not JSON.
    #[error("{0}")]
    Syntax(Box<str>),
    /// A key that its object already has.
    #[error("duplicate key {0:?}")]
    DuplicateKey(Box<str>),
    /// A key that is needed and absent.
    #[error("no {0:?}")]
    MissingKey(&'static str),
    /// A value of another kind than expected.
    #[error("{found} where {wanted} should be")]
    Unexpected {
        /// The kind that is there.
        found: Kind,
        /// What should be there.
        wanted: &'static str,
    },
    /// A whole number beyond 128 bits.
    #[error("integer beyond 128 bits")]
    IntegerOverflow,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number without fraction or exponent.
    Integer,
    /// Any other number.
    Float,
    /// Text.
    String,
    /// A list.
    Array,
    /// Names and values.
    Object,
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Integer => "an integer",
            Self::Float => "a float",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

/// A value within a document: its text, not yet opened.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    document: &'a str,
    text: &'a str,
}

/// One key of an object, and its value.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The key, unescaped.
    pub key: Cow<'a, str>,
    /// Where the key starts (its quotation mark).
    pub byte_offset: usize,
    /// The value.
    pub value: Value<'a>,
}

/// An opened object: its members in the order of the document, repeated ones included.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    byte_offset: usize,
    members: Vec<Member<'a>>,
}

impl<'a> Value<'a> {
    /// Check a whole document, of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// [`JsonError`] when it is too large, not UTF-8 or not one JSON value.
    pub fn document(bytes: &'a [u8], limit: usize) -> Result<Self, JsonError> {
        if bytes.len() > limit {
            let problem = Problem::TooLarge { length: bytes.len(), limit };
            return Err(JsonError { byte_offset: limit, problem });
        }
        let document = std::str::from_utf8(bytes)
            .map_err(|error| JsonError { byte_offset: error.valid_up_to(), problem: Problem::NotUtf8 })?;
        if document.trim_ascii().is_empty() {
            return Err(JsonError { byte_offset: 0, problem: Problem::Empty });
        }
        let text: &RawValue = serde_json::from_str(document).map_err(|error| located(&error, document, 0))?;
        Ok(Self { document, text: text.get() })
    }

    /// Where the value starts, counted from the start of the document.
    #[must_use]
    pub fn byte_offset(self) -> usize {
        distance(self.document, self.text)
    }

    /// The text of the value, as it stands in the document.
    #[must_use]
    pub const fn text(self) -> &'a str {
        self.text
    }

    /// What kind of value it is.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.text.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') | None => Kind::Null,
            Some(_) if self.text.contains(['.', 'e', 'E']) => Kind::Float,
            Some(_) => Kind::Integer,
        }
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Open an object.
    ///
    /// # Errors
    ///
    /// [`JsonError`] for another kind of value, or a key with a broken escape.
    pub fn object(self) -> Result<Object<'a>, JsonError> {
        if self.kind() != Kind::Object {
            return Err(self.unexpected("an object"));
        }
        let Pairs(pairs) = self.open()?;
        Ok(Object { byte_offset: self.byte_offset(), members: self.members(pairs)? })
    }

    fn members(self, pairs: Vec<(&'a RawValue, &'a RawValue)>) -> Result<Vec<Member<'a>>, JsonError> {
        let member = |(key, value): (&'a RawValue, &'a RawValue)| {
            let key = self.within(key);
            Ok(Member { key: key.string()?, byte_offset: key.byte_offset(), value: self.within(value) })
        };
        pairs.into_iter().map(member).collect()
    }

    /// Open an array.
    ///
    /// # Errors
    ///
    /// [`JsonError`] for another kind of value.
    pub fn array(self) -> Result<Vec<Self>, JsonError> {
        if self.kind() != Kind::Array {
            return Err(self.unexpected("an array"));
        }
        let Items(items) = self.open()?;
        Ok(items.into_iter().map(|item| self.within(item)).collect())
    }

    /// Read a string, unescaped.
    ///
    /// # Errors
    ///
    /// [`JsonError`] for another kind of value, or a broken escape.
    pub fn string(self) -> Result<Cow<'a, str>, JsonError> {
        if self.kind() != Kind::String {
            return Err(self.unexpected("a string"));
        }
        // The check of the document saw to the quotation marks and to control characters.
        match self.text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
            _ => self.open::<String>().map(Cow::Owned),
        }
    }

    /// Read a whole number.
    ///
    /// # Errors
    ///
    /// [`JsonError`] for another kind of value, a number written with fraction or exponent, or one beyond 128 bits.
    pub fn integer(self) -> Result<i128, JsonError> {
        if self.kind() != Kind::Integer {
            return Err(self.unexpected("an integer"));
        }
        self.text.parse().map_err(|_| self.wrong(Problem::IntegerOverflow))
    }

    /// Read a truth value.
    ///
    /// # Errors
    ///
    /// [`JsonError`] for another kind of value.
    pub fn boolean(self) -> Result<bool, JsonError> {
        match self.text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.unexpected("a boolean")),
        }
    }

    /// An error about this value.
    #[must_use]
    pub fn wrong(self, problem: Problem) -> JsonError {
        JsonError { byte_offset: self.byte_offset(), problem }
    }

    fn unexpected(self, wanted: &'static str) -> JsonError {
        self.wrong(Problem::Unexpected { found: self.kind(), wanted })
    }

    fn within(self, part: &'a RawValue) -> Self {
        Self { document: self.document, text: part.get() }
    }

    fn open<T: Deserialize<'a>>(self) -> Result<T, JsonError> {
        serde_json::from_str(self.text).map_err(|error| located(&error, self.text, self.byte_offset()))
    }
}

impl<'a> Object<'a> {
    /// Check a whole document, of at most `limit` bytes, and open it: `Value::document` and `Value::object` in one pass.
    ///
    /// # Errors
    ///
    /// [`JsonError`] as both of them give it.
    pub fn document(bytes: &'a [u8], limit: usize) -> Result<Self, JsonError> {
        let careful = || Value::document(bytes, limit)?.object();
        let Some(document) = std::str::from_utf8(bytes).ok().filter(|document| document.len() <= limit) else {
            return careful();
        };
        let Ok(Pairs(pairs)) = serde_json::from_str(document) else { return careful() };
        let whole = Value { document, text: document };
        let start = document.len().saturating_sub(document.trim_ascii_start().len());
        Ok(Self { byte_offset: start, members: whole.members(pairs)? })
    }

    /// Where the object starts, counted from the start of the document.
    #[must_use]
    pub const fn byte_offset(&self) -> usize {
        self.byte_offset
    }

    /// All members in the order of the document.
    #[must_use]
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// The value of a key; of the first one where the key is repeated.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<Value<'a>> {
        self.members.iter().find(|member| member.key == key).map(|member| member.value)
    }

    /// The value of a key that must be there.
    ///
    /// # Errors
    ///
    /// [`Problem::MissingKey`] when it is not.
    pub fn required(&self, key: &'static str) -> Result<Value<'a>, JsonError> {
        self.value(key).ok_or(JsonError { byte_offset: self.byte_offset, problem: Problem::MissingKey(key) })
    }

    /// Members whose key an earlier member has.
    #[must_use]
    pub fn repeated(&self) -> Vec<&Member<'a>> {
        // A look at a dozen keys is cheaper than a set of them, and most objects have three.
        if self.members.len() <= 12 {
            let before = |at: usize| self.members.iter().take(at);
            let repeats = self.members.iter().enumerate();
            return repeats
                .filter(|(at, member)| before(*at).any(|other| other.key == member.key))
                .map(|(_, member)| member)
                .collect();
        }
        let mut seen = HashSet::with_capacity_and_hasher(self.members.len(), foldhash::fast::RandomState::default());
        self.members.iter().filter(|member| !seen.insert(member.key.as_ref())).collect()
    }

    /// The object itself, when no key is repeated.
    ///
    /// # Errors
    ///
    /// [`Problem::DuplicateKey`] for the first repeated one.
    pub fn unique(self) -> Result<Self, JsonError> {
        match self.repeated().first() {
            None => Ok(self),
            Some(member) => Err(JsonError {
                byte_offset: member.byte_offset,
                problem: Problem::DuplicateKey(member.key.as_ref().into()),
            }),
        }
    }
}

/// The members of an object, unopened.
struct Pairs<'a>(Vec<(&'a RawValue, &'a RawValue)>);

/// The items of an array, unopened.
struct Items<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Pairs<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        from.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for Items<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = Items<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Items(items))
            }
        }
        from.deserialize_seq(Elements)
    }
}

/// How many bytes of `whole` come before `part`, a piece of it.
fn distance(whole: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(whole.as_ptr().addr())
}

/// serde_json's line and column, as a byte of the document of which `text` begins at `start`.
fn located(error: &serde_json::Error, text: &str, start: usize) -> JsonError {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let before = lines.fold(0_usize, |bytes, line| bytes.saturating_add(line.len()));
    let problem = if error.is_eof() {
        Problem::Truncated
    } else {
        let message = error.to_string();
        let position = message.rfind(" at line ").unwrap_or(message.len());
        Problem::Syntax(message.get(..position).unwrap_or_default().into())
    };
    let column = if error.is_eof() { error.column() } else { error.column().saturating_sub(1) };
    JsonError { byte_offset: start.saturating_add(before).saturating_add(column), problem }
}

#[cfg(test)]
mod tests;
