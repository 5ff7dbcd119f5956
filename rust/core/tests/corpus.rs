//! The bodies of the fuzz targets in `rust/fuzz`, on every real file among the samples and on damaged ones.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::case_sensitive_file_extension_comparisons,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that panics fails, which is all it should do"
)]

#[path = "corpus/damage.rs"]
mod damage;
#[path = "corpus/kernels.rs"]
mod kernels;
#[path = "corpus/readers.rs"]
mod readers;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use shardproof_core::checkpoint::limits::Limits;
use shardproof_core::checkpoint::ocdbt::envelope;

/// Every sample file whose name is wanted, with its path.
fn samples(wanted: impl Fn(&str) -> bool) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/samples")];
    while let Some(directory) = pending.pop() {
        for entry in directory.read_dir().expect("the samples are there") {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.file_name().and_then(OsStr::to_str).is_some_and(&wanted) {
                found.push((path.clone(), std::fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn contents(files: Vec<(PathBuf, Vec<u8>)>) -> Vec<Vec<u8>> {
    let mut contents: Vec<_> = files.into_iter().map(|(_, content)| content).collect();
    contents.sort();
    contents.dedup();
    contents
}

/// Run a body on at least `least` different files and on `cases` damaged ones.
fn replay(files: &[Vec<u8>], least: usize, cases: u32, body: fn(&[u8])) {
    assert!(files.len() >= least, "only {} files", files.len());
    for file in files {
        body(file);
    }
    let strategy = (any::<Index>(), prop::collection::vec(damage::damages(), 1..4));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let damaged = TestRunner::new(config).run(&strategy, |(file, damages)| {
        let mut bytes = files[file.index(files.len())].clone();
        for damage in &damages {
            damage.to(&mut bytes, files);
        }
        body(&bytes);
        Ok(())
    });
    damaged.unwrap();
}

#[test]
fn headers_of_safetensors_files_read_the_same_twice() {
    let files = contents(samples(|name| name.ends_with(".safetensors")));
    replay(&files, 20, 4000, readers::safetensors);
}

#[test]
fn indexes_of_safetensors_files_read_the_same_twice() {
    let files = contents(samples(|name| name.ends_with(".index.json")));
    replay(&files, 4, 4000, readers::index);
}

#[test]
fn metadata_of_dcp_reads_the_same_twice() {
    let files = contents(samples(|name| name.ends_with(".metadata")));
    replay(&files, 40, 4000, readers::dcp);
}

#[test]
fn metadata_of_zarr_and_orbax_reads_the_same_twice() {
    let names = ["zarr.json", ".zarray", "_METADATA", "_CHECKPOINT_METADATA"];
    let with_chunks = samples(|name| names.contains(&name)).into_iter().map(|(path, mut content)| {
        // A chunk of the array, if one of these has it.
        let chunk =
            ["c/0/0", "c/0", "0.0", "0"].iter().find_map(|chunk| std::fs::read(path.with_file_name(chunk)).ok());
        content.push(readers::SEAM);
        content.extend(chunk.unwrap_or_default());
        (path, content)
    });
    replay(&contents(with_chunks.collect()), 20, 2000, readers::zarr);
}

/// What is in the envelopes that lie somewhere in a file.
fn bodies(file: &[u8]) -> Vec<Vec<u8>> {
    let magics = [envelope::MANIFEST, envelope::TREE_NODE, envelope::VERSION_NODE];
    let at = |start: usize| {
        let rest = &file[start..];
        let magic = u32::from_be_bytes(*rest.first_chunk()?);
        let length = u64::from_le_bytes(*rest.get(4..)?.first_chunk()?);
        let sealed = rest.get(..usize::try_from(length).ok()?)?;
        magics.contains(&magic).then(|| envelope::open(sealed, magic, &Limits::DEFAULT).ok())?
    };
    (0..file.len()).filter_map(at).collect()
}

#[test]
fn manifests_and_nodes_of_databases_read_the_same_twice() {
    let files = samples(|name| name == "manifest.ocdbt" || name.len() == 32);
    let bodies = contents(
        files
            .into_iter()
            .flat_map(|(path, file)| bodies(&file).into_iter().map(move |body| (path.clone(), body)))
            .collect(),
    );
    replay(&bodies, 10, 4000, readers::ocdbt);
}

/// The archives that lie one after another in a file.
fn archives(file: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut start = 0;
    for end in 0..file.len() {
        if file[end..].starts_with(b"PK\x05\x06") && file.len() >= end + 22 {
            found.push(file[start..end + 22].to_vec());
            start = end + 22;
        }
    }
    found
}

#[test]
fn archives_read_the_same_twice() {
    let files = samples(|name| name.ends_with(".distcp") || name.ends_with(".pt"));
    let archives = contents(
        files
            .into_iter()
            .flat_map(|(path, file)| archives(&file).into_iter().map(move |archive| (path.clone(), archive)))
            .collect(),
    );
    replay(&archives, 50, 2000, readers::archive);
}

/// Run a body on random bytes.
fn throw(cases: u32, body: fn(&[u8])) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let thrown = TestRunner::new(config).run(&prop::collection::vec(any::<u8>(), 0..200), |bytes| {
        body(&bytes);
        Ok(())
    });
    thrown.unwrap();
}

#[test]
fn bounds_are_those_of_wide_arithmetic() {
    throw(5000, kernels::bounds);
}

#[test]
fn proofs_are_right_where_every_element_is_painted() {
    throw(5000, kernels::prove);
}

#[test]
fn plans_are_those_of_comparing_each_with_each() {
    throw(3000, kernels::plan);
}

#[test]
fn flat_ranges_are_their_elements() {
    throw(5000, kernels::flat);
}
