"""Many connects at once with a Python driver, with a process for each, or through nginx: see ../README.md."""

import os
import platform
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

import loop

PATIENCE_S = float(os.environ["LOOP_PATIENCE_S"])


def psycopg():
    import psycopg

    return f"psycopg {psycopg.__version__} ({psycopg.pq.__impl__})", lambda at: psycopg.connect(**at.libpq())


def redis():
    import redis

    def connect(at):
        where = {"host": at.host, "port": at.port}
        if at.socket is not None:
            where = {"unix_socket_path": at.socket}
        client = redis.Redis(**where, password=at.password)
        client.ping()
        return client

    return f"redis-py {redis.__version__}", connect


def forked(connect):
    """Returns a function that prepares a storm with a process for each connect, and returns its start function."""

    def prepare(at, n):
        (gate, opened), (results, said) = socket.socketpair(), socket.socketpair()
        children = []
        for _ in range(n):
            child = os.fork()
            if child == 0:
                opened.close()
                said.send(b"here\n")
                gate.recv(1)
                try:
                    kept = connect(at)
                    said.send(b"served\n")
                except Exception as error:
                    said.send(str(error).partition("\n")[0].encode() + b"\n")
                signal.pause()
            children.append(child)
        lines(results, n)

        def go():
            opened.close()
            answers = lines(results, n)
            for child in children:
                os.kill(child, signal.SIGKILL)
            for child in children:
                os.waitpid(child, 0)
            for own in (gate, results, said):
                own.close()
            return answers

        return go

    return prepare


def lines(results, n):
    """Returns a line of each process, as many as arrive in time."""
    found, end = b"", time.monotonic() + PATIENCE_S
    while found.count(b"\n") < n and (left := end - time.monotonic()) > 0:
        if select.select([results], [], [], left)[0]:
            found += results.recv(65536)
    return found.decode().splitlines()


def through_nginx(at, n):
    """Prepares a storm of requests to nginx, which passes each to PHP-FPM over its own connection."""
    import behind

    where = f"unix:{at.socket}" if at.socket is not None else f"{at.host}:{at.port}"

    def config(folder):
        return f"""
user root;
worker_processes 1;
daemon off;
pid {folder}/pid;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    server {{
        listen unix:{folder}/clients.sock backlog=4096;
        location / {{
            fastcgi_pass {where};
            fastcgi_param SCRIPT_FILENAME {os.environ["LOOP_SCRIPT"]};
            fastcgi_param SCRIPT_NAME /;
            fastcgi_param REQUEST_METHOD GET;
        }}
    }}
}}
"""

    def command(folder):
        return [shutil.which("nginx"), "-e", folder / "log", "-p", folder, "-c", folder / "config"]

    running = behind.started("nginx", config, command, workers_of="root")
    path = running.__enter__()
    visitors = [socket.socket(socket.AF_UNIX) for _ in range(n)]
    for it in visitors:
        it.connect(path)

    def go():
        for it in visitors:
            it.send(b"GET / HTTP/1.0\r\n\r\n")
        waiting, answers, end = set(visitors), [], time.monotonic() + PATIENCE_S
        while waiting and (left := end - time.monotonic()) > 0:
            for it in select.select(list(waiting), [], [], left)[0]:
                status = it.recv(4096).split(b"\r\n")[0].decode()
                answers.append("served" if " 200 " in status + " " else status)
                waiting.discard(it)
        for it in visitors:
            it.close()
        running.__exit__(None, None, None)
        return answers

    return go


def nginx():
    said = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=True).stderr
    return f"nginx {said.strip().rpartition('/')[2]}", through_nginx


DRIVERS = {"psycopg": psycopg, "redis-py": redis, "nginx": nginx}

name, address = sys.argv[1:]
library, connect = DRIVERS[name]()
prepare = connect if name == "nginx" else forked(connect)
place = loop.Place(address)
print(f"ready {library}, Python {platform.python_version()}", flush=True)
for line in sys.stdin:
    n = int(line)
    go = prepare(place, n)
    print("set", flush=True)
    sys.stdin.readline()
    answers = go()
    failed = [it for it in answers if it != "served"]
    print(len(answers) - len(failed), len(failed), n - len(answers), *failed[:1], flush=True)
