//! The companion file: what is appended comes back, and a wrong file is noticed.

use std::fs;

use looptax_record::{Hex64, SamplesAt};
use looptax_store::{Existing, SamplesReader, Saver, StoreError, load, samples_path};

use crate::record;

#[test]
fn blocks_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let mut saver = Saver::new(&path, Existing::Keep).unwrap();
    let long: Vec<u32> = (0..40_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761))
        .collect();
    let blocks: [&[u32]; 4] = [&[0, 1, u32::MAX], &[], &long, &[7]];
    let places = blocks.map(|block| saver.append(block).unwrap());
    saver.save(&mut record("first")).unwrap();

    let file = load(&path).unwrap().samples.unwrap();
    assert_eq!((file.name.as_str(), file.complete), ("a.samples", true));
    assert_eq!(
        file.size_bytes,
        fs::metadata(samples_path(&path)).unwrap().len()
    );
    let reader = SamplesReader::open(&samples_path(&path)).unwrap();
    for (at, block) in places.iter().zip(blocks) {
        assert_eq!(reader.read(at).unwrap(), block);
    }
}

#[test]
fn without_samples_there_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let mut saver = Saver::new(&path, Existing::Keep).unwrap();
    saver.save(&mut record("first")).unwrap();
    assert_eq!(load(&path).unwrap().samples, None);
    assert!(!samples_path(&path).exists());
}

#[test]
fn a_companion_without_a_record_goes_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let mut saver = Saver::new(&path, Existing::Keep).unwrap();
    saver.append(&[1]).unwrap();
    assert!(samples_path(&path).exists());
    drop(saver);
    assert!(!samples_path(&path).exists());
}

#[test]
fn the_companion_of_another_run_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.samples"), "precious").unwrap();
    let error = Saver::new(&folder.path().join("a.json"), Existing::Keep).unwrap_err();
    assert!(error.to_string().contains("a.samples"), "{error}");
    assert_eq!(
        fs::read(folder.path().join("a.samples")).unwrap(),
        b"precious"
    );
}

/// A file with one block, changed by `spoil`, read at a place changed by `mislead`.
#[track_caller]
fn check_noticed(spoil: impl Fn(&mut Vec<u8>), mislead: impl Fn(&mut SamplesAt)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let mut saver = Saver::new(&path, Existing::Keep).unwrap();
    let mut at = saver.append(&[1, 2, 3]).unwrap();
    saver.save(&mut record("first")).unwrap();
    let mut bytes = fs::read(samples_path(&path)).unwrap();
    spoil(&mut bytes);
    mislead(&mut at);
    fs::write(samples_path(&path), bytes).unwrap();
    let found = SamplesReader::open(&samples_path(&path)).and_then(|reader| reader.read(&at));
    let error = found.unwrap_err();
    let is_clear = matches!(
        error,
        StoreError::NotSamples { .. } | StoreError::SamplesMismatch { .. }
    );
    assert!(is_clear, "{error:?}");
}

#[test]
fn a_wrong_or_cut_file_is_noticed() {
    let nothing = |_: &mut SamplesAt| {};
    check_noticed(|bytes| bytes[0] = b'X', nothing);
    check_noticed(|bytes| bytes[8] = 2, nothing);
    check_noticed(|bytes| bytes[20] ^= 1, nothing);
    check_noticed(|bytes| bytes.truncate(27), nothing);
    check_noticed(|bytes| bytes.truncate(5), nothing);
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
