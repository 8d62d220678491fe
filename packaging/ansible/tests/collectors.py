#!/usr/bin/env python3
"""Tries a fleet from one end to the other: twelve machines that are namespaces of this one, each with servers and clients of its
own, an Ansible run over all of them, a ClickHouse and a PostgreSQL that they report to, and what `looptax fleet` then says of
them held against what was set up. Then two are moved to the socket, and moved back: one by somebody who brings the old file,
one by `looptax switch --undo`.

All of it runs in namespaces of its own, and ends with the first process of them. Needs root, and scripts/setup.sh fleet and
applications.

usage: packaging/ansible/tests/collectors.py LOOPTAX
Exit status: 0 all is well, 1 the first thing that is not (said on stderr).
"""

import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent.resolve()
sys.path.insert(0, str(HERE / "collectors"))


def outside(looptax):
    """Runs the rest in namespaces, and removes what it wrote."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(1))
    scratch = tempfile.mkdtemp(prefix="looptax-collectors.", dir="/tmp")
    inside = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, __file__, looptax, scratch]
    try:
        return subprocess.run(inside, check=False).returncode
    finally:
        shutil.rmtree(scratch)


def main():
    sys.dont_write_bytecode = True
    match sys.argv[1:]:
        case [looptax]:
            sys.exit(outside(str(pathlib.Path(looptax).resolve())))
        case [looptax, scratch]:
            import course

            course.run(looptax, pathlib.Path(scratch))
        case _:
            sys.exit(__doc__)


main()
