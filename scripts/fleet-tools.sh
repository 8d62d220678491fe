#!/usr/bin/env bash
# Installs tools for the tests of the packaging for many machines, for which Debian has no package, into a separate
# folder: helm, built with Go, and kubernetes-validate from PyPI. Run by `make test-all`, or by hand; helm takes some
# minutes.
#
# usage: scripts/fleet-tools.sh
# To undo: delete FOLDER.
# LOOPTAX_FLEET_TOOLS names the folder (default: target/fleet-tools).
# Exit status: 0 the folder is complete, 2 it is not (stderr has the reason, in one line with a hint).
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

helm_version=v3.22.0
validate_version=1.37.0
folder=${LOOPTAX_FLEET_TOOLS:-$PWD/target/fleet-tools}
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

if [ "$(cat "$folder/helm.version" 2>/dev/null)" != "$helm_version" ]; then
  command -v go >/dev/null || stop "no Go on PATH, and helm is built with it" "install Go: go.dev/doc/install"
  say "fetching and building helm $helm_version into $folder: some minutes"
  work=$(mktemp -d "$folder/build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 2' INT TERM HUP
  (cd "$work" && go mod init build >/dev/null 2>&1 && go get "helm.sh/helm/v3/cmd/helm@$helm_version" >go.log 2>&1 &&
    go build -trimpath -buildvcs=false -o helm helm.sh/helm/v3/cmd/helm >>go.log 2>&1) ||
    stop "helm $helm_version cannot be built: $(tail -n 1 "$work/go.log")" "GOPROXY names another proxy; it needs a new Go"
  mv "$work/helm" "$folder/helm"
  printf '%s\n' "$helm_version" >"$folder/helm.version"
fi
if [ "$(cat "$folder/validate.version" 2>/dev/null)" != "$validate_version" ]; then
  rm -rf "$folder/python"
  { python3 -m venv "$folder/python" && "$folder/python/bin/pip" install --quiet "kubernetes-validate==$validate_version"; } >&2 ||
    stop "kubernetes-validate $validate_version cannot be installed" "python3-venv and a way to PyPI are needed"
  printf '%s\n' "$validate_version" >"$folder/validate.version"
fi
say "helm $helm_version and kubernetes-validate $validate_version are in $folder"
