//! The container image: an OCI layout in one tar, with the static binary, its notices and an empty `/tmp`.
//!
//! The image is made without a container program, so its bytes do not depend on such a program. Every program that
//! accepts an `oci-archive` can read it.
//!
//! # Source
//! OCI Image Format Specification 1.1, <https://github.com/opencontainers/image-spec/tree/v1.1.1>, accessed
//! 2026-11-23.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::place::{Place, ask};
use super::{sums, tree};
use crate::workspace::run_to_success;

const MEDIA: &str = "application/vnd.oci.image";
const DOCS: &str = "usr/share/doc/looptax";
/// Files of the packages that the image contains besides the program.
const NOTICES: [&str; 4] = ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt", "looptax.cdx.json"];

/// Makes the image; its name contains the name of the release.
pub(super) fn build(place: &Place) -> Result<()> {
    let layout = place.image.join("layout");
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let (layer, unpacked) = pack_layer(place, &blobs)?;
    let config = config(place, &unpacked)?;
    let config = store(&blobs, "config.v1+json", &config)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": format!("{MEDIA}.manifest.v1+json"),
        "config": config,
        "layers": [layer],
        "annotations": labels(place)?,
    });
    let mut manifest = store(&blobs, "manifest.v1+json", &manifest)?;
    manifest["platform"] = json!({ "architecture": place.image_machine, "os": "linux" });
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": format!("looptax:{}", place.version) });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": format!("{MEDIA}.index.v1+json"),
        "manifests": [manifest],
    });
    let version = json!({ "imageLayoutVersion": "1.0.0" });
    fs::write(layout.join("index.json"), serde_json::to_vec(&index)?)?;
    fs::write(layout.join("oci-layout"), serde_json::to_vec(&version)?)?;
    let archive = place.artefacts.join(format!("{}.oci.tar", place.stem()));
    let mut tar = tree::start_tar(place, &archive, &layout);
    run_to_success(tar.args(["--create", "blobs", "index.json", "oci-layout"]))
}

/// Packs the image's files into a blob. Returns the descriptor of the blob, and the digest of its uncompressed
/// contents.
fn pack_layer(place: &Place, blobs: &Path) -> Result<(Value, String)> {
    let files = place.image.join("files");
    for folder in ["usr/bin", DOCS, "tmp"] {
        fs::create_dir_all(files.join(folder))?;
    }
    fs::copy(place.tree.join("looptax"), files.join("usr/bin/looptax"))?;
    for name in NOTICES {
        fs::copy(place.tree.join(name), files.join(DOCS).join(name))?;
    }
    let archive = place.image.join("layer.tar");
    run_to_success(tree::start_tar(place, &archive, &files).args(["--create", "usr"]))?;
    let mut open_to_all = tree::start_tar(place, &archive, &files);
    run_to_success(open_to_all.args(["--mode=1777", "--append", "tmp"]))?;
    let unpacked = sums::digest(&fs::read(&archive)?);
    tree::compress(&archive)?;
    let packed = fs::read(archive.with_extension("tar.gz"))?;
    Ok((store_bytes(blobs, "layer.v1.tar+gzip", &packed)?, format!("sha256:{unpacked}")))
}

/// Returns the settings with which a container of the image is started.
fn config(place: &Place, unpacked: &str) -> Result<Value> {
    let created = commit_time(place)?;
    Ok(json!({
        "created": created,
        "architecture": place.image_machine,
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/looptax"],
            "Env": ["PATH=/usr/bin", "HOME=/tmp"],
            "Labels": labels(place)?,
        },
        "rootfs": { "type": "layers", "diff_ids": [unpacked] },
        "history": [{ "created": created, "created_by": "cargo xtask release" }],
    }))
}

fn labels(place: &Place) -> Result<Value> {
    let name = |key: &str| format!("org.opencontainers.image.{key}");
    Ok(json!({
        name("title"): "looptax",
        name("description"): place.description,
        name("licenses"): place.license,
        name("source"): place.repository,
        name("version"): place.version,
        name("revision"): place.commit,
        name("created"): commit_time(place)?,
    }))
}

fn commit_time(place: &Place) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["--utc", "+%Y-%m-%dT%H:%M:%SZ", "--date"]);
    ask(date.arg(format!("@{}", place.epoch)))
}

/// Stores a document as a blob, and returns its descriptor.
fn store(blobs: &Path, kind: &str, document: &Value) -> Result<Value> {
    store_bytes(blobs, kind, &serde_json::to_vec(document)?)
}

fn store_bytes(blobs: &Path, kind: &str, bytes: &[u8]) -> Result<Value> {
    let digest = sums::digest(bytes);
    fs::write(blobs.join(&digest), bytes)?;
    Ok(json!({
        "mediaType": format!("{MEDIA}.{kind}"),
        "digest": format!("sha256:{digest}"),
        "size": bytes.len(),
    }))
}
