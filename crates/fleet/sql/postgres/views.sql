-- Views over the tables, with the same names and columns as in sql/clickhouse/views.sql.
-- The program replaces {reports:r} and similar placeholders by lists of columns; a statement ends with a line `;`. The
-- statements run with a search path
-- on which only the server's own names are found, so every name of looptax has its schema before it.
-- A machine from which nothing has arrived for a week is left out of all sums and lists, except the list of silent
-- machines.
-- OFFSET 0 keeps the planner from merging a subquery that looks up one report at a time, by its key and in one
-- partition.

CREATE OR REPLACE VIEW {schema}.latest_reports AS
SELECT r.*
FROM {schema}.newest, LATERAL
(
    SELECT {reports:r}, r.received FROM {schema}.reports r
    WHERE r.report_id = newest.report_id AND r.at = newest.at
    OFFSET 0
) r
;
CREATE OR REPLACE VIEW {schema}.latest_findings AS
SELECT f.*
FROM {schema}.newest, LATERAL
(
    SELECT {findings:f}, f.received FROM {schema}.findings f
    WHERE f.report_id = newest.report_id AND f.at = newest.at
    OFFSET 0
) f
;
CREATE OR REPLACE VIEW {schema}.latest_verdicts AS
SELECT DISTINCT ON (host_id, server, baseline, arm, workload, connections, placement, client_model)
    {verdicts:v}, v.received
FROM {schema}.verdicts v
WHERE EXISTS (SELECT FROM {schema}.reports r WHERE r.report_id = v.report_id AND r.at = v.at)
ORDER BY host_id, server, baseline, arm, workload, connections, placement, client_model,
    received DESC, at DESC, started_at DESC, run_id DESC, n DESC
;
CREATE OR REPLACE VIEW {schema}.silent_hosts AS
SELECT host_id, host, received, floor(extract(epoch FROM now() - received) / 86400)::bigint AS days
FROM {schema}.latest_reports
WHERE received < now() - interval '2 days'
;
-- A machine that was renamed has no report with its old name after one with its new name, by its own clock.
CREATE OR REPLACE VIEW {schema}.shared_ids AS
WITH names AS
(
    SELECT host_id, host, min(at) AS first_at, max(at) AS last_at, count(*) AS reports, max(received) AS received
    FROM {schema}.reports
    WHERE received > now() - interval '3 days'
    GROUP BY host_id, host
)
SELECT host_id, host, reports, received
FROM names AS one
WHERE EXISTS
(
    SELECT FROM names AS other
    WHERE other.host_id = one.host_id AND other.host <> one.host
        AND other.first_at < one.last_at AND one.first_at < other.last_at
)
;
CREATE OR REPLACE VIEW {schema}.pairs AS
SELECT
    client, server, count(DISTINCT host_id) AS hosts, sum(connections)::bigint AS connections,
    sum(requests_per_s) AS requests_per_s, sum(requests_per_s) FILTER (WHERE is_tcp) AS tcp_requests_per_s,
    sum(cpu_ms_per_s) AS cpu_ms_per_s, sum(cpu_ms_per_s_lo) AS cpu_ms_per_s_lo, sum(cpu_ms_per_s_hi) AS cpu_ms_per_s_hi,
    count(DISTINCT host_id) FILTER (WHERE is_tcp) AS hosts_over_tcp,
    count(DISTINCT host_id) FILTER (WHERE has_socket) AS hosts_with_socket
FROM {schema}.latest_findings
WHERE received > now() - interval '7 days'
GROUP BY client, server
;
-- The earlier report with which a machine's newest report is compared: the newest of those at least a week older, or if
-- there is none, the machine's first.
CREATE OR REPLACE VIEW {schema}.earlier_reports AS
SELECT newest.host_id, coalesce(e.at, newest.first_at) AS at, coalesce(e.report_id, newest.first_report_id) AS report_id
FROM {schema}.newest LEFT JOIN LATERAL
(
    SELECT r.at, r.report_id FROM {schema}.reports r
    WHERE r.host_id = newest.host_id AND r.at <= newest.at - interval '7 days'
    ORDER BY r.received DESC, r.at DESC LIMIT 1
) e ON true
;
-- Clients that looptax did not see are not the same client in two reports.
CREATE OR REPLACE VIEW {schema}.movers AS
WITH later AS MATERIALIZED
(
    SELECT host_id, client, server, min(is_tcp::int) + max(is_tcp::int) AS tcp_now, sum(requests_per_s) AS requests_per_s
    FROM {schema}.latest_findings
    WHERE received > now() - interval '7 days' AND client <> ''
    GROUP BY host_id, client, server
),
earlier AS MATERIALIZED
(
    SELECT f.host_id, f.client, f.server, min(f.is_tcp::int) + max(f.is_tcp::int) AS tcp_before
    FROM {schema}.earlier_reports e, LATERAL
    (
        SELECT f.host_id, f.client, f.server, f.is_tcp FROM {schema}.findings f
        WHERE f.report_id = e.report_id AND f.at = e.at
        OFFSET 0
    ) f
    GROUP BY f.host_id, f.client, f.server
)
SELECT
    host_id, host, client, server,
    CASE tcp_before WHEN 0 THEN 'socket' WHEN 2 THEN 'tcp' ELSE 'both' END AS before,
    CASE tcp_now WHEN 0 THEN 'socket' WHEN 2 THEN 'tcp' ELSE 'both' END AS now,
    CASE WHEN tcp_now < tcp_before THEN 'to socket' ELSE 'to tcp' END AS direction,
    requests_per_s
FROM later JOIN earlier USING (host_id, client, server) JOIN {schema}.newest USING (host_id)
WHERE tcp_now <> tcp_before
;
CREATE OR REPLACE VIEW {schema}.fell_back AS
SELECT f.host_id, r.host, f.client, f.server, f.at, f.connections, f.requests_per_s
FROM {schema}.latest_findings f JOIN {schema}.newest r USING (host_id)
WHERE f.fell_back AND f.received > now() - interval '7 days'
;
-- MATERIALIZED: the sums are computed once, and not again for each machine.
CREATE OR REPLACE VIEW {schema}.conditions AS
WITH asked AS MATERIALIZED
(
    SELECT host_id, sum(requests_per_s) FILTER (WHERE is_tcp) AS requests FROM {schema}.latest_findings GROUP BY host_id
)
SELECT r.kernel, r.cpu_model, r.virtualised, count(*) AS hosts, sum(asked.requests) AS tcp_requests_per_s
FROM {schema}.latest_reports r LEFT JOIN asked USING (host_id)
WHERE r.received > now() - interval '7 days'
GROUP BY r.kernel, r.cpu_model, r.virtualised
;
CREATE OR REPLACE VIEW {schema}.payers AS
SELECT f.host_id, r.host, f.client, f.server, f.connections, f.requests_per_s, f.has_socket, f.fell_back, f.at
FROM
(
    SELECT
        host_id, client, server, sum(connections)::bigint AS connections, sum(requests_per_s) AS requests_per_s,
        bool_or(has_socket) AS has_socket, bool_or(fell_back) AS fell_back, max(at) AS at
    FROM {schema}.latest_findings
    WHERE is_tcp AND received > now() - interval '7 days'
    GROUP BY host_id, client, server
) f
JOIN {schema}.newest r USING (host_id)
;
CREATE OR REPLACE VIEW {schema}.measurements AS
SELECT
    v.host_id, r.host, v.server, v.server_version, v.kernel, v.cpu_model, v.virtualised, v.cpu_us, v.cpu_us_lo, v.cpu_us_hi,
    v.alpha, v.epochs, v.received
FROM
(
    SELECT DISTINCT ON (host_id, server) * FROM {schema}.verdicts v
    WHERE baseline = 'unix' AND arm = 'tcp' AND verdict <> 'invalid'
        -- A verdict without an interval tells less than an older verdict with an interval.
        AND cpu_us_lo IS NOT NULL AND cpu_us_hi IS NOT NULL AND epochs >= 6
        AND EXISTS (SELECT FROM {schema}.reports r WHERE r.report_id = v.report_id AND r.at = v.at)
    ORDER BY host_id, server, received DESC, at DESC, started_at DESC, run_id DESC, n DESC
) v
JOIN {schema}.newest r USING (host_id)
;
