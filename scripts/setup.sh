#!/usr/bin/env bash
# Prepares the machine for `make compare`, `make reproduce`, `make test`, `cargo lab peers` and
# scripts/mysql-root.sh: checks Rust, installs it if there is none, finds which programs are missing, and installs
# exactly those with scripts/apt-install.sh.
#
# usage: scripts/setup.sh compare|reproduce|test|applications|peers|servers|fleet
#   compare  continues with the installed database servers if the others cannot be installed
#   reproduce  the same, with WordPress and PHP, too. Debian's WordPress package also installs a web server,
#            which is neither started nor enabled
#   test     needs all of them; also installs typos, for the spelling, from PyPI into target/typos (to undo: delete it)
#   applications  continues with the installed applications, for the tests of `looptax switch`,
#            of the advice of `looptax check`, and of ClickHouse as a collector
#   peers    needs those, too, the load generators that are only compared in long measurements, and the browser
#            in which the report page is tested
#   servers  needs only the tools that scripts/mysql-root.sh uses
#   fleet    needs the tools for the tests of the packaging for many machines: Ansible, systemd, promtool;
#            scripts/fleet-tools.sh installs the tools that are not Debian packages
#
# Exit status: 0 ready, 2 something has to be done by hand (stderr says what).
# LOOPTAX_SETUP_ROOT is put before every absolute path; only for the tests.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-}
root=${LOOPTAX_SETUP_ROOT:-}
# mariadbd is in sbin, which is not in the PATH of ordinary users on Debian.
PATH="$PATH:$root/usr/local/sbin:$root/usr/sbin:$root/sbin"

say() { printf '%s\n' "$*" >&2; }
stop() {
  say "error: $1"
  shift
  local line
  for line in "$@"; do say "hint: $line"; done
  exit 2
}

# The lowest version of Rust that builds looptax, from the manifest.
wanted_rust=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml)
typos_version=1.52.0

has_rust() { command -v rustc >/dev/null && command -v cargo >/dev/null; }

# Looks for a Rust that is new enough; if no Rust is installed, installs the distribution's.
check_rust() {
  local found
  if ! has_rust; then
    missing=(cargo)
    install_missing || say "set-up could not install Rust"
    hash -r
  fi
  if ! has_rust; then
    stop "no Rust on PATH, and looptax needs $wanted_rust or newer" \
      "install it from https://rustup.rs, or open a new shell if you just did"
  fi
  found=$(rustc --version | sed -n 's/^rustc \([0-9.]*\).*/\1/p')
  if [ "$(printf '%s\n%s\n' "$wanted_rust" "$found" | sort -V | head -n 1)" != "$wanted_rust" ]; then
    stop "Rust $found is too old: looptax needs $wanted_rust or newer" \
      "run \`rustup update stable\`; a Rust from the distribution's packages is replaced by https://rustup.rs" \
      "on Debian 12 and 13 \`apt-get install cargo-web\` replaces the packages rustc and cargo by newer ones"
  fi
}

check_rust_components() {
  if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
    stop "rustfmt or clippy is missing, and the tests use both" "run \`rustup component add rustfmt clippy\`"
  fi
}

has() {
  local found
  case $1 in
    postgres)
      command -v postgres >/dev/null && return
      for found in "$root"/usr/lib/postgresql/*/bin/postgres; do
        if [ -x "$found" ]; then return 0; fi
      done
      return 1
      ;;
    debian-archive-keyring) [ -e "$root/usr/share/keyrings/debian-archive-keyring.gpg" ] ;;
    wordpress) [ -e "$root/usr/share/wordpress/wp-settings.php" ] ;;
    wordpress-theme-*)
      [ -e "$root/usr/share/wordpress/wp-content/themes/${1#wordpress-theme-}/style.css" ]
      ;;
    php-fpm)
      for found in "$root"/usr/sbin/php-fpm*; do
        if [ -x "$found" ]; then return 0; fi
      done
      command -v php-fpm >/dev/null
      ;;
    *)
      if [ -z "$(file_of "$1")" ]; then
        command -v "$1" >/dev/null
        return
      fi
      for found in "$root"/$(file_of "$1"); do
        if [ -e "$found" ]; then return 0; fi
      done
      return 1
      ;;
  esac
}

# Prints a file that shows whether a library is installed; prints a pattern if the path contains a version.
file_of() {
  case $1 in
    php-mysql) echo 'usr/lib/php/*/pdo_mysql.so' ;;
    php-redis) echo 'usr/lib/php/*/redis.so' ;;
    php-laravel-framework) echo usr/share/php/Illuminate/Foundation/Application.php ;;
    php-symfony-framework-bundle) echo usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php ;;
    php-symfony-dotenv) echo usr/share/php/Symfony/Component/Dotenv/autoload.php ;;
    php-doctrine-dbal) echo usr/share/php/Doctrine/DBAL/autoload.php ;;
    python3-django) echo usr/lib/python3/dist-packages/django/__init__.py ;;
    python3-gunicorn) echo usr/lib/python3/dist-packages/gunicorn/__init__.py ;;
    python3-psycopg2) echo usr/lib/python3/dist-packages/psycopg2/__init__.py ;;
    python3-apt) echo usr/lib/python3/dist-packages/apt/__init__.py ;;
    python3-venv) echo 'usr/lib/python3*/ensurepip/__init__.py' ;;
    python3-yaml) echo usr/lib/python3/dist-packages/yaml/__init__.py ;;
    ruby-mysql2) echo 'usr/lib/*/ruby/vendor_ruby/*/mysql2/mysql2.so' ;;
    node-mysql) echo usr/share/nodejs/mysql/index.js ;;
    postfix-mysql) echo usr/lib/postfix/postfix-mysql.so ;;
  esac
}

# Prints the Debian packages for a program. The -core packages contain MariaDB without its service;
# mariadb-install-db needs my_print_defaults, which is in the client's package.
packages_of() {
  case $1 in
    cargo) echo cargo ;;
    mariadbd) echo mariadb-server-core ;;
    my_print_defaults) echo mariadb-client-core ;;
    mariadb-dump | mariadb-slap) echo mariadb-client ;;
    postgres) echo postgresql ;;
    redis-server) echo redis-server ;;
    redis-benchmark) echo redis-tools ;;
    memcached) echo memcached ;;
    sysbench) echo sysbench ;;
    cc) echo gcc libc6-dev ;;
    ip) echo iproute2 ;;
    nft) echo nftables ;;
    pasta) echo passt ;;
    setfacl) echo acl ;;
    perl | haproxy | pgbouncer | clickhouse-server | wrk | sockperf | iperf3 | chromium | npm | patchelf | ruby | lighttpd | nginx | caddy | gunicorn | puma | uvicorn | curl | tshark) echo "$1" ;;
    debian-archive-keyring | wordpress* | php-* | python3-* | *-mysql*) echo "$1" ;;
    php) echo php-cli ;;
    node) echo nodejs ;;
    pgpool) echo pgpool2 ;;
    apache2) echo apache2-bin ;;
    uwsgi) echo uwsgi-core uwsgi-plugin-python3 ;;
    ansible-playbook) echo ansible-core ;;
    promtool) echo prometheus ;;
    systemd-analyze) echo systemd ;;
    dpkg-deb) echo dpkg ;;
  esac
}

find_missing() {
  local program
  local programs=(mariadbd my_print_defaults mariadb-dump postgres redis-server redis-benchmark memcached sysbench cc)
  case $purpose in
    reproduce) programs+=(php-fpm wordpress wordpress-theme-twentytwentyone) ;;
    test) programs+=(haproxy pgbouncer pgpool ip nft pasta perl setfacl tshark) ;;
    applications)
      programs=(php php-fpm php-mysql php-redis lighttpd wordpress wordpress-theme-twentytwentyone
        php-laravel-framework php-symfony-framework-bundle php-symfony-dotenv php-doctrine-dbal
        python3-django python3-gunicorn python3-psycopg2 python3-yaml ruby ruby-mysql2 node node-mysql postfix-mysql
        nginx apache2 caddy haproxy uwsgi gunicorn uvicorn puma clickhouse-server curl)
      ;;
    peers) programs+=(sockperf iperf3 wrk mariadb-slap nginx php-fpm chromium node npm) ;;
    servers) programs=(apt-get dpkg-deb patchelf debian-archive-keyring) ;;
    fleet) programs=(ansible-playbook promtool clickhouse-server curl postgres redis-server systemd-analyze dpkg-deb ip cc python3-venv python3-apt) ;;
  esac
  missing=()
  for program in "${programs[@]}"; do
    has "$program" || missing+=("$program")
  done
}

# Installs the spelling checker, whose package contains a built program. Without it, only the spelling is not checked.
bring_typos() {
  local folder=${LOOPTAX_TYPOS:-$PWD/target/typos}
  if [ "$(cat "$folder/version" 2>/dev/null)" = "$typos_version" ]; then return; fi
  if ! { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check "typos==$typos_version"; } >&2; then
    say "going on without typos $typos_version: it needs Python with venv (Debian: python3-venv) and a way to PyPI"
    return
  fi
  printf '%s\n' "$typos_version" >"$folder/version"
}

hint_without_apt() {
  if [ "$purpose" = servers ]; then
    say "hint: MySQL and Valkey are taken from Debian's packages, which needs apt-get and dpkg-deb"
    return
  fi
  if [ "$purpose" = applications ]; then return; fi
  say "hint: there is no apt-get here; install these programs with the system's own package manager: ${missing[*]}"
  if command -v dnf >/dev/null; then
    say "hint: dnf install mariadb-server postgresql-server redis memcached sysbench gcc"
  elif command -v pacman >/dev/null; then
    say "hint: pacman -S mariadb postgresql redis memcached sysbench gcc"
  elif command -v zypper >/dev/null; then
    say "hint: zypper install mariadb postgresql-server redis memcached sysbench gcc"
  elif command -v apk >/dev/null; then
    say "hint: apk add mariadb postgresql redis memcached sysbench build-base"
  fi
}

# Installs the missing programs; if it cannot, prints the reason and fails.
install_missing() {
  local packages=() program words
  for program in "${missing[@]}"; do
    read -r -a words <<<"$(packages_of "$program")"
    packages+=("${words[@]}")
  done
  say "missing programs: ${missing[*]}"
  if ! command -v apt-get >/dev/null; then
    hint_without_apt
    return 1
  fi
  if [ "$(id -u)" -eq 0 ]; then
    scripts/apt-install.sh "${packages[@]}"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n scripts/apt-install.sh "${packages[@]}"
  else
    say "hint: installing needs root; run: sudo $PWD/scripts/apt-install.sh ${packages[*]}"
    return 1
  fi
}

case $purpose in
  compare | reproduce) check_rust ;;
  test)
    check_rust
    check_rust_components
    ;;
  peers) check_rust ;;
  applications | servers | fleet) ;;
  *) stop "usage: scripts/setup.sh compare|reproduce|test|applications|peers|servers|fleet" ;;
esac

find_missing
if [ ${#missing[@]} -gt 0 ]; then
  install_missing || say "set-up could not install everything"
  hash -r
  find_missing
fi
if [ "$purpose" != servers ] && [ "$purpose" != applications ] && ! has cc; then
  stop "no C compiler (\`cc\`): Rust needs its linker" "install gcc and the C library's headers, or clang"
fi
if [ ${#missing[@]} -gt 0 ]; then
  case $purpose in
    test) stop "the tests need programs that are not here: ${missing[*]}" ;;
    peers) stop "the long measurements need programs that are not here: ${missing[*]}" ;;
    servers) stop "unpacking servers needs what is not here: ${missing[*]}" ;;
    fleet) stop "the packaging for many machines is tried with what is not here: ${missing[*]}" ;;
  esac
  say "going on without: ${missing[*]}"
fi
if [ "$purpose" = test ]; then bring_typos; fi
