#!/usr/bin/env bash
# Tries the dashboards: each is JSON, and every query of them is answered by a collector that looptax
# has made and reported to, a PostgreSQL and a ClickHouse of the test's own.
#
# usage: packaging/grafana/test.sh LOOPTAX
# Exit status: 0 all is well, 1 the first thing that is not (said on stderr).
set -euo pipefail
looptax=$(realpath "$1")
cd "$(dirname "$0")"
scratch=$(mktemp -d /tmp/looptax-grafana.XXXXXX)
chmod 755 "$scratch"
pids=()
end() {
  local pid
  for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$scratch"
}
trap end EXIT
trap 'exit 1' INT TERM HUP

stop() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

wait_for() {
  for _ in $(seq 150); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.2
  done
  stop "not answered within 30 s: $*"
}

as_user() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }

start_postgres() {
  local bin
  bin=$(dirname "$(ls -d /usr/lib/postgresql/*/bin/postgres | tail -n 1)")
  install -d -o postgres -m 700 "$scratch/postgres"
  as_user postgres "$bin/initdb" --auth=trust --username=looptax --no-sync --pgdata="$scratch/postgres" >"$scratch/postgres.log" 2>&1
  port=$(free_port)
  # Not by the function: its number would be that of a shell.
  setpriv --reuid=postgres --regid=postgres --clear-groups "$bin/postgres" -D "$scratch/postgres" -p "$port" -k "$scratch/postgres" \
    -c listen_addresses=127.0.0.1 -c fsync=off >>"$scratch/postgres.log" 2>&1 &
  pids+=($!)
  wait_for psql "postgres://looptax@127.0.0.1:$port/postgres" --command 'CREATE DATABASE looptax'
  destination=postgres://looptax@127.0.0.1:$port/looptax
}
# Who asks may read the views and the one table, as the book says.
let_ask_postgresql() {
  psql --no-psqlrc --quiet --variable ON_ERROR_STOP=1 "$destination" <<'SQL'
CREATE ROLE grafana LOGIN;
GRANT SELECT ON reports TO grafana;
SELECT format('GRANT SELECT ON %I TO grafana', table_name) FROM information_schema.views WHERE table_schema = 'public' \gexec
SQL
}
ask_postgresql() { psql --no-psqlrc --tuples-only --no-align --variable ON_ERROR_STOP=1 "${destination/looptax@/grafana@}" --command "$1"; }

start_clickhouse() {
  local folder=$scratch/clickhouse tcp inter
  port=$(free_port) tcp=$(free_port) inter=$(free_port)
  mkdir -p "$folder"/{data,tmp,files}
  printf '%s' "<yandex><logger><level>warning</level><log>$folder/log</log><errorlog>$folder/errors</errorlog></logger>
    <http_port>$port</http_port><tcp_port>$tcp</tcp_port><interserver_http_port>$inter</interserver_http_port><listen_host>127.0.0.1</listen_host>
    <path>$folder/data/</path><tmp_path>$folder/tmp/</tmp_path><users_config>users.xml</users_config><default_profile>default</default_profile>
    <default_database>default</default_database><mark_cache_size>5368709120</mark_cache_size></yandex>" >"$folder/config.xml"
  printf '%s' "<yandex><profiles><default></default></profiles><quotas><default></default></quotas><users><default><password></password>
    <networks><ip>::1</ip><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>" >"$folder/users.xml"
  clickhouse-server --config-file="$folder/config.xml" >"$folder/out" 2>&1 &
  pids+=($!)
  wait_for curl --silent --fail "http://127.0.0.1:$port/ping"
  curl --silent --fail --data 'CREATE DATABASE looptax' "http://127.0.0.1:$port/"
  destination=clickhouse://default@127.0.0.1:$port/looptax
}
# Until its parts are merged, a row that was sent twice lies there twice.
let_ask_clickhouse() { ask_clickhouse 'SYSTEM STOP MERGES'; }
ask_clickhouse() {
  curl --silent --show-error --fail-with-body --data-binary "$1" "http://127.0.0.1:$port/?database=looptax&default_format=TSV"
}

export HOME=$scratch XDG_DATA_HOME=$scratch/data
"$looptax" compare echo -c 1 --placement same --fixed 2s --yes --quiet >/dev/null || stop "no record to report"
for engine in postgresql clickhouse; do
  case $engine in
    postgresql) start_postgres ;;
    clickhouse) start_clickhouse ;;
  esac
  ./dashboards.py "$engine" | python3 -m json.tool >/dev/null || stop "$engine: the dashboard is not JSON"
  "$looptax" fleet init "$destination" >/dev/null || stop "$engine: fleet init"
  "let_ask_$engine" || stop "$engine: who asks"
  "$looptax" fleet send "$destination" --dry-run --records all >"$scratch/report" || stop "$engine: fleet send"
  # As after a collector that took a report and died before it said so.
  for _ in 1 2; do "$looptax" fleet send "$destination" --from "$scratch/report" >/dev/null || stop "$engine: fleet send --from"; done
  n=0
  while IFS= read -r query; do
    "ask_$engine" "$query" >"$scratch/answer" 2>"$scratch/error" || stop "$engine: $query: $(cat "$scratch/error" "$scratch/answer")"
    n=$((n + 1))
    case $query in
      *'FROM latest_reports' | *'FROM reports '*) grep -q '1$' "$scratch/answer" || stop "$engine: $query: $(cat "$scratch/answer") is not one report" ;;
      *'FROM latest_verdicts'*) grep -q echo "$scratch/answer" || stop "$engine: $query: no verdict" ;;
    esac
  done < <(./dashboards.py --queries "$engine")
  echo "grafana: $engine answers $n queries"
done
