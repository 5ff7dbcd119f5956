//! What is wrong with metadata that unpickles, and where.

use super::role::{Role, names};
use crate::checkpoint::limits::Limits;
use crate::checkpoint::pickle::{self, Handle, Options};
use crate::findings::{Code, Finding};

/// Something that is not what it should be.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) code: Code,
    /// The thing in the pickle.
    pub(super) at: Handle,
    pub(super) fqn: Option<String>,
    pub(super) reason: String,
}

impl Fault {
    pub(super) fn malformed(at: Handle, reason: impl Into<String>) -> Self {
        Self { code: Code::MetadataMalformed, at, fqn: None, reason: reason.into() }
    }

    pub(super) fn too_large(at: Handle, reason: impl Into<String>) -> Self {
        Self { code: Code::MetadataTooLarge, at, fqn: None, reason: reason.into() }
    }

    pub(super) fn of_tensor(self, fqn: &str) -> Self {
        Self { fqn: Some(fqn.to_owned()), ..self }
    }
}

/// Say of all faults at which byte they are.
pub(super) fn findings(file: &str, content: &[u8], limits: &Limits, mut faults: Vec<Fault>) -> Vec<Finding> {
    faults.sort_by_key(|fault| fault.at);
    let mut handles: Vec<Handle> = faults.iter().map(|fault| fault.at).collect();
    handles.dedup();
    let places = if handles.is_empty() {
        Vec::new()
    } else {
        pickle::places_of::<Role>(content, names, Options::default(), limits, &handles)
    };
    let place_of = |handle: Handle| {
        let number = handles.binary_search(&handle).ok()?;
        places.get(number).copied().flatten()
    };
    let all = faults.into_iter().map(|fault| {
        let place = place_of(fault.at);
        let reason = place.map_or_else(|| fault.reason.clone(), |at| format!("byte {at}: {}", fault.reason));
        let mut finding = Finding::new(fault.code).in_file(file).with("reason", reason);
        finding.fqn = fault.fqn.map(String::into_boxed_str);
        match place.and_then(|at| u64::try_from(at).ok()) {
            Some(at) => finding.in_bytes(at, 1),
            None => finding,
        }
    });
    all.collect()
}
