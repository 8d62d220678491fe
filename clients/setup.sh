#!/usr/bin/env bash
# Installs the drivers that the loops in this folder use, in the versions that traces.toml speaks of,
# below target/clients; Debian's packages go where Debian puts them.
#
# usage: clients/setup.sh
# Needs what `scripts/setup.sh test` installs, and Python 3, Go, a JDK with Maven, and Node with npm.
set -euo pipefail
cd "$(dirname "$0")"

out=$PWD/../target/clients
mkdir -p "$out/bin" "$out/node" "$out/classes"

say() { printf '%s\n' "$*" >&2; }

debian() {
  local packages=(strace php-cli php-mysql php-pgsql php-redis libmariadb-dev libpq-dev libhiredis-dev)
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then ../scripts/apt-install.sh "${missing[@]}"; fi
}

c() {
  local flags=(-O2 -Wall -Wextra)
  # The flags are several words each.
  # shellcheck disable=SC2046
  cc "${flags[@]}" -o "$out/bin/libmariadb" c/libmariadb.c $(mariadb_config --include --libs)
  # shellcheck disable=SC2046
  cc "${flags[@]}" -o "$out/bin/libpq" c/libpq.c $(pkg-config --cflags --libs libpq)
  cc "${flags[@]}" -o "$out/bin/hiredis" c/hiredis.c -lhiredis
}

python() {
  python3 -m venv "$out/python"
  "$out/python/bin/pip" install --quiet --disable-pip-version-check -r python/requirements.txt
}

go_() { (cd go && go build -o "$out/bin/" ./go-sql-driver ./pgx ./go-redis); }

java() {
  mvn -q -B -f java/pom.xml dependency:copy-dependencies -DoutputDirectory="$out/jars"
  javac -d "$out/classes" -cp "$out/jars/*" java/src/clients/*.java
}

node() {
  cp node/*.js node/package.json node/package-lock.json "$out/node/"
  npm ci --silent --prefix "$out/node"
}

debian
for part in c python go_ java node; do
  say "clients: $part"
  "$part"
done
say "clients: ready"
