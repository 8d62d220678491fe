"""PHP-FPM answers requests with queries of mysqli; its worker, of another user, connects to the database.

The requests come over a socket of its own, in FastCGI: a connection each, as web servers do by default.

Source of the protocol: the FastCGI Specification, sections 3 to 5.
"""

import os
import pathlib
import shutil
import socket
import struct
import subprocess

import behind
import loop

PAGE = pathlib.Path(__file__).parent.parent / "php/page.php"
# Types of records.
BEGIN, END, PARAMETERS, INPUT, OUTPUT = 1, 3, 4, 5, 6


def config(folder):
    return f"""
[global]
error_log = /dev/stderr
log_level = warning
[www]
user = {behind.USER}
group = {behind.USER}
listen = {folder}/clients.sock
pm = static
pm.max_children = 1
clear_env = no
php_admin_flag[display_errors] = off
catch_workers_output = yes
"""


def command(folder):
    # The worker may not be let into ours.
    shutil.copy(PAGE, folder)
    return [fpm(), "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", folder / "config"]


def fpm():
    found = sorted((behind.DEBIAN / "usr/sbin").glob("php-fpm*"))
    if not found:
        raise SystemExit("error: no PHP-FPM; clients/setup.sh unpacks it")
    return found[-1]


def environment():
    """Its own folder of extensions is made by its package's scripts; PHP's command line has the same ones."""
    ask = ["php", "-r", "echo PHP_CONFIG_FILE_SCAN_DIR;"]
    folder = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    return {**os.environ, "PHP_INI_SCAN_DIR": folder}


def record(kind, content):
    return struct.pack("!BBHHBx", 1, kind, 1, len(content), 0) + content


def pair(name, value):
    name, value = name.encode(), value.encode()
    return struct.pack("!BB", len(name), len(value)) + name + value


def records(stream):
    while head := stream.read(8):
        _, kind, _, n_bytes, n_padding = struct.unpack("!BBHHBx", head)
        yield kind, stream.read(n_bytes + n_padding)[:n_bytes]


def page(listening, query):
    """What PHP prints for the page with such a query."""
    parameters = {
        "SCRIPT_FILENAME": str(pathlib.Path(listening).with_name(PAGE.name)),
        "QUERY_STRING": query,
        "REQUEST_METHOD": "GET",
    }
    request = record(BEGIN, struct.pack("!HB5x", 1, 0))
    request += record(PARAMETERS, b"".join(pair(*it) for it in parameters.items()))
    request += record(PARAMETERS, b"") + record(INPUT, b"")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(listening)
        connection.sendall(request)
        with connection.makefile("rb") as stream:
            printed = b"".join(content for kind, content in records(stream) if kind == OUTPUT)
    head, _, body = printed.partition(b"\r\n\r\n")
    if b"Status:" in head:
        raise SystemExit(f"error: PHP-FPM answers {head.decode()}")
    return body.decode()


place = loop.place()
said = subprocess.run([fpm(), "--version"], capture_output=True, text=True, check=True).stdout
with behind.started("PHP-FPM", config, command, environment()) as listening:
    where = f"host={place.host}&port={place.port}"
    library = f"PHP-FPM {said.split()[1]} as {behind.USER}, mysqli"
    loop.serve(place, library, lambda key: page(listening, f"{where}&key={key}"))
