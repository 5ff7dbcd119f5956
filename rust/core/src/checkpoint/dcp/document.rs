//! The things in DCP metadata: instances and their attributes, names, and lists of numbers.

use super::fault::Fault;
use super::role::{Role, numbered_dtype};
use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::pickle::{Arena, Big, Handle, Items, View};
use crate::findings::Value;

/// Metadata that was unpickled without doing anything.
pub(super) struct Document<'a> {
    pub(super) arena: Arena<'a, Role>,
}

/// Why a list of numbers is none.
#[derive(Debug)]
pub(super) enum NotNumbers {
    /// One of them is beyond 64 bits.
    Beyond { dimension: usize, value: Value, negative: bool },
    /// Something is no number, or no list.
    Wrong(Fault),
}

/// What a whole number is.
pub(super) enum Number {
    Small(i64),
    /// Beyond 64 bits.
    Beyond(Value, bool),
}

impl Document<'_> {
    /// The state of an instance of a class, if it is one.
    #[inline]
    pub(super) fn state_of(&self, handle: Handle) -> Option<(Role, Option<Handle>)> {
        let (class, state) = self.arena.instance(handle)?;
        Some((self.arena.role(class)?, state))
    }

    /// What a thing is, for a sentence.
    pub(super) fn noun(&self, handle: Handle) -> String {
        match self.arena.view(handle) {
            View::Instance { class, .. } | View::Call { callee: class, .. } => match self.arena.view(class) {
                View::Global(global) => format!("a {}", self.arena.path(global)),
                other => other.noun().to_owned(),
            },
            View::Global(global) => self.arena.path(global),
            View::Text(_) => format!("{:?}", self.arena.shown(handle)),
            View::Int(number) => number.to_string(),
            other => other.noun().to_owned(),
        }
    }

    /// The attributes of these names, in their order; those of other names go to `foreign`.
    ///
    /// An attribute that is there twice is a fault: Python would take the last, a person who looks the first.
    #[inline]
    pub(super) fn attributes<const COUNT: usize>(
        &self,
        state: Option<Handle>,
        names: [Option<Handle>; COUNT],
        foreign: &mut dyn FnMut(Handle),
    ) -> Result<[Option<Handle>; COUNT], Fault> {
        let mut found = [None; COUNT];
        let Some(state) = state else { return Ok(found) };
        let mut take = |key, value| {
            match names.iter().position(|&name| name == Some(key)).and_then(|number| found.get_mut(number)) {
                Some(slot @ None) => *slot = Some(value),
                Some(_) => {
                    return Err(Fault::malformed(state, format!("the attribute {} is set twice", self.noun(key))));
                }
                None => foreign(key),
            }
            Ok(())
        };
        if let Some(items) = self.arena.small_dict(state) {
            let (pairs, _) = items.as_chunks();
            pairs.iter().try_for_each(|&[key, value]| take(key, value))?;
        } else if let View::Dict(items) = self.arena.view(state) {
            items.pairs().try_for_each(|(key, value)| take(key, value))?;
        } else {
            return Err(Fault::malformed(state, format!("attributes are {}, not a dict", self.noun(state))));
        }
        Ok(found)
    }

    /// Take the whole numbers of a shape or of offsets.
    #[inline]
    pub(super) fn numbers(&self, handle: Handle, into: &mut Vec<i64>) -> Result<(), NotNumbers> {
        into.clear();
        for (dimension, &item) in self.listed(handle).map_err(NotNumbers::Wrong)?.iter().enumerate() {
            match self.number(item) {
                Some(Number::Small(number)) => into.push(number),
                Some(Number::Beyond(value, negative)) => {
                    return Err(NotNumbers::Beyond { dimension, value, negative });
                }
                None => {
                    let reason = format!("{} where a whole number belongs", self.noun(item));
                    return Err(NotNumbers::Wrong(Fault::malformed(handle, reason)));
                }
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn number(&self, handle: Handle) -> Option<Number> {
        if let Some(number) = handle.small_number() {
            return Some(Number::Small(number.into()));
        }
        match self.arena.view(handle) {
            View::Int(number) => Some(Number::Small(number)),
            View::Big(big) => Some(Number::Beyond(Big::value(big), big.is_negative())),
            _ => None,
        }
    }

    /// The things in a `torch.Size` or in a tuple.
    #[inline]
    fn listed(&self, handle: Handle) -> Result<&[Handle], Fault> {
        let size = self.arena.call(handle).filter(|&(callee, _)| self.arena.role(callee) == Some(Role::Size));
        let tuple = match size.map(|(_, arguments)| self.arena.tuple(arguments)) {
            Some(Some(&[tuple])) => Some(tuple),
            Some(_) => None,
            None => Some(handle),
        };
        tuple
            .and_then(|tuple| self.arena.tuple(tuple))
            .ok_or_else(|| Fault::malformed(handle, format!("{} where a size belongs", self.noun(handle))))
    }

    /// The dtype in the properties of a tensor.
    pub(super) fn dtype(&self, properties: Handle, name: Option<Handle>) -> Result<Dtype, Fault> {
        let Some((Role::Properties, Some(state))) = self.state_of(properties) else {
            return Err(Fault::malformed(properties, format!("the properties are {}", self.noun(properties))));
        };
        let dtype = match self.arena.view(state) {
            View::Tuple(mut items) => items.next(),
            View::Dict(_) => self.attributes(Some(state), [name], &mut |_| ())?.into_iter().flatten().next(),
            _ => None,
        };
        let dtype = dtype.ok_or_else(|| Fault::malformed(properties, "properties without a dtype"))?;
        match self.arena.view(dtype) {
            View::Global(global) if global.role() == Some(Role::Dtype) => {
                let path = self.arena.path(global);
                Ok(Dtype::named(path.rsplit_once('.').map_or(path.as_str(), |(_, name)| name)))
            }
            View::Global(global) if global.role().is_none() => Ok(Dtype::unknown(&self.arena.path(global))),
            View::Instance { class, state: Some(state) } if self.arena.role(class) == Some(Role::NumberedDtype) => {
                match self.arena.view(state) {
                    View::Int(number) => {
                        Ok(numbered_dtype(number)
                            .map_or_else(|| Dtype::unknown(&format!("DType {number}")), Dtype::named))
                    }
                    _ => Err(Fault::malformed(dtype, format!("a dtype built with {}", self.noun(state)))),
                }
            }
            _ => Err(Fault::malformed(properties, format!("the dtype is {}", self.noun(dtype)))),
        }
    }

    /// The things in a list or tuple.
    pub(super) fn list(&self, handle: Handle) -> Option<Items<'_>> {
        match self.arena.view(handle) {
            View::List(items) | View::Tuple(items) => Some(items),
            _ => None,
        }
    }
}
