#!/usr/bin/env bash
# Builds FerretDB with Go into a separate folder, for private servers and for the tests. Run by
# `make test-all`, or by hand. The build takes some minutes, so `make test` works without it.
#
# A program built by `go install` refuses to start, because FerretDB needs a file in its source that contains
# its version. The module is therefore copied, and the file is added to the copy.
#
# usage: scripts/ferretdb.sh
# Then put FOLDER first in PATH. To undo: delete FOLDER.
# LOOPTAX_FERRETDB names the folder (default: target/ferretdb).
# Exit status: 0 the folder is complete, 2 it is not (stderr has the reason, in one line with a hint).
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

# The last version 1: version 2 needs a PostgreSQL with an extension.
version=v1.24.2
module=github.com/FerretDB/FerretDB
folder=${LOOPTAX_FERRETDB:-$PWD/target/ferretdb}
folder=${folder%/}

say() { printf '%s\n' "$*" >&2; }
stop() {
  say "error: $1"
  say "hint: $2"
  exit 2
}

# grep must read all lines: with -q it would end at the first match, and the program would fail with a broken pipe.
is_there() { "$folder/ferretdb" --version 2>/dev/null | grep -x "version: $version" >/dev/null; }

if is_there; then
  say "FerretDB $version is in $folder"
  exit 0
fi
command -v go >/dev/null || stop "no Go on PATH, and FerretDB is built with it" "install Go 1.24 or newer: go.dev/doc/install"
mkdir -p "$folder"
# A second run of this script waits here, and then finds the work done.
exec 9<"$folder"
flock 9
if is_there; then exit 0; fi
say "fetching and building FerretDB $version into $folder: two to three minutes"
work=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM HUP
module_folder=$(cd "$work" && go mod download -json "$module@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
[ -d "$module_folder" ] || stop "the module $module $version cannot be fetched" "GOPROXY names another proxy"
cp -r "$module_folder" "$work/source"
chmod -R u+w "$work/source"
printf '%s\n' "$version" >"$work/source/build/version/version.txt"
# Only the SQLite handler is needed, and no C code.
(cd "$work/source" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags ferretdb_no_postgresql -o "$work/ferretdb" ./cmd/ferretdb) ||
  stop "FerretDB $version cannot be built" "it needs Go 1.24 or newer, and its modules"
mv "$work/ferretdb" "$folder/ferretdb"
is_there || stop "$folder/ferretdb does not start" "look what \`$folder/ferretdb --version\` says"
say "FerretDB $version: $(du -m "$folder/ferretdb" | sed 's/[^0-9].*//') MB in $SECONDS s"
say "use it with: PATH=$folder:\$PATH"
say "to undo: rm -r $folder"
