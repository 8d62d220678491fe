#!/usr/bin/env bash
# Installs Debian packages without changing anything else. Run by scripts/setup.sh, or by hand with
# sudo. The installation of each package is simulated first; a package that would remove or upgrade an
# installed package is refused. No service is started, no PostgreSQL cluster is created, and the command
# that undoes the installation is printed at the end.
#
# usage: apt-install.sh PACKAGE...
# Exit status: 0 all installed, 1 some or all were not (stderr has the reason).
# LOOPTAX_SETUP_ROOT is put before every absolute path; only for the tests.
set -euo pipefail

root=${LOOPTAX_SETUP_ROOT:-}
policy=$root/usr/sbin/policy-rc.d
cluster_folder=$root/etc/postgresql-common/createcluster.d
cluster_conf=$cluster_folder/zz-looptax-no-cluster.conf
mark="# put here by looptax's set-up while it installs packages; may be removed"
made_folders=()
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

say() { printf '%s\n' "$*" >&2; }

candidate_of() { apt-cache policy "$1" | sed -n 's/^  Candidate: \([^(].*\)/\1/p' | head -n 1; }

# Prints the available package for a name: on Ubuntu 22.04 and older, MariaDB's have the version in their names.
pick() {
  local name
  if [ "$1" = cargo ]; then
    pick_rust
    return
  fi
  for name in "$1" "$1-10.6"; do
    if [ -n "$(candidate_of "$name")" ]; then
      echo "$name"
      return
    fi
  done
  echo "$1"
}

# Prints the package of a Rust that is new enough: Debian's usual one, or the newer one for building browsers.
pick_rust() {
  local name version wanted
  wanted=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' "${0%/*}/../Cargo.toml")
  for name in cargo cargo-web; do
    version=$(candidate_of "$name")
    if [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$wanted" "$version" | sort -V | head -n 1)" = "$wanted" ]; then
      echo "$name"
      return
    fi
  done
  say "note: the system's packages have no Rust $wanted or newer"
}

simulate() { apt-get install --simulate --no-install-recommends "$@" 2>&1; }

# Prints the lines of apt's simulation that affect installed packages: removals and upgrades.
touches() { grep -E '^(Remv |Inst [^ ]+ \[)' || true; }

# Prints why the packages cannot be installed; prints nothing if they can.
objection() {
  local plan
  if ! plan=$(simulate "$@"); then
    grep '^E:' <<<"$plan" || echo "apt-get refused without a reason"
    return
  fi
  touches <<<"$plan"
}

# Prevents package scripts from starting services and from creating a PostgreSQL cluster. A policy file that
# another program made is not changed; then only that file decides.
hold_services() {
  trap release_services EXIT
  trap 'exit 1' INT TERM HUP
  if [ -e "$policy" ] && ! grep -qF "$mark" "$policy"; then
    say "note: $policy exists and stays as it is; it decides whether services start"
  else
    printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
    chmod 755 "$policy"
  fi
  case " $* " in *' postgresql'*) hold_cluster ;; esac
}

hold_cluster() {
  local folder
  for folder in "${cluster_folder%/*}" "$cluster_folder"; do
    if [ ! -d "$folder" ]; then
      mkdir "$folder"
      made_folders=("$folder" "${made_folders[@]}")
    fi
  done
  printf '%s\ncreate_main_cluster = false\n' "$mark" >"$cluster_conf"
}

release_services() {
  local folder
  if [ -e "$policy" ] && grep -qF "$mark" "$policy"; then rm -f "$policy"; fi
  rm -f "$cluster_conf"
  for folder in "${made_folders[@]}"; do
    # If the folder is not empty, a package has put its own files there.
    rmdir "$folder" 2>/dev/null || true
  done
}

# Disables the services, which would otherwise start at the next boot.
keep_off_at_boot() {
  local service
  for service in "$@"; do
    case $service in redis-server | memcached | apache2 | lighttpd | nginx | caddy | postfix | prometheus | clickhouse-server | php[0-9]*-fpm) ;; *) continue ;; esac
    if command -v systemctl >/dev/null; then
      systemctl --quiet disable "$service.service" >/dev/null 2>&1 || true
    elif command -v update-rc.d >/dev/null; then
      update-rc.d "$service" disable >/dev/null 2>&1 || true
    fi
  done
}

if [ $# -eq 0 ]; then
  say "usage: apt-install.sh PACKAGE..."
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  say "error: installing packages needs root"
  exit 1
fi
apt-get update -qq || say "note: \`apt-get update\` failed; going on with the package lists that are here"

accepted=()
refused=()
for package in "$@"; do
  name=$(pick "$package")
  if [ -z "$name" ]; then
    refused+=("$package")
    continue
  fi
  why=$(objection "$name")
  if [ -z "$why" ]; then
    accepted+=("$name")
  else
    refused+=("$name")
    say "refused: $name, because apt-get says:"
    say "${why//$'\n'/$'\n'  }"
  fi
done
if [ ${#refused[@]} -gt 0 ]; then
  say "hint: looptax removes and upgrades nothing; run \`apt-get upgrade\` first, or install these by hand: ${refused[*]}"
fi
if [ ${#accepted[@]} -eq 0 ]; then exit 1; fi
why=$(objection "${accepted[@]}")
if [ -n "$why" ]; then
  say "error: together the packages would change what is installed:"
  say "$why"
  exit 1
fi

mapfile -t new < <(simulate "${accepted[@]}" | sed -n 's/^Inst \([^ ]*\) .*/\1/p')
say "installing: ${new[*]}"
hold_services "${new[@]}"
apt-get install -y -qq --no-remove --no-install-recommends -o Dpkg::Use-Pty=0 "${accepted[@]}" >&2
keep_off_at_boot "${new[@]}"
say "installed; to undo: sudo apt-get purge ${new[*]}"
[ ${#refused[@]} -eq 0 ]
