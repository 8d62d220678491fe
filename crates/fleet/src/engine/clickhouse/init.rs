//! `fleet init` on ClickHouse: makes missing objects; a second run changes nothing.

use looptax_model::record::CollectorTables;

use super::super::scheme::{InitOptions, VERSION};
use super::ddl::{MIGRATIONS, Site};
use super::server::{FEW_BYTES, Server};
use crate::FleetError;
use crate::batch::TABLES;

/// Makes the missing objects. Each statement does nothing if its object exists, so an interrupted run can be repeated.
pub(super) fn run(engine: &Server, options: &InitOptions) -> Result<CollectorTables, FleetError> {
    options.check()?;
    let abilities = engine.abilities();
    let site = Site {
        database: &engine.at.database,
        cluster: options.cluster.as_deref(),
        keep_days: options.keep_days,
        abilities,
    };
    let mut done = Vec::new();
    let database = &engine.at.database;
    if ask(engine, &format!("SELECT count() FROM system.databases WHERE name = '{database}'"))? == 0 {
        execute(engine, &site.database())?;
        done.push(format!("database {database}"));
    }
    execute(engine, &site.migrations())?;
    let from_version = version(engine)?;
    if from_version > VERSION {
        return Err(engine.http.strange(&format!(
            "the collector's tables have version {from_version}, but this looptax supports only version {VERSION}"
        )));
    }
    if from_version < VERSION {
        for statement in site.tables_and_views() {
            execute(engine, &statement)?;
            done.push(name_of(&statement));
        }
        execute(engine, &format!("INSERT INTO {database}.{MIGRATIONS} (version) VALUES ({VERSION})"))?;
    }
    if let Some(days) = options.keep_days.filter(|_| abilities.has_ttl) {
        keep(engine, &site, days, &mut done)?;
    }
    Ok(CollectorTables {
        engine: format!("ClickHouse {}", engine.version),
        from_version,
        version: VERSION,
        done,
        lacks: abilities.lacks(options.keep_days),
    })
}

fn keep(engine: &Server, site: &Site<'_>, days: u32, done: &mut Vec<String>) -> Result<(), FleetError> {
    for table in TABLES {
        let local = site.local(table.name);
        let as_wanted = format!(
            "SELECT count() FROM system.tables WHERE database = '{}' AND name = '{local}' AND position(create_table_query, 'TTL received + toIntervalDay({days})') > 0",
            site.database
        );
        if ask(engine, &as_wanted)? == 0 {
            execute(engine, &site.keep(table, days))?;
            done.push(format!("rows of {local} are deleted after {days} days"));
        }
    }
    Ok(())
}

fn version(engine: &Server) -> Result<u32, FleetError> {
    let sql = format!("SELECT max(version) FROM {}.{MIGRATIONS}", engine.at.database);
    ask(engine, &sql)
}

fn execute(engine: &Server, sql: &str) -> Result<(), FleetError> {
    engine.http.run(sql, &[], &[], FEW_BYTES).map(drop)
}

fn ask(engine: &Server, sql: &str) -> Result<u32, FleetError> {
    let answer = engine.http.run(sql, &[], &[], FEW_BYTES)?;
    let text = String::from_utf8_lossy(&answer);
    let number = text.trim().parse();
    number.map_err(|_| engine.http.strange("the collector did not answer with the expected number"))
}

/// Returns `table findings` for the statement that makes the table `findings`.
fn name_of(statement: &str) -> String {
    let words = statement.split_whitespace().skip(1);
    let mut words = words.filter(|it| !matches!(*it, "IF" | "NOT" | "EXISTS"));
    let kind = words.next().unwrap_or_default().to_lowercase();
    let name = words.next().unwrap_or_default();
    format!("{kind} {}", name.rsplit('.').next().unwrap_or(name))
}
