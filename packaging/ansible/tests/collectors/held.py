"""What collectors say, held against what was set up."""

import math

from setup import Failure

# Rates rest on looks a second apart, on a machine that has other things to do, and count segments.
FACTOR = 2.0


class Held:
    """A table of what was set up, and what each engine says of it."""

    def __init__(self, title, truth, answers):
        self.title, self.truth, self.answers = title, truth, answers
        self.rows = []

    def same(self, what, expected, said):
        """Holds what each engine says; `said` makes that of its answers."""
        self.hold(what, expected, said, lambda one: one == expected)

    def near(self, what, expected, said):
        """The same of a rate."""
        self.hold(what, expected, said, lambda one: one is not None and expected / FACTOR <= one <= expected * FACTOR)

    def hold(self, what, expected, said, is_held):
        values = {engine: said(it) for engine, it in self.answers.items()}
        self.rows.append((what, expected, values))
        for engine, value in values.items():
            if not is_held(value):
                raise Failure(f"{self.title}: {engine} says of {what}: {value}, and {expected} was set up")

    def show(self):
        engines = list(self.answers)
        print(f"{self.title:<50}{'set up':>22}" + "".join(f"{it:>22}" for it in engines))
        for what, expected, values in self.rows:
            print(f"  {what:<48}" + "".join(f"{shown(it):>22}" for it in [expected, *values.values()]))
        print(flush=True)


def shown(value):
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, bool | int | str):
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    if not value:
        return "none"
    return str(next(iter(value))) if len(value) == 1 and isinstance(next(iter(value)), int) else f"{len(value)} rows, equal"


def hold(title, truth, answers, measuring, movers, fallen):
    """All that is known of it."""
    held = Held(title, truth, answers)
    clients = [(host, it) for host, programs in truth.items() for it in programs]
    over_tcp = [(host, it) for host, it in clients if it.is_tcp]
    held.same("machines", len(truth), lambda it: it["report"]["hosts"])
    hold_machines(held, over_tcp)
    hold_pairs(held, over_tcp)
    hold_clients(held, clients)
    hold_cost(held, over_tcp, measuring)
    hold_moves(held, movers, fallen)
    hold_page(held, over_tcp, movers, fallen)
    held.show()


def hold_machines(held, over_tcp):
    hosts = {host for host, _ in over_tcp}
    held.same("machines over TCP", len(hosts), lambda it: it["report"]["hosts_over_tcp"])
    held.same("their names, of `hosts`", hosts, lambda it: {row["host"] for row in it["hosts"]["rows"]})
    held.same(
        "their connections",
        {host: sum(it.connections for name, it in over_tcp if name == host) for host in hosts},
        lambda it: {row["host"]: row["connections"] for row in it["hosts"]["rows"]},
    )
    held.same("silent machines", 0, lambda it: it["report"]["silent"]["n"])
    rate = float(sum(it.requests_per_s for _, it in over_tcp))
    held.near("requests per second over TCP", rate, lambda it: it["report"]["tcp_requests_per_s"])


def hold_pairs(held, over_tcp):
    pairs = {(it.client, it.server) for _, it in over_tcp}
    said = lambda it: {(row["client"], row["server"]): row for row in it["pairs"]["rows"]}
    held.same("pairs", pairs, lambda it: set(said(it)))
    for pair in sorted(pairs):
        machines = [it for _, it in over_tcp if (it.client, it.server) == pair]
        name = " → ".join(pair)
        held.same(f"machines of {name}", len(machines), lambda it: said(it)[pair]["hosts"])
        held.same("  with a socket", len(machines), lambda it: said(it)[pair]["hosts_with_socket"])
        held.near("  requests per second", float(sum(it.requests_per_s for it in machines)), lambda it: said(it)[pair]["requests_per_s"])


def hold_clients(held, clients):
    """Each machine's own list, with those that are on the socket."""
    held.same(
        "clients, their ways and connections, of `host`",
        {(host, it.client, it.server, "loopback" if it.is_tcp else "unix", it.connections) for host, it in clients},
        lambda it: {
            (host, row["client"], row["server"], row["way"], row["connections"])
            for host, machines in it["machines"].items()
            for machine in machines
            for row in machine["findings"]
        },
    )
    held.same("machines of a name", {1}, lambda it: {len(machines) for machines in it["machines"].values()})
    held.same(
        "numbers of machines",
        len(held.truth),
        lambda it: len({machine["host_id"] for machines in it["machines"].values() for machine in machines}),
    )
    # The worst of all, as a factor.
    rates = {(host, it.client): it.requests_per_s for host, it in clients if it.is_tcp}

    def worst(it):
        seen = {(row["host"], row["client"]): row["requests_per_s"] for row in it["report"]["first"]["rows"]}
        return max((math.exp(abs(math.log(seen[key] / rate))) for key, rate in rates.items()), default=1.0)

    held.same("whom to move, of `report`", set(rates), lambda it: {(row["host"], row["client"]) for row in it["report"]["first"]["rows"]})
    held.hold("their rates: the factor that one is furthest off", 1.0, worst, lambda it: it <= FACTOR)


def hold_cost(held, over_tcp, measuring):
    # Only Redis is measured: no other kind has a cost.
    servers = {(host, it.server) for host, it in over_tcp if it.server == "redis"}
    measured = {(host, "redis") for host in measuring} & servers
    said = lambda it: {(host, row["server"]) for host, machines in it["machines"].items() for machine in machines for row in machine["measured"]}
    held.same("who measured what", {(host, "redis") for host in measuring}, said)
    held.same("servers that were measured", len(measured), lambda it: it["report"]["lost"]["n_measured"])
    held.same("servers that were not", len(servers - measured), lambda it: it["report"]["lost"]["n_predicted"])
    redis = lambda it: next(group["cpu_us"] for effects in it["report"]["effects"] if effects["condition"] == "server" for group in effects["groups"] if group["label"] == "redis")
    others = {it.server for _, it in over_tcp} - {"redis"}
    held.same("kinds that no machine measured", others, lambda it: {row["server"] for row in it["report"]["not_measured"]["rows"]})
    held.same("measurements of Redis that are pooled", len(measuring), lambda it: redis(it)["n"])
    rate = sum(it.requests_per_s for _, it in over_tcp if it.server == "redis")
    # What a request costs times how many there are.
    any_engine = next(iter(held.answers.values()))
    held.near("cores lost, by what Redis measured", redis(any_engine)["value"] * rate / 1e6, lambda it: it["report"]["lost"]["cores"]["value"])
    held.same("their interval is around that", True, is_around)


def is_around(answers):
    cores = answers["report"]["lost"]["cores"]
    return cores["lo"] < cores["value"] < cores["hi"]


def hold_moves(held, movers, fallen):
    key = lambda row: (row["host"], row["client"], row["direction"])
    held.same("movers", movers, lambda it: {key(row) for row in it["movers"]["movers"]["rows"]})
    held.same("fell back, of `movers`", fallen, lambda it: {(row["host"], row["client"]) for row in it["movers"]["fell_back"]["rows"]})
    held.same("fell back, of `report`", fallen, lambda it: {(row["host"], row["client"]) for row in it["report"]["fell_back"]["rows"]})
    held.same(
        "fell back, of `host`",
        fallen,
        lambda it: {
            (host, row["client"]) for host, machines in it["machines"].items() for machine in machines for row in machine["findings"] if row["fell_back"]
        },
    )


def hold_page(held, over_tcp, movers, fallen):
    n_over_tcp = len({host for host, _ in over_tcp})
    first = f"{len(held.truth)} machines, {n_over_tcp} of them with clients over TCP"
    held.same("page: its first sentence", "there", lambda it: "there" if first in it["page"].text else "not there")
    of_shops = lambda found: {(row[0], f"{row[1]} → redis") for row in found}
    for title, expected in (
        ("Where to begin", {(host, f"{it.client} → {it.server}") for host, it in over_tcp}),
        ("Transport changed since a week ago", of_shops(movers)),
        ("Fell back", of_shops(fallen)),
    ):
        held.same(f"page: {title}", expected, lambda it, title=title: it["page"].pairs(title))
    nobody = "No moved client uses TCP again"
    held.same("page: nobody fell back", not fallen, lambda it: nobody in it["page"].text)
