//! `fleet init` on PostgreSQL: one transaction per version, then the months' partitions.

use looptax_model::record::CollectorTables;

use super::super::scheme::{InitOptions, VERSION};
use super::ddl;
use super::session::{Session, in_transaction};
use crate::FleetError;
use crate::batch::TABLES;
use crate::column::Table;

/// Number of the advisory lock that a run holds while it makes tables. A second run waits for the lock. The number
/// itself is arbitrary: the letters `loop`.
const LOCK: u32 = 0x6c6f_6f70;
/// Partitions are made for the current month, for this number of months before it, and for this number of months after
/// it.
const MONTHS: u32 = 13;

/// Returns a FROM clause that selects the partitions of looptax's tables. The schema is needed because another
/// application may have tables with the same names.
fn own_partitions(schema: &str) -> String {
    let table = |name: &str| format!("to_regclass('{}.{name}')", schema.replace('\'', "''"));
    let (findings, reports) = (table("findings"), table("reports"));
    format!(
        "FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid JOIN pg_namespace s ON s.oid = c.relnamespace WHERE inhparent IN ({findings}, {reports})"
    )
}

/// Makes the missing objects; for each version either all objects or none.
pub(super) fn run(engine: &mut Session, options: &InitOptions) -> Result<CollectorTables, FleetError> {
    options.check()?;
    let mut lacks = Vec::new();
    if options.cluster.is_some() {
        lacks.push("--cluster is only for ClickHouse and was ignored".to_owned());
    }
    let encoding = engine.column("SHOW server_encoding")?.concat();
    if encoding != "UTF8" {
        return Err(engine.strange(format!(
            "the database has the encoding {encoding}, but names of programs need UTF8: make another database with \
             CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )));
    }
    let mut done = Vec::new();
    let from_version = in_transaction(engine, |engine| migrate(engine, &mut done))?;
    partitions(engine, options.keep_days, &mut done, &mut lacks)?;
    if let Some(days) = options.keep_days {
        forget(engine, days, &mut done)?;
    }
    Ok(CollectorTables {
        engine: format!("PostgreSQL {}", engine.connection.server_version()),
        from_version,
        version: VERSION,
        done,
        lacks,
    })
}

fn migrate(engine: &mut Session, done: &mut Vec<String>) -> Result<u32, FleetError> {
    engine.execute(&format!("SELECT pg_advisory_xact_lock({LOCK})"))?;
    let schema = engine.schema.clone();
    engine.execute(&ddl::migrations(&schema))?;
    let version = format!("SELECT coalesce(max(version), 0) FROM {schema}.{}", ddl::MIGRATIONS);
    let from_version = number(engine, &version)?;
    if from_version > VERSION {
        return Err(engine.strange(format!(
            "the collector's tables have version {from_version}, but this looptax supports only version {VERSION}"
        )));
    }
    if from_version < VERSION {
        for statement in ddl::tables_and_views(&schema) {
            engine.execute(&statement)?;
            done.push(name_of(&statement));
        }
        engine.execute(&ddl::reached(&schema))?;
    }
    Ok(from_version)
}

/// Makes a partition for each month from a year ago (or from the oldest month whose rows are kept) to a year ahead. If
/// a machine's clock is wrong by more than that, the machine's rows go to the partition for all other months.
fn partitions(
    engine: &mut Session,
    keep_days: Option<u32>,
    done: &mut Vec<String>,
    lacks: &mut Vec<String>,
) -> Result<(), FleetError> {
    let kept = match keep_days {
        Some(days) => format!(", now() AT TIME ZONE 'UTC' - interval '{days} days'"),
        None => String::new(),
    };
    let first = format!("greatest(now() AT TIME ZONE 'UTC' - interval '{MONTHS} months'{kept})");
    let months = format!(
        "SELECT to_char(m, 'YYYY_MM') || ' ' || to_char(m, 'YYYY-MM-DD') || ' ' || to_char(m + interval '1 month', 'YYYY-MM-DD') FROM generate_series(date_trunc('month', {first}), date_trunc('month', now() AT TIME ZONE 'UTC') + interval '{MONTHS} months', interval '1 month') m"
    );
    let own = own_partitions(&engine.schema);
    let there = engine.column(&format!("SELECT relname::text {own}"))?;
    let mut made = Vec::new();
    for month in engine.column(&months)? {
        let mut parts = month.split(' ');
        let (Some(ending), Some(from), Some(to)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(engine.strange("looptax cannot parse the collector's list of months".to_owned()));
        };
        for table in by_month() {
            let name = format!("{}_{ending}", table.name);
            if there.contains(&name) {
                continue;
            }
            match partition(engine, table, [ending, from, to]) {
                Ok(()) => made.push(name),
                Err(FleetError::Refused { what, .. }) => {
                    lacks.push(format!("cannot make the partition {name}: {what}"));
                }
                Err(error) => return Err(error),
            }
        }
    }
    if let (Some(first), Some(last)) = (made.first(), made.last()) {
        done.push(format!("{} partitions, {first} to {last}", made.len()));
    }
    Ok(())
}

fn by_month() -> impl Iterator<Item = &'static Table> {
    TABLES.into_iter().filter(|it| ddl::is_by_month(it))
}

/// Makes the partition of a month, given by the last part of its name, its first day, and the first day of the next
/// month. Rows of that month may already be in the partition for all other months; they are moved to the new partition.
fn partition(engine: &mut Session, table: &Table, month: [&str; 3]) -> Result<(), FleetError> {
    let schema = engine.schema.clone();
    match engine.execute(&ddl::partition(&schema, table, month)) {
        Err(FleetError::Refused { .. }) => {
            let moving = ddl::partition_with_rows(&schema, table, month);
            in_transaction(engine, |engine| { moving.iter() }.try_for_each(|it| engine.execute(it).map(drop)))
        }
        made => made.map(drop),
    }
}

/// Drops the partitions of months that ended more than `days` days ago. In tables without monthly partitions, deletes
/// the rows that arrived before that time.
fn forget(engine: &mut Session, days: u32, done: &mut Vec<String>) -> Result<(), FleetError> {
    let own = own_partitions(&engine.schema);
    let over = format!(
        "SELECT format('%I.%I', nspname, relname) {own} AND relname ~ '_[0-9]{{4}}_[0-9]{{2}}$' AND to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' < now() - interval '{days} days' ORDER BY relname"
    );
    for name in engine.column(&over)? {
        engine.execute(&format!("DROP TABLE {name}"))?;
        done.push(format!("rows of {name} deleted"));
    }
    let others = by_month().map(|it| format!("{}_other", it.name));
    let whole = { TABLES.into_iter() }.filter(|it| !ddl::is_by_month(it));
    let whole = whole.map(|it| it.name).chain(["newest"]).map(str::to_owned);
    for table in others.chain(whole) {
        let schema = &engine.schema;
        let n_gone =
            engine.execute(&format!("DELETE FROM {schema}.{table} WHERE received < now() - interval '{days} days'"))?;
        if n_gone > 0 {
            done.push(format!("{n_gone} rows of {table} deleted"));
        }
    }
    Ok(())
}

fn number(engine: &mut Session, sql: &str) -> Result<u32, FleetError> {
    let found = engine.column(sql)?.concat().parse();
    let strange = "the collector did not answer with the expected number";
    found.map_err(|_| engine.strange(strange.to_owned()))
}

/// Returns `table findings` for the statement that makes the table `findings`.
fn name_of(statement: &str) -> String {
    let words = statement.split_whitespace().skip(1);
    let mut words = words.filter(|it| !matches!(*it, "OR" | "REPLACE"));
    let kind = words.next().unwrap_or_default().to_lowercase();
    let name = words.next().unwrap_or_default();
    let name = name.rsplit('.').next().unwrap_or_default();
    format!("{kind} {}", name.trim_end_matches("()"))
}
