"""An application, or another program: sends requests to a server with a real driver, as its file says.

    actor.py FILE.json

Appends a line of JSON to its log for each attempt: the time (seconds on the monotonic clock), the process, the
transport, and whether it was answered. A master process starts the workers, which read the file again as `reads` says.
"""

import importlib
import json
import os
import re
import signal
import socket
import sys
import time

it = json.load(open(sys.argv[1]))
log = os.open(it["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
workers = []
# A worker does not load the driver itself, which takes seconds on a busy machine.
driver = importlib.import_module({"redis": "redis", "mysql": "pymysql", "postgres": "psycopg"}[it["protocol"]])


class Unable(Exception):
    """The program cannot connect over this transport."""


def place():
    """Returns the address in the file: a path, or a port of 127.0.0.1."""
    text = open(it["file"]).read()
    if it["protocol"] == "redis":
        url = re.search(r"REDIS_URL=(\S+)", text)[1]
        tcp = re.match(r"redis://(?:[^@/]*@)?127\.0\.0\.1:(\d+)", url)
        return int(tcp[1]) if tcp else re.search(r"unix://(?:[^@/]*@)?(/[^?]+)", url)[1]
    values = dict(re.findall(r"^\s*(\w+)\s*=\s*(.*?)\s*$", text, re.M))
    if it["protocol"] == "mysql":
        return values.get("socket") if values.get("host", "localhost") == "localhost" else int(values["port"])
    port = values.get("port", "5432")
    return f"{values['host']}/.s.PGSQL.{port}" if values["host"].startswith("/") else int(port)


def connected(to):
    is_socket = isinstance(to, str)
    user, password = it["user"], it["password"]
    if is_socket:
        match it["over_socket"]:
            case "unable":
                raise Unable("this driver knows no sockets")
            case "refused":
                user, password = ("nobody-of-all" if it["protocol"] == "postgres" else user, "wrong")
            case "drops":
                with socket.socket(socket.AF_UNIX) as link:
                    link.connect(to)
                raise Unable("it let go at once")
            case "hangs":
                with socket.socket(socket.AF_UNIX) as link:
                    link.connect(to)
                    time.sleep(30)
                raise Unable("it waited in vain")
            case "dies":
                os.kill(os.getppid(), signal.SIGKILL)
                os._exit(1)
    if it["protocol"] == "redis":
        where = {"unix_socket_path": to} if is_socket else {"host": "127.0.0.1", "port": to}
        link = driver.Redis(username=user, password=password, socket_timeout=3, **where)
        return link, lambda: link.incr("n"), link.close
    if it["protocol"] == "mysql":
        where = {"unix_socket": to} if is_socket else {"host": "127.0.0.1", "port": to}
        link = driver.connect(user=user, password=password, connect_timeout=3, read_timeout=3, **where)
        cursor = link.cursor()
        return link, lambda: cursor.execute("SELECT 1"), link.close
    where = {"host": os.path.dirname(to), "port": to.rsplit(".", 1)[1]} if is_socket else {"host": "127.0.0.1", "port": to}
    link = driver.connect(user=user, password=password, dbname=it["database"], connect_timeout=3, autocommit=True, **where)
    return link, lambda: link.execute("SELECT 1"), link.close


def work(number):
    """Runs one worker until it is ended."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    to, read_at, kept = None, 0.0, None
    is_staying = number >= it["workers"] - it["staying"]
    time.sleep(it["spread"] * number)
    while True:
        now = time.monotonic()
        is_old = it["reads"] == "each" or it["reads"] == "late" and now > read_at + it["late"]
        if to is None or is_old and not is_staying:
            found = place()
            if found != to and kept:
                kept[2]()
                kept = None
            to, read_at = found, now
        is_ok, why = True, None
        try:
            if kept is None:
                kept = connected(to)
            kept[1]()
            if it["style"] == "short":
                kept[2]()
                kept = None
        except Exception as error:
            is_ok, why, kept = False, str(error)[:80], None
        attempt = {"at": time.monotonic(), "pid": os.getpid(), "is_tcp": isinstance(to, int), "is_ok": is_ok, "why": why}
        os.write(log, (json.dumps(attempt) + "\n").encode())
        time.sleep(it["every"])


def begin(*_):
    for pid in workers:
        try:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
    workers.clear()
    for number in range(it["workers"]):
        pid = os.fork()
        if pid == 0:
            work(number)
        workers.append(pid)


def end(*_):
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    os._exit(0)


with open(it["pid_file"], "w") as file:
    file.write(str(os.getpid()))
signal.signal(signal.SIGHUP, begin)
signal.signal(signal.SIGTERM, end)
begin()
# An oracle that is killed cannot end its programs.
while os.path.exists(it["oracle"]):
    time.sleep(1)
os.killpg(0, signal.SIGKILL)
