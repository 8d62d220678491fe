"""What is done, in order, and what is asked after each step."""

import json
import os
import sys
import time

from held import hold
from page import Page
from setup import PASSWORD, TESTS, TRUTH, Failure, Machine, collectors, make_tables, ran, start_clickhouse, start_postgres

# They measure their own server; the others take what these predict.
MEASURING = ("h01", "h05")
# Moved to the socket, and moved back: by a file that somebody brings, and by `looptax switch --undo`.
BROUGHT_BACK, UNDONE = "h02", "h04"
SHOP = "/srv/test/shop.env"


class Course:
    """A run of it."""

    def __init__(self, looptax, scratch):
        self.looptax, self.scratch = looptax, scratch
        self.machines = {}
        self.environment = {"HOME": str(scratch), "PATH": os.environ["PATH"], "LOOPTAX_COLLECTOR_PASSWORD": PASSWORD}

    def prepare(self):
        ran(["ip", "link", "set", "lo", "up"])
        ran(["ip", "link", "add", "br0", "type", "bridge"])
        ran(["ip", "address", "add", "10.77.0.1/24", "dev", "br0"])
        ran(["ip", "link", "set", "br0", "up"])
        self.scratch.chmod(0o755)
        ran([TESTS / "pack.sh", self.looptax, self.scratch])
        start_clickhouse(self.scratch)
        start_postgres(self.scratch)
        make_tables(self.looptax, self.environment)
        for name in TRUTH:
            self.machines[name] = Machine(name, self.scratch)
            self.machines[name].furnish()
        self.write_inventory()

    def write_inventory(self):
        common = {
            "ansible_connection": "namespaces",
            "ansible_python_interpreter": "/usr/bin/python3",
            "looptax_password": PASSWORD,
            "looptax_package_file": str(self.scratch / "looptax_0.0.1-1.deb"),
            "looptax_destination": collectors("looptax_writer")["clickhouse"],
            "second_collector": collectors("looptax_writer")["postgres"],
        }
        hosts = {name: {"ansible_namespaces_pid": it.pid} for name, it in self.machines.items()}
        # JSON is YAML.
        (self.scratch / "inventory.yml").write_text(json.dumps({"all": {"vars": common, "hosts": hosts}}), encoding="utf-8")
        (self.scratch / "ansible.cfg").write_text("", encoding="utf-8")

    def play(self, *words):
        settings = {
            "ANSIBLE_CONFIG": self.scratch / "ansible.cfg",
            "ANSIBLE_ROLES_PATH": TESTS.parent / "roles",
            "ANSIBLE_CONNECTION_PLUGINS": TESTS / "plugins",
            "ANSIBLE_HOME": self.scratch / "ansible",
            "ANSIBLE_PIPELINING": "true",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_RETRY_FILES_ENABLED": "false",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        environment = self.environment | {key: str(value) for key, value in settings.items()}
        return ran(["ansible-playbook", "--forks", "4", "--inventory", self.scratch / "inventory.yml", TESTS / "collectors/play.yml", *words], env=environment)

    def ask(self, engine, *words):
        place = collectors("looptax_reader")[engine]
        return json.loads(ran([self.looptax, "fleet", *words, place, "--json"], env=self.environment))

    def page(self, engine):
        """The report's page."""
        file = self.scratch / f"{engine}.html"
        place = collectors("looptax_reader")[engine]
        ran([self.looptax, "fleet", "report", place, "--html", file], env=self.environment)
        if file.stat().st_size > 2_000_000:
            raise Failure(f"{engine}: the page has {file.stat().st_size} bytes")
        return Page(file.read_text(encoding="utf-8"))

    def answers(self, engine):
        """All that a collector says."""
        return {
            "report": self.ask(engine, "report"),
            "hosts": self.ask(engine, "hosts"),
            "pairs": self.ask(engine, "programs"),
            "movers": self.ask(engine, "changes"),
            "machines": {name: self.ask(engine, "host", name) for name in TRUTH},
            "page": self.page(engine),
        }

    def hold(self, title, truth, movers, fallen):
        hold(title, truth, {engine: self.answers(engine) for engine in collectors("")}, MEASURING, movers, fallen)

    def switch(self, name):
        """Moves the shop, proved by the kernel's list: its program reads its settings anew."""
        _, shop = self.shop(name)
        command = ["looptax", "switch", SHOP, "--as", "sidekiq", "--yes", "--within", "30s"]
        self.machines[name].inside(*command, "--reload", self.reload(shop))

    def shop(self, name):
        program = next(it for it in TRUTH[name] if it.client == "shop")
        return self.machines[name], program

    def reload(self, program):
        return f"/srv/test/host-programs.sh redis-client shop {program.connections} {program.requests_per_s}"


def run(looptax, scratch):
    course = Course(looptax, scratch)
    try:
        follow(course)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)


def follow(course):
    begun = time.monotonic()

    def say(text):
        print(f"== {text} ({time.monotonic() - begun:.0f} s)", flush=True)

    say("collectors and machines")
    course.prepare()
    say("the role on all")
    course.play("--skip-tags", "report")
    say(f"{' and '.join(MEASURING)} measure")
    for name in MEASURING:
        course.machines[name].inside("looptax", "compare", "private:redis", "-c", "1", "--quick", "--yes", "--quiet")
    say("a report of all to each collector")
    course.play("--tags", "report")
    course.hold("as set up", TRUTH, set(), set())

    say(f"{BROUGHT_BACK} and {UNDONE} move their shop to the socket")
    old = course.machines[BROUGHT_BACK].inside("cat", SHOP)
    moved = dict(TRUTH)
    for name in (BROUGHT_BACK, UNDONE):
        course.switch(name)
        moved[name] = [it._replace(is_tcp=False) if it.client == "shop" else it for it in TRUTH[name]]
    course.play("--tags", "report")
    course.hold("after two switches", moved, {(name, "shop", "to socket") for name in (BROUGHT_BACK, UNDONE)}, set())

    say(f"somebody brings the old file to {BROUGHT_BACK}; {UNDONE} undoes its switch")
    machine, shop = course.shop(BROUGHT_BACK)
    machine.write(SHOP, old)
    machine.restart(shop)
    machine, shop = course.shop(UNDONE)
    machine.inside("looptax", "switch", "--undo", "--yes", "--reload", course.reload(shop))
    course.play("--tags", "report")
    course.hold("after both went back", TRUTH, set(), {(BROUGHT_BACK, "shop")})
    say("collectors: all of it holds on both engines")
