//! Ranges of the row-major flattening of a tensor as boxes, and back.
//!
//! Padded flat buffers hold a tensor's elements from one index to another. Such a range is a list of boxes each of
//! which is one stretch of the buffer: never more than two for each dimension but the first, and one.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "indices lie in a tensor whose number of elements was found to fit into 128 bits"
)]

use crate::layout::{Boxes, Inside};

/// Why a range has no boxes, or boxes no range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A dimension of the tensor is negative.
    #[error("dimension {dimension} of the tensor is {size}")]
    NegativeShape {
        /// Which one.
        dimension: usize,
        /// Its size.
        size: i64,
    },
    /// The tensor has too many elements to number.
    #[error("the tensor has 2^128 elements or more")]
    TooLarge,
    /// The range ends before it starts or after the tensor ends.
    #[error("{start}..{stop} is not a range of {elements} elements")]
    OutOfRange {
        /// First element.
        start: u128,
        /// Element after the last.
        stop: u128,
        /// Elements of the tensor.
        elements: u128,
    },
    /// A chunk is not one stretch of the flattening.
    #[error("chunk {position} is not contiguous in the flattened tensor")]
    NotContiguous {
        /// Which one.
        position: usize,
    },
    /// A chunk does not start where the one before it in the flattening ends.
    #[error("chunk {position} starts at element {start} of the flattened tensor, not at {expected}")]
    NotAdjacent {
        /// Which one.
        position: usize,
        /// Where it starts.
        start: u128,
        /// Where the other one ends.
        expected: u128,
    },
}

/// Cut the flat range `start..stop` of a tensor into the fewest boxes that are contiguous in the flattening.
///
/// The boxes come in the order of the flattening. An empty range has none.
///
/// # Errors
///
/// [`Fault`] when the shape is negative or too large, or the range is not inside.
pub fn boxes(shape: &[i64], start: u128, stop: u128) -> Result<Boxes, Fault> {
    let (strides, elements) = strides(shape)?;
    if start > stop || stop > elements {
        return Err(Fault::OutOfRange { start, stop, elements });
    }
    let mut found = Boxes::default();
    let mut next = start;
    while next < stop {
        let offsets = coordinates(shape, &strides, next);
        // The outermost dimension in which a whole slice starts here and fits. At rank 0 there is none, and one element.
        let outermost = strides.iter().position(|&stride| next.is_multiple_of(stride) && stride <= stop - next);
        let mut sizes: Vec<i64> = shape.to_vec();
        let mut taken = 1;
        if let Some(dimension) = outermost {
            sizes.iter_mut().take(dimension).for_each(|size| *size = 1);
            if let (Some(size), Some(&stride), Some(&offset)) =
                (sizes.get_mut(dimension), strides.get(dimension), offsets.get(dimension))
            {
                let slices = (stop - next) / stride;
                *size = i64::try_from(slices).map_or(*size - offset, |slices| slices.min(*size - offset));
                taken = u128::from(size.unsigned_abs()) * stride;
            }
        }
        found.push(&offsets, &sizes);
        next += taken;
    }
    Ok(found)
}

/// Join chunks into the flat range they are, whatever their order. Empty chunks do not count; no chunks are `0..0`.
///
/// # Errors
///
/// [`Fault`] when a chunk is not contiguous, when there is a gap or an overlap between two, and when the tensor is too
/// large.
pub fn range(chunks: Inside<'_>) -> Result<(u128, u128), Fault> {
    let chunks = chunks.chunks();
    let (strides, _) = strides(chunks.shape())?;
    let mut stretches = Vec::with_capacity(chunks.len());
    for (position, (offsets, sizes)) in chunks.iter().enumerate() {
        if sizes.contains(&0) {
            continue;
        }
        let start: u128 =
            offsets.iter().zip(&strides).map(|(&offset, &stride)| u128::from(offset.unsigned_abs()) * stride).sum();
        let len = sizes.iter().map(|&size| u128::from(size.unsigned_abs())).product::<u128>();
        let mut partial = sizes.iter().zip(chunks.shape()).rev().skip_while(|(size, dim)| size == dim).skip(1);
        if partial.any(|(&size, _)| size != 1) {
            return Err(Fault::NotContiguous { position });
        }
        stretches.push((start, len, position));
    }
    stretches.sort_unstable();
    let mut whole: Option<(u128, u128)> = None;
    for (start, len, position) in stretches {
        let (first, expected) = whole.unwrap_or((start, start));
        if start != expected {
            return Err(Fault::NotAdjacent { position, start, expected });
        }
        whole = Some((first, start + len));
    }
    Ok(whole.unwrap_or_default())
}

/// Elements from one index of a dimension to the next, for each dimension, and of the whole tensor.
fn strides(shape: &[i64]) -> Result<(Vec<u128>, u128), Fault> {
    if let Some((dimension, &size)) = shape.iter().enumerate().find(|(_, size)| **size < 0) {
        return Err(Fault::NegativeShape { dimension, size });
    }
    if shape.contains(&0) {
        return Ok((vec![0; shape.len()], 0));
    }
    let mut elements = 1_u128;
    let mut strides = vec![0; shape.len()];
    for (stride, &dim) in strides.iter_mut().zip(shape).rev() {
        *stride = elements;
        elements = elements.checked_mul(u128::from(dim.unsigned_abs())).ok_or(Fault::TooLarge)?;
    }
    Ok((strides, elements))
}

fn coordinates(shape: &[i64], strides: &[u128], element: u128) -> Vec<i64> {
    shape
        .iter()
        .zip(strides)
        .map(|(&dim, &stride)| i64::try_from(element / stride % u128::from(dim.unsigned_abs())).unwrap_or(i64::MAX))
        .collect()
}

#[cfg(test)]
mod tests;
