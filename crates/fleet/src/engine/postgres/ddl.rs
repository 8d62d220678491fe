//! Makes the statements that turn a PostgreSQL database into a collector, from the common description of the tables.

use looptax_wire::postgres::OWN_NAMES;

use super::super::scheme::VERSION;
use super::super::template;
use crate::batch::TABLES;
use crate::column::{Column, Kind, Table};
use crate::lines::{MOST_COUNT, MOST_NUMBER, MOST_ROWS};
use crate::text::MOST_CHARS;

const VIEWS: &str = include_str!("../../../sql/postgres/views.sql");
/// The statements for the table that lists the newest report of each machine.
const NEWEST: &str = include_str!("../../../sql/postgres/newest.sql");
/// The table that records the version of the other tables.
pub(super) const MIGRATIONS: &str = "schema_migrations";
pub(super) fn migrations(schema: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {schema}.{MIGRATIONS} (\n    version integer PRIMARY KEY,\n    applied timestamptz NOT NULL DEFAULT now()\n)"
    )
}

/// Returns the statement that saves the current version as the version of the tables.
pub(super) fn reached(schema: &str) -> String {
    format!("INSERT INTO {schema}.{MIGRATIONS} (version) VALUES ({VERSION})")
}

/// Version 1: returns the statements that make the tables and the views over them, in the schema `schema`, which is
/// quoted.
pub(super) fn tables_and_views(schema: &str) -> Vec<String> {
    let mut all: Vec<String> = TABLES.iter().flat_map(|it| made(it, schema)).collect();
    let names = [("schema", schema)];
    all.extend(template::statements(NEWEST, &names));
    all.extend(template::statements(VIEWS, &names));
    all
}

/// Returns the statement that makes a temporary table of the session, into which reports are copied.
pub(super) fn incoming(table: &Table) -> String {
    let columns: Vec<String> = table.columns.iter().map(plain).collect();
    format!("CREATE TEMP TABLE incoming_{} ({}) ON COMMIT DROP", table.name, columns.join(", "))
}

/// Returns the statement that makes a month's partition. The array contains the last part of the partition's name
/// (`2026_11`), the month's first day, and the first day of the next month.
pub(super) fn partition(schema: &str, table: &Table, [ending, from, to]: [&str; 3]) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {schema}.{name}_{ending} PARTITION OF {schema}.{name} FOR VALUES FROM ('{from} 00:00:00+00') TO ('{to} 00:00:00+00')",
        name = table.name,
    )
}

/// Returns the statements that make a month's partition if rows of that month are already stored in the partition for
/// all other months. The statements move these rows to the new partition. They run in a transaction.
pub(super) fn partition_with_rows(schema: &str, table: &Table, month: [&str; 3]) -> [String; 5] {
    let name = table.name;
    let [ending, from, to] = month;
    let of_month = format!("at >= '{from} 00:00:00+00' AND at < '{to} 00:00:00+00'");
    [
        // Locks the table before any partition, in the same order as an INSERT.
        format!("LOCK TABLE {schema}.{name} IN ACCESS EXCLUSIVE MODE"),
        format!("CREATE TEMP TABLE moving ON COMMIT DROP AS SELECT * FROM {schema}.{name}_other WHERE {of_month}"),
        format!("DELETE FROM {schema}.{name}_other WHERE {of_month}"),
        partition(schema, table, month),
        // The rows are inserted into the partition and not into the table, because the table's trigger is only for
        // reports that arrive.
        format!("INSERT INTO {schema}.{name}_{ending} SELECT * FROM pg_temp.moving"),
    ]
}

fn made(table: &Table, schema: &str) -> Vec<String> {
    let mut parts: Vec<String> = table.columns.iter().map(checked).collect();
    parts.push("received timestamptz NOT NULL DEFAULT now()".to_owned());
    let (name, key) = (table.name, table.key.join(", "));
    if !is_by_month(table) {
        parts.push(format!("PRIMARY KEY ({key})"));
        return vec![
            format!("CREATE TABLE {schema}.{name} (\n    {}\n)", parts.join(",\n    ")),
            format!("CREATE INDEX {name}_of_report ON {schema}.{name} (report_id)"),
        ];
    }
    parts.push(format!("PRIMARY KEY ({key}, at)"));
    let mut all = vec![
        format!("CREATE TABLE {schema}.{name} (\n    {}\n) PARTITION BY RANGE (at)", parts.join(",\n    ")),
        // The partition for rows of all other months, from machines whose clocks are wrong by years.
        format!("CREATE TABLE {schema}.{name}_other PARTITION OF {schema}.{name} DEFAULT"),
    ];
    if name == "reports" {
        all.push(format!("CREATE INDEX reports_of_host ON {schema}.reports (host_id, received, at)"));
    }
    all
}

/// Whether a table has a partition for each month. The table of verdicts is not partitioned: there are few verdicts,
/// and the same verdict may arrive with two reports. The table's key therefore does not contain the report's time,
/// which the key of a table partitioned by time must contain.
pub(super) fn is_by_month(table: &Table) -> bool {
    table.name != "verdicts"
}

fn plain(column: &Column) -> String {
    let kind = match column.kind {
        Kind::Word | Kind::Text => "text NOT NULL",
        Kind::Count => "bigint NOT NULL",
        Kind::Number => "double precision",
        Kind::Flag => "boolean NOT NULL",
        Kind::Time => "timestamptz NOT NULL",
    };
    format!("{} {kind}", column.name)
}

fn checked(column: &Column) -> String {
    let (name, plain) = (column.name, plain(column));
    match column.kind {
        Kind::Word | Kind::Text => format!("{plain} CHECK (length({name}) <= {MOST_CHARS})"),
        Kind::Count if name == "n" => format!("{plain} CHECK (n >= 0 AND n < {MOST_ROWS})"),
        Kind::Count => format!("{plain} CHECK ({name} BETWEEN 0 AND {MOST_COUNT})"),
        // PostgreSQL treats NaN as larger than any number, so this check refuses it.
        Kind::Number => format!("{plain} CHECK (abs({name}) <= {MOST_NUMBER})"),
        Kind::Flag | Kind::Time => plain,
    }
}

/// Returns all statements, except those for the months' partitions; the statements for the roles are comments.
pub(in super::super) fn script() -> String {
    const SCHEMA: &str = "public";
    let mut all = vec![format!(
        "-- A name without a schema refers to the server's own object, even if another account made an object of the \
         same name.\n{}",
        own_names()
    )];
    all.push(migrations(SCHEMA));
    all.extend(tables_and_views(SCHEMA));
    all.push(reached(SCHEMA));
    all.push(format!(
        "-- `looptax fleet init` also makes a partition for each month of the past year and of the next year. Run \
         `looptax fleet init` once a year.\n\n{}",
        roles()
    ));
    all.join(";\n\n")
}

/// Returns the statement after which names in the session refer only to the server's own objects.
pub(super) fn own_names() -> String {
    format!("SET search_path = {OWN_NAMES}")
}

fn roles() -> String {
    let grants = TABLES.iter().map(|it| {
        // The sender gets no right to set `received`. With this right, it could send a report with a date in the
        // future, which would stay the newest report forever.
        let columns: Vec<&str> = it.columns.iter().map(|it| it.name).collect();
        format!("-- GRANT INSERT ({}) ON public.{} TO looptax_writer;\n", columns.join(", "), it.name)
    });
    format!(
        "-- Before PostgreSQL 15 every account may make tables and functions in the schema public. Other accounts may \
         then use them by mistake in place of the server's own.\n\
         -- REVOKE CREATE ON SCHEMA public FROM PUBLIC;\n\
         -- The account that sends reports may only insert; the account that reads them may only read.\n\
         -- CREATE ROLE looptax_writer LOGIN PASSWORD '…';\n\
         {}-- GRANT TEMPORARY ON DATABASE looptax TO looptax_writer;\n\
         -- ALTER ROLE looptax_writer SET statement_timeout = '2min';\n\
         -- CREATE ROLE looptax_reader LOGIN PASSWORD '…';\n\
         -- GRANT SELECT ON ALL TABLES IN SCHEMA public TO looptax_reader;\n",
        grants.collect::<String>()
    )
}
