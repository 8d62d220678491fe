#!/usr/bin/env bash
# Starts programs on a machine of collectors.py, inside it: its servers, and what is connected to them.
#
# usage: host-programs.sh redis | postgres
#        host-programs.sh redis-client NAME CONNECTIONS REQUESTS_PER_S     again where it runs: it reads its settings anew
#        host-programs.sh postgres-client HOST SECONDS_BETWEEN
set -euo pipefail
place=/srv/test
as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }

case $1 in
  redis)
    install -d -o redis "$place/redis"
    cat >"$place/redis.conf" <<SETTINGS
bind 127.0.0.1
port 6379
unixsocket $place/redis/redis.sock
unixsocketperm 777
save ""
dir $place/redis
daemonize yes
SETTINGS
    as redis redis-server "$place/redis.conf" >/dev/null
    ;;
  postgres)
    bin=$(dirname "$(find /usr/lib/postgresql -path '*/bin/postgres' | sort -V | tail -n 1)")
    install -d -o postgres -m 700 "$place/postgres"
    as postgres "$bin/initdb" --auth=trust --username=postgres --no-sync --pgdata="$place/postgres" >/dev/null
    as postgres "$bin/pg_ctl" --silent --wait --pgdata="$place/postgres" --log="$place/postgres/log" \
      --options="-c listen_addresses=127.0.0.1 -c unix_socket_directories=$place/postgres -c fsync=off" start >/dev/null
    ;;
  redis-client)
    name=$2
    if [ -e "$place/$name.pid" ]; then
      old=$(cat "$place/$name.pid")
      kill "$old"
      # The first process of such a machine waits for nobody, so who has ended may still have a number.
      for _ in $(seq 100); do
        if ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$old/status" 2>/dev/null; then break; fi
        sleep 0.1
      done
    fi
    # Not by the function: its number would be that of a shell.
    PYTHONHOME=/usr setpriv --reuid=nobody --regid=nogroup --clear-groups setsid "$place/bin/$name" "$place/client.py" "$place/$name.env" \
      "$3" "$4" >"$place/$name.log" 2>&1 </dev/null &
    echo $! >"$place/$name.pid"
    ;;
  postgres-client)
    bin=$(dirname "$(find /usr/lib/postgresql -path '*/bin/psql' | sort -V | tail -n 1)")
    printf 'SELECT 1 \\watch %s\n' "$3" >"$place/watch.sql"
    setpriv --reuid=postgres --regid=postgres --clear-groups setsid "$bin/psql" --no-psqlrc --file "$place/watch.sql" "host=$2 user=postgres dbname=postgres" >/dev/null 2>"$place/psql.log" </dev/null &
    ;;
esac
