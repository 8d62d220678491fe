"""A server program that sits before the database and connects for its clients, with workers of another user.

Included by the loops whose program is such a server: nginx, PHP-FPM.
"""

import contextlib
import os
import pathlib
import pwd
import socket
import subprocess
import tempfile
import time

# Whom the workers belong to: Debian's user for them.
USER = "www-data"
# Where clients/setup.sh unpacks what it does not install.
DEBIAN = pathlib.Path(os.environ["LOOP_DEBIAN"])
PATIENCE_S = 20


@contextlib.contextmanager
def started(name, config, command, environment=None, workers_of=USER):
    """Runs the program in a folder of its own with `config`, made from the folder, until the block ends.

    Gives the socket that it listens on, which `config` has to name `clients.sock`.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # The workers pass through.
        folder.chmod(0o755)
        (folder / "config").write_text(config(folder))
        program = subprocess.Popen(command(folder), env=environment)
        try:
            listening = folder / "clients.sock"
            wait(name, program, listening, workers_of)
            yield str(listening)
        finally:
            program.terminate()
            program.wait()


def wait(name, program, listening, user):
    """Until the program takes connections, and its workers have become whom its configuration names."""
    wanted = {pwd.getpwnam(user).pw_uid}
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and program.poll() is None:
        # The connection goes on to the database, so there is one alone.
        if workers(program.pid) == wanted:
            with socket.socket(socket.AF_UNIX) as trial:
                trial.connect(str(listening))
            return
        time.sleep(0.02)
    raise SystemExit(f"error: {name} does not start, or not with workers of {user}")


def workers(pid):
    """The users of a program's children."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {os.stat(f"/proc/{child}").st_uid for child in children}
