//! What a format lets a pickle do with the globals that it names.

use super::arena::Arena;
use super::node::Handle;
use crate::findings::{Code, Finding};

/// What may be done with a global. Naming one that a format knows is always allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uses {
    /// To be a value, such as a dtype.
    Value,
    /// To be a class of instances that are made without arguments and get their attributes afterwards.
    Class,
    /// To be called.
    Callable,
    /// To be called, and its result to get attributes.
    Factory,
    /// To be called, and its result to have things set by key and to get attributes.
    Mapping,
    /// To be called as `copyreg._reconstructor` is: with a class, `object` and `None`, for an instance of that class.
    Reconstructor,
    /// Nothing: the format does not know it.
    Unknown,
}

/// What a pickle does with a global that the format does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Deed {
    /// Makes a plain instance of a class that is not known, and gives it plain attributes.
    Instantiated,
    /// Has code of the class or its instance fill it from a state.
    Built,
    /// Has code of the instance take items.
    Extended,
    /// Calls it.
    Called,
}

impl Deed {
    pub(super) const fn verb(self) -> &'static str {
        match self {
            Self::Instantiated => "make an instance of",
            Self::Built => "have code of its own build",
            Self::Extended => "have code of its own extend",
            Self::Called => "call",
        }
    }

    /// Whether code from outside the format would run.
    #[must_use]
    pub fn runs_code(self) -> bool {
        self > Self::Instantiated
    }
}

/// A format's table: what a global is to it, and what may be done with it.
pub type Names<R> = fn(module: &str, name: &str) -> Option<(R, Uses)>;

/// One global that a pickle names, and the worst that the pickle does with it.
#[derive(Clone, Debug)]
pub struct Global<R> {
    pub(super) module: Handle,
    pub(super) name: Handle,
    pub(super) role: Option<R>,
    pub(super) uses: Uses,
    /// Where it is named first.
    pub(super) named_at: usize,
    /// What is done with it that its uses do not allow, and where.
    pub(super) deed: Option<(Deed, usize)>,
}

impl<R: Copy> Global<R> {
    /// What it is to the format; `None` where the format does not know it.
    #[must_use]
    pub const fn role(&self) -> Option<R> {
        self.role
    }
}

impl<R: Copy> Arena<'_, R> {
    /// What the pickle does that its format does not allow or know, one finding for each global.
    #[must_use]
    pub fn deeds(&self, file: &str) -> Vec<Finding> {
        let about = |code, at: usize, says: String| {
            let place = u64::try_from(at).unwrap_or(u64::MAX);
            Finding::new(code).in_file(file).in_bytes(place, 1).with("reason", format!("byte {at}: {says}"))
        };
        let mut deeds = Vec::new();
        if let Some((deed, at)) = self.unnamed_deed {
            let says = format!("it would {} something that has no name", deed.verb());
            deeds.push(about(Code::MetadataForbiddenGlobal, at, says));
        }
        for global in &self.globals {
            let path = self.path(global);
            match global.deed {
                Some((deed, at)) if deed.runs_code() => {
                    let says = format!("it would {} {path}, which no metadata does", deed.verb());
                    deeds.push(about(Code::MetadataForbiddenGlobal, at, says).with("global", path));
                }
                _ if global.role.is_none() => {
                    let says = format!("it names {path}, which is not known; nothing was imported");
                    deeds.push(about(Code::MetadataUnknownGlobal, global.named_at, says).with("global", path));
                }
                _ => {}
            }
        }
        deeds
    }
}
