//! How the elements of a chunk become bytes, so far as the number of bytes depends on it.

use super::grid::Grid;
use super::metadata::{Fault, extents, named};
use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::json::{Object, Value};

/// One transformation of bytes to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// A Zstandard frame.
    Zstd,
    /// Four bytes of CRC-32C behind the rest.
    Crc32c,
    /// A Blosc container.
    Blosc,
    /// Anything else.
    Other,
}

/// What is known of the bytes of a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codecs {
    /// Bytes of the elements before any layer, where they lie one after another.
    plain_bytes: Option<u128>,
    /// Transformations of these bytes, in the order of writing.
    layers: Vec<Layer>,
    sharding: Option<Box<Sharding>>,
}

/// A chunk that is a file of smaller chunks and an index of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharding {
    /// The chunk, cut into inner chunks.
    pub grid: Grid,
    /// Whether the index comes first, not last.
    pub index_at_start: bool,
    /// Whether four bytes of CRC-32C follow the index.
    pub index_checksum: bool,
    /// Whether inner chunks lie where the grid has them; false once something turns the axes around.
    pub in_place: bool,
    /// How the elements of an inner chunk become bytes.
    pub codecs: Codecs,
}

impl Codecs {
    /// Read the codecs of zarr version 3.
    pub(super) fn version_3(list: Value<'_>, grid: &Grid, dtype: &Dtype) -> Result<Self, Fault> {
        let mut codecs = Self::default();
        let mut in_place = true;
        let mut serialized = false;
        for codec in list.array()? {
            let (name, configuration) = named(codec)?;
            if serialized {
                codecs.layers.push(Layer::named(&name));
                continue;
            }
            match name.as_str() {
                // Axes change places, elements keep their size.
                "transpose" => in_place = false,
                "bytes" => {
                    codecs.plain_bytes = plain_bytes(grid, dtype);
                    serialized = true;
                }
                "sharding_indexed" => {
                    let configuration = configuration
                        .ok_or_else(|| Fault::Malformed("sharding_indexed without configuration".to_owned()))?;
                    codecs.sharding = Some(Box::new(Sharding::read(&configuration, grid, dtype, in_place)?));
                    serialized = true;
                }
                // An unknown codec may make anything of the elements: their number of bytes is not known from here on.
                _ => return Ok(Self { layers: vec![Layer::Other], ..Self::default() }),
            }
        }
        if serialized { Ok(codecs) } else { Err(Fault::Malformed("no codec makes bytes of the elements".to_owned())) }
    }

    /// Read the compressor and filters of zarr version 2.
    pub(super) fn version_2(
        compressor: Option<Value<'_>>,
        filters: Option<Value<'_>>,
        grid: &Grid,
        dtype: &Dtype,
    ) -> Result<Self, Fault> {
        let filters = match filters {
            Some(filters) if !filters.is_null() => filters.array()?.len(),
            _ => 0,
        };
        let layers = match compressor {
            Some(compressor) if !compressor.is_null() => {
                vec![Layer::named(&compressor.object()?.unique()?.required("id")?.string()?)]
            }
            _ => Vec::new(),
        };
        let plain_bytes = if filters == 0 { plain_bytes(grid, dtype) } else { None };
        Ok(Self { plain_bytes, layers, sharding: None })
    }

    /// Bytes that a chunk takes, where that is certain: nothing but elements and checksums.
    #[must_use]
    pub fn exact_length(&self) -> Option<u128> {
        self.length_after(&self.layers)
    }

    /// The layer that was put on last, and the number of bytes that it holds where that is certain.
    #[must_use]
    pub fn outermost(&self) -> Option<(Layer, Option<u128>)> {
        let (outermost, inner) = self.layers.split_last()?;
        Some((*outermost, self.length_after(inner)))
    }

    /// The smaller chunks that a chunk holds, unless something hides them.
    #[must_use]
    pub fn sharding(&self) -> Option<&Sharding> {
        if self.layers.is_empty() { self.sharding.as_deref() } else { None }
    }

    /// Bytes after these layers, as long as they only add checksums.
    fn length_after(&self, layers: &[Layer]) -> Option<u128> {
        let checksums = layers.len().checked_mul(4)?;
        let exact = layers.iter().all(|layer| *layer == Layer::Crc32c);
        self.plain_bytes.filter(|_| exact)?.checked_add(u128::try_from(checksums).ok()?)
    }
}

impl Layer {
    fn named(name: &str) -> Self {
        match name {
            "zstd" => Self::Zstd,
            "crc32c" => Self::Crc32c,
            "blosc" => Self::Blosc,
            _ => Self::Other,
        }
    }
}

impl Sharding {
    fn read(configuration: &Object<'_>, chunk: &Grid, dtype: &Dtype, in_place: bool) -> Result<Self, Fault> {
        let inner = extents(configuration.required("chunk_shape")?, "inner chunk shape", 1)?;
        let ranks = (chunk.rank(), inner.len());
        let grid = Grid::new(chunk.chunk_shape().into(), inner)
            .ok_or_else(|| Fault::Malformed(format!("chunks have {} dimensions, inner chunks {}", ranks.0, ranks.1)))?;
        let mut extents = grid.shape().iter().zip(grid.chunk_shape());
        if let Some(dimension) = extents.position(|(&outer, &inner)| outer.checked_rem(inner) != Some(0)) {
            return Err(Fault::Malformed(format!("inner chunks do not divide a chunk in dimension {dimension}")));
        }
        let index_at_start = match configuration.value("index_location").map(Value::string).transpose()?.as_deref() {
            None | Some("end") => false,
            Some("start") => true,
            Some(other) => return Err(Fault::Malformed(format!("index_location {other:?}"))),
        };
        let codecs = configuration.required("codecs")?;
        let nested =
            codecs.array()?.iter().any(|codec| matches!(named(*codec), Ok((name, _)) if name == "sharding_indexed"));
        // Shards within shards are legal and unheard of: their inner files stay closed, and reading does not recurse.
        let codecs = if nested { Self::closed() } else { Codecs::version_3(codecs, &grid, dtype)? };
        let index_checksum = index_checksum(configuration.required("index_codecs")?)?;
        Ok(Self { grid, index_at_start, index_checksum, in_place, codecs })
    }

    fn closed() -> Codecs {
        Codecs { layers: vec![Layer::Other], ..Codecs::default() }
    }
}

/// Whether a checksum follows an index of little-endian numbers, the only kind of index whose length is fixed.
fn index_checksum(codecs: Value<'_>) -> Result<bool, Fault> {
    let codecs = codecs.array()?.into_iter().map(named).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<_> = codecs.iter().map(|(name, _)| name.as_str()).collect();
    let checksum = match names.as_slice() {
        ["bytes"] => false,
        ["bytes", "crc32c"] => true,
        _ => return Err(Fault::Unsupported(format!("shard index codecs {names:?}"))),
    };
    let configuration = codecs.first().and_then(|(_, configuration)| configuration.as_ref());
    match configuration.and_then(|configuration| configuration.value("endian")).map(Value::string).transpose()? {
        Some(endian) if endian != "little" => Err(Fault::Unsupported(format!("shard index in {endian} endian"))),
        _ => Ok(checksum),
    }
}

/// Bytes of a chunk's elements; packed types are stored one to a byte.
fn plain_bytes(grid: &Grid, dtype: &Dtype) -> Option<u128> {
    grid.chunk_elements()?.checked_mul(u128::from(dtype.bits()?.div_ceil(8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(codecs: &str) -> Result<Codecs, Fault> {
        let grid = Grid::new([8, 6].into(), [4, 6].into()).expect("a sound grid");
        let list = Value::document(codecs.as_bytes(), 1 << 20).expect("JSON");
        Codecs::version_3(list, &grid, &Dtype::named("int4"))
    }

    fn sharding(inner: &str, codecs: &str, index: &str) -> String {
        let configuration = format!(r#"{{"chunk_shape":{inner},"codecs":{codecs},"index_codecs":{index}}}"#);
        format!(r#"[{{"name":"sharding_indexed","configuration":{configuration}}}]"#)
    }

    #[test]
    fn packed_types_take_a_byte_an_element() {
        assert_eq!(read(r#"["bytes"]"#).unwrap().exact_length(), Some(24));
        assert_eq!(read(r#"["bytes","crc32c","crc32c"]"#).unwrap().exact_length(), Some(32));
        assert_eq!(read(r#"["bytes","crc32c","zstd"]"#).unwrap().outermost(), Some((Layer::Zstd, Some(28))));
        assert_eq!(read(r#"["packbits"]"#).unwrap().exact_length(), None);
        assert_eq!(read(r#"["mystery","bytes"]"#).unwrap().outermost(), Some((Layer::Other, None)));
    }

    #[test]
    fn inner_chunks_divide_their_shard() {
        let index = r#"["bytes","crc32c"]"#;
        let codecs = read(&sharding("[2,3]", r#"["bytes"]"#, index)).unwrap();
        let sharding_of = codecs.sharding().unwrap();
        assert_eq!((sharding_of.index_length(), sharding_of.codecs.exact_length()), (Some(68), Some(6)));
        assert_eq!((sharding_of.index_offset(100), sharding_of.index_offset(67)), (Some(32), None));
        for (inner, reason) in [
            ("[3,3]", "inner chunks do not divide a chunk in dimension 0"),
            ("[2]", "chunks have 2 dimensions, inner chunks 1"),
            ("[2,0]", "inner chunk shape is 0 in dimension 1, it must be at least 1"),
        ] {
            let fault = read(&sharding(inner, r#"["bytes"]"#, index)).unwrap_err();
            assert_eq!(fault, Fault::Malformed(reason.to_owned()));
        }
    }

    #[test]
    fn an_index_of_unknown_length_is_refused_and_never_guessed() {
        for index in [r#"["bytes","zstd"]"#, "[]", r#"[{"name":"bytes","configuration":{"endian":"big"}}]"#] {
            let fault = read(&sharding("[2,3]", r#"["bytes"]"#, index)).unwrap_err();
            assert!(matches!(fault, Fault::Unsupported(_)), "{fault:?}");
        }
        let plain = read(&sharding("[2,3]", r#"["bytes"]"#, r#"["bytes"]"#)).unwrap();
        assert_eq!(plain.sharding().unwrap().index_length(), Some(64));
    }

    #[test]
    fn shards_within_shards_and_hidden_shards_stay_closed() {
        let index = r#"["bytes","crc32c"]"#;
        let nested = sharding("[2,3]", &sharding("[1,3]", r#"["bytes"]"#, index), index);
        let codecs = read(&nested).unwrap();
        assert_eq!(codecs.sharding().unwrap().codecs.outermost(), Some((Layer::Other, None)));
        let hidden = sharding("[2,3]", r#"["bytes"]"#, index);
        let hidden = format!(r#"{},"zstd"]"#, hidden.strip_suffix(']').unwrap());
        let codecs = read(&hidden).unwrap();
        assert_eq!((codecs.sharding().is_none(), codecs.outermost()), (true, Some((Layer::Zstd, None))));
        assert_eq!(read("[]"), Err(Fault::Malformed("no codec makes bytes of the elements".to_owned())));
    }
}
