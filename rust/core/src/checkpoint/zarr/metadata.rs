//! What `.zarray` and `zarr.json` say about an array.

use super::codec::Codecs;
use super::grid::Grid;
use super::key::Keys;
use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::json::{JsonError, Kind, Object, Value};
use crate::checkpoint::limits::Limits;
use crate::findings::{Code, Finding};

/// What a `zarr.json` describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A directory of arrays.
    Group,
    /// An array.
    Array(Box<Array>),
}

/// An array: everything about it but its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Shape of the array and of its chunks.
    pub grid: Grid,
    /// Type of the elements.
    pub dtype: Dtype,
    /// What elements without a chunk read as, as it stands in the metadata; `None` for `null` or nothing.
    pub fill: Option<Box<str>>,
    /// How the chunks are named.
    pub keys: Keys,
    /// How the elements of a chunk become bytes.
    pub codecs: Codecs,
}

/// Metadata that describes no array a reader could judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not what the format says it is.
    Malformed(String),
    /// It may be right, but nothing here knows what it means.
    Unsupported(String),
}

impl Fault {
    /// The fault as a finding about `file`, the metadata of the array `fqn`.
    #[must_use]
    pub fn finding(self, fqn: &str, file: &str) -> Finding {
        let (code, reason) = match self {
            Self::Malformed(reason) => (Code::ArrayMetadataMalformed, reason),
            Self::Unsupported(reason) => (Code::Unsupported, reason),
        };
        Finding::new(code).of_tensor(fqn).in_file(file).with("reason", reason)
    }
}

impl From<JsonError> for Fault {
    fn from(error: JsonError) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// Read a `zarr.json` (zarr version 3).
///
/// # Errors
///
/// [`Fault`] when it is malformed, or its grid or naming of chunks is of an unknown kind.
pub fn version_3(bytes: &[u8], limits: &Limits) -> Result<Node, Fault> {
    let node = open(bytes, limits)?;
    version(&node, 3)?;
    match node.required("node_type")?.string()?.as_ref() {
        "group" => return Ok(Node::Group),
        "array" => {}
        other => return Err(Fault::Malformed(format!("node_type {other:?} is neither an array nor a group"))),
    }
    if let Some(transformers) = node.value("storage_transformers")
        && !transformers.array()?.is_empty()
    {
        return Err(Fault::Unsupported("storage transformers".to_owned()));
    }
    let shape = node.required("shape")?;
    let (kind, grid) = named(node.required("chunk_grid")?)?;
    if kind != "regular" {
        return Err(Fault::Unsupported(format!("chunk grid {kind:?}")));
    }
    let grid = grid.ok_or_else(|| Fault::Malformed("a regular chunk grid without configuration".to_owned()))?;
    let grid = read_grid(shape, grid.required("chunk_shape")?, limits)?;

    let data_type = node.required("data_type")?;
    let dtype = Dtype::named(&match data_type.kind() {
        Kind::String => data_type.string()?.into_owned(),
        _ => named(data_type)?.0,
    });
    let (kind, naming) = named(node.required("chunk_key_encoding")?)?;
    let separator = naming.as_ref().and_then(|naming| naming.value("separator"));
    let separator = separator.map(read_separator).transpose()?;
    let keys = match kind.as_str() {
        "default" => Keys::version_3(separator.unwrap_or('/')),
        "v2" => Keys::version_2(separator.unwrap_or('.')),
        _ => return Err(Fault::Unsupported(format!("chunk key encoding {kind:?}"))),
    };
    let codecs = Codecs::version_3(node.required("codecs")?, &grid, &dtype)?;
    Ok(Node::Array(Box::new(Array { grid, dtype, fill: read_fill(&node), keys, codecs })))
}

/// Read a `.zarray` (zarr version 2).
///
/// # Errors
///
/// [`Fault`] when it is malformed.
pub fn version_2(bytes: &[u8], limits: &Limits) -> Result<Array, Fault> {
    let array = open(bytes, limits)?;
    version(&array, 2)?;
    let grid = read_grid(array.required("shape")?, array.required("chunks")?, limits)?;
    let dtype = array.required("dtype")?;
    let dtype = match dtype.kind() {
        Kind::String => Dtype::named(&numpy_name(&dtype.string()?)),
        // A structure of fields: its text is its name, its size is not known.
        _ => Dtype::named(dtype.text()),
    };
    let separator = array.value("dimension_separator").map(read_separator).transpose()?;
    let codecs = Codecs::version_2(array.value("compressor"), array.value("filters"), &grid, &dtype)?;
    let keys = Keys::version_2(separator.unwrap_or('.'));
    Ok(Array { grid, dtype, fill: read_fill(&array), keys, codecs })
}

fn open<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Object<'a>, Fault> {
    let limit = usize::try_from(limits.header_bytes).unwrap_or(usize::MAX);
    Ok(Value::document(bytes, limit)?.object()?.unique()?)
}

fn version(node: &Object<'_>, expected: i128) -> Result<(), Fault> {
    let found = node.required("zarr_format")?.integer()?;
    if found == expected { Ok(()) } else { Err(Fault::Unsupported(format!("zarr format {found}"))) }
}

/// A name and its configuration, or the bare name that zarr version 3 allows in its place.
pub(super) fn named(value: Value<'_>) -> Result<(String, Option<Object<'_>>), Fault> {
    if value.kind() == Kind::String {
        return Ok((value.string()?.into_owned(), None));
    }
    let object = value.object()?.unique()?;
    let name = object.required("name")?.string()?.into_owned();
    let configuration = match object.value("configuration") {
        Some(configuration) if !configuration.is_null() => Some(configuration.object()?.unique()?),
        _ => None,
    };
    Ok((name, configuration))
}

/// Whole numbers of one array, each within `least..=i64::MAX`.
pub(super) fn extents(value: Value<'_>, what: &str, least: i64) -> Result<Box<[i64]>, Fault> {
    let numbers = value.array()?.into_iter().enumerate().map(|(dimension, extent)| {
        let extent = extent.integer()?;
        match i64::try_from(extent) {
            Ok(extent) if extent >= least => Ok(extent),
            Ok(_) => Err(Fault::Malformed(format!(
                "{what} is {extent} in dimension {dimension}, it must be at least {least}"
            ))),
            Err(_) => Err(Fault::Malformed(format!("{what} is {extent} in dimension {dimension}, beyond 64 bits"))),
        }
    });
    numbers.collect()
}

fn read_grid(shape: Value<'_>, chunk_shape: Value<'_>, limits: &Limits) -> Result<Grid, Fault> {
    let shape = extents(shape, "shape", 0)?;
    let chunk_shape = extents(chunk_shape, "chunk shape", 1)?;
    if shape.len() > limits.rank {
        return Err(Fault::Malformed(format!("{} dimensions, more than {}", shape.len(), limits.rank)));
    }
    let ranks = (shape.len(), chunk_shape.len());
    Grid::new(shape, chunk_shape)
        .ok_or_else(|| Fault::Malformed(format!("{} dimensions, its chunks have {}", ranks.0, ranks.1)))
}

fn read_fill(array: &Object<'_>) -> Option<Box<str>> {
    array.value("fill_value").filter(|value| !value.is_null()).map(|value| value.text().into())
}

fn read_separator(value: Value<'_>) -> Result<char, Fault> {
    match value.string()?.as_ref() {
        "/" => Ok('/'),
        "." => Ok('.'),
        other => Err(Fault::Malformed(format!("separator {other:?} is neither \".\" nor \"/\""))),
    }
}

/// A numpy type string, such as `<f4`, by the name torch has for it; any other name stays what it is.
fn numpy_name(text: &str) -> String {
    let name = match text.trim_start_matches(['<', '>', '|', '=']) {
        "b1" => "bool",
        "i1" => "int8",
        "i2" => "int16",
        "i4" => "int32",
        "i8" => "int64",
        "u1" => "uint8",
        "u2" => "uint16",
        "u4" => "uint32",
        "u8" => "uint64",
        "f2" => "float16",
        "f4" => "float32",
        "f8" => "float64",
        "c8" => "complex64",
        "c16" => "complex128",
        _ => text,
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v2(text: &str) -> Result<Array, Fault> {
        version_2(text.as_bytes(), &Limits::DEFAULT)
    }

    fn v3(text: &str) -> Result<Node, Fault> {
        version_3(text.as_bytes(), &Limits::DEFAULT)
    }

    fn zarray(shape: &str, chunks: &str) -> String {
        format!(
            "{{\"zarr_format\":2,\"shape\":{shape},\"chunks\":{chunks},\"dtype\":\"<f4\",\"compressor\":null,\
             \"filters\":null,\"fill_value\":null,\"order\":\"C\"}}"
        )
    }

    fn zarr_json(edit: impl Fn(&mut serde_json::Value)) -> String {
        let mut array = serde_json::json!({
            "zarr_format": 3, "node_type": "array", "shape": [7, 10], "data_type": "float32", "fill_value": 0.0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 4]}},
            "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        });
        edit(&mut array);
        array.to_string()
    }

    #[test]
    fn reads_both_versions() {
        let array = v2(&zarray("[4, 6]", "[2, 3]")).unwrap();
        assert_eq!((array.grid.shape(), array.grid.chunk_shape()), ([4, 6].as_slice(), [2, 3].as_slice()));
        assert_eq!((array.dtype.name(), array.fill, array.codecs.exact_length()), ("float32", None, Some(24)));
        let Node::Array(array) = v3(&zarr_json(|_| ())).unwrap() else { panic!("an array") };
        assert_eq!(array.fill.as_deref(), Some("0.0"));
        assert_eq!(array.codecs.exact_length(), Some(48));
        assert_eq!(v3(r#"{"zarr_format":3,"node_type":"group"}"#), Ok(Node::Group));
    }

    #[test]
    fn dtypes_of_version_2_are_named_as_torch_names_them() {
        for (numpy, torch) in [("|b1", "bool"), (">f8", "float64"), ("<c16", "complex128"), ("bfloat16", "bfloat16")] {
            let array = v2(&zarray("[2]", "[2]").replace("<f4", numpy)).unwrap();
            assert_eq!(array.dtype, Dtype::named(torch), "{numpy}");
        }
        assert_eq!(v2(&zarray("[2]", "[2]").replace("<f4", "<M8[ns]")).unwrap().dtype.bits(), None);
    }

    #[test]
    fn what_makes_no_grid_is_malformed() {
        let faults = [
            (zarray("[4, 0]", "[2, 0]"), "chunk shape is 0 in dimension 1, it must be at least 1"),
            (zarray("[6, 4]", "[2]"), "2 dimensions, its chunks have 1"),
            (zarray("[6]", "[2, 2]"), "1 dimensions, its chunks have 2"),
            (zarray("[-1]", "[2]"), "shape is -1 in dimension 0, it must be at least 0"),
            (zarray("[9223372036854775808]", "[2]"), "shape is 9223372036854775808 in dimension 0, beyond 64 bits"),
            (zarray("[2.5]", "[2]"), "a float where an integer should be at byte 26"),
            (zarray("[true]", "[2]"), "a boolean where an integer should be at byte 26"),
            (zarray("null", "[2]"), "null where an array should be at byte 25"),
            (zarray("[2]", "[2]").replace("\"dtype\"", "\"shape\""), "duplicate key \"shape\" at byte 42"),
        ];
        for (text, reason) in faults {
            assert_eq!(v2(&text), Err(Fault::Malformed(reason.to_owned())), "{text}");
        }
        let deep = zarray(&format!("[{}1]", "1,".repeat(64)), &format!("[{}1]", "1,".repeat(64)));
        assert_eq!(v2(&deep), Err(Fault::Malformed("65 dimensions, more than 64".to_owned())));
    }

    #[test]
    fn what_nobody_here_knows_is_unsupported_and_never_guessed() {
        let grid = zarr_json(|array| array["chunk_grid"]["name"] = "rectangular".into());
        assert_eq!(v3(&grid), Err(Fault::Unsupported("chunk grid \"rectangular\"".to_owned())));
        let keys = zarr_json(|array| array["chunk_key_encoding"] = "spiral".into());
        assert_eq!(v3(&keys), Err(Fault::Unsupported("chunk key encoding \"spiral\"".to_owned())));
        let version = zarr_json(|array| array["zarr_format"] = 4.into());
        assert_eq!(v3(&version), Err(Fault::Unsupported("zarr format 4".to_owned())));
        let transformers = zarr_json(|array| array["storage_transformers"] = serde_json::json!([{"name": "x"}]));
        assert_eq!(v3(&transformers), Err(Fault::Unsupported("storage transformers".to_owned())));
    }

    #[test]
    fn a_missing_field_is_named() {
        for field in ["zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs"] {
            let text = zarr_json(|array| {
                array.as_object_mut().unwrap().remove(field);
            });
            assert_eq!(v3(&text), Err(Fault::Malformed(format!("no {field:?} at byte 0"))));
        }
    }
}
