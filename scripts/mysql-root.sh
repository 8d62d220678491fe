#!/usr/bin/env bash
# Puts servers from another Debian release into a folder, for private servers and for the tests. Run by
# `make test-all` and by `cargo lab versions`, or by hand. Without arguments: MySQL 9 and Valkey 9 from unstable.
#
# The system is not changed: apt uses only lists, a cache and a state in this folder, the packages are
# unpacked and not installed, and the programs are changed so that they use the folder's own C library. The
# signature of the lists is always checked with this machine's Debian archive keys.
#
# usage: scripts/mysql-root.sh [SUITE[+SUITE] PROGRAM,... PACKAGE...]
# Then put FOLDER/bin first in PATH. To undo: delete FOLDER.
# LOOPTAX_SERVERS names the folder (default: target/servers). The mirror is the one of this machine's own apt, or
# LOOPTAX_DEBIAN_MIRROR.
# Exit status: 0 the folder is complete, 2 it is not (stderr has the reason, in one line with a hint).
# LOOPTAX_SETUP_ROOT is put before every absolute path; only for the tests.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

folder=${LOOPTAX_SERVERS:-$PWD/target/servers}
folder=${folder%/}
suite=sid
programs=(mysqld mysql valkey-server valkey-cli valkey-benchmark)
packages=(mysql-server-core mysql-client-core valkey-server valkey-tools)
if [ $# -gt 2 ]; then
  suite=$1
  IFS=, read -r -a programs <<<"$2"
  packages=("${@:3}")
fi
keyring=${LOOPTAX_SETUP_ROOT:-}/usr/share/keyrings/debian-archive-keyring.gpg
# Package scripts and services need these packages, the programs do not. apt's state lists them as installed.
needless=(perl perl-base systemd debconf dpkg adduser passwd init-system-helpers lsb-base ssl-cert ucf php-common
  postgresql-common postgresql-client-common)
# The text that marks a complete folder. A higher number makes older folders invalid, so they are made again.
mark="looptax servers 1, made for $folder: $suite ${programs[*]}"
export LC_ALL=C

say() { printf '%s\n' "$*" >&2; }
stop() {
  say "error: $1"
  shift
  local line
  for line in "$@"; do say "hint: $line"; done
  exit 2
}

is_complete() {
  local program
  [ "$(cat "$folder/looptax-servers" 2>/dev/null)" = "$mark" ] || return 1
  for program in "${programs[@]}"; do
    version_of "$program" >/dev/null || return 1
  done
}

# Prints a program's version. nginx only accepts -v, and MariaDB's script for data folders has no such option.
version_of() {
  local program=$folder/bin/$1
  case $1 in
    *-install-db) [ -x "$program" ] ;;
    *) "$program" --version 2>&1 || "$program" -v 2>&1 ;;
  esac
}

# Removes a folder that this script made, completely or in part; stops if the folder was made by something else.
clear_ours() {
  if [ ! -e "$1" ]; then return; fi
  if ! grep -q '^looptax servers' "$1/looptax-servers" 2>/dev/null; then
    stop "$1 exists, and looptax's set-up did not make it" "name another folder with LOOPTAX_SERVERS"
  fi
  rm -rf "$1"
}

# Checks the permissions of the path: as root, looptax starts servers under another account, which needs to run them.
check_reach() {
  local up=${folder%/*}
  if [ "$(id -u)" -ne 0 ]; then return; fi
  while [ -n "$up" ]; do
    case $(stat -c %A "$up") in
      *[xt]) up=${up%/*} ;;
      *) stop "only root gets into $up, and the servers run under another account" \
        "name another folder with LOOPTAX_SERVERS, for example /opt/looptax-servers" ;;
    esac
  done
}

# Finds the Debian mirror that this machine's apt uses.
find_mirror() {
  mirror=${LOOPTAX_DEBIAN_MIRROR:-}
  if [ -n "$mirror" ]; then return; fi
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 2>/dev/null | head -n 1)
  [ -n "$mirror" ] || stop "apt's sources on this machine have no mirror of Debian, or no lists of it yet" \
    "run \`apt-get update\`, or name a mirror with LOOPTAX_DEBIAN_MIRROR"
}

# Writes all settings that apt would otherwise take from the system's own folders, except its access to the network.
configure_apt() {
  local package one
  mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/none"
  for package in "${needless[@]}"; do
    printf 'Package: %s\nStatus: install ok installed\nArchitecture: %s\nMulti-Arch: allowed\nVersion: 99:9999\n\n' \
      "$package" "$(dpkg --print-architecture)"
  done >"$work/status"
  for one in ${suite//+/ }; do
    printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$mirror" "$one"
  done >"$work/sources.list"
  apt-config dump Acquire::http >"$work/apt.conf"
  # The lists may be weeks old, because these servers hold only temporary data and can be reached only from
  # this machine; the age of the lists is printed.
  cat >>"$work/apt.conf" <<CONF
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "$work/none";
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$work";
Dir::State::Lists "$work/lists";
Dir::State::Status "$work/status";
Dir::Cache "$work";
Dir::Cache::Archives "$work/archives";
Dir::Log "$work/none";
Acquire::Languages "none";
Acquire::Min-ValidTime "5184000";
Acquire::AllowInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
APT::Install-Recommends "false";
APT::Default-Release "${suite##*+}";
CONF
}

own_apt() { APT_CONFIG=$work/apt.conf apt-get -qq --yes "$@"; }

# Prints the last of apt's errors, which contains the reason.
reason() { sed -n 's/^E: //p' "$work/log" | tail -n 1; }

fetch() {
  local plan
  # apt reports success even if it falls back to lists that do not exist.
  if ! own_apt update >"$work/log" 2>&1 || ! compgen -G "$work/lists/*InRelease" >/dev/null; then
    stop "no package lists of Debian $suite from $mirror: $(sed -n 's/^[EW]: //p' "$work/log" | head -n 1)" \
      "LOOPTAX_DEBIAN_MIRROR names another mirror; for a key that is missing, upgrade debian-archive-keyring"
  fi
  if ! plan=$(APT_CONFIG=$work/apt.conf apt-get --yes --print-uris install "${packages[@]}" 2>"$work/log"); then
    stop "apt finds no way to install ${packages[*]}: $(reason)"
  fi
  say "Debian $suite of $(sed -n 's/^Date: //p' "$work"/lists/*InRelease | head -n 1)," \
    "$(grep -c "^'" <<<"$plan") packages, signed by Debian"
  say "fetching $(sed -n 's/^Need to get \(.*\) of archives.*/\1/p' <<<"$plan")," \
    "unpacking $(sed -n 's/^After this operation, \(.*\) of additional.*/\1/p' <<<"$plan")" \
    "into $folder: about a minute"
  own_apt install --download-only "${packages[@]}" >"$work/log" 2>&1 ||
    stop "the packages cannot be fetched from $mirror: $(reason)"
}

# Unpacks only what the programs need. mysqld finds its messages and character sets relative to its own path.
unpack() {
  local package folder
  for package in "$work"/archives/*.deb; do
    dpkg-deb -x "$package" "$part" || stop "$package cannot be unpacked"
  done
  # Packages of Debian 11 and older have some files outside /usr.
  for folder in lib lib64 bin sbin; do
    if [ ! -d "$part/$folder" ] || [ -L "$part/$folder" ]; then continue; fi
    mkdir -p "$part/usr/$folder"
    cp -a "$part/$folder/." "$part/usr/$folder/"
    rm -r "${part:?}/$folder"
  done
  mkdir -p "$part/bin"
  rm -rf "${part:?}"/{etc,var} "$part"/usr/share/{doc,man,locale,bash-completion,lintian}
}

# Makes the programs use the libraries of the folder. Then no chroot is needed, and /proc/PID/exe is the server itself.
use_own_libraries() {
  local program file loader libraries kept=()
  loader=$(find "$part/usr/lib" -mindepth 2 -name 'ld-linux*.so.*' | head -n 1)
  libraries=${loader%/*}
  [ -n "$loader" ] || stop "the packages hold no C library where it was looked for: $part/usr/lib"
  for program in "${programs[@]}"; do
    for file in "$part"/usr/{sbin,bin,lib/postgresql/*/bin}/"$program" "$part"/usr/sbin/"$program"[0-9]* ''; do
      if [ -f "$file" ]; then break; fi
    done
    [ -n "$file" ] || stop "the packages bring no $program"
    ln -s "..${file#"$part"}" "$part/bin/$program"
    file=$(readlink -f "$file")
    kept+=("$file")
    case $program in *-install-db) continue ;; esac
    patchelf --set-interpreter "$folder${loader#"$part"}" \
      --force-rpath --set-rpath "$folder${libraries#"$part"}" "$file" ||
      stop "patchelf cannot change $program"
  done
  for file in "$part"/usr/bin/*; do
    case " ${kept[*]} " in *" $(readlink -f "$file") "*) ;; *) rm -f "$file" ;; esac
  done
}

case $folder in
  '' | /*[[:space:]\"]*) stop "a folder for servers may have no blanks or quotes in its path: $folder" ;;
  /*) ;;
  *) stop "LOOPTAX_SERVERS has to be an absolute path: $folder" ;;
esac
parent=${folder%/*}
parent=${parent:-/}
mkdir -p "$parent"
# A second run of this script waits here, and then finds the work done.
exec 9<"$parent"
flock 9
if is_complete; then
  say "${programs[*]} are in $folder"
  exit 0
fi
scripts/setup.sh servers
check_reach
part=$folder.part
work=$part/work
clear_ours "$part"
clear_ours "$folder"
trap 'rm -rf "$part"' EXIT
trap 'exit 2' INT TERM HUP
mkdir "$part"
printf 'looptax servers, not finished\n' >"$part/looptax-servers"
mkdir "$work"
find_mirror
configure_apt
fetch
unpack
use_own_libraries
rm -rf "$work"
printf '%s\n' "$mark" >"$part/looptax-servers"
mv "$part" "$folder"
is_complete || stop "the programs in $folder/bin do not start: $(version_of "${programs[0]}" | head -n 1)"
for program in "${programs[@]}"; do
  say "$program: $(version_of "$program" | head -n 1)"
done
say "$(du -sm "$folder" | sed 's/[^0-9].*//') MB in $SECONDS s; use them with: PATH=$folder/bin:\$PATH"
say "to undo: rm -r $folder"
