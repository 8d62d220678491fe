"""What is set up: the machines and their programs, which the answers are held against, and the two collectors."""

import pathlib
import shutil
import subprocess
import time
import typing

HERE = pathlib.Path(__file__).parent
TESTS = HERE.parent
PASSWORD = "word-of-a-collector"
GATEWAY = "10.77.0.1"


def collectors(role):
    """Both, for who makes the tables (`looptax`), reports or asks; Debian's ClickHouse knows no roles."""
    return {
        "clickhouse": f"clickhouse://default@{GATEWAY}:8123/looptax",
        # No TLS in here: the password goes to a server that asks for SCRAM alone.
        "postgres": f"postgres://{role}@{GATEWAY}:5432/looptax?sslmode=disable",
    }



class Program(typing.NamedTuple):
    """A client: what it is called, what it asks, which way, and how much."""

    client: str
    server: str
    is_tcp: bool
    connections: int
    requests_per_s: float


class Failure(Exception):
    """What is not as it has to be."""


def programs(number):
    """The programs of a machine, by its number."""
    found = [
        Program("shop", "redis", number <= 8, 2, 20 + 5 * number),
        Program("worker", "redis", False, 1, 10),
    ]
    if 5 <= number <= 9:
        found.append(Program("jobs", "redis", True, 3, 30))
    if number in (3, 11):
        found.append(Program("psql", "postgres", number == 3, 1, 10))
    return found


TRUTH = {f"h{number:02}": programs(number) for number in range(1, 13)}


def ran(words, **options):
    """Runs to the end, and gives what it printed."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600, **options)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, words))}: exit code {done.returncode}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def waits(what, seconds, is_there):
    end = time.monotonic() + seconds
    while not is_there():
        if time.monotonic() > end:
            raise Failure(f"not there within {seconds} s: {what}")
        time.sleep(0.2)


def succeeds(words):
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


class Machine:
    """One of the twelve."""

    def __init__(self, name, scratch):
        self.name, self.scratch = name, scratch
        (scratch / name).mkdir()
        namespaces = ["--mount", "--net", "--uts", "--ipc", "--pid", "--cgroup"]
        start = ["setsid", "unshare", *namespaces, "--fork", "--kill-child", TESTS / "host.sh", scratch / name, name, "sleep"]
        self.starter = subprocess.Popen(start, stdout=(scratch / f"{name}.log").open("w"), stderr=subprocess.STDOUT)
        self.pid = None
        waits(f"machine {name}", 30, self.is_up)
        number = int(name[1:])
        ran(["ip", "link", "add", f"veth{number}", "type", "veth", "peer", "name", "eth0", "netns", str(self.pid)])
        ran(["ip", "link", "set", f"veth{number}", "master", "br0", "up"])
        self.inside("ip", "address", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
        self.inside("ip", "link", "set", "eth0", "up")

    def is_up(self):
        found = pathlib.Path(f"/proc/{self.starter.pid}/task/{self.starter.pid}/children").read_text(encoding="ascii").split()
        if found and pathlib.Path(f"/proc/{found[0]}/comm").read_text(encoding="ascii") == "sleep\n":
            self.pid = int(found[0])
        return self.pid is not None

    def words(self, *words):
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net", "--uts", "--ipc", "--root", "--wd"]
        return [*enter, "env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *words]

    def inside(self, *words, **options):
        return ran(self.words(*words), **options)

    def start(self, *words):
        """Starts a program of `host-programs.sh`, which goes on."""
        done = subprocess.run(self.words("/srv/test/host-programs.sh", *map(str, words)), stdout=subprocess.DEVNULL, check=False, timeout=60)
        if done.returncode:
            raise Failure(f"{self.name}: {words} does not start")

    def write(self, path, text):
        self.inside("sh", "-c", f"cat >'{path}'", input=text)

    def settle(self, program):
        """Starts a client as the truth has it."""
        if program.server == "postgres":
            self.start("postgres-client", "127.0.0.1" if program.is_tcp else "/srv/test/postgres", 1 / program.requests_per_s)
            return
        address = "redis://127.0.0.1:6379/0" if program.is_tcp else "unix:///srv/test/redis/redis.sock"
        self.write(f"/srv/test/{program.client}.env", f"SECRET_KEY=kept\nREDIS_URL={address}\n")
        self.restart(program)

    def restart(self, program):
        self.start("redis-client", program.client, program.connections, program.requests_per_s)

    def furnish(self):
        """Its servers, then its clients."""
        self.inside("mkdir", "-p", "/srv/test/bin")
        # A program is called by its file: one interpreter with a name for each.
        self.inside("sh", "-c", "cp $(readlink -f /usr/bin/python3) /srv/test/bin/shop && ln /srv/test/bin/shop /srv/test/bin/worker && ln /srv/test/bin/shop /srv/test/bin/jobs")
        for file in ("client.py", "host-programs.sh"):
            self.write(f"/srv/test/{file}", (HERE / file).read_text(encoding="utf-8"))
        self.inside("chmod", "755", "/srv/test/host-programs.sh")
        for server in sorted({it.server for it in TRUTH[self.name]}):
            self.start(server)
        socket = "/srv/test/redis/redis.sock"
        waits(f"{self.name}: {socket}", 20, lambda: succeeds(self.words("redis-cli", "-s", socket, "ping")))
        for program in TRUTH[self.name]:
            self.settle(program)


def start_clickhouse(scratch):
    folder = scratch / "clickhouse"
    for name in ("data", "tmp", "files", "schemas"):
        (folder / name).mkdir(parents=True)
    (folder / "users.xml").write_text(
        f"""<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password>{PASSWORD}</password>
        <networks><ip>10.77.0.0/24</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>""",
        encoding="utf-8",
    )
    (folder / "config.xml").write_text(
        f"""<yandex><logger><level>warning</level><console>1</console></logger><http_port>8123</http_port><listen_host>{GATEWAY}</listen_host>
        <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><user_files_path>{folder}/files/</user_files_path>
        <format_schema_path>{folder}/schemas/</format_schema_path><users_config>users.xml</users_config><default_profile>default</default_profile>
        <default_database>default</default_database><mark_cache_size>67108864</mark_cache_size><timezone>UTC</timezone></yandex>""",
        encoding="utf-8",
    )
    server = shutil.which("clickhouse-server", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if server is None:
        raise Failure("clickhouse-server is not installed: scripts/setup.sh applications")
    subprocess.Popen([server, f"--config-file={folder}/config.xml"], cwd=folder, stdin=subprocess.DEVNULL, stdout=(folder / "log").open("w"), stderr=subprocess.STDOUT)
    waits("ClickHouse", 60, lambda: succeeds(["curl", "--silent", "--fail", f"http://{GATEWAY}:8123/ping"]))
    ask = ["curl", "--silent", "--show-error", "--fail", "--user", f"default:{PASSWORD}", "--data", "CREATE DATABASE looptax", f"http://{GATEWAY}:8123/"]
    ran(ask)


def start_postgres(scratch):
    folder = scratch / "postgres"
    binaries = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres")).parent
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    ran(["install", "-d", "-o", "postgres", "-m", "700", folder])
    (scratch / "password").write_text(PASSWORD, encoding="utf-8")
    (scratch / "password").chmod(0o644)
    ran([*user, binaries / "initdb", "--auth=scram-sha-256", "--username=looptax", f"--pwfile={scratch}/password", "--no-sync", f"--pgdata={folder}"])
    with (folder / "pg_hba.conf").open("a", encoding="utf-8") as rules:
        rules.write("host all all 10.77.0.0/24 scram-sha-256\n")
    server = [*user, binaries / "postgres", "-D", folder, "-k", folder, "-c", f"listen_addresses={GATEWAY}", "-c", "fsync=off"]
    subprocess.Popen(server, stdin=subprocess.DEVNULL, stdout=(scratch / "postgres.log").open("w"), stderr=subprocess.STDOUT)
    waits("PostgreSQL", 60, lambda: succeeds([*asked("postgres"), "SELECT 1"]))
    ran([*asked("postgres"), "CREATE DATABASE looptax"])


def asked(database):
    return ["psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"host={GATEWAY} user=looptax password={PASSWORD} dbname={database}", "--command"]


def make_tables(looptax, environment):
    """By `fleet init`, with the roles that it prints: who reports may insert alone, who asks may read alone."""
    for place in collectors("looptax").values():
        ran([looptax, "fleet", "init", place], env=environment)
    printed = ran([looptax, "fleet", "init", collectors("looptax")["postgres"], "--print"], env=environment)
    roles = [it.removeprefix("-- ") for it in printed.splitlines() if it.startswith(("-- CREATE ROLE", "-- GRANT"))]
    if len(roles) != 7:
        raise Failure(f"`fleet init --print` has other roles: {roles}")
    ran([*asked("looptax"), "\n".join(roles).replace("…", PASSWORD)])
