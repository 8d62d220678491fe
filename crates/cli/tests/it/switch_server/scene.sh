#!/bin/bash
# Runs a server with the configuration file of its package, without a socket, and an application that uses it over TCP:
#   scene.sh FOLDER KIND PORT make|start|stop|restart|begin [GROUP]|end|reload [GROUP]
# `start`, `stop` and `restart` are for the server; `begin`, `end` and `reload` are for the application. It writes each
# answer to FOLDER/app/answers and each failure to FOLDER/app/failures. Its file is FOLDER/app/FILE, and the server's is
# FOLDER/etc/FILE. The script runs as root; a server runs as the user of its package, and the application as www-data, in
# the server's group unless GROUP is given.
set -u
# A server may not be able to use another user's folder for temporary files.
unset TMPDIR
folder=$1 kind=$2 port=$3 what=$4
run=$folder/run data=$folder/data
base=$kind
case $kind in
  redis | valkey) user=redis own=redis.conf app=.env ;;
  memcached) user=memcache own=memcached.conf app=php.ini ;;
  mariadb | mysql) user=$(getent passwd mysql > /dev/null && echo mysql || echo nobody) own=50-server.cnf app=my.cnf ;;
  postgres) user=postgres own=postgresql.conf app=pg_service.conf ;;
  pgbouncer) user=postgres own=pgbouncer.ini app=pg_service.conf base=postgres ;;
  pgpool) user=postgres own=pgpool.conf app=pg_service.conf base=postgres ;;
esac
signal=TERM
[ "$base" = postgres ] && signal=INT
conf=$folder/etc/$own file=$folder/app/$app
of() { setpriv --reuid="$1" --regid="$2" --init-groups -- "${@:3}"; }
detached() { setsid "$@" >> "$folder/out" 2>&1 < /dev/null & }
detached_of() { detached setpriv --reuid="$1" --regid="$2" --init-groups -- "${@:3}"; }
bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | tail -1)

initialise() {
  mkdir -p "$folder"/etc "$folder"/app "$run" "$data"
  chown "$user:" "$run" "$data"
  case $kind in
    redis | valkey)
      chmod 2755 "$run"
      sed -e "s/^port .*/port $port/" -e "s#^dir .*#dir $data#" -e "s#^pidfile .*#pidfile $run/pid#" -e 's/^daemonize .*/daemonize no/' \
        -e "s#^logfile .*#logfile $data/log#" -e "s#/run/redis/redis-server.sock#$run/server.sock#" /etc/redis/redis.conf > "$conf"
      printf 'SECRET=1\nREDIS_URL=redis://127.0.0.1:%s/3\n' "$port" > "$file"
      ;;
    memcached)
      sed -e "s/^-p .*/-p $port/" -e "s#^-P .*#-P $run/pid#" /etc/memcached.conf > "$conf"
      printf '[Session]\nsession.save_handler = memcached\nsession.save_path = "127.0.0.1:%s"\n' "$port" > "$file"
      ;;
    mariadb | mysql)
      # Like Debian's 50-server.cnf, but with the socket switched off.
      printf '%s\n' '[server]' '' '[mysqld]' '#user                    = mysql' "user = $user" "pid-file                = $run/pid" \
        "datadir                 = $data" "port = $port" 'socket =' 'bind-address            = 127.0.0.1' '#max_connections        = 100' '' \
        '[embedded]' '' '[mariadb]' > "$conf"
      if [ "$kind" = mariadb ]; then
        mariadb-install-db --no-defaults --user="$user" --datadir="$data" --auth-root-authentication-method=normal > /dev/null
      else
        printf 'secure-file-priv = NULL\nmysqlx = OFF\n' | sed -i '/^socket =/r /dev/stdin' "$conf"
        mysqld --no-defaults --user="$user" --datadir="$data" --secure-file-priv=NULL --initialize-insecure 2> /dev/null
      fi
      printf '[client]\nhost = 127.0.0.1\nport = %s\nuser = shop\npassword = secret\n' "$port" > "$file"
      ;;
    postgres | pgbouncer | pgpool)
      of postgres postgres "$bin/initdb" -A trust -D "$data" > /dev/null
      at=$port
      [ "$base" = "$kind" ] || at=$((port + 1))
      printf "port = %s\nunix_socket_directories = ''\nfsync = off\n" "$at" >> "$data/postgresql.conf"
      conf_of_pooler
      printf '[shop]\nhost=127.0.0.1\nport=%s\nuser=postgres\npassword=x\ndbname=postgres\n' "$port" > "$file"
      ;;
  esac
  chown -R www-data: "$folder/app"
}

conf_of_pooler() {
  case $kind in
    postgres)
      mv "$data/postgresql.conf" "$conf"
      chown postgres: "$conf"
      ;;
    pgbouncer)
      sed -e "s#^unix_socket_dir.*#unix_socket_dir =#" -e "s/^listen_port.*/listen_port = $port/" -e "s#^pidfile.*#pidfile = $run/pid#" \
        -e "s#^logfile.*#logfile = $data/pooler.log#" -e 's/^auth_type.*/auth_type = any/' -e 's/^auth_file.*//' -e 's/^listen_addr.*/listen_addr = 127.0.0.1/' \
        -e "s/^\[databases\]/[databases]\npostgres = host=127.0.0.1 port=$((port + 1)) user=postgres/" /etc/pgbouncer/pgbouncer.ini > "$conf"
      ;;
    pgpool)
      sed -e "s/^#\?port = .*/port = $port/" -e "s#^\#\?unix_socket_directories = .*#unix_socket_directories = '$run'#" -e "s#^\#\?socket_dir = .*#socket_dir = '$run'#" \
        -e "s#^\#\?pcp_socket_dir.*#pcp_socket_dir = '$data'#" -e "s/^#\?pcp_port = .*/pcp_port = $((port + 2))/" -e "s/^#\?num_init_children = .*/num_init_children = 8/" \
        -e "s#^\#\?backend_hostname0.*#backend_hostname0 = '127.0.0.1'#" -e "s/^#\?backend_port0.*/backend_port0 = $((port + 1))/" \
        -e "s/^#\?pool_passwd.*/pool_passwd = ''/" -e "s#^\#\?pid_file_name.*#pid_file_name = '$run/pid'#" -e "s#^\#\?logdir.*#logdir = '$data'#" /etc/pgpool2/pgpool.conf > "$conf"
      chown postgres: "$conf"
      ;;
  esac
}

alive() { [ -s "$run/$1" ] && kill -0 "$(head -1 "$run/$1")" 2> /dev/null; }
stop() {
  alive "${1:-pid}" || return 0
  local pid
  pid=$(head -1 "$run/${1:-pid}")
  kill -"${2:-TERM}" "$pid"
  for _ in $(seq 1500); do
    kill -0 "$pid" 2> /dev/null || return 0
    sleep 0.02
  done
  kill -KILL "$pid"
}

start() {
  case $kind in
    redis | valkey) detached_of redis redis sh -c "umask 007; exec $kind-server $conf" ;;
    # Makes the command line as Debian's wrapper script does.
    memcached) detached memcached $(sed -e 's/#.*//' -e 's/\s*$//' "$conf" | grep '^-' | grep -v '^-d') ;;
    mariadb) detached mariadbd --defaults-file="$conf" ;;
    mysql) detached mysqld --defaults-file="$conf" ;;
    postgres) detached_of postgres postgres "$bin/postgres" -D "$data" -c config_file="$conf" -c external_pid_file="$run/pid" -c hba_file="$data/pg_hba.conf" -c ident_file="$data/pg_ident.conf" ;;
    pgbouncer) detached_of postgres postgres pgbouncer "$conf" ;;
    pgpool) detached_of postgres postgres pgpool -n -D -f "$conf" -F "$data/none" -a "$data/none" ;;
  esac
  wait_for "$port"
}

# Waits until a process listens on the port, or until a socket exists.
wait_for() {
  for _ in $(seq 3000); do
    (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null && return 0
    compgen -G "$run/*.sock" > /dev/null && return 0
    sleep 0.02
  done
  return 1
}

case $what in
  make)
    initialise
    if [ "$base" != "$kind" ]; then
      detached_of postgres postgres "$bin/postgres" -D "$data" -c external_pid_file="$run/behind"
      wait_for $((port + 1)) || exit 1
    fi
    start || exit 1
    if [ "$app" = my.cnf ]; then
      client=$(command -v mariadb || command -v mysql)
      "$client" --no-defaults -h 127.0.0.1 -P "$port" -u root -e "CREATE USER shop@'%' IDENTIFIED BY 'secret'; CREATE USER shop@localhost IDENTIFIED BY 'secret'"
    fi
    ;;
  start) start ;;
  stop)
    stop pid "$signal"
    if [ "${5:-}" = all ]; then stop behind INT; fi
    ;;
  restart)
    stop pid "$signal"
    rm -f "$run"/*.sock "$run"/.s.PGSQL."$port"
    start
    ;;
  begin)
    group=${5:-$(id -gn "$user")}
    detached_of www-data "$group" /usr/bin/python3 "$(dirname "$(readlink -f "$0")")/client.py" "$kind" "$file" "$folder/app"
    echo $! > "$run/app"
    ;;
  end) stop app ;;
  reload)
    stop app
    exec "$0" "$folder" "$kind" "$port" begin "${5:-}"
    ;;
esac
