//! Makes the statements that turn a ClickHouse server into a collector, from the common description of the tables.

use super::super::destination::ClickHouseAt;
use super::super::scheme::{InitOptions, VERSION};
use super::super::template;
use super::abilities::Abilities;
use crate::batch::TABLES;
use crate::column::{Column, Kind, Table};
use crate::lines::{MOST_COUNT, MOST_NUMBER, MOST_ROWS};

const VIEWS: &str = include_str!("../../../sql/clickhouse/views.sql");
/// The table that records the version of the other tables.
pub(super) const MIGRATIONS: &str = "schema_migrations";
/// Maximum size of a text in bytes: 200 characters of up to four bytes.
const MOST_TEXT_BYTES: usize = 800;
/// The place where the tables are made, and the features that they use.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) database: &'a str,
    pub(super) cluster: Option<&'a str>,
    pub(super) keep_days: Option<u32>,
    pub(super) abilities: Abilities,
}

impl Site<'_> {
    /// Returns ` ON CLUSTER …`, which follows the name in a statement that makes an object; empty without a cluster.
    fn on(&self) -> String {
        self.cluster.map(|it| format!(" ON CLUSTER {it}")).unwrap_or_default()
    }

    pub(super) fn database(&self) -> String {
        format!("CREATE DATABASE IF NOT EXISTS {}{}", self.database, self.on())
    }

    pub(super) fn migrations(&self) -> String {
        format!(
            "CREATE TABLE IF NOT EXISTS {}.{MIGRATIONS}{}\n(\n    version UInt32,\n    applied DateTime DEFAULT now()\n)\nENGINE = {}\nORDER BY version",
            self.database,
            self.on(),
            self.engine(MIGRATIONS, ""),
        )
    }

    /// Version 1: returns the statements that make the tables and the views over them.
    pub(super) fn tables_and_views(&self) -> Vec<String> {
        let names = [("db", self.database), ("on", &self.on())];
        let mut all: Vec<String> = TABLES.iter().flat_map(|it| self.table(it)).collect();
        all.extend(template::statements(VIEWS, &names));
        all
    }

    /// Returns the statement that sets after how many days rows are deleted.
    pub(super) fn keep(&self, table: &Table, days: u32) -> String {
        format!("ALTER TABLE {}.{}{} MODIFY TTL {}", self.database, self.local(table.name), self.on(), ttl(days))
    }

    /// Returns the name of the table that holds the rows on each machine of a cluster; without a cluster, the name of
    /// the table itself.
    pub(super) fn local(&self, name: &str) -> String {
        match self.cluster {
            Some(_) => format!("{name}_local"),
            None => name.to_owned(),
        }
    }

    fn engine(&self, name: &str, version: &str) -> String {
        if self.cluster.is_none() {
            return format!("ReplacingMergeTree({version})");
        }
        let place = format!("'/clickhouse/tables/{{shard}}/{}/{name}'", self.database);
        let version = Some(version).filter(|it| !it.is_empty());
        let arguments: Vec<&str> = [&*place, "'{replica}'"].into_iter().chain(version).collect();
        format!("ReplicatedReplacingMergeTree({})", arguments.join(", "))
    }

    fn table(&self, table: &Table) -> Vec<String> {
        let columns = table.columns.iter().map(|it| self.column(it));
        let mut parts: Vec<String> = columns.collect();
        parts.push("received DateTime('UTC') DEFAULT now()".to_owned());
        // If a row is sent again, the row that arrived first is kept. Otherwise an old row would look new.
        parts.push("earliest UInt32 DEFAULT 4294967295 - toUInt32(received)".to_owned());
        if self.abilities.has_checks {
            parts.extend(checks(table));
        }
        let local = self.local(table.name);
        let keep = self.keep_days.filter(|_| self.abilities.has_ttl);
        let keep = keep.map(|days| format!("\nTTL {}", ttl(days))).unwrap_or_default();
        let made = format!(
            "CREATE TABLE IF NOT EXISTS {db}.{local}{on}\n(\n    {}\n)\nENGINE = {}\nPARTITION BY toYYYYMM(at)\nORDER BY ({}){keep}",
            parts.join(",\n    "),
            self.engine(&local, "earliest"),
            sorted_by(table),
            db = self.database,
            on = self.on(),
        );
        let over_all = self.cluster.map(|cluster| {
            format!(
                "CREATE TABLE IF NOT EXISTS {db}.{name}{on} AS {db}.{local}\nENGINE = Distributed({cluster}, {db}, {local}, cityHash64(host_id))",
                db = self.database,
                name = table.name,
                on = self.on(),
            )
        });
        std::iter::once(made).chain(over_all).collect()
    }

    fn column(&self, column: &Column) -> String {
        let kind = match column.kind {
            Kind::Word if self.abilities.has_low_cardinality => "LowCardinality(String)",
            Kind::Word | Kind::Text => "String",
            Kind::Count => "UInt64",
            Kind::Number => "Nullable(Float64)",
            Kind::Flag => "UInt8",
            Kind::Time => "DateTime('UTC')",
        };
        format!("{} {kind}", column.name)
    }
}

/// Returns the time at which a row is deleted. The days are counted from the row's arrival, because a machine's own
/// clock may be wrong by days.
fn ttl(days: u32) -> String {
    format!("received + toIntervalDay({days})")
}

/// Returns the columns by which rows are sorted and compared. The columns by which queries select rows come first, then
/// the table's key.
fn sorted_by(table: &Table) -> &'static str {
    match table.name {
        "findings" => "at, report_id, n",
        "verdicts" => "host_id, run_id, n",
        _ => "host_id, at, report_id",
    }
}

fn checks(table: &Table) -> Vec<String> {
    let texts = { table.columns.iter() }.filter(|it| matches!(it.kind, Kind::Word | Kind::Text));
    let texts: Vec<String> = texts.map(|it| format!("length({}) <= {MOST_TEXT_BYTES}", it.name)).collect();
    let numbers = table.columns.iter().filter_map(|it| match it.kind {
        Kind::Count if it.name == "n" => Some(format!("n < {MOST_ROWS}")),
        Kind::Count => Some(format!("{} <= {MOST_COUNT}", it.name)),
        // Absent numbers are allowed, as in PostgreSQL.
        Kind::Number => Some(format!("ifNull(abs({}) <= {MOST_NUMBER}, 1)", it.name)),
        _ => None,
    });
    let numbers: Vec<String> = numbers.collect();
    vec![
        format!("CONSTRAINT texts CHECK {}", texts.join(" AND ")),
        format!("CONSTRAINT numbers CHECK {}", numbers.join(" AND ")),
    ]
}

pub(in super::super) fn script(at: &ClickHouseAt, options: &InitOptions) -> String {
    let site = Site {
        database: &at.database,
        cluster: options.cluster.as_deref(),
        keep_days: options.keep_days,
        abilities: Abilities::NEW,
    };
    let mut all = vec![site.database(), site.migrations()];
    all.extend(site.tables_and_views());
    all.push(format!("INSERT INTO {}.{MIGRATIONS} (version) VALUES ({VERSION})", at.database));
    all.push(roles(&at.database));
    all.join(";\n\n")
}

fn roles(database: &str) -> String {
    let inserts: Vec<String> = { TABLES.iter() }
        .map(|it| {
            // The sender gets no right to set `received`. With this right, it could send a report with a date in the
            // future, which would stay the newest report forever.
            let columns: Vec<&str> = it.columns.iter().map(|it| it.name).collect();
            format!("-- GRANT INSERT({}) ON {database}.{} TO looptax_writer;\n", columns.join(", "), it.name)
        })
        .collect();
    format!(
        "-- The account that sends reports may only insert; the account that reads them may only read.\n\
         -- CREATE USER looptax_writer IDENTIFIED WITH sha256_password BY '…';\n\
         {}-- The quota limits what one IP address may send in a day; ClickHouse before version 22 does not count \
         bytes.\n\
         -- CREATE QUOTA looptax_writer KEYED BY ip_address FOR INTERVAL 1 day MAX query_inserts = 1000, \
         written_bytes = 1000000000 TO looptax_writer;\n\
         -- CREATE USER looptax_reader IDENTIFIED WITH sha256_password BY '…' SETTINGS readonly = 2;\n\
         -- GRANT SELECT ON {database}.* TO looptax_reader;\n",
        inserts.concat()
    )
}
