//! Latencies of a record of version 1: taken in from beside it, and a wrong file is noticed.

use std::fs;
use std::path::{Path, PathBuf};

use looptax_record::{Hex64, Record, Samples, SamplesAt};
use looptax_store::{StoreError, load, take_in_samples, unpack};

use crate::{BLOCK_NS, companion, record_of_version_1};

#[test]
fn latencies_beside_an_old_record_become_a_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    record_of_version_1(&path);
    let mut record = load(&path).unwrap();
    assert!(unpack(first(&mut record)).unwrap().is_empty());
    take_in_samples(&mut record, &path).unwrap();
    assert_eq!(record.samples, None);
    assert_eq!(unpack(first(&mut record)).unwrap(), BLOCK_NS);
    // A record that is one file already stays as it is.
    let whole = record.clone();
    take_in_samples(&mut record, Path::new("/nowhere/a.json")).unwrap();
    assert_eq!(record, whole);
}

fn first(record: &mut Record) -> &mut Samples {
    record.comparisons[0].raw.epochs[0].samples[0]
        .as_mut()
        .unwrap()
}

/// A file changed by `spoil`, read at a place changed by `mislead`.
#[track_caller]
fn check_noticed(spoil: impl Fn(&mut Vec<u8>), mislead: impl Fn(&mut SamplesAt)) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("a.json");
    record_of_version_1(&path);
    let mut bytes = companion();
    spoil(&mut bytes);
    fs::write(path.with_extension("samples"), bytes).unwrap();
    let mut record = load(&path).unwrap();
    let Samples::At(at) = first(&mut record) else {
        panic!("the record is one of version 1");
    };
    mislead(at);
    let before = record.clone();
    let error = take_in_samples(&mut record, &path).unwrap_err();
    let is_clear = matches!(
        error,
        StoreError::NotSamples { .. }
            | StoreError::SamplesMismatch { .. }
            | StoreError::TrailingSamples { .. }
    );
    assert!(is_clear, "{error:?}");
    assert_eq!(record, before);
}

#[test]
fn a_wrong_cut_or_longer_file_is_noticed() {
    let nothing = |_: &mut SamplesAt| {};
    check_noticed(|bytes| bytes[0] = b'X', nothing);
    check_noticed(|bytes| bytes[8] = 2, nothing);
    check_noticed(|bytes| bytes[20] ^= 1, nothing);
    check_noticed(|bytes| bytes.truncate(27), nothing);
    check_noticed(|bytes| bytes.truncate(5), nothing);
    check_noticed(|bytes| bytes.push(0), nothing);
}

#[test]
fn a_record_that_misleads_is_noticed() {
    let nothing = |_: &mut Vec<u8>| {};
    check_noticed(nothing, |at| at.offset_bytes += 4);
    check_noticed(nothing, |at| at.offset_bytes = u64::MAX);
    check_noticed(nothing, |at| at.count = u64::MAX);
    check_noticed(nothing, |at| at.count = 2);
    check_noticed(nothing, |at| at.checksum = Hex64(0));
}
