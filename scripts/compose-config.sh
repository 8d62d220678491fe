#!/usr/bin/env bash
# Builds a program that shows the tests which variables of a Compose file count: Compose's own library, compose-go, with
# crates/advise/tests/data/readers/compose.go. It is built into a separate folder. Run by `make test-all`, or by hand;
# takes a minute.
#
# usage: scripts/compose-config.sh
# To undo: delete FOLDER.
# LOOPTAX_COMPOSE_CONFIG names the folder (default: target/compose-config).
# Exit status: 0 the folder is complete, 2 it is not (stderr has the reason, in one line with a hint).
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

version=v2.9.1
folder=${LOOPTAX_COMPOSE_CONFIG:-$PWD/target/compose-config}
folder=${folder%/}

say() { printf '%s\n' "$*" >&2; }
stop() {
  say "error: $1"
  say "hint: $2"
  exit 2
}

mkdir -p "$folder"
# A second run of this script waits here, and then finds the work done.
exec 9<"$folder"
flock 9

if [ "$(cat "$folder/version" 2>/dev/null)" != "$version" ]; then
  command -v go >/dev/null || stop "no Go on PATH, and compose-go is built with it" "install Go: go.dev/doc/install"
  work=$(mktemp -d "$folder/build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 2' INT TERM HUP
  cp crates/advise/tests/data/readers/compose.go "$work/main.go"
  (cd "$work" && go mod init build >/dev/null 2>&1 && go get "github.com/compose-spec/compose-go/v2@$version" >go.log 2>&1 &&
    go mod tidy >>go.log 2>&1 && go build -trimpath -buildvcs=false -o compose-config . >>go.log 2>&1) ||
    stop "compose-go $version cannot be built: $(tail -n 1 "$work/go.log")" "GOPROXY names another proxy; it needs a new Go"
  mv "$work/compose-config" "$folder/compose-config"
  printf '%s\n' "$version" >"$folder/version"
fi
say "compose-go $version is in $folder"
