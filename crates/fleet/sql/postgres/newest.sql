-- For each machine: its newest report, which is the one that arrived last (a machine's own clock may be wrong by days);
-- its first report; and its name in
-- the newest report. Updated by a trigger as reports arrive, with the rights of the tables' owner: the sender may only
-- insert into the three tables.

CREATE TABLE {schema}.newest (
    host_id text PRIMARY KEY,
    host text NOT NULL,
    report_id text NOT NULL,
    at timestamptz NOT NULL,
    received timestamptz NOT NULL,
    first_report_id text NOT NULL,
    first_at timestamptz NOT NULL
)
;
CREATE FUNCTION {schema}.looptax_newest() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO {schema}.newest AS known (host_id, host, report_id, at, received, first_report_id, first_at)
    SELECT latest.host_id, latest.host, latest.report_id, latest.at, latest.received, earliest.report_id, earliest.at
    FROM (SELECT DISTINCT ON (host_id) * FROM arrived ORDER BY host_id, received DESC, at DESC) latest
    JOIN (SELECT DISTINCT ON (host_id) * FROM arrived ORDER BY host_id, received, at) earliest USING (host_id)
    ORDER BY latest.host_id
    ON CONFLICT (host_id) DO UPDATE
    SET host = EXCLUDED.host, report_id = EXCLUDED.report_id, at = EXCLUDED.at, received = EXCLUDED.received
    WHERE (EXCLUDED.received, EXCLUDED.at) > (known.received, known.at);
    RETURN NULL;
END
$$
;
CREATE TRIGGER looptax_newest AFTER INSERT ON {schema}.reports
REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION {schema}.looptax_newest()
;
