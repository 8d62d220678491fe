#!/usr/bin/env bash
# Tests the files that `cargo xtask release` has made, without other software around them: the deb in a minimal root
# folder of each suite, the rpm in an empty root folder, the static binary with only busybox, the systemd units, and the
# image with crun and runc, as root and as an ordinary user. Needs root, debootstrap, rpm, busybox-static, umoci, jq,
# crun, runc, and the tools that packaging/tests/units.sh needs.
#
# usage: scripts/try-packages.sh [SUITE…]     e.g. bookworm trixie; none: what needs no suite
#
# Root folders are kept in target/roots (or LOOPTAX_ROOTS), so a second run downloads nothing.
# Exit status: 0 all tests passed, 1 a test failed (stderr has the first failure).
set -euo pipefail
cd "$(dirname "$0")/.."

artefacts=$PWD/target/release-artefacts
roots=${LOOPTAX_ROOTS:-$PWD/target/roots}
deb=$(echo "$artefacts"/looptax_*_amd64.deb)
version=$(basename "$deb" | cut -d_ -f2 | cut -d- -f1)
rpm=$(echo "$artefacts"/looptax-*.x86_64.rpm)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

stop() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Runs a command with another root folder, in its own process namespace with its own /proc.
inside() {
  local root=$1
  shift
  unshare --mount --pid --fork --mount-proc --root="$root" env -i HOME=/tmp/home PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive "$@"
}

# Checks that a comparison ends with a verdict: the interval of a difference, which may be wide on a busy machine.
compare() {
  inside "$1" looptax compare echo --quick --yes --quiet >"$scratch/compare" 2>&1 || stop "$2: $(cat "$scratch/compare")"
  grep -E 'slower|faster|negligible|equivalent|inconclusive' "$scratch/compare" | head -n 1 ||
    stop "$2: no verdict in: $(cat "$scratch/compare")"
}

# Lists every file in a root folder, without the files in which apt remembers packages that were ever installed.
list_files() {
  (cd "$1" && find . -xdev ! -path './proc/*' ! -path './tmp/*' ! -path './var/log/*' ! -path './var/cache/*' \
    ! -path './var/lib/dpkg/*' ! -path './var/lib/apt/*' | sort)
}

try_deb() {
  local root=$roots/$1
  if [ ! -x "$root/usr/bin/apt-get" ]; then
    # Uses the mirror that this machine itself uses.
    debootstrap --variant=minbase "$1" "$root" \
      "$(apt-get indextargets --format '$(REPO_URI)' | grep '/debian/$' | head -n 1)" >"$scratch/debootstrap" 2>&1 ||
      stop "$1: $(tail -n 5 "$scratch/debootstrap")"
  fi
  cp "$deb" "$root/tmp/looptax.deb"
  list_files "$root" >"$scratch/before"
  inside "$root" apt-get install --quiet=2 --yes --no-install-recommends /tmp/looptax.deb >"$scratch/install" 2>&1 ||
    stop "$1: $(cat "$scratch/install")"
  compare "$root" "$1"
  inside "$root" apt-get purge --quiet=2 --yes looptax >"$scratch/purge" 2>&1 || stop "$1: $(cat "$scratch/purge")"
  list_files "$root" >"$scratch/after"
  diff "$scratch/before" "$scratch/after" >&2 || stop "$1: the purge left something, or took something"
  rm -rf "$root/tmp/home" "$root/tmp/looptax.deb"
  echo "$1: the deb is installed, measures, and is purged"
}

try_rpm() {
  local root=$scratch/rpm-root
  rpm --checksig "$rpm" | grep 'digests OK' || stop "rpm: the digests are wrong"
  mkdir -p "$root/tmp" "$scratch/cpio"
  # rpm2cpio returns 1 although it unpacks everything, because the packager writes no total size. The files are compared
  # below.
  rpm2cpio "$rpm" >"$scratch/archive" || true
  (cd "$scratch/cpio" && cpio --quiet -idm <"$scratch/archive") || stop "rpm: rpm2cpio cannot unpack it"
  rpm --root "$root" --initdb
  # The root folder has no shell for the script that makes the services' user.
  rpm --root "$root" --install --nodeps --noscripts "$rpm" || stop "rpm: it cannot be installed"
  diff --recursive "$scratch/cpio/usr" "$root/usr" || stop "rpm: rpm2cpio unpacks something else"
  rpm --root "$root" --verify looptax || stop "rpm: what is installed is not what was packed"
  mkdir -p "$root/proc"
  unshare --user --map-root-user --root="$root" looptax --version || stop "rpm: the program does not start"
  rpm -qp --scripts "$rpm" | grep -q 'systemd-sysusers looptax.conf' || stop "rpm: nothing makes the services' user"
  rpm --root "$root" --erase --noscripts looptax
  [ -z "$(find "$root/usr" -type f)" ] || stop "rpm: it leaves $(find "$root/usr" -type f)"
  echo "rpm: it is checked, unpacked, installed and erased"
}

try_busybox() {
  local root=$scratch/busybox
  mkdir -p "$root/bin" "$root/proc" "$root/tmp" "$root/dev"
  mknod -m 666 "$root/dev/null" c 1 3
  cp "$(command -v busybox)" "$root/bin/sh"
  tar -xzf "$artefacts"/looptax-*-linux.tar.gz -C "$root/bin" --strip-components=1 --wildcards '*/looptax'
  unshare --mount --pid --fork --mount-proc --root="$root" /bin/sh -c \
    'PATH=/bin HOME=/tmp looptax compare echo --quick --yes --quiet' >"$scratch/busybox-out" 2>&1 ||
    stop "busybox: $(cat "$scratch/busybox-out")"
  echo "busybox: the static binary measures"
}

# Tests the units with the static binary, under a separate systemd.
try_units() {
  mkdir "$scratch/units"
  tar -xzf "$artefacts"/looptax-*-linux.tar.gz -C "$scratch/units" --strip-components=1 --wildcards '*/looptax'
  packaging/tests/units.sh "$scratch/units/looptax"
}

# Runs the image's program: contain USER NETWORK RUNTIME ARGUMENTS…; the network is host or none.
contain() {
  local who=$1 network=$2 runtime=$3 folder=$scratch/$1
  shift 3
  jq '.process.terminal = false | .process.args += $ARGS.positional
    | .linux.namespaces |= map(select(.type != "network")) + if $network == "none" then [{type: "network"}] else [] end' \
    --arg network "$network" --args -- "$@" <"$folder/config.json" >"$folder/bundle/config.json"
  # crun does not work on a machine that has both cgroup versions mounted, so only version 2 is visible to it.
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount sh -c 'case $3 in crun*) umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup ;; esac
      exec setpriv --reuid="$1" --regid="$1" --clear-groups env HOME="$2" XDG_RUNTIME_DIR="$2" $3 run --bundle "$2/bundle" "looptax-$$"' \
    sh "$who" "$folder" "$runtime" 2>"$scratch/contain-errors" || stop "image, $runtime as $who: $(cat "$scratch/contain-errors")"
}

try_image() {
  local who network runtime
  chmod 755 "$scratch"
  for who in 0 65533; do
    mkdir "$scratch/$who"
    mkdir "$scratch/$who/layout"
    tar -xf "$artefacts"/looptax-*.oci.tar -C "$scratch/$who/layout"
    chown -R "$who" "$scratch/$who"
    setpriv --reuid="$who" --regid="$who" --clear-groups env HOME="$scratch/$who" umoci unpack \
      $([ "$who" = 0 ] || echo --rootless) --image "$scratch/$who/layout:looptax:$version" "$scratch/$who/bundle" \
      2>"$scratch/umoci" || stop "image: $(cat "$scratch/umoci")"
    cp "$scratch/$who/bundle/config.json" "$scratch/$who/config.json"
    for runtime in 'crun --cgroup-manager=disabled' runc; do
      for network in none host; do
        [ "$(contain "$who" "$network" "$runtime" --version)" = "looptax $version" ] || stop "image, $runtime: no version"
        contain "$who" "$network" "$runtime" compare echo -c 1 --placement same --quick --yes --quiet |
          grep -E 'slower|faster|negligible|equivalent|inconclusive' >"$scratch/verdict" ||
          stop "image, $runtime as $who: no verdict"
        echo "image: ${runtime%% *} as user $who with network $network: $(head -n 1 "$scratch/verdict" | sed 's/.*  //')"
      done
    done
  done
}

[ -e "$deb" ] && [ -e "$rpm" ] || stop "no packages in $artefacts: run \`cargo xtask release --dry-run\`"
for suite in "$@"; do
  try_deb "$suite"
done
try_rpm
try_busybox
try_units
try_image
