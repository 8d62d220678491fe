"""The application of a project in Python. It reads its configuration as the framework does, and sends requests to its
servers until the file PROJECT_ALIVE is removed.

usage: python3 project.py FORM, in the project's folder; PROJECT_LOG, PROJECT_ALIVE, PROJECT_MARK, PROJECT_MODE
"""

import os
import re
import signal
import sys
import time

sys.path.insert(0, os.getcwd())

MYSQL = "SELECT (SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()), word FROM mark"
POSTGRES = "SELECT COALESCE(host(inet_client_addr()), 'localhost'), word FROM mark"


def dotenv(path=".env"):
    """Reads a `.env` file. The last line of a name counts; `${NAME}` is replaced only outside of single quotes."""
    values = {}
    with open(path, newline="") as file:
        lines = file.read().replace("\r\n", "\n").split("\n")
    for line in lines:
        found = re.match(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$", line)
        if not found:
            continue
        name, text = found.groups()
        if quoted := re.match(r"'([^']*)'", text):
            values[name] = quoted[1]
            continue
        if quoted := re.match(r'"((?:[^"\\]|\\.)*)"', text):
            text = re.sub(r"\\(.)", r"\1", quoted[1])
        else:
            text = re.sub(r"(^|\s)#.*$", "", text).rstrip()
        values[name] = re.sub(r"\$\{(\w+)\}", lambda it: values.get(it[1], ""), text)
    return values


class Sql:
    """A connection through Python's database interface."""

    def __init__(self, open_, question):
        self.connection = open_()
        self.question = question

    def ask(self):
        with self.connection.cursor() as cursor:
            cursor.execute(self.question)
            host, word = cursor.fetchone()
        return ("socket" if host == "localhost" else "tcp"), word

    def close(self):
        self.connection.close()


class Redis:
    def __init__(self, client, close=None):
        self.client = client
        self.close = close or client.close

    def ask(self):
        # The library would split the answer at the spaces in a path.
        info = self.client.execute_command("CLIENT", "INFO").decode()
        word = self.client.get("mark")
        return ("socket" if " addr=/" in info else "tcp"), (word or b"").decode()


def django():
    os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
    import django as library

    library.setup()
    from django.db import connections

    connection = connections["default"]
    kind = {"mysql": "mysql", "postgresql": "postgres"}[connection.vendor]
    question = MYSQL if kind == "mysql" else POSTGRES
    return {kind: lambda: Sql(lambda: connection, question)}


def celery():
    import celeryconfig
    from celery import Celery

    app = Celery("shop")
    app.config_from_object(celeryconfig)

    def broker():
        connection = app.connection_for_write()
        connection.ensure_connection(max_retries=1, interval_start=0)
        return Redis(connection.default_channel.client, connection.release)

    asks = {"broker": broker}
    if getattr(celeryconfig, "result_backend", None):

        def results():
            backend = app._get_backend()
            return Redis(backend.client, backend.client.connection_pool.disconnect)

        asks["results"] = results
    return asks


def redis_py():
    import redis

    url = dotenv()["REDIS_URL"]
    return {"redis": lambda: Redis(redis.Redis.from_url(url))}


def sqlalchemy():
    import sqlalchemy as library

    if os.path.exists("config.py"):
        import config

        url = config.SQLALCHEMY_DATABASE_URI
    else:
        it = dotenv()
        url = it.get("SQLALCHEMY_DATABASE_URI") or it["DATABASE_URL"]
    kind = "postgres" if url.startswith("postgres") else "mysql"
    engine = library.create_engine(url, poolclass=library.pool.NullPool)
    question = MYSQL if kind == "mysql" else POSTGRES
    return {kind: lambda: Sql(engine.raw_connection, question)}


def libpq_env():
    import psycopg2

    os.environ.update(dotenv("app.env"))
    return {"postgres": lambda: Sql(lambda: psycopg2.connect(""), POSTGRES)}


def unknown():
    it = dotenv()
    if it.get("DB_ENGINE", "mysql") == "mysql":
        import pymysql

        def open_():
            return pymysql.connect(
                host=it["DB_HOST"],
                port=int(it["DB_PORT"]),
                user=it["DB_USER"],
                password=it["DB_PASSWORD"],
                database=it["DB_NAME"],
            )

        return {"mysql": lambda: Sql(open_, MYSQL)}
    import psycopg2

    def open_():
        return psycopg2.connect(
            host=it["DB_HOST"],
            port=it["DB_PORT"],
            user=it["DB_USER"],
            password=it["DB_PASSWORD"],
            dbname=it["DB_NAME"],
        )

    return {"postgres": lambda: Sql(open_, POSTGRES)}


def main():
    begin_anew = []
    signal.signal(signal.SIGHUP, lambda *_: begin_anew.append(True))
    log = open(os.environ["PROJECT_LOG"], "a", buffering=1)

    def note(what):
        log.write(f"{time.time():.3f} {what}\n")

    asks = globals()[sys.argv[1]]()
    with open(os.environ["PROJECT_PID"], "w") as file:
        file.write(str(os.getpid()))
    note("start")
    held = {}
    while os.path.exists(os.environ["PROJECT_ALIVE"]):
        if begin_anew:
            os.execv(sys.executable, [sys.executable, *sys.argv])
        for name, open_ in asks.items():
            try:
                if name not in held:
                    held[name] = open_()
                way, word = held[name].ask()
                is_right = word == os.environ["PROJECT_MARK"]
                note(f"ok {name} {way}" if is_right else f"fail {name} another server answered")
            except Exception as error:
                note(f"fail {name} " + " ".join(f"{type(error).__name__}: {error}".split()))
                is_right = False
            if name in held and (not is_right or os.environ["PROJECT_MODE"] == "short"):
                try:
                    held.pop(name).close()
                except Exception:
                    pass
        time.sleep(0.15)


main()
