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
