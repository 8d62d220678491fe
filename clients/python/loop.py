"""The code that every loop in Python shares: the conversation on stdin and stdout, the clock, the keys.

See ../README.md for the conversation. Imported by one program per library.
"""

import os
import platform
import resource
import sys
import time


class Place:
    """The server's address (`unix:/path` or `tcp:host:port`), and our login."""

    def __init__(self, address):
        kind, _, rest = address.partition(":")
        self.socket = rest if kind == "unix" else None
        self.host, self.port = None, None
        if kind == "tcp":
            self.host, _, port = rest.rpartition(":")
            self.port = int(port)
        elif kind != "unix":
            raise SystemExit("error: usage: ADDRESS, unix:/path or tcp:host:port")
        self.user = os.environ.get("LOOP_USER", "")
        self.password = os.environ.get("LOOP_PASSWORD", "")
        self.database = os.environ.get("LOOP_DATABASE", "")
        self.rows = int(os.environ["LOOP_ROWS"])

    def libpq(self):
        """Returns arguments for a libpq driver, which expects the socket's folder, and the port from its name."""
        host, port = self.host, self.port
        if self.socket is not None:
            folder, _, name = self.socket.rpartition("/")
            host, port = folder, int(name.rpartition(".")[2])
        return {
            "host": host,
            "port": port,
            "user": self.user,
            "password": self.password,
            "dbname": self.database,
        }

    def mysql(self):
        """Returns arguments for PyMySQL and similar drivers."""
        where = {"host": self.host, "port": self.port}
        if self.socket is not None:
            where = {"unix_socket": self.socket}
        return {
            **where,
            "user": self.user,
            "password": self.password,
            "database": self.database,
        }


def place():
    if len(sys.argv) != 2:
        raise SystemExit("error: usage: ADDRESS, unix:/path or tcp:host:port")
    return Place(sys.argv[1])


def serve(at, library, ask):
    """For each line of stdin, a number of requests: sends them, and prints how long they took."""
    print(f"ready {library}, Python {platform.python_version()}", flush=True)
    key = 0
    for line in sys.stdin:
        n = int(line)
        before = resource.getrusage(resource.RUSAGE_SELF)
        begin = time.perf_counter()
        try:
            for _ in range(n):
                key = (key + 7919) % at.rows
                if not ask(key + 1):
                    raise SystemExit("error: an empty value")
        except Exception as error:
            if "LOOP_TELLS" not in os.environ:
                raise
            print("failed", " ".join(f"{type(error).__name__} {error}".split())[:90], flush=True)
            continue
        seconds = time.perf_counter() - begin
        after = resource.getrusage(resource.RUSAGE_SELF)
        user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
        print(f"{n} {seconds:.6f} {user:.6f} {system:.6f}", flush=True)
