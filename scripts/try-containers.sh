#!/usr/bin/env bash
# Tests `check` with a Pod and a Compose file whose application and databases run in containers, while servers of the
# same kinds listen on this machine at the same ports. The report must be true inside the containers, looptax must not
# log in to this machine's servers, and the advice must work if it is followed. Needs root, debootstrap, podman,
# podman-compose, runc, iptables, mariadb-server and redis-server; run `cargo build -p looptax` first.
#
# usage: scripts/try-containers.sh
#
# Everything except the download happens in a separate network namespace, which is removed with podman's bridges and
# NAT rules.
#
# The image's root folder is kept in target/roots (or LOOPTAX_ROOTS), so a second run downloads nothing.
# Exit status: 0 all tests passed, 1 a test failed (stderr has the first failure).
set -euo pipefail
cd "$(dirname "$0")/.."

looptax=$PWD/target/debug/looptax
roots=${LOOPTAX_ROOTS:-$PWD/target/roots}
root=$roots/containers
image=localhost/looptax-trial:1
scratch=$(mktemp -d)
resolver=/run/containers/networks
export CONTAINERS_CONF=$scratch/containers.conf
pids=()

finish() {
  podman pod rm -f looptax-shop > /dev/null 2>&1 || true
  (cd "$scratch" && podman-compose -p looptax-trial down > /dev/null 2>&1) || true
  podman network rm -f looptax-trial_default podman-default-kube-network > /dev/null 2>&1 || true
  kill "$(cat "$resolver/aardvark-dns/aardvark.pid" 2> /dev/null)" 2> /dev/null || true
  for pid in "${pids[@]}"; do
    kill "$pid" 2> /dev/null || true
    wait "$pid" 2> /dev/null || true
  done
  rm -rf "$scratch"
}
trap finish EXIT

stop() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Waits at most 30 seconds until a command succeeds.
await() {
  for _ in $(seq 300); do
    if "$@" > /dev/null 2>&1; then return; fi
    sleep 0.1
  done
  stop "not in 30 s: $*"
}

# expect TEXT: checks that the last output contains TEXT; line breaks count as spaces.
expect() {
  tr -s ' \n' ' ' < "$scratch/answer" | grep -qF -- "$1" || stop "not said: $1"$'\n'"$(cat "$scratch/answer")"
  printf 'ok  %s: %s\n' "$asked" "$1"
}

ask() {
  asked=$*
  (cd "$scratch" && "$looptax" check "$@" > answer 2>&1) || true
}

pid_of() {
  podman inspect -f '{{.State.Pid}}' "$1" 2> /dev/null
}

mkdir -p "$roots"
if [ ! -e "$root/usr/sbin/mariadbd" ]; then
  packages=redis-server,mariadb-server,php-cli,php-mysql
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
tar -C "$root" -c . | podman import -c 'ENV PATH=/usr/sbin:/usr/bin:/sbin:/bin' - "$image" > /dev/null 2>&1

database='mkdir -p /run/mysqld; exec mariadbd --no-defaults --user=root --datadir=/var/lib/mysql
  --socket=/run/mysqld/mysqld.sock'
database=$(tr -s '\n ' ' ' <<< "$database")
cat > "$scratch/pod.yaml" << END
apiVersion: v1
kind: Pod
metadata:
  name: looptax-shop
spec:
  volumes:
    - name: run
      emptyDir: {}
  containers:
    - name: db
      image: $image
      command: ["sh", "-c", "$database"]
      volumeMounts:
        - name: run
          mountPath: /run/mysqld
    - name: cache
      image: $image
      command: ["redis-server", "--bind", "127.0.0.1"]
    - name: app
      image: $image
      command: ["sleep", "600"]
      volumeMounts:
        - name: run
          mountPath: /run/mysqld
      env:
        - name: DATABASE_URL
          value: mysql://shop:pw-of-the-pod@127.0.0.1:3306/shop
        - name: REDIS_URL
          value: redis://127.0.0.1:6379/0
END
cat > "$scratch/docker-compose.yml" << END
services:
  db:
    image: $image
    command: ["sh", "-c", "$database"]
  app:
    image: $image
    command: ["sleep", "600"]
    environment:
      DATABASE_URL: mysql://shop:pw-of-compose@db:3306/shop
      REDIS_URL: redis://:pw-of-compose@127.0.0.1:6379/0
END
cat > "$scratch/shop.container" << END
[Container]
Image=$image
Exec=sleep 600
Environment=DATABASE_URL=mysql://shop:pw-of-quadlet@127.0.0.1:3306/shop
END

# Starts servers on this machine that log the connections and statements that they get.
mariadb-install-db --no-defaults --user=root --datadir="$scratch/data" > /dev/null 2>&1
mariadbd --no-defaults --user=root --datadir="$scratch/data" --socket="$scratch/m.sock" --bind-address=127.0.0.1 \
  --general-log=1 --general-log-file="$scratch/general.log" > "$scratch/mariadbd" 2>&1 &
pids+=($!)
redis-server --bind 127.0.0.1 --loglevel debug --save '' --dir "$scratch" > "$scratch/redis" 2>&1 &
pids+=($!)
await test -S "$scratch/m.sock"
await redis-cli ping
wrote() { grep -cE 'Connect|Accepted' "$scratch/general.log" "$scratch/redis" | awk -F: '{ n += $NF } END { print n }'; }
before=$(wrote)

ask pod.yaml
expect '127.0.0.1` in the Pod `looptax-shop` is the container itself, not this machine; the container shares its network with'
ask docker-compose.yml
expect '127.0.0.1` in the service `app` is the container itself, not this machine'
expect '`db` is the name of a container'
ask shop.container
expect '127.0.0.1` in the container `shop` is the container itself, not this machine'

podman kube play "$scratch/pod.yaml" > /dev/null 2>&1
await podman exec looptax-shop-db mariadb -e 'select 1'
for host in localhost 127.0.0.1; do
  podman exec looptax-shop-db mariadb -e "create database if not exists shop;
    create user shop@$host identified by 'pw-of-the-pod'; grant all on shop.* to shop@$host" 2> /dev/null
done
ask pod.yaml --pid "$(pid_of looptax-shop-app)"
expect 'mysql at 127.0.0.1:3306: would work'
expect 'mysql://shop:****@localhost/shop?unix_socket=/run/mysqld/mysqld.sock'
expect 'redis at 127.0.0.1:6379: would not work as things are: 1 cause FAIL socket: the server has no socket'
said=$(podman exec looptax-shop-app php -r '$it = new PDO("mysql:unix_socket=/run/mysqld/mysqld.sock;dbname=shop",
  "shop", "pw-of-the-pod"); echo $it->query("select current_user()")->fetchColumn();' 2> /dev/null)
[ "$said" = shop@localhost ] || stop "the socket that is named does not work: $said"
printf 'ok  the application reaches that socket\n'

(cd "$scratch" && podman-compose -p looptax-trial up -d > /dev/null 2>&1)
await pid_of looptax-trial_app_1
ask docker-compose.yml --pid "$(pid_of looptax-trial_app_1)"
expect "nothing listens on 127.0.0.1:6379 in the client's network"

[ "$(wrote)" = "$before" ] || stop "this machine's servers were asked: $(tail -5 "$scratch/general.log" "$scratch/redis")"
printf "ok  nobody asked this machine's servers\n"
