#!/usr/bin/env bash
# Moves a Redis, a MariaDB and their application to shared sockets in a Compose file, in a Pod and in two Podman units,
# and a PHP-FPM behind nginx in a Compose file. Each project runs over TCP, is changed by `switch`, and runs again; the
# kernel's lists, read from outside, must show that the application is on the socket. Then `--undo` restores the files.
# Needs root, debootstrap, podman, podman-compose (1.0.4 or newer; COMPOSE names another program, otherwise it is
# downloaded), runc, and Podman's `quadlet` (QUADLET names it); run `cargo build -p looptax` first.
#
# With ENGINE=docker, Docker runs the Compose files (needs docker.io, docker-compose, iptables and jq). `switch` must then
# follow the application into its new container, prove the move, and undo the move of an application that fails. An
# application outside of the containers is moved to the socket of a Redis whose port its container publishes; `find`
# must also see a client that connects to this port at another address of the machine.
#
# usage: [ENGINE=docker] scripts/try-shared-sockets.sh
#
# Everything except the download happens in a separate network namespace, which is removed with podman's bridges and
# NAT rules.
#
# The image's root folder is kept in target/roots (or LOOPTAX_ROOTS), so a second run downloads nothing.
# Exit status: 0 all tests passed, 1 a test failed (stderr has the first failure). Tests whose programs are missing are
# reported and left out.
set -euo pipefail
cd "$(dirname "$0")/.."

looptax=$PWD/target/debug/looptax
roots=${LOOPTAX_ROOTS:-$PWD/target/roots}
root=$roots/shared-sockets
engine=${ENGINE:-podman}
compose=${COMPOSE:-$engine-compose}
quadlet=${QUADLET:-/usr/libexec/podman/quadlet}
scratch=$(mktemp -d)
resolver=/run/containers/networks
export CONTAINERS_CONF=$scratch/containers.conf
export XDG_DATA_HOME=$scratch/kept

finish() {
  if [ "$engine" = docker ]; then
    # The daemon ends its containers, and its part of the network ends with the namespace.
    docker ps -aq 2> /dev/null | xargs -r docker rm -f > /dev/null 2>&1 || true
    kill ${app:-} "$(cat "$scratch/docker.pid" 2> /dev/null)" 2> /dev/null || true
    wait
    rm -rf "$scratch"
    return
  fi
  podman pod rm -f -t 0 looptax-shop > /dev/null 2>&1 || true
  (cd "$scratch" && "$compose" -p looptax-sockets down -v > /dev/null 2>&1) || true
  (cd "$scratch/php" 2> /dev/null && "$compose" -p looptax-sockets down -v > /dev/null 2>&1) || true
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
if [ ! -e "$root/usr/sbin/mariadbd" ] || [ ! -e "$root/usr/sbin/nginx" ]; then
  packages=redis-server,mariadb-server,php-cli,php-mysql,php-redis,gosu,nginx-light,php-fpm
  rm -rf "$root"
  mirror=$( (grep -rhosE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d || true) | head -1)
  debootstrap --variant=minbase --include="$packages" bookworm "$root" "$mirror" > "$scratch/debootstrap" 2>&1 ||
    stop "$(tail -3 "$scratch/debootstrap")"
fi
is_too_old() {
  # Not through a pipe, because the program writes more after that line. CONTAINERS_CONF is unset, because its file does
  # not exist yet.
  ! command -v "$compose" > /dev/null || grep -qE 'version:? +1\.0\.[0-3]$' <<< "$(env -u CONTAINERS_CONF "$compose" --version 2> /dev/null)"
}
# The podman-compose of Debian 12 ignores the options of a volume.
if is_too_old && python3 -m venv "$roots/compose" > "$scratch/venv" 2>&1 &&
  "$roots/compose/bin/python" -m pip install --quiet podman-compose==1.6.0 > "$scratch/venv" 2>&1; then
  compose=$roots/compose/bin/podman-compose
fi
export COMPOSE=$compose
if [ "${1:-}" != apart ]; then
  rm -rf "$scratch"
  trap - EXIT
  exec unshare --net --mount "$0" apart
fi
ip link set lo up
mkdir -p /run/netns "$resolver"
mount -t tmpfs none /run/netns
mount -t tmpfs none "$resolver"
if [ "$engine" = docker ]; then
  # looptax reads the names of containers in the usual folder.
  mkdir -p "$scratch/docker" "$scratch/srv" /var/lib/docker /srv
  mount --bind "$scratch/docker" /var/lib/docker
  mount --bind "$scratch/srv" /srv
  export DOCKER_HOST=unix://$scratch/docker.sock
  dockerd -H "$DOCKER_HOST" --exec-root "$scratch/exec" --pidfile "$scratch/docker.pid" > "$scratch/dockerd" 2>&1 &
  await docker info
fi
cat > "$CONTAINERS_CONF" << END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
END

# Images like the usual ones: with their users, folders and modes, and an entry point that drops root's rights.
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
# Uses the arguments that WordPress and Laravel pass to mysqli and phpredis.
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
cat > "$scratch/images/nginx.conf" << 'END'
user nginx;
worker_processes 2;
error_log /dev/stderr notice;
events { worker_connections 64; }
http {
  include /etc/nginx/mime.types;
  access_log off;
  include /etc/nginx/conf.d/*.conf;
}
END
# The configuration files of the image from before 2026-01-09; the last file sets the port.
cat > "$scratch/images/fpm.sh" << 'END'
#!/bin/sh
set -e
mkdir -p /usr/local/etc/php-fpm.d
cd /usr/local/etc/php-fpm.d
printf 'include=/usr/local/etc/php-fpm.d/*.conf\n' > ../php-fpm.conf
printf '[www]\nuser = www-data\ngroup = www-data\nlisten = 127.0.0.1:9000\npm = static\npm.max_children = 2\n' > www.conf
printf '[global]\nerror_log = /proc/self/fd/2\n[www]\nclear_env = no\n' > docker.conf
printf '[global]\ndaemonize = no\n[www]\nlisten = 9000\n' > zz-docker.conf
printf '#!/bin/sh\nexec /usr/sbin/php-fpm* -y /usr/local/etc/php-fpm.conf "$@"\n' > /usr/local/bin/php-fpm
chmod +x /usr/local/bin/php-fpm
rm -rf /run/php
END
tar -C "$root" -c . | "$engine" import -c 'ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - localhost/looptax-root:1 > /dev/null 2>&1
image() {
  printf 'FROM localhost/looptax-root:1\n%s\n' "$2" > "$scratch/images/Dockerfile"
  "$engine" build -q -t "$1" "$scratch/images" > "$scratch/build" 2>&1 || stop "$(tail -3 "$scratch/build")"
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
image docker.io/library/nginx:1 'COPY nginx.conf /etc/nginx/nginx.conf
RUN useradd -r nginx && rm -rf /etc/nginx/conf.d /etc/nginx/sites-enabled && mkdir /etc/nginx/conf.d
CMD ["nginx", "-g", "daemon off;"]'
image docker.io/library/php:8-fpm 'COPY fpm.sh /fpm.sh
RUN sh /fpm.sh
CMD ["php-fpm"]'

pid_of() {
  "$engine" inspect -f '{{.State.Pid}}' "$1" 2> /dev/null
}

# Check the kernel's lists in a container's network: for connections to a port, and to a socket with this name.
over_tcp() {
  test -n "$(nsenter -t "$(pid_of "$1")" -n ss -Htn state established "( dport = :$2 )")"
}
# The accepted end of a connection is listed in the network namespace of the client.
over_socket() {
  local pid all
  pid=$(pid_of "$1")
  all=$(nsenter -t "$pid" -n ss -Hxp)
  awk -v name="/$2" -v own="pid=$pid," 'index($5, name) { peers[$8] = 1 } index($0, own) { mine[$6] = 1 }
    END { for (it in peers) if (it in mine) exit 0; exit 1 }' <<< "$all"
}

# is_before WHAT APP: checks that the application uses TCP to both servers, and no socket.
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

# moves WHAT FILES…: lets `switch` write the files; it cannot prove the move from here (exit code 3).
moves() {
  local what=$1 code=0
  shift
  (cd "$scratch" && "$looptax" switch "$@" --yes > answer 2>&1) || code=$?
  [ "$code" = 3 ] || stop "$what: switch ended with $code"$'\n'"$(cat "$scratch/answer")"
  moved=("$(tr -s ' \n' ' ' < "$scratch/answer" | grep -oE -- '--undo [0-9]+-[0-9]+' | head -1)" "${moved[@]}")
}
# comes_back WHAT FILES…: undoes all moves, the last one first, and checks the files.
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
if is_too_old; then
  printf -- '--  Compose: not tried, it takes podman-compose 1.0.4 or newer (COMPOSE)\n'
else
  up() { (cd "$scratch/${1:-.}" && "$compose" -p looptax-sockets up -d --force-recreate > "$scratch/up" 2>&1) || stop "$(tail -5 "$scratch/up")"; }
  up
  is_before Compose looptax-sockets_shop_1
  cp "$scratch/compose.yaml" "$scratch/before"
  moves Compose compose.yaml --containers
  up
  is_after Compose looptax-sockets_shop_1
  (cd "$scratch" && "$compose" -p looptax-sockets down -v > /dev/null 2>&1)
  comes_back Compose compose.yaml

  mkdir -p "$scratch/php/pages" "$scratch/before/php"
  cat > "$scratch/php/compose.yaml" << 'END'
services:
  web:
    image: nginx:1
    depends_on: [app]
    read_only: true
    tmpfs: [/var/lib/nginx, /var/log/nginx, /run/nginx]
    command: ["nginx", "-g", "daemon off; pid /run/nginx/nginx.pid;"]
    volumes:
      - ./site.conf:/etc/nginx/conf.d/default.conf:ro
      - ./pages:/var/www/html:ro
  app:
    image: php:8-fpm
    read_only: true # except for PHP's lock
    tmpfs: [/tmp]
    volumes:
      - ./pages:/var/www/html:ro
      - ./pool.conf:/usr/local/etc/php-fpm.d/zz-socket.conf:ro
END
  cat > "$scratch/php/site.conf" << 'END'
server {
    listen 80;
    root /var/www/html;
    location ~ \.php$ {
        include fastcgi_params;
        fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
        fastcgi_pass app:9000; # the pool
    }
}
END
  printf '; more workers\n[www]\nlisten = 9000\npm.max_children = 4\n' > "$scratch/php/pool.conf"
  printf '<?php echo "made by " . PHP_SAPI;\n' > "$scratch/php/pages/index.php"
  cp "$scratch/php/"{compose.yaml,site.conf,pool.conf} "$scratch/before/php"
  web=looptax-sockets_web_1 app=looptax-sockets_app_1
  page() { nsenter -t "$(pid_of "$web")" -n curl -sf http://127.0.0.1/index.php | grep -qx 'made by fpm-fcgi'; }
  # listens WAY WORDS: checks in the kernel's lists that PHP-FPM listens.
  listens() { nsenter -t "$(pid_of "$app")" -n ss -Hln"$1" | grep -q -- "$2"; }
  up php
  await page
  listens t ':9000 ' || stop "PHP-FPM: not at its port before"
  printf 'ok  PHP-FPM: pages over TCP before\n'
  moves PHP-FPM php/compose.yaml --containers
  up php
  await page
  listens x '/run/php/php-fpm.sock ' || stop "PHP-FPM: not on the socket after"
  ! listens t ':9000 ' || stop "PHP-FPM: at its port after"
  printf 'ok  PHP-FPM: pages over the socket after, and nobody at the port\n'
  (cd "$scratch/php" && "$compose" -p looptax-sockets down -v > /dev/null 2>&1)
  comes_back PHP-FPM php/compose.yaml php/site.conf php/pool.conf
fi

if [ "$engine" = docker ]; then
  # Docker keeps the services of its containers, so `switch` follows the application into its new container.
  again="$compose -p looptax-sockets up -d --force-recreate"
  follows() { (cd "$scratch" && "$looptax" switch "$@" --yes > words 2>&1) && code=0 || code=$?; tr -s ' \n' ' ' < "$scratch/words" > "$scratch/answer"; }
  up
  is_before Followed looptax-sockets_shop_1
  follows compose.yaml --containers --reload "$again"
  [ "$code" = 0 ] && [ "$(grep -o 'the server saw 1 session over the socket' "$scratch/answer" | wc -l)" = 2 ] ||
    stop "Followed: $(cat "$scratch/words")"
  is_after Followed looptax-sockets_shop_1
  follows --undo last --reload "$again"
  cmp -s "$scratch/compose.yaml" "$scratch/before/compose.yaml" || stop "Followed: compose.yaml is not as it was"
  is_before "Followed and undone" looptax-sockets_shop_1
  follows compose.yaml --containers --within 8s --reload "$compose -p looptax-sockets restart -t 0"
  [ "$code" = 1 ] && grep -q 'no container of the service `cache` listens on' "$scratch/answer" || stop "Followed: $(cat "$scratch/words")"
  is_before "Not followed by a command that creates nothing" looptax-sockets_shop_1
  # An application that takes the whole setting as the server's name.
  sed "s/explode.*3)/[getenv('WORDPRESS_DB_HOST'), '']/" "$scratch/images/shop.php" > "$scratch/blind.php"
  chmod 755 "$scratch" && chmod 644 "$scratch/blind.php"
  sed -i 's|^    user: "1234"|&\n    volumes:\n      - ./blind.php:/shop.php:ro|' "$scratch/compose.yaml"
  cp "$scratch/compose.yaml" "$scratch/before"
  up
  is_before "Before a failure" looptax-sockets_shop_1
  follows compose.yaml --containers --within 15s --reload "$again"
  [ "$code" = 1 ] && grep -q 'the old files are back' "$scratch/answer" || stop "Failure: $(cat "$scratch/words")"
  grep -qE 'the application (connects over TCP again|is connected over TCP)' "$scratch/answer" || stop "Failure: $(cat "$scratch/words")"
  cmp -s "$scratch/compose.yaml" "$scratch/before/compose.yaml" || stop "Failure: compose.yaml is not as it was"
  is_before "After a failure, undone by itself" looptax-sockets_shop_1
  (cd "$scratch" && "$compose" -p looptax-sockets down -v > /dev/null 2>&1)

  published() { docker run -d --name published -p 127.0.0.1:16379:6379 "$@" > /dev/null; }
  published redis:7
  await bash -c 'exec 3<> /dev/tcp/127.0.0.1/16379'
  mkdir "$scratch/host"
  printf 'APP_KEY=base64:k\nREDIS_HOST=127.0.0.1\nREDIS_PORT=16379\n' | tee "$scratch/before/.env" > "$scratch/host/.env"
  cat > "$scratch/host/app.php" << 'END'
<?php
pcntl_async_signals(true);
pcntl_signal(SIGHUP, function () { global $redis; $redis = null; });
while (true) {
    if (!$redis) {
        $set = parse_ini_file(__DIR__ . '/.env', false, INI_SCANNER_RAW);
        $at = $set['REDIS_HOST'];
        $redis = @stream_socket_client($at[0] === '/' ? "unix://$at" : "tcp://$at:{$set['REDIS_PORT']}");
    }
    if (!$redis || !fwrite($redis, "INCR pages\r\n") || !fgets($redis)) {
        $redis = null;
    }
    usleep(50000);
}
END
  php "$scratch/host/app.php" 2> /dev/null &
  app=$!
  php "$scratch/host/app.php" 2> /dev/null &
  app="$app $!"
  asks() { (cd "$scratch/host" && "$looptax" "$@" > "$scratch/words" 2>&1) && code=0 || code=$?; tr -s ' \n' ' ' < "$scratch/words" > "$scratch/answer"; }
  asks check .env
  [ "$code" = 1 ] && grep -q 'redis-server in docker published has no socket' "$scratch/answer" || stop "Published port: $(cat "$scratch/words")"
  folder=$(grep -oE 'install -d -o [0-9]+ -g [0-9]+ [^ `]+' "$scratch/answer" | head -1)
  volume=$(grep -oE -- '--volume [^ `]+' "$scratch/answer" | head -1)
  options=$(grep -oE -- '--unixsocket [^ ]+ --unixsocketperm [0-7]+' "$scratch/answer" | head -1)
  docker rm -f published > /dev/null
  # shellcheck disable=SC2086
  $folder && published $volume redis:7 redis-server $options
  await test -S /srv/published-socket/redis.sock
  asks check .env
  [ "$code" = 0 ] || stop "Published port: $(cat "$scratch/words")"
  printf 'ok  Published port: the advice of check was followed, and the socket would work\n'
  asks switch .env --yes --within 15s --reload "kill -HUP ${app% *}"
  [ "$code" = 1 ] && grep -q "php[0-9.]* ${app#* } still has its earlier connection over TCP" "$scratch/answer" || stop "Published port: $(cat "$scratch/words")"
  printf 'ok  Published port: not moved while one of two workers stays on TCP\n'
  asks switch .env --yes --within 15s --reload "kill -HUP $app"
  [ "$code" = 0 ] && grep -q 'moved and proved' "$scratch/answer" || stop "Published port: $(cat "$scratch/words")"
  ss -Hxp | grep -q '/run/redis/redis.sock ' || stop "Published port: no connection to the socket"
  printf 'ok  Published port: moved to the socket, and proved\n'
  asks switch --undo last --yes
  cmp -s "$scratch/host/.env" "$scratch/before/.env" || stop "Published port: .env is not as it was"
  printf 'ok  Published port: every byte is back\n'
  # Docker's rules of the packet filter lead a connection to an address of the machine past docker-proxy.
  # shellcheck disable=SC2086
  kill $app && docker rm -f published > /dev/null
  ip address add 10.99.0.1/32 dev lo
  docker run -d --name published -p 16379:6379 redis:7 > /dev/null
  await bash -c 'exec 3<> /dev/tcp/10.99.0.1/16379'
  printf 'REDIS_HOST=10.99.0.1\nREDIS_PORT=16379\n' > "$scratch/host/.env"
  php "$scratch/host/app.php" 2> /dev/null &
  app=$!
  has_client() { "$looptax" find --json | jq -e ".clients[] | select(.pid == $app and .way == \"bridge\" and .requests_per_s > 5)"; }
  await has_client
  printf 'ok  Published port: a client of another address of the machine is found, with its requests\n'
  exit
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
# Runs the services that are generated from the units, as systemd would.
start_units() {
  local units lines
  units=$(QUADLET_UNIT_DIRS=$scratch "$quadlet" -dryrun 2> /dev/null)
  podman rm -f -t 0 systemd-shop db cache > /dev/null 2>&1 || true
  for kind in network volume run; do
    lines=$(grep -oE "^ExecStart=.*podman $kind .*" <<< "$units" | sed -E 's/^ExecStart=//; s/--(cidfile|cgroups|sdnotify)=[^ ]+|--ignore//g; s/systemd-%N/systemd-shop/; s/%%/%/g' || true)
    while read -r line; do
      # Podman before 4.4 does not support --ignore.
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
