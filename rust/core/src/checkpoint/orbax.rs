//! What Orbax writes beside the arrays: the tree of parameters, the items of a step.

use hashbrown::HashSet;

use super::json::{JsonError, Kind, Object, Problem, Value};
use super::limits::Limits;
use super::zarr::store::{Nodes, VERSION_2, VERSION_3};
use crate::findings::{Code, Finding};

/// Name of the file that lists the parameters of an item.
pub const TREE: &str = "_METADATA";
/// Name of the file that lists the items of a step.
pub const STEP: &str = "_CHECKPOINT_METADATA";
/// Name of the file that is written last.
pub const COMMIT_MARKER: &str = "commit_success.txt";
/// Directory of what each process says of the arrays that it wrote.
pub const ARRAY_METADATAS: &str = "array_metadatas/";

/// The parameters of an item, and how they are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// All of them, in the order of the file.
    pub parameters: Vec<Parameter>,
    /// Whether arrays are in a database; `None` where the file does not say.
    pub uses_ocdbt: Option<bool>,
    /// Whether arrays are of zarr version 3, not 2.
    pub uses_zarr3: bool,
    /// Whether chunks are written even when they have nothing but the fill value.
    pub stores_fill: bool,
}

/// One leaf of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its keys, joined with dots: the name of the array.
    pub name: String,
    /// Whether an array must be there; strings, empty containers and the like have none.
    pub is_array: bool,
    /// Shape of what one process wrote at a time, where that is known.
    pub write_shape: Option<Vec<i64>>,
}

impl Tree {
    /// Compare the parameters with the arrays that are there, except where `unknown` says that nothing can be said.
    #[must_use]
    pub fn against(&self, nodes: &Nodes, unknown: impl Fn(&str) -> bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        let metadata = if self.uses_zarr3 { VERSION_3 } else { VERSION_2 };
        for parameter in self.parameters.iter().filter(|parameter| parameter.is_array) {
            let name = parameter.name.as_str();
            if !nodes.contains(name) && !unknown(name) {
                let finding = Finding::new(Code::ArrayMetadataMissing).of_tensor(name);
                let finding = finding.in_file(&format!("{name}/{metadata}"));
                findings.push(finding.with("reason", format!("{TREE} lists the array, and there is none")));
            }
        }
        let known: HashSet<&str, foldhash::fast::RandomState> =
            self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        for number in nodes.in_order() {
            let Some((path, _)) = nodes.array(number) else { continue };
            if !known.contains(path) {
                let finding = Finding::new(Code::ArrayUnreferenced).of_tensor(path);
                findings.push(finding.with("reason", format!("{TREE} does not list the array")));
            }
        }
        findings.extend(self.parameters.iter().filter_map(|parameter| parameter.shared_chunks(nodes)));
        findings
    }
}

impl Parameter {
    /// Whether what two processes wrote meets within a chunk: the later one undoes the work of the earlier one.
    fn shared_chunks(&self, nodes: &Nodes) -> Option<Finding> {
        let (number, _) = nodes.owner(&format!("{}/", self.name))?;
        let (path, array) = nodes.array(number)?;
        let written = self.write_shape.as_deref()?;
        if path != self.name || written.len() != array.grid.rank() {
            return None;
        }
        let mut dimensions = written.iter().zip(array.grid.chunk_shape()).zip(array.grid.shape());
        let cut = |((&written, &chunk), &extent): ((&i64, &i64), &i64)| {
            (1..extent).contains(&written) && written.checked_rem(chunk) != Some(0)
        };
        let dimension = dimensions.position(cut)?;
        let (written, chunk) = (written.get(dimension)?, array.grid.chunk_shape().get(dimension)?);
        let reason = format!("pieces of {written} were written into chunks of {chunk}");
        let finding = Finding::new(Code::StorageChunkShared).of_tensor(path).in_dimension(dimension);
        Some(finding.with("written", *written).with("chunk", *chunk).with("reason", reason))
    }
}

/// An error in a file of JSON, as a finding.
#[must_use]
pub fn fault(error: &JsonError, file: &str) -> Finding {
    let code = match error.problem {
        Problem::Empty => Code::MetadataEmpty,
        Problem::TooLarge { .. } => Code::MetadataTooLarge,
        _ => Code::MetadataMalformed,
    };
    Finding::new(code).in_file(file).with("reason", error.to_string())
}

/// Kinds of values that are stored as arrays. Strings are in a file of their own, the rest is nowhere.
const ARRAY_TYPES: [&str; 3] = ["jax.Array", "np.ndarray", "scalar"];

/// Read a `_METADATA`.
///
/// # Errors
///
/// [`JsonError`] when it is not JSON of the expected kind.
pub fn tree(bytes: &[u8], limits: &Limits) -> Result<Tree, JsonError> {
    let root = open(bytes, limits)?;
    let members = root.required("tree_metadata")?.object()?.unique()?;
    let parameters = members.members().iter().map(|member| parameter(member.value));
    Ok(Tree {
        parameters: parameters.collect::<Result<_, _>>()?,
        uses_ocdbt: flag(&root, "use_ocdbt")?,
        uses_zarr3: flag(&root, "use_zarr3")?.unwrap_or_default(),
        stores_fill: flag(&root, "store_array_data_equal_to_fill_value")?.unwrap_or_default(),
    })
}

/// Check what a process says of the arrays that it wrote.
///
/// # Errors
///
/// [`JsonError`] when it is not JSON of the expected kind: Orbax refuses to restore then.
pub fn array_metadatas(bytes: &[u8], limits: &Limits) -> Result<(), JsonError> {
    open(bytes, limits)?.required("array_metadatas")?.array().map(drop)
}

/// What `_CHECKPOINT_METADATA` says of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its items, each with what wrote it; none where the step itself is the only one.
    pub items: Vec<(String, String)>,
    /// Whether the time of its completion is recorded.
    pub committed: bool,
}

/// Read a `_CHECKPOINT_METADATA`.
///
/// # Errors
///
/// [`JsonError`] when it is not JSON of the expected kind.
pub fn step(bytes: &[u8], limits: &Limits) -> Result<Step, JsonError> {
    let root = open(bytes, limits)?;
    let items = match root.value("item_handlers") {
        Some(handlers) if handlers.kind() == Kind::Object => {
            let handlers = handlers.object()?.unique()?;
            let members = handlers.members().iter();
            members.map(|item| (item.key.clone().into_owned(), item.value.text().to_owned())).collect()
        }
        _ => Vec::new(),
    };
    // Files of old writers have no such key: only a time that was left open says something.
    let committed = root.value("commit_timestamp_nsecs").is_none_or(|time| !time.is_null());
    Ok(Step { items, committed })
}

fn open<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Object<'a>, JsonError> {
    let limit = usize::try_from(limits.metadata_bytes).unwrap_or(usize::MAX);
    Value::document(bytes, limit)?.object()?.unique()
}

fn flag(root: &Object<'_>, key: &str) -> Result<Option<bool>, JsonError> {
    root.value(key).filter(|value| !value.is_null()).map(Value::boolean).transpose()
}

fn parameter(value: Value<'_>) -> Result<Parameter, JsonError> {
    let entry = value.object()?;
    let mut keys = Vec::new();
    for key in entry.required("key_metadata")?.array()? {
        let key = key.object()?.required("key")?;
        // A key that is no string is written as its text.
        keys.push(if key.kind() == Kind::String { key.string()?.into_owned() } else { key.text().to_owned() });
    }
    let mut parameter = Parameter { name: keys.join("."), is_array: false, write_shape: None };
    if let Some(described) = entry.value("value_metadata").filter(|value| !value.is_null()) {
        let described = described.object()?;
        let kind = described.value("value_type").map(Value::string).transpose()?;
        let skipped = flag(&described, "skip_deserialize")?.unwrap_or_default();
        parameter.is_array = !skipped && kind.is_some_and(|kind| ARRAY_TYPES.contains(&kind.as_ref()));
        if let Some(shape) = described.value("write_shape").filter(|value| !value.is_null()) {
            let extents = shape.array()?.into_iter().map(|extent| Ok(i64::try_from(extent.integer()?).ok()));
            parameter.write_shape = extents.collect::<Result<Option<Vec<_>>, JsonError>>()?;
        }
    }
    Ok(parameter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_arrays_must_be_there() {
        let text = r#"{"tree_metadata": {
            "('a', 'b')": {"key_metadata": [{"key": "a", "key_type": 2}, {"key": 1, "key_type": 1}],
                "value_metadata": {"value_type": "jax.Array", "skip_deserialize": false, "write_shape": [2, 3]}},
            "('n',)": {"key_metadata": [{"key": "n"}],
                "value_metadata": {"value_type": "None", "skip_deserialize": true}},
            "('s',)": {"key_metadata": [{"key": "s"}], "value_metadata": {"value_type": "string"}},
            "('o',)": {"key_metadata": [{"key": "o"}]}},
            "use_ocdbt": true, "use_zarr3": true, "store_array_data_equal_to_fill_value": true}"#;
        let tree = tree(text.as_bytes(), &Limits::DEFAULT).unwrap();
        let seen: Vec<_> = tree.parameters.iter().map(|one| (one.name.as_str(), one.is_array)).collect();
        assert_eq!(seen, [("a.1", true), ("n", false), ("s", false), ("o", false)]);
        assert_eq!(tree.parameters.first().unwrap().write_shape, Some(vec![2, 3]));
        assert_eq!((tree.uses_ocdbt, tree.uses_zarr3, tree.stores_fill), (Some(true), true, true));
    }

    #[test]
    fn a_damaged_tree_names_the_byte() {
        let error = |text: &str| tree(text.as_bytes(), &Limits::DEFAULT).unwrap_err().to_string();
        assert_eq!(error("{\"tree_metadata\": {"), "unexpected end at byte 19");
        assert_eq!(error("{}"), "no \"tree_metadata\" at byte 0");
        assert_eq!(
            error(r#"{"tree_metadata": {}, "tree_metadata": {}}"#),
            "duplicate key \"tree_metadata\" at byte 22"
        );
        assert_eq!(
            error(r#"{"tree_metadata": {}, "use_ocdbt": 1}"#),
            "an integer where a boolean should be at byte 35"
        );
    }

    #[test]
    fn a_step_names_its_items_and_whether_it_was_completed() {
        let read = |text: &str| step(text.as_bytes(), &Limits::DEFAULT).unwrap();
        let both = read(r#"{"item_handlers": {"state": "x", "meta": "y"}, "commit_timestamp_nsecs": 1}"#);
        assert_eq!(
            both,
            Step { items: vec![("state".into(), "\"x\"".into()), ("meta".into(), "\"y\"".into())], committed: true }
        );
        let open = read(r#"{"item_handlers": "x", "commit_timestamp_nsecs": null}"#);
        assert_eq!(open, Step { items: vec![], committed: false });
        assert!(read("{}").committed);
    }
}
