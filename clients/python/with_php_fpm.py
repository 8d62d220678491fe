"""PHP-FPM answers requests with queries by mysqli; its worker, which runs as another user, connects to the database.

The requests are sent to PHP-FPM's own socket, in FastCGI, each over its own connection, as web servers do by default.

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
# Record types.
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
    # The worker may lack the right to enter the folder of this file, so the page is copied.
    shutil.copy(PAGE, folder)
    return [fpm(), "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", folder / "config"]


def fpm():
    found = sorted((behind.DEBIAN / "usr/sbin").glob("php-fpm*"))
    if not found:
        raise SystemExit("error: no PHP-FPM; clients/setup.sh unpacks it")
    return found[-1]


def environment():
    """Returns the folder of extensions of PHP's command line: that of PHP-FPM is made only by its package's scripts."""
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
    """Returns the text that PHP prints for the page with this query."""
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
