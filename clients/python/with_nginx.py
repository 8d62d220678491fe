"""nginx forwards the bytes of a client; its worker, which runs as another user, connects to the database.

nginx's event loop watches a socket before nginx connects it. The client connects to a socket of nginx.
"""

import os
import subprocess

import behind
import loop

NGINX = behind.DEBIAN / "usr/sbin/nginx"
STREAM = behind.DEBIAN / "usr/lib/nginx/modules/ngx_stream_module.so"


def config(place):
    """Returns a function that makes the configuration for this destination."""
    return lambda folder: f"""
load_module {STREAM};
user {behind.USER};
worker_processes 1;
daemon off;
pid {folder}/pid;
events {{ use epoll; }}
stream {{
    server {{
        listen unix:{folder}/clients.sock;
        proxy_pass {place.host}:{place.port};
    }}
}}
"""


def command(folder):
    return [NGINX, "-e", "stderr", "-p", folder, "-c", folder / "config"]


def by_mysql(place):
    import pymysql

    cursor = pymysql.connect(**place.mysql()).cursor()

    def point_select(key):
        cursor.execute("SELECT c FROM sbtest1 WHERE id = %s", (key,))
        return cursor.fetchone()[0]

    return point_select


def by_redis(place):
    import redis

    client = redis.Redis(unix_socket_path=place.socket, password=place.password)
    return lambda key: client.get(f"looptax:{key:012d}")


place = loop.place()
said = subprocess.run([NGINX, "-v"], capture_output=True, text=True, check=True).stderr
version = said.strip().rpartition("/")[2]
with behind.started("nginx", config(place), command) as place.socket:
    client = by_redis if os.environ["LOOP_SERVER"] in ("redis", "valkey") else by_mysql
    loop.serve(place, f"nginx {version} (stream) as {behind.USER}", client(place))
