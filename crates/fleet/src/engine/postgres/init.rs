//! `fleet init` on a PostgreSQL: one transaction for a version, then the months' partitions.

use looptax_record::CollectorTables;

use super::super::scheme::{InitOptions, VERSION};
use super::ddl;
use super::session::Session;
use crate::FleetError;
use crate::batch::TABLES;

/// Held while tables are made, so that two at once do it one after the other. Any number that is ours: `loop`.
const LOCK: u32 = 0x6c6f_6f70;
/// Months that have a partition before and behind this one.
const MONTHS: u32 = 13;

/// Makes what is missing; all of a version or nothing of it.
pub(super) fn run(
    engine: &mut Session,
    options: &InitOptions,
) -> Result<CollectorTables, FleetError> {
    options.check()?;
    let mut lacks = Vec::new();
    if options.cluster.is_some() {
        lacks.push("--cluster is ClickHouse's, and means nothing here".to_owned());
    }
    let mut done = Vec::new();
    engine.execute("BEGIN")?;
    let migrated = migrate(engine, &mut done);
    let end = if migrated.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    let ended = engine.execute(end);
    let from_version = migrated?;
    ended?;
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
    engine.execute(&ddl::migrations())?;
    let version = format!("SELECT coalesce(max(version), 0) FROM {}", ddl::MIGRATIONS);
    let from_version = number(engine, &version)?;
    if from_version > VERSION {
        return Err(engine.strange(format!(
            "its tables are of version {from_version}, and this looptax knows {VERSION}"
        )));
    }
    if from_version < VERSION {
        let schema = engine.column("SELECT quote_ident(current_schema())")?;
        for statement in ddl::tables_and_views(&schema.concat()) {
            engine.execute(&statement)?;
            done.push(name_of(&statement));
        }
        engine.execute(&ddl::reached())?;
    }
    Ok(from_version)
}

/// A partition for each month from a year back, or from when rows go, to a year ahead. A machine whose clock is further off
/// has its rows in the partition for all others.
fn partitions(
    engine: &mut Session,
    keep_days: Option<u32>,
    done: &mut Vec<String>,
    lacks: &mut Vec<String>,
) -> Result<(), FleetError> {
    let first = match keep_days {
        Some(days) => format!("interval '{days} days'"),
        None => format!("interval '{MONTHS} months'"),
    };
    let months = format!(
        "SELECT to_char(m, 'YYYY_MM') || ' ' || to_char(m, 'YYYY-MM-DD') || ' ' || to_char(m + interval '1 month', 'YYYY-MM-DD') FROM generate_series(date_trunc('month', now() AT TIME ZONE 'UTC' - {first}), date_trunc('month', now() AT TIME ZONE 'UTC') + interval '{MONTHS} months', interval '1 month') m"
    );
    let there = engine.column("SELECT relname::text FROM pg_class WHERE relispartition")?;
    let mut made = Vec::new();
    for month in engine.column(&months)? {
        let mut parts = month.split(' ');
        let (Some(ending), Some(from), Some(to)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(engine.strange("it names no months".to_owned()));
        };
        for table in TABLES {
            let name = format!("{}_{ending}", table.name);
            if there.contains(&name) {
                continue;
            }
            match engine.execute(&ddl::partition(table, ending, from, to)) {
                Ok(_) => made.push(name),
                // Rows of that month are in the partition for all others already.
                Err(FleetError::Refused { what, .. }) => {
                    lacks.push(format!("no partition {name}: {what}"));
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

/// Months that are over for so many days go, and of the rest what arrived before.
fn forget(engine: &mut Session, days: u32, done: &mut Vec<String>) -> Result<(), FleetError> {
    let over = format!(
        "SELECT relname::text FROM pg_class WHERE relispartition AND relkind = 'r' AND relname ~ '^(findings|verdicts|reports)_[0-9]{{4}}_[0-9]{{2}}$' AND to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' < now() - interval '{days} days' ORDER BY relname"
    );
    for name in engine.column(&over)? {
        let is_ours = name
            .bytes()
            .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
        if is_ours {
            engine.execute(&format!("DROP TABLE {name}"))?;
            done.push(format!("rows of {name} are gone"));
        }
    }
    let others = TABLES.iter().map(|it| format!("{}_other", it.name));
    for table in others.chain(["newest".to_owned()]) {
        let n_gone = engine.execute(&format!(
            "DELETE FROM {table} WHERE received < now() - interval '{days} days'"
        ))?;
        if n_gone > 0 {
            done.push(format!("{n_gone} rows of {table} are gone"));
        }
    }
    Ok(())
}

fn number(engine: &mut Session, sql: &str) -> Result<u32, FleetError> {
    let found = engine.column(sql)?.concat().parse();
    let strange = "it answers no number where one was asked for";
    found.map_err(|_| engine.strange(strange.to_owned()))
}

/// `table findings` of the statement that makes it.
fn name_of(statement: &str) -> String {
    let words = statement.split_whitespace().skip(1);
    let mut words = words.filter(|it| !matches!(*it, "OR" | "REPLACE"));
    let kind = words.next().unwrap_or_default().to_lowercase();
    let name = words.next().unwrap_or_default();
    format!("{kind} {}", name.trim_end_matches("()"))
}
