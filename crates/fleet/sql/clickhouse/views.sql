-- Views over the tables, with the same names and columns as in sql/postgres/views.sql.
-- The program replaces {db}, {on}, {reports}, {findings} and {verdicts}; a statement ends with a line `;`.
-- A machine from which nothing has arrived for a week is left out of all sums and lists, except the list of silent
-- machines.
-- The statements must mean the same for a server of 2018 and for a current one. So they have no window functions, one
-- join per SELECT, no nested
-- aliases, and no ANY JOIN, which formerly kept all rows of the left side and now keeps one row of each key.

-- The newest report is the one that arrived last, because a machine's own clock may be wrong by days.
CREATE VIEW IF NOT EXISTS {db}.latest_reports{on} AS
SELECT {reports}, received
FROM {db}.reports FINAL
WHERE (host_id, at, report_id) GLOBAL IN
(
    SELECT host_id, argMax(at, newness), argMax(report_id, newness)
    FROM
    (
        SELECT host_id, at, report_id, toUInt64(toUInt32(received)) * 4294967296 + toUInt32(at) AS newness
        FROM {db}.reports FINAL
    )
    GROUP BY host_id
)
;
CREATE VIEW IF NOT EXISTS {db}.latest_findings{on} AS
SELECT {findings}, received
FROM {db}.findings FINAL
WHERE (at, report_id) GLOBAL IN (SELECT at, report_id FROM {db}.latest_reports)
;
CREATE VIEW IF NOT EXISTS {db}.latest_verdicts{on} AS
SELECT {verdicts}, received
FROM {db}.verdicts FINAL
WHERE (host_id, report_id) GLOBAL IN (SELECT host_id, report_id FROM {db}.reports WHERE verdicts > 0)
ORDER BY received DESC, at DESC, started_at DESC, run_id DESC, n DESC
LIMIT 1 BY host_id, server, baseline, arm, workload, connections, placement, client_model
;
CREATE VIEW IF NOT EXISTS {db}.silent_hosts{on} AS
SELECT host_id, host, received, toUInt64(intDiv(toUInt32(now()) - toUInt32(received), 86400)) AS days
FROM {db}.latest_reports
WHERE toUInt32(received) + 172800 < toUInt32(now())
;
-- A machine that was renamed has no report with its old name after one with its new name, by its own clock.
CREATE VIEW IF NOT EXISTS {db}.shared_ids{on} AS
SELECT host_id, host, max(n_reports) AS reports, max(last_received) AS received
FROM
(
    SELECT
        host_id, host, min(at) AS first_at, max(at) AS last_at, count() AS n_reports, max(received) AS last_received
    FROM {db}.reports FINAL
    WHERE toUInt32(received) + 259200 > toUInt32(now())
    GROUP BY host_id, host
) AS one
ALL INNER JOIN
(
    SELECT host_id, host AS other, min(at) AS other_first, max(at) AS other_last
    FROM {db}.reports FINAL
    WHERE toUInt32(received) + 259200 > toUInt32(now())
    GROUP BY host_id, other
) AS two
USING host_id
WHERE host != other AND other_first < last_at AND first_at < other_last
GROUP BY host_id, host
;
CREATE VIEW IF NOT EXISTS {db}.pairs{on} AS
SELECT
    client, server, n_hosts AS hosts, n_connections AS connections,
    requests AS requests_per_s, tcp_requests AS tcp_requests_per_s,
    cpu AS cpu_ms_per_s, cpu_lo AS cpu_ms_per_s_lo, cpu_hi AS cpu_ms_per_s_hi,
    n_over_tcp AS hosts_over_tcp, n_with_socket AS hosts_with_socket
FROM
(
    SELECT
        client, server, uniqExact(host_id) AS n_hosts, sum(connections) AS n_connections,
        sum(requests_per_s) AS requests, sumIf(requests_per_s, is_tcp = 1) AS tcp_requests,
        sum(cpu_ms_per_s) AS cpu, sum(cpu_ms_per_s_lo) AS cpu_lo, sum(cpu_ms_per_s_hi) AS cpu_hi,
        uniqExactIf(host_id, is_tcp = 1) AS n_over_tcp, uniqExactIf(host_id, has_socket = 1) AS n_with_socket
    FROM {db}.latest_findings
    WHERE toUInt32(received) + 604800 > toUInt32(now())
    GROUP BY client, server
)
;
-- The earlier report with which a machine's newest report is compared: the newest of those at least a week older, or if
-- there is none, the machine's first.
CREATE VIEW IF NOT EXISTS {db}.earlier_reports{on} AS
SELECT
    host_id,
    if(n_old > 0, old_at, first_at) AS at,
    if(n_old > 0, old_report_id, first_report_id) AS report_id
FROM
(
    SELECT
        host_id,
        countIf(at + 604800 <= newest_at) AS n_old,
        argMaxIf(at, newness, at + 604800 <= newest_at) AS old_at,
        argMaxIf(report_id, newness, at + 604800 <= newest_at) AS old_report_id,
        argMin(at, newness) AS first_at,
        argMin(report_id, newness) AS first_report_id
    FROM
    (
        SELECT host_id, at, report_id, toUInt64(toUInt32(received)) * 4294967296 + toUInt32(at) AS newness
        FROM {db}.reports FINAL
    ) AS one
    ALL INNER JOIN
    (
        SELECT host_id, at AS newest_at FROM {db}.latest_reports
    ) AS other
    USING host_id
    GROUP BY host_id
)
;
-- Clients that looptax did not see are not the same client in two reports.
CREATE VIEW IF NOT EXISTS {db}.movers{on} AS
SELECT
    host_id, host, client, server,
    multiIf(tcp_before = 0, 'socket', tcp_before = 2, 'tcp', 'both') AS before,
    multiIf(tcp_now = 0, 'socket', tcp_now = 2, 'tcp', 'both') AS now,
    if(tcp_now < tcp_before, 'to socket', 'to tcp') AS direction,
    requests AS requests_per_s
FROM
(
    SELECT host_id, client, server, tcp_now, tcp_before, requests
    FROM
    (
        SELECT host_id, client, server, min(is_tcp) + max(is_tcp) AS tcp_now, sum(requests_per_s) AS requests
        FROM {db}.latest_findings
        WHERE toUInt32(received) + 604800 > toUInt32(now()) AND client != ''
        GROUP BY host_id, client, server
    ) AS one
    ALL INNER JOIN
    (
        SELECT host_id, client, server, min(is_tcp) + max(is_tcp) AS tcp_before
        FROM {db}.findings FINAL
        WHERE (at, report_id) GLOBAL IN (SELECT at, report_id FROM {db}.earlier_reports)
        GROUP BY host_id, client, server
    ) AS other
    USING host_id, client, server
    WHERE tcp_now != tcp_before
) AS one
ALL INNER JOIN
(
    SELECT host_id, host FROM {db}.latest_reports
) AS other
USING host_id
;
CREATE VIEW IF NOT EXISTS {db}.fell_back{on} AS
SELECT host_id, host, client, server, at, connections, requests_per_s
FROM
(
    SELECT host_id, client, server, at, connections, requests_per_s
    FROM {db}.latest_findings
    WHERE fell_back = 1 AND toUInt32(received) + 604800 > toUInt32(now())
) AS one
ALL INNER JOIN
(
    SELECT host_id, host FROM {db}.latest_reports
) AS other
USING host_id
;
CREATE VIEW IF NOT EXISTS {db}.conditions{on} AS
SELECT kernel, cpu_model, virtualised, count() AS hosts, sum(requests) AS tcp_requests_per_s
FROM
(
    SELECT host_id, kernel, cpu_model, virtualised FROM {db}.latest_reports
    WHERE toUInt32(received) + 604800 > toUInt32(now())
) AS one
ALL LEFT JOIN
(
    SELECT host_id, sumIf(requests_per_s, is_tcp = 1) AS requests FROM {db}.latest_findings GROUP BY host_id
) AS other
USING host_id
GROUP BY kernel, cpu_model, virtualised
;
CREATE VIEW IF NOT EXISTS {db}.payers{on} AS
SELECT
    host_id, host, client, server, n_connections AS connections, requests AS requests_per_s, with_socket AS has_socket,
    fell AS fell_back, seen AS at
FROM
(
    SELECT
        host_id, client, server, sum(connections) AS n_connections, sum(requests_per_s) AS requests,
        max(has_socket) AS with_socket, max(fell_back) AS fell, max(at) AS seen
    FROM {db}.latest_findings
    WHERE is_tcp = 1 AND toUInt32(received) + 604800 > toUInt32(now())
    GROUP BY host_id, client, server
) AS one
ALL INNER JOIN
(
    SELECT host_id, host FROM {db}.latest_reports
) AS other
USING host_id
;
CREATE VIEW IF NOT EXISTS {db}.measurements{on} AS
SELECT
    host_id, host, server, server_version, kernel, cpu_model, virtualised, cpu_us, cpu_us_lo, cpu_us_hi, alpha, epochs,
    received
FROM
(
    SELECT
        host_id, server, server_version, kernel, cpu_model, virtualised, cpu_us, cpu_us_lo, cpu_us_hi, alpha, epochs,
        received
    FROM {db}.verdicts FINAL
    WHERE baseline = 'unix' AND arm = 'tcp' AND verdict != 'invalid'
        -- A verdict without an interval tells less than an older verdict with an interval.
        AND isNotNull(cpu_us_lo) AND isNotNull(cpu_us_hi) AND epochs >= 6
        AND (host_id, report_id) GLOBAL IN (SELECT host_id, report_id FROM {db}.reports WHERE verdicts > 0)
    ORDER BY received DESC, at DESC, started_at DESC, run_id DESC, n DESC
    LIMIT 1 BY host_id, server
) AS one
ALL INNER JOIN
(
    SELECT host_id, host FROM {db}.latest_reports
) AS other
USING host_id
;
