#!/usr/bin/env python3
"""Prints the dashboard of an engine, as Grafana imports it.

usage: dashboards.py [--queries] postgresql|clickhouse
    --queries  prints each query of the dashboard on a line instead

Every panel but the last asks a view that `looptax fleet init` makes, so that the page, people and Grafana see the same numbers.
No view has reports of the past, which the last one counts by hour. The views have their windows built in: the time that is
chosen above a dashboard changes none of them.
"""

import json
import sys

ENGINES = {
    "postgresql": {
        "title": "looptax: a fleet, by PostgreSQL",
        "datasource": "grafana-postgresql-datasource",
        "target": {"editorMode": "code", "rawQuery": True, "format": "table"},
        "reports": "reports",
        "hour": "date_trunc('hour', received)",
        "week": "received > now() - interval '7 days'",
    },
    "clickhouse": {
        "title": "looptax: a fleet, by ClickHouse",
        "datasource": "grafana-clickhouse-datasource",
        "target": {"editorType": "sql", "queryType": "table", "format": 1, "pluginVersion": "4.0.0"},
        # A report that was sent again lies there twice, until the engine merges its parts.
        "reports": "reports FINAL",
        "hour": "toStartOfHour(received)",
        "week": "received > now() - toIntervalDay(7)",
    },
}
PAIR = "client, server, hosts, hosts_over_tcp, hosts_with_socket"

# Kind, title, what it says, query, width and height on a grid of 24, unit.
PANELS = [
    ("stat", "Machines that report", "The newest report of each counts.", "SELECT count(*) AS machines FROM latest_reports", 6, 4, "none"),
    ("stat", "Machines that are silent", "No report for two days.", "SELECT count(*) AS machines FROM silent_hosts", 6, 4, "none"),
    ("stat", "Cores that TCP costs", "An estimate: the sum over all pairs.", "SELECT coalesce(sum(cpu_ms_per_s), 0) / 1000.0 AS cores FROM pairs", 6, 4, "none"),
    ("stat", "Programs that fell back", "Moved to the socket once, and over TCP again.", "SELECT count(*) AS programs FROM fell_back", 6, 4, "none"),
    ("table", "Pairs worth moving first", "CPU time that TCP costs them, with its interval, over all machines.",
     f"SELECT {PAIR}, connections, tcp_requests_per_s, cpu_ms_per_s, cpu_ms_per_s_lo, cpu_ms_per_s_hi FROM pairs "
     "ORDER BY cpu_ms_per_s DESC NULLS LAST, tcp_requests_per_s DESC NULLS LAST, client, server LIMIT 20", 24, 10, "none"),
    ("table", "Fell back", "With the requests that they send over TCP now.",
     "SELECT host, client, server, at, connections, requests_per_s FROM fell_back ORDER BY requests_per_s DESC NULLS LAST, host LIMIT 100", 12, 8, "none"),
    ("table", "Moved since a week ago", "From the socket to TCP, and the other way round.",
     'SELECT host, client, server, before, "now", requests_per_s FROM movers ORDER BY requests_per_s DESC NULLS LAST, host LIMIT 100', 12, 8, "none"),
    ("table", "Silent machines", "Days since the last report.",
     "SELECT host, received, days FROM silent_hosts ORDER BY days DESC, host LIMIT 100", 12, 8, "none"),
    ("table", "Where requests over TCP are", "By kernel and processor.",
     "SELECT kernel, cpu_model, virtualised, hosts, tcp_requests_per_s FROM conditions ORDER BY tcp_requests_per_s DESC NULLS LAST LIMIT 50", 12, 8, "none"),
    ("table", "What was measured", "Throughput that an arm loses of its baseline's, averaged over machines without weights; `looptax fleet report` pools it.",
     "SELECT server, baseline, arm, workload, connections, placement, count(*) AS verdicts, 100 * (1 - exp(-avg(theta))) AS loss_pct FROM latest_verdicts "
     "WHERE verdict <> 'invalid' GROUP BY server, baseline, arm, workload, connections, placement ORDER BY verdicts DESC, server, arm LIMIT 50", 24, 8, "none"),
    ("timeseries", "Reports per hour", "By the collector's clock, within seven days.",
     "SELECT {hour} AS time, count(*) AS reports FROM {reports} WHERE {week} GROUP BY time ORDER BY time", 24, 6, "none"),
]


def panels(engine):
    """The panels of an engine, laid out from left to right."""
    x = y = row = 0
    for number, (kind, title, words, query, width, height, unit) in enumerate(PANELS, 1):
        if x + width > 24:
            x, y, row = 0, y + row, 0
        source = {"type": engine["datasource"], "uid": "${datasource}"}
        target = {"refId": "A", "datasource": source, "rawSql": query.format(**engine), **engine["target"]}
        if kind == "timeseries" and "queryType" in target:
            target.update(queryType="timeseries", format=0)
        elif kind == "timeseries":
            target["format"] = "time_series"
        yield {
            "id": number,
            "type": kind,
            "title": title,
            "description": words,
            "datasource": source,
            "gridPos": {"x": x, "y": y, "w": width, "h": height},
            "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
            "options": {"reduceOptions": {"calcs": ["lastNotNull"]}} if kind == "stat" else {},
            "targets": [target],
        }
        x, row = x + width, max(row, height)


def dashboard(name):
    engine = ENGINES[name]
    variable = {"name": "datasource", "label": "collector", "type": "datasource", "query": engine["datasource"]}
    return {
        "uid": f"looptax-{name}",
        "title": engine["title"],
        "tags": ["looptax"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "15m",
        "time": {"from": "now-7d", "to": "now"},
        "templating": {"list": [variable]},
        "panels": list(panels(engine)),
    }


def main(words):
    name = words[-1] if words else ""
    if name not in ENGINES or words[:-1] not in ([], ["--queries"]):
        sys.exit(__doc__)
    if words[0] == "--queries":
        for panel in dashboard(name)["panels"]:
            print(panel["targets"][0]["rawSql"])
    else:
        print(json.dumps(dashboard(name), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
