"""An application: queries the server in its file again and again, over new connections or over one that it keeps.

    client.py KIND FILE FOLDER

Appends a line to FOLDER/answers for each answer, and the reason to FOLDER/failures for each failure.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time

kind, file, folder = sys.argv[1:]
kept = None


def connected(url):
    tcp = re.match(r"(?:redis://)?([\d.]+):(\d+)(?:/(\d+))?", url)
    if tcp:
        return socket.create_connection((tcp[1], int(tcp[2])), 2), tcp[3]
    unix = re.match(r"(?:unix://)?(/[^?:]+)(?:\?db=(\d+))?", url)
    link = socket.socket(socket.AF_UNIX)
    link.connect(unix[1])
    return link, unix[2]


def asked(line, start):
    kept.sendall(line)
    answer = kept.recv(4096)
    if not answer.startswith(start):
        raise OSError(f"{line} was answered with {answer}")


def keyed(name, ask, start):
    """Sends a request over a connection that stays open, as a worker does."""
    global kept
    text = open(file).read()
    url = re.search(name + r"""\s*=\s*["']?([^"'\n]+)""", text)[1]
    if kept is None:
        kept, database = connected(url)
        kept.settimeout(2)
        if database is not None:
            asked(b"SELECT %s\r\n" % database.encode(), b"+OK")
    asked(ask, start)


def program(words, variables):
    done = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, timeout=10)
    if done.returncode:
        raise OSError(done.stderr.decode()[:200])


while True:
    try:
        if kind in ("redis", "valkey"):
            keyed("REDIS_URL", b"INCR n\r\n", b":")
        elif kind == "memcached":
            keyed("session.save_path", b"version\r\n", b"VERSION")
        elif kind in ("mariadb", "mysql"):
            client = shutil.which("mariadb") or "mysql"
            program([client, "--defaults-file=" + file, "-e", "SELECT SLEEP(0.2)"], {})
        else:
            # More queries than a login has messages: the number of answers then shows that the login succeeded.
            questions = [it for n in (0.2, 0, 0) for it in ("-c", f"SELECT pg_sleep({n})")]
            program(["psql", "service=shop", *questions], {"PGSERVICEFILE": file})
        outcome, words = "answers", "1"
    except Exception as error:
        outcome, words, kept = "failures", str(error).replace("\n", " "), None
    with open(f"{folder}/{outcome}", "a") as log:
        log.write(words + "\n")
    time.sleep(0.05)
