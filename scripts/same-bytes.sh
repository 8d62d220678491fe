#!/usr/bin/env bash
# Checks that a release consists of the same bytes wherever it is built: clones HEAD to two folders whose names have
# different lengths, runs `cargo xtask release --dry-run` in each, with a different cargo home, umask, time zone and
# language, and compares every artefact. Takes as long as two clean builds, and needs up to 3 GB at a time.
#
# usage: scripts/same-bytes.sh [FOLDER_OF_TOOLS]     the packagers; none: they are built, too
# Exit status: 0 all artefacts are the same, 1 some are not, or a release failed (stderr has the reason).
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$(realpath -m "${1:-target/release-tools}")
cargo_home=${CARGO_HOME:-$HOME/.cargo}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p target/same-bytes

# Makes a release in its own clone; keeps the artefacts, and removes the clone.
release() {
  local name=$1 folder=$2 home=$3
  shift 3
  git clone --quiet --no-hardlinks . "$folder"
  (cd "$folder" && env -u CARGO_TARGET_DIR CARGO_HOME="$home" "$@" cargo xtask release --dry-run --tools "$tools") >&2
  rm -rf "target/same-bytes/$name"
  mv "$folder/target/release-artefacts" "target/same-bytes/$name"
  rm -rf "$folder"
}

# The second cargo home uses the packages that were downloaded for the first, and unpacks them at its own path.
mkdir -p "$scratch/second-home-of-cargo/registry"
for part in cache index; do
  ln -s "$cargo_home/registry/$part" "$scratch/second-home-of-cargo/registry/$part"
done

release first "$scratch/a" "$cargo_home" env
umask 077
release second "$scratch/a/folder/with/a/longer/name" "$scratch/second-home-of-cargo" env TZ=Asia/Tokyo LC_ALL=C.UTF-8

different=0
for name in $(find target/same-bytes -type f -printf '%f\n' | sort -u); do
  if cmp "target/same-bytes/first/$name" "target/same-bytes/second/$name" >&2; then
    echo "same       $name"
  else
    echo "different  $name"
    different=1
  fi
done
exit "$different"
