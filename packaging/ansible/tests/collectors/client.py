"""A program that asks the Redis of its settings for as long as it lives.

usage: client.py SETTINGS CONNECTIONS REQUESTS_PER_S     the rate is that of all connections together
"""

import re
import socket
import sys
import time


def connect(address):
    if over_tcp := re.search(r"redis://127\.0\.0\.1:(\d+)", address):
        return socket.create_connection(("127.0.0.1", int(over_tcp[1])))
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(re.search(r"/[\w./-]+\.sock", address)[0])
    return connection


def main(settings, connections, rate):
    with open(settings, encoding="utf-8") as file:
        address = re.search(r"^REDIS_URL=(.*)$", file.read(), re.M)[1]
    connections = [connect(address) for _ in range(int(connections))]
    due = time.monotonic()
    while True:
        for connection in connections:
            connection.sendall(b"*1\r\n$4\r\nPING\r\n")
            if connection.recv(64) != b"+PONG\r\n":
                sys.exit("not the answer of a Redis")
            due += 1 / float(rate)
            time.sleep(max(0, due - time.monotonic()))


main(*sys.argv[1:])
