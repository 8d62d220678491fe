"""Ansible's way into a host of tests/run.sh: the namespaces of the process that `ansible_namespaces_pid` names."""

import os
import subprocess

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
    name: namespaces
    short_description: commands in the namespaces of a process
    description: [Enters mount, process, network and name of a process of this machine. For tests.]
    options:
      pid:
        description: the process
        vars: [{name: ansible_namespaces_pid}]
"""


class Connection(ConnectionBase):
    transport = "namespaces"
    has_pipelining = True

    def _connect(self):
        self._connected = True
        return self

    def close(self):
        self._connected = False

    def _enter(self, command, **pipes):
        enter = ["nsenter", "--target", str(self.get_option("pid")), "--mount", "--pid", "--net", "--uts", "--root", "--wd"]
        environment = {"HOME": "/root", "LANG": "C.UTF-8", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        try:
            done = subprocess.run(enter + ["/bin/sh", "-c", command], env=environment, capture_output=True, check=False, **pipes)
        except OSError as error:
            raise AnsibleConnectionFailure(f"cannot enter {enter}: {error}") from error
        return done.returncode, done.stdout, done.stderr

    def exec_command(self, cmd, in_data=None, sudoable=True):
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        return self._enter(cmd, input=in_data if in_data is not None else b"")

    def put_file(self, in_path, out_path):
        super().put_file(in_path, out_path)
        with open(in_path, "rb") as source:
            code, _, errors = self._enter(f"cat >'{out_path}'", stdin=source)
        if code:
            raise AnsibleConnectionFailure(f"cannot write {out_path}: {errors!r}")

    def fetch_file(self, in_path, out_path):
        super().fetch_file(in_path, out_path)
        code, content, errors = self._enter(f"cat '{in_path}'", input=b"")
        if code:
            raise AnsibleConnectionFailure(f"cannot read {in_path}: {errors!r}")
        with open(os.path.abspath(out_path), "wb") as target:
            target.write(content)
