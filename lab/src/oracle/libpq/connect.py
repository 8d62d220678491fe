"""Connects with one libpq: connect.py LIBRARY. Reads a connection string per line, and prints `ok` or the reason.

The first line of output is the library's version and the names of its parameters. Called by `cargo lab oracle libpq`.
"""

import ctypes
import sys


class Option(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("keyword", "envvar", "compiled", "val", "label", "dispchar")]
    _fields_ += [("dispsize", ctypes.c_int)]


pq = ctypes.CDLL(sys.argv[1])
pq.PQconnectdb.restype = ctypes.c_void_p
pq.PQconndefaults.restype = ctypes.POINTER(Option)
pq.PQerrorMessage.restype = ctypes.c_char_p
pq.PQfinish.restype = None
for function in (pq.PQstatus, pq.PQfinish, pq.PQerrorMessage):
    function.argtypes = [ctypes.c_void_p]

options, names, at = pq.PQconndefaults(), [], 0
while options[at].keyword:
    names.append(f"{options[at].keyword.decode()}={(options[at].envvar or b'').decode()}")
    at += 1
print(pq.PQlibVersion(), *names, flush=True)

for line in sys.stdin:
    connection = pq.PQconnectdb(line.strip().encode())
    is_in = pq.PQstatus(connection) == 0
    print("ok" if is_in else " ".join(pq.PQerrorMessage(connection).decode().split()), flush=True)
    pq.PQfinish(connection)
