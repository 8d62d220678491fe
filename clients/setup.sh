#!/usr/bin/env bash
# Installs the drivers that the loops in this folder and the programs in dialects/ use, below target/clients, in the
# versions that this folder's manifests specify. Debian's packages are installed as usual, except for web and mail
# servers, and for applications that depend on one: these are only unpacked.
#
# usage: clients/setup.sh
# Needs what `scripts/setup.sh test` installs, and Python 3, Go, a JDK with Maven, and Node with npm.
set -euo pipefail
cd "$(dirname "$0")"

out=$PWD/../target/clients
mkdir -p "$out/bin" "$out/node" "$out/classes"

say() { printf '%s\n' "$*" >&2; }

debian() {
  local packages=(
    strace libmariadb-dev libpq-dev libhiredis-dev libmongoc-dev pkg-config python3-dev python3-venv
    mariadb-client redis-tools
    php-cli php-mysql php-pgsql php-redis php-memcached php-mongodb php-nrk-predis
    php-doctrine-dbal php-symfony-cache php-symfony-dotenv
    php-illuminate-database php-illuminate-redis php-vlucas-phpdotenv
    ruby ruby-mysql2 ruby-pg ruby-redis ruby-activerecord
    libdbd-mariadb-perl libdbd-pg-perl tcl lua5.1 lua-sql-mysql lua-sql-postgres erlang-base
  )
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then ../scripts/apt-install.sh "${missing[@]}"; fi
}

# Unpacks web and mail servers, and applications whose packages depend on one. Their files are enough, and no service
# is installed that would start at boot.
unpacked() {
  rm -rf "$out/debian"
  mkdir -p "$out/debian/packages"
  (cd "$out/debian/packages" && apt-get download -qq \
    wordpress mediawiki mediawiki-classes postfix postfix-mysql nginx libnginx-mod-stream \
    "php$(php -r 'echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION;')-fpm")
  local package
  for package in "$out"/debian/packages/*.deb; do dpkg-deb -x "$package" "$out/debian"; done
}

c() {
  local flags=(-O2 -Wall -Wextra)
  # Each command prints several flags, which must be separate words.
  # shellcheck disable=SC2046
  cc "${flags[@]}" -o "$out/bin/libmariadb" c/libmariadb.c $(mariadb_config --include --libs)
  # shellcheck disable=SC2046
  cc "${flags[@]}" -pthread -o "$out/bin/storm-libmariadb" c/storm.c $(mariadb_config --include --libs)
  # shellcheck disable=SC2046
  cc "${flags[@]}" -o "$out/bin/libpq" c/libpq.c $(pkg-config --cflags --libs libpq)
  cc "${flags[@]}" -o "$out/bin/hiredis" c/hiredis.c -lhiredis
  # shellcheck disable=SC2046
  cc "${flags[@]}" -o "$out/bin/drive" dialects/drive.c $(pkg-config --cflags --libs libmongoc-1.0)
}

python() {
  # Uses the system's own Python, which other users can run, too.
  PATH=/usr/bin:$PATH python3 -m venv "$out/python"
  "$out/python/bin/python" -m pip install --quiet --disable-pip-version-check -r python/requirements.txt
}

# Built statically, as most Go programs are shipped.
go_() { (cd go && CGO_ENABLED=0 go build -o "$out/bin/" ./go-sql-driver ./pgx ./go-redis ./storm ./threads ./dialects ./project); }

rust() { cargo build --quiet --manifest-path dialects/rust/Cargo.toml --target-dir "$out/rust"; }

java() {
  mvn -q -B -f java/pom.xml dependency:copy-dependencies -DoutputDirectory="$out/jars"
  javac -d "$out/classes" -cp "$out/jars/*" java/src/clients/*.java
}

node() {
  cp node/*.js dialects/drive.js node/package.json "$out/node/"
  # npm runs in the folder: with --prefix it fails if the path to the folder contains a symbolic link.
  (cd "$out/node" && npm install --no-package-lock --loglevel=error)
}

debian
for part in unpacked c python go_ rust java node; do
  say "clients: $part"
  "$part"
done
say "clients: ready"
