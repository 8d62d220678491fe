"""Starts a server program that connects to the database for its clients, with workers of another user.

Imported by the loops whose program is such a server: nginx, PHP-FPM.
"""

import contextlib
import os
import pathlib
import pwd
import socket
import subprocess
import tempfile
import time

# The user of the workers: the one that Debian uses for them.
USER = "www-data"
# The folder into which clients/setup.sh unpacks packages that it does not install.
DEBIAN = pathlib.Path(os.environ["LOOP_DEBIAN"])
PATIENCE_S = 20


@contextlib.contextmanager
def started(name, config, command, environment=None, workers_of=USER):
    """Runs the program in its own folder until the block ends, with the text that `config` makes for this folder.

    Yields the socket on which the program listens; in `config` its name has to be `clients.sock`.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # The workers need to enter the folder.
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
    """Waits until the program accepts connections and its workers run as the configured user."""
    wanted = {pwd.getpwnam(user).pw_uid}
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and program.poll() is None:
        # The program also connects to the database for this connection, so only one test connection is made.
        if workers(program.pid) == wanted:
            with socket.socket(socket.AF_UNIX) as trial:
                trial.connect(str(listening))
            return
        time.sleep(0.02)
    raise SystemExit(f"error: {name} does not start, or not with workers of {user}")


def workers(pid):
    """Returns the users of a program's child processes."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {os.stat(f"/proc/{child}").st_uid for child in children}
