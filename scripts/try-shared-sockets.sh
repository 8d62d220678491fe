#!/usr/bin/env bash
# Moves a Redis and a MariaDB and their application to shared sockets in a Compose file, in a Pod and in two units of
# Podman: each project runs over TCP, is patched by `switch`, runs again, and the kernel's lists say from outside that the
# application is on the socket. Then `--undo` gives the files back. Needs root, debootstrap, podman, podman-compose (1.0.4 or
# newer: COMPOSE names another one), runc, and Podman's `quadlet` (QUADLET names it), and `cargo build -p looptax` before it.
#
# usage: scripts/try-shared-sockets.sh
#
# All but the download happens in a network namespace of its own, so that podman's bridges and NAT rules go with it.
#
# The image's root is kept in target/roots (or LOOPTAX_ROOTS), so that a second run downloads nothing.
# Exit status: 0 all is well, 1 the first thing that is not (said on stderr). What is not there is said and left out.
set -euo pipefail
cd "$(dirname "$0")/.."

looptax=$PWD/target/debug/looptax
roots=${LOOPTAX_ROOTS:-$PWD/target/roots}
root=$roots/shared-sockets
compose=${COMPOSE:-podman-compose}
quadlet=${QUADLET:-/usr/libexec/podman/quadlet}
scratch=$(mktemp -d)
resolver=/run/containers/networks
export CONTAINERS_CONF=$scratch/containers.conf
export XDG_DATA_HOME=$scratch/kept

finish() {
  podman pod rm -f -t 0 looptax-shop > /dev/null 2>&1 || true
  (cd "$scratch" && "$compose" -p looptax-sockets down -v > /dev/null 2>&1) || true
  podman rm -f -t 0 systemd-shop db cache > /dev/null 2>&1 || true
  podman volume rm -f systemd-sockets-db systemd-sockets-cache sockets-cache sockets-db > /dev/null 2>&1 || true
  podman network rm -f looptax-sockets_default podman-default-kube-network systemd-shop > /dev/null 2>&1 || true
  kill "$(cat "$resolver/aardvark-dns/aardvark.pid" 2> /dev/null)" 2> /dev/null || true
  rm -rf "$scratch"
}
trap finish EXIT

stop() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Waits at most 90 seconds until a command succeeds.
await() {
  for _ in $(seq 900); do
    if "$@" > /dev/null 2>&1; then return; fi
    sleep 0.1
  done
  stop "not in 90 s: $*"
}

mkdir -p "$roots"
if [ ! -e "$root/usr/sbin/mariadbd" ]; then
  packages=redis-server,mariadb-server,php-cli,php-mysql,php-redis,gosu
  mirror=$( (grep -rhosE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d || true) | head -1)
  debootstrap --variant=minbase --include="$packages" bookworm "$root" "$mirror" > "$scratch/debootstrap" 2>&1 ||
    stop "$(tail -3 "$scratch/debootstrap")"
fi
if [ "${1:-}" != apart ]; then
  rm -rf "$scratch"
  trap - EXIT
  exec unshare --net --mount "$0" apart
fi
ip link set lo up
mkdir -p /run/netns "$resolver"
mount -t tmpfs none /run/netns
mount -t tmpfs none "$resolver"
cat > "$CONTAINERS_CONF" << END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
END

# Images with what the usual ones have: their users, folders and modes, and an entry point that gives up root's rights.
mkdir "$scratch/images" "$scratch/before"
cat > "$scratch/images/redis.sh" << 'END'
#!/bin/sh
set -e
case "$1" in -* | *.conf) set -- redis-server "$@" ;; esac
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  chown redis /data
  exec gosu redis "$0" "$@"
fi
umask 0077
exec "$@" --protected-mode no --bind '*'
END
cat > "$scratch/images/mariadb.sh" << 'END'
#!/bin/sh
set -e
mariadb-install-db --user=mysql --datadir=/var/lib/mysql > /dev/null
cat > /init.sql << SQL
CREATE USER IF NOT EXISTS '$MARIADB_USER'@'%' IDENTIFIED BY '$MARIADB_PASSWORD';
CREATE USER IF NOT EXISTS '$MARIADB_USER'@'localhost' IDENTIFIED BY '$MARIADB_PASSWORD';
SQL
chmod 644 /init.sql
exec gosu mysql mariadbd --init-file=/init.sql --bind-address=0.0.0.0 "$@"
END
# What WordPress and Laravel hand to mysqli and phpredis.
cat > "$scratch/images/shop.php" << 'END'
<?php
mysqli_report(MYSQLI_REPORT_OFF);
$redis = new Redis();
while (true) {
    try {
        if (!$redis->isConnected()) {
            @$redis->connect(getenv('REDIS_HOST'), (int) getenv('REDIS_PORT'));
        }
        $redis->incr('pages');
    } catch (RedisException $error) {
        $redis = new Redis();
    }
    if (!isset($db) || !@$db->query('select 1')) {
        [$host, $rest] = explode(':', getenv('WORDPRESS_DB_HOST') . ':', 3);
        $socket = str_starts_with($rest, '/') ? $rest : null;
        $own = @new mysqli($host, getenv('WORDPRESS_DB_USER'), getenv('WORDPRESS_DB_PASSWORD'), '', 3306, $socket);
        $db = $own->connect_errno ? null : $own;
    }
    usleep(200000);
}
END
tar -C "$root" -c . | podman import -c 'ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - localhost/looptax-root:1 > /dev/null 2>&1
image() {
  printf 'FROM localhost/looptax-root:1\n%s\n' "$2" > "$scratch/images/Dockerfile"
  podman build -q -t "$1" "$scratch/images" > "$scratch/build" 2>&1 || stop "$(tail -3 "$scratch/build")"
}
image docker.io/library/redis:7 'COPY redis.sh /redis.sh
RUN chmod +x /redis.sh && rm -rf /run/redis && mkdir -p /data && chown redis:redis /data
VOLUME /data
WORKDIR /data
ENTRYPOINT ["/redis.sh"]
CMD ["redis-server"]'
image docker.io/library/mariadb:11 'COPY mariadb.sh /mariadb.sh
RUN chmod +x /mariadb.sh && rm -rf /run/mysqld /var/lib/mysql && mkdir -p -m 1777 /run/mysqld && mkdir -p /var/lib/mysql
VOLUME /var/lib/mysql
ENTRYPOINT ["/mariadb.sh"]'
image localhost/shop:1 'COPY shop.php /shop.php
RUN rm -rf /run/mysqld /run/redis && useradd -u 1234 shop
USER shop
CMD ["php", "/shop.php"]'

pid_of() {
  podman inspect -f '{{.State.Pid}}' "$1" 2> /dev/null
}

# The kernel's lists in a container's network: connections to a port, and to a socket of that name.
over_tcp() {
  test -n "$(nsenter -t "$(pid_of "$1")" -n ss -Htn state established "( dport = :$2 )")"
}
# An accepted end is in the network of whoever connected.
over_socket() {
  local pid all
  pid=$(pid_of "$1")
  all=$(nsenter -t "$pid" -n ss -Hxp)
  awk -v name="/$2" -v own="pid=$pid," 'index($5, name) { peers[$8] = 1 } index($0, own) { mine[$6] = 1 }
    END { for (it in peers) if (it in mine) exit 0; exit 1 }' <<< "$all"
}

# is_before WHAT APP: over TCP to both servers, and over no socket.
is_before() {
  await over_tcp "$2" 6379
  await over_tcp "$2" 3306
  ! over_socket "$2" redis.sock || stop "$1: over a socket before"
  printf 'ok  %s: over TCP before\n' "$1"
}
is_after() {
  await over_socket "$2" redis.sock
  await over_socket "$2" mysqld.sock
  ! over_tcp "$2" 6379 || stop "$1: Redis over TCP after"
  ! over_tcp "$2" 3306 || stop "$1: MariaDB over TCP after"
  printf 'ok  %s: over both sockets after, and not over TCP\n' "$1"
}

# moves WHAT FILES…: writes them; they are not proved from here (3).
moves() {
  local what=$1 code=0
  shift
  (cd "$scratch" && "$looptax" switch "$@" --yes > answer 2>&1) || code=$?
  [ "$code" = 3 ] || stop "$what: switch ended with $code"$'\n'"$(cat "$scratch/answer")"
  moved=("$(tr -s ' \n' ' ' < "$scratch/answer" | grep -oE -- '--undo [0-9]+-[0-9]+' | head -1)" "${moved[@]}")
}
# comes_back WHAT FILES…: undoes all moves since, the last one first.
comes_back() {
  for it in "${moved[@]}"; do
    # shellcheck disable=SC2086
    (cd "$scratch" && "$looptax" switch $it --yes > answer 2>&1) || stop "$1: $(cat "$scratch/answer")"
  done
  moved=()
  for it in "${@:2}"; do
    cmp -s "$scratch/$it" "$scratch/before/$it" || stop "$1: $it is not as it was"
  done
  printf 'ok  %s: every byte is back\n' "$1"
}
moved=()

cat > "$scratch/compose.yaml" << 'END'
services:
  shop:
    image: localhost/shop:1   # the shop
    user: "1234"
    read_only: true
    environment: # of two applications
      APP_KEY: base64:k
      REDIS_HOST: cache
      REDIS_PORT: 6379
      WORDPRESS_DB_HOST: db
      WORDPRESS_DB_USER: shop
      WORDPRESS_DB_PASSWORD: "pw of compose"
  cache:
    image: redis:7
    read_only: true
    command: ["redis-server", "--appendonly", "no"]  # nothing to keep
  db:
    image: mariadb:11
    environment: [MARIADB_USER=shop, "MARIADB_PASSWORD=pw of compose"]
END
if "$compose" --version 2> /dev/null | grep -qE 'version:? 1\.0\.[0-3]$' || ! command -v "$compose" > /dev/null; then
  printf -- '--  Compose: not tried, it takes podman-compose 1.0.4 or newer (COMPOSE)\n'
else
  up() { (cd "$scratch" && "$compose" -p looptax-sockets up -d --force-recreate > up 2>&1) || stop "$(tail -5 "$scratch/up")"; }
  up
  is_before Compose looptax-sockets_shop_1
  cp "$scratch/compose.yaml" "$scratch/before"
  moves Compose compose.yaml --containers
  up
  is_after Compose looptax-sockets_shop_1
  (cd "$scratch" && "$compose" -p looptax-sockets down -v > /dev/null 2>&1)
  comes_back Compose compose.yaml
fi

cat > "$scratch/pod.yaml" << 'END'
# The shop and its servers.
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {A: b}
---
apiVersion: v1
kind: Pod
metadata:
  name: looptax-shop
spec:
  containers:
    - name: shop
      image: localhost/shop:1
      securityContext:
        runAsUser: 1234
        readOnlyRootFilesystem: true
      env:
        - name: APP_KEY
          value: base64:k
        - name: REDIS_HOST
          value: 127.0.0.1 # the same Pod
        - name: REDIS_PORT
          value: "6379"
        - name: WORDPRESS_DB_HOST
          value: "127.0.0.1:3306"
        - name: WORDPRESS_DB_USER
          value: shop
        - name: WORDPRESS_DB_PASSWORD
          value: 'pw of the Pod'
    - name: cache
      image: redis:7
    - name: db
      image: mariadb:11
      env: [{name: MARIADB_USER, value: shop}, {name: MARIADB_PASSWORD, value: pw of the Pod}]
END
play() { podman kube play --replace "$scratch/pod.yaml" > "$scratch/up" 2>&1 || stop "$(tail -5 "$scratch/up")"; }
play
is_before Pod looptax-shop-shop
cp "$scratch/pod.yaml" "$scratch/before"
moves Pod pod.yaml --containers
for it in sockets-cache sockets-db; do
  grep -oE "podman volume create [^\`]*$it" <(tr -s ' \n' ' ' < "$scratch/answer") | head -1 > "$scratch/create"
  bash "$scratch/create" > /dev/null 2>&1 || stop "Pod: $(cat "$scratch/create")"
done
play
is_after Pod looptax-shop-shop
podman pod rm -f -t 0 looptax-shop > /dev/null
comes_back Pod pod.yaml

cat > "$scratch/shop.container" << 'END'
[Unit]
Description=The shop
[Container]
Image=localhost/shop:1
Network=shop.network
ReadOnly=true
User=1234
Environment=APP_KEY=k REDIS_HOST=cache
Environment="REDIS_PORT=6379"
Environment=WORDPRESS_DB_HOST=db WORDPRESS_DB_USER=shop "WORDPRESS_DB_PASSWORD=pw of a unit"
END
cat > "$scratch/cache.container" << 'END'
[Container]
ContainerName=cache
Image=docker.io/library/redis:7
Network=shop.network
Exec=redis-server \
  --appendonly no
END
cat > "$scratch/db.container" << 'END'
[Container]
ContainerName=db
Image=docker.io/library/mariadb:11
Network=shop.network
Environment=MARIADB_USER=shop "MARIADB_PASSWORD=pw of a unit"
END
printf '[Network]\n' > "$scratch/shop.network"
# Runs what the units become, as systemd would.
start_units() {
  local units lines
  units=$(QUADLET_UNIT_DIRS=$scratch "$quadlet" -dryrun 2> /dev/null)
  podman rm -f -t 0 systemd-shop db cache > /dev/null 2>&1 || true
  for kind in network volume run; do
    lines=$(grep -oE "^ExecStart=.*podman $kind .*" <<< "$units" | sed -E 's/^ExecStart=//; s/--(cidfile|cgroups|sdnotify)=[^ ]+|--ignore//g; s/systemd-%N/systemd-shop/; s/%%/%/g' || true)
    while read -r line; do
      # Podman before 4.4 knows no --ignore.
      bash -c "$line" > "$scratch/up" 2>&1 || grep -q 'already exists' "$scratch/up" || stop "$line: $(tail -5 "$scratch/up")"
    done <<< "$lines"
  done
}
if [ -x "$quadlet" ]; then
  start_units
  is_before Quadlet systemd-shop
  cp "$scratch"/*.container "$scratch/before"
  moves Quadlet shop.container cache.container
  moves Quadlet db.container shop.container
  start_units
  is_after Quadlet systemd-shop
  podman rm -f -t 0 systemd-shop db cache > /dev/null
  comes_back Quadlet shop.container cache.container db.container
  [ ! -e "$scratch/sockets-cache.volume" ] && [ ! -e "$scratch/sockets-db.volume" ] || stop "Quadlet: a volume's unit is left"
else
  printf -- '--  Quadlet: not tried, it takes podman 4.4 or newer, or QUADLET\n'
fi
