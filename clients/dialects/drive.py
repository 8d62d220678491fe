"""Connects as each Python driver (and a few programs of C) does with the text that `looptax dsn` prints.

usage: drive.py DIALECT, with jobs on stdin as README.md says
"""

import ast
import asyncio
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

import spellings

QUERY = os.environ.get("DIALECT_QUERY", "")
KEY = "looptax"
DEBIAN = os.environ.get("DIALECT_DEBIAN", "")
POSTFIX = {**os.environ, "LD_LIBRARY_PATH": DEBIAN + "/usr/lib/postfix"}


def pasted(text, names):
    """Returns the value of an expression that may begin with `await`."""
    code = compile(text, "pasted", "eval", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return eval(code, names)


def module(name):
    """Evaluates an expression that uses one module; `import a.b` binds `a`."""

    def names():
        first = name.split(".")[0]
        __import__(name)
        return {first: sys.modules[first]}

    return names


def by_cursor(connection):
    with connection.cursor() as cursor:
        cursor.execute(QUERY)
        return cursor.fetchone()[0]


def dbapi(name):
    def seen(job):
        connection = pasted(job["text"], module(name)())
        try:
            cursor = connection.cursor()
            cursor.execute(QUERY)
            return cursor.fetchone()[0]
        finally:
            connection.close()

    return seen


def psycopg_both(job):
    """Connects with both versions: they read the same text, and the server has to see the same connection."""
    import psycopg
    import psycopg2

    seen = []
    for version in (psycopg, psycopg2):
        with pasted(job["text"], {"psycopg": version}) as connection:
            seen.append(by_cursor(connection))
        connection.close()
    if seen[0] != seen[1]:
        raise RuntimeError(f"psycopg and psycopg2 differ: {seen}")
    return seen[0]


async def awaited(job, name):
    connection = await pasted(job["text"], module(name)())
    if name == "asyncpg":
        row = await connection.fetchrow(QUERY)
        await connection.close()
        return row[0]
    cursor = await connection.cursor()
    await cursor.execute(QUERY)
    row = await cursor.fetchone()
    connection.close()
    return row[0]


def coroutine(name):
    return lambda job: asyncio.run(awaited(job, name))


def sqlalchemy(job):
    import sqlalchemy as sa

    with sa.create_engine(job["text"]).connect() as connection:
        return connection.exec_driver_sql(QUERY).scalar()


def django_database(settings):
    from django.conf import settings as configured
    from django.db.utils import ConnectionHandler

    if not configured.configured:
        configured.configure()
    connection = ConnectionHandler({"default": settings})["default"]
    try:
        return by_cursor(connection)
    finally:
        connection.close()


def dj_database_url(job):
    import dj_database_url

    os.environ["DATABASE_URL"] = job["text"]
    return django_database(dj_database_url.config())


def redis_py(job):
    import redis

    return redis.from_url(job["text"]).execute_command("CLIENT", "INFO", **RAW)


RAW = {"NEVER_DECODE": True}


def celery(job):
    from celery import Celery

    app = Celery("looptax", broker=job["text"], backend=job["text"])
    with app.connection_for_write() as connection:
        broker = connection.default_channel.client.execute_command("CLIENT", "INFO", **RAW)
    backend = app.backend.client.execute_command("CLIENT", "INFO", **RAW)
    same = [dict(word.split("=", 1) for word in text.decode().split()) for text in (broker, backend)]
    for name in ("user", "db", "laddr"):
        if same[0][name] != same[1][name]:
            raise RuntimeError(f"broker and backend differ: {broker} {backend}")
    return broker


def pymemcache(job):
    return pasted(job["text"], module("pymemcache")()).get(KEY)


def django_cache(job):
    from django.conf import settings as configured
    from django.core.cache import CacheHandler

    if not configured.configured:
        configured.configure()
    return CacheHandler({"default": pasted(job["text"], {})})["default"]._cache.get(KEY)


def pymongo(job):
    """Returns the user that is logged in, the URL's database, and the client's address as the server sees it."""
    from pymongo import MongoClient

    with pasted(job["text"], {"MongoClient": lambda url: MongoClient(url, serverSelectionTimeoutMS=3000)}) as client:
        told = client.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"]
        place = client.admin.command("whatsmyuri")["you"].replace(" ", "-")
        words = [told[0]["user"], client.get_default_database().name]
    return " ".join([*(word.encode().hex().upper() for word in words), place])


def output(command, **options):
    done = subprocess.run(command, capture_output=True, timeout=30, **options)
    if done.returncode != 0:
        raise RuntimeError((done.stderr or done.stdout).decode(errors="replace").strip())
    return done.stdout.decode().rstrip("\n")


def in_a_file(text, name="pasted.cnf"):
    path = os.path.join(tempfile.mkdtemp(dir=os.environ["DIALECT_SCRATCH"]), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return path


def option_file(job):
    command = ["mariadb", "--defaults-file=" + in_a_file(job["text"]), "-BN", "-e", QUERY]
    if job["database"]:
        command.append("--database=" + job["database"])
    return output(command)


def psql(job):
    return output(["psql", job["text"], "-XAtc", QUERY])


def redis_cli(job):
    return output(["sh", "-c", job["text"] + " CLIENT INFO"])


def postfix_mysql(job):
    """Only `hosts` is from looptax. The other values are written without quotes, so only plain logins work."""
    rest = {
        "user": job["user"] or "",
        "password": job["password"] or "",
        "dbname": job["database"] or "",
        # %% stands for a percent sign; Postfix refuses a query that does not contain the key (%s).
        "query": QUERY.replace("%", "%%") + " WHERE '%s' <> ''",
    }
    lines = [job["text"], *(f"{key} = {value}" for key, value in rest.items() if value)]
    return postmap("mysql", "\n".join(lines))


def postfix_memcache(job):
    return postmap("memcache", job["text"])


def postmap(kind, text):
    """Runs postmap. Postfix is unpacked, not installed, so its settings have to name its folders and accounts."""
    settings = {
        "compatibility_level": "3.6",
        "shlib_directory": DEBIAN + "/usr/lib/postfix",
        "meta_directory": tempfile.mkdtemp(dir=os.environ["DIALECT_SCRATCH"]),
        "mail_owner": "daemon",
        "setgid_group": "mail",
        "default_privs": "nobody",
    }
    for name, lines in (
        ("main.cf", "\n".join(f"{key} = {value}" for key, value in settings.items())),
        ("dynamicmaps.cf", "mysql\tpostfix-mysql.so\tdict_mysql_open"),
    ):
        with open(os.path.join(settings["meta_directory"], name), "w", encoding="utf-8") as file:
            file.write(lines + "\n")
    command = [DEBIAN + "/usr/sbin/postmap", "-c", settings["meta_directory"]]
    return output([*command, "-q", KEY, f"{kind}:{in_a_file(text, 'map.cf')}"], env=POSTFIX)


def package(*names):
    return lambda: ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


def program(name):
    """Returns the last number of a version, which is the client's: MariaDB prints it after that of its protocol."""
    return lambda: name + " " + re.findall(r"\d+\.\d+[.\d]*", output([name, "--version"]).splitlines()[0])[-1]


def postconf():
    return "Postfix " + output([DEBIAN + "/usr/sbin/postconf", "-dh", "mail_version"], env=POSTFIX)


WAYS = {
    "mysql.mysql": (option_file, program("mariadb")),
    "mysql.mysqlclient": (dbapi("MySQLdb"), package("mysqlclient")),
    "mysql.pymysql": (dbapi("pymysql"), package("PyMySQL")),
    "mysql.aiomysql": (coroutine("aiomysql"), package("aiomysql")),
    "mysql.mysql-connector-python": (dbapi("mysql.connector"), package("mysql-connector-python")),
    "mysql.sqlalchemy": (sqlalchemy, package("SQLAlchemy", "PyMySQL")),
    "mysql.django": (lambda job: django_database(pasted(job["text"], {})), package("Django", "mysqlclient")),
    "mysql.dj-database-url": (dj_database_url, package("dj-database-url", "Django", "mysqlclient")),
    "mysql.postfix": (postfix_mysql, postconf),
    "postgres.libpq": (psql, program("psql")),
    "postgres.psycopg": (psycopg_both, package("psycopg", "psycopg2-binary")),
    "postgres.asyncpg": (coroutine("asyncpg"), package("asyncpg")),
    "postgres.sqlalchemy": (sqlalchemy, package("SQLAlchemy", "psycopg2-binary")),
    "postgres.django": (lambda job: django_database(pasted(job["text"], {})), package("Django", "psycopg")),
    "postgres.dj-database-url": (dj_database_url, package("dj-database-url", "Django", "psycopg")),
    "redis.redis-py": (redis_py, package("redis")),
    "redis.celery": (celery, package("celery", "kombu", "redis")),
    "redis.redis-cli": (redis_cli, program("redis-cli")),
    "mongodb.pymongo": (pymongo, package("pymongo")),
    "memcached.pymemcache": (pymemcache, package("pymemcache")),
    "memcached.django": (django_cache, package("Django", "pymemcache")),
    "memcached.postfix": (postfix_memcache, postconf),
}


WAYS |= {"spelling." + name: way for name, way in spellings.ways(sys.modules[__name__]).items()}


def answer(way, job):
    try:
        seen = way(job)
        return {"seen": seen.decode() if isinstance(seen, bytes) else str(seen)}
    except Exception as error:  # Any error of a driver is the answer.
        return {"error": f"{type(error).__name__}: {error}"[:500]}


def main():
    way, version = WAYS[sys.argv[1]]
    print(json.dumps({"driver": version(), "language": "Python " + platform.python_version()}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(way, json.loads(line))), flush=True)


main()
