"""Connects as applications do that read a file, for `cargo lab oracle spellings`.

Each function gets a job whose text is the file. If the framework is installed, it reads the file itself; otherwise the
function does the same as its source, which is named.
"""

import asyncio
import configparser
import os
import shlex


def executed(text):
    """Returns the names that a Python module defines."""
    names = {}
    exec(compile(text, "settings.py", "exec"), names)
    return names


def environment(text):
    """Parses `NAME=value` lines as a shell or systemd does."""
    pairs = {}
    for line in text.splitlines():
        name, sign, value = line.partition("=")
        if sign:
            pairs[name] = "".join(shlex.split(value))
    return pairs


def section(text, name):
    parser = configparser.RawConfigParser()
    parser.read_string(text)
    return dict(parser[name])


def in_environment(pairs, connect):
    """Connects with these variables set, and removes them afterwards."""
    os.environ.update(pairs)
    try:
        return connect()
    finally:
        for name in pairs:
            del os.environ[name]


def libpq(job):
    """If the file names a service, the service is in the user's own service file, and has another folder."""
    import psycopg2

    with open(os.path.expanduser("~/.pg_service.conf"), "w", encoding="utf-8") as file:
        file.write("[shop]\nhost=/srv/old\n")
    # libpq requires at least one keyword; this one does not affect the address.
    return in_environment(environment(job["text"]), lambda: psycopg2.connect("connect_timeout=5").close())


def pg_service(drive):
    def connect(job):
        import psycopg2

        file = drive.in_a_file(job["text"], "pg_service.conf")
        named = {"PGSERVICEFILE": file, "PGSERVICE": "shop"}
        return in_environment(named, lambda: psycopg2.connect("connect_timeout=5").close())

    return connect


def odoo(job):
    """odoo/sql_db.py, connection_info_for: each of these settings that is set is passed to psycopg2."""
    import psycopg2

    options = section(job["text"], "options")
    named = {name: options.get("db_" + name) for name in ("host", "port", "user", "password")}
    named = {name: value for name, value in named.items() if value and value != "False"}
    psycopg2.connect(dbname="shop", **named).close()


def synapse(job):
    """synapse/storage/database.py, make_conn: passes all arguments except those of the pool, `cp_*`."""
    import psycopg2
    import yaml

    arguments = yaml.safe_load(job["text"])["database"]["args"]
    psycopg2.connect(**{name: value for name, value in arguments.items() if not name.startswith("cp_")}).close()


def django_database(drive):
    return lambda job: drive.django_database(executed(job["text"])["DATABASES"]["default"])


def django_cache(job):
    from django.conf import settings as configured
    from django.core.cache import CacheHandler

    if not configured.configured:
        configured.configure()
    return CacheHandler(executed(job["text"])["CACHES"])["default"].get("looptax")


def dj_database_url(drive):
    def connect(job):
        import dj_database_url

        return in_environment(
            environment(job["text"]), lambda: drive.django_database(dj_database_url.config())
        )

    return connect


def django_environ(drive):
    def connect(job):
        import environ

        return in_environment(environment(job["text"]), lambda: drive.django_database(environ.Env().db()))

    return connect


def engine(url):
    import sqlalchemy as sa

    if "+asyncpg" in url or "+aiomysql" in url:
        return asyncio.run(awaited_engine(url))
    sa.create_engine(url).connect().close()


async def awaited_engine(url):
    from sqlalchemy.ext.asyncio import create_async_engine

    async with create_async_engine(url).connect():
        pass


def sqlalchemy_env(job):
    engine(environment(job["text"])["SQLALCHEMY_DATABASE_URI"])


def airflow(job):
    """airflow/settings.py passes the URL to SQLAlchemy; a % is doubled, as configparser requires."""
    parser = configparser.ConfigParser()
    parser.read_string(job["text"])
    engine(parser["database"]["sql_alchemy_conn"])


def celery(job):
    """Connects as a worker does at its start, but without retries."""
    from kombu import Connection

    transport = Connection(environment(job["text"])["CELERY_BROKER_URL"]).transport
    transport.create_channel(transport.establish_connection())


def redis_url(job):
    """Connects without the library's retries."""
    import redis

    redis.from_url(job["text"].strip(), retry=None).ping()


def conninfo(job):
    import psycopg2

    psycopg2.connect(job["text"].strip()).close()


def postfix(drive, kind):
    return lambda job: drive.postmap(kind, job["text"])


def ways(drive):
    """Returns the functions by name, each with a function that returns its versions."""
    package = drive.package
    return {
        "django-mysql": (django_database(drive), package("Django", "mysqlclient")),
        "django-pgsql": (django_database(drive), package("Django", "psycopg")),
        "django-cache-redis": (django_cache, package("Django", "redis")),
        "django-cache-memcached": (django_cache, package("Django", "pymemcache")),
        "dj-database-url-mysql": (dj_database_url(drive), package("dj-database-url", "Django", "mysqlclient")),
        "dj-database-url-pgsql": (dj_database_url(drive), package("dj-database-url", "Django", "psycopg")),
        "django-environ-mysql": (django_environ(drive), package("django-environ", "Django", "mysqlclient")),
        "django-environ-pgsql": (django_environ(drive), package("django-environ", "Django", "psycopg")),
        "libpq-env": (libpq, package("psycopg2-binary")),
        "pg-service": (pg_service(drive), package("psycopg2-binary")),
        "my-cnf": (drive.option_file, drive.program("mariadb")),
        "url-libpq": (conninfo, package("psycopg2-binary")),
        "conninfo-libpq": (conninfo, package("psycopg2-binary")),
        "url-redis-py": (redis_url, package("redis")),
        "odoo": (odoo, package("psycopg2-binary")),
        "synapse": (synapse, package("psycopg2-binary")),
        "sqlalchemy-mysql": (sqlalchemy_env, package("SQLAlchemy", "PyMySQL", "mysqlclient", "mysql-connector-python")),
        "sqlalchemy-pgsql": (sqlalchemy_env, package("SQLAlchemy", "psycopg2-binary", "psycopg", "asyncpg")),
        "airflow-mysql": (airflow, package("SQLAlchemy", "PyMySQL", "mysqlclient")),
        "airflow-pgsql": (airflow, package("SQLAlchemy", "psycopg2-binary")),
        "celery": (celery, package("celery", "kombu", "redis")),
        "postfix-mysql": (postfix(drive, "mysql"), drive.postconf),
    }
