//! ClickHouse over its HTTP interface, from 18.16 (Debian's) on.
//!
//! What a version cannot do is left out and said by `fleet init`: see [`abilities`].

mod abilities;
mod ddl;
mod http;
mod init;

use looptax_record::CollectorTables;

use self::abilities::Abilities;
use self::http::Http;
use super::destination::ClickHouseAt;
use super::question::Dialect;
use super::{Access, Engine, InitOptions, Question, Rows, cells, groups, tsv};
use crate::FleetError;
use crate::batch::{Batch, TABLES};
use crate::column::{Column, Kind, Table};

pub(super) use ddl::script;

/// Most bytes of an answer to a question: a million rows of the widest view are some 400 MB, and nobody asks for that.
const MOST_BYTES: u64 = 256 << 20;
/// Most bytes of any other answer.
const FEW_BYTES: u64 = 64 << 10;

/// A ClickHouse.
pub(super) struct ClickHouse {
    http: Http,
    at: ClickHouseAt,
    version: String,
}

impl ClickHouse {
    /// # Errors
    /// As [`super::Collector::open`].
    pub(super) fn open(at: &ClickHouseAt, access: &Access) -> Result<Self, FleetError> {
        let http = Http::new(at, access)?;
        let answer = http.run("SELECT version()", &[], &[], FEW_BYTES)?;
        let version = String::from_utf8_lossy(&answer).trim().to_owned();
        let is_one = version.starts_with(|it: char| it.is_ascii_digit()) && version.len() < 64;
        if !is_one {
            return Err(http.strange("it states no version of ClickHouse"));
        }
        Ok(Self {
            http,
            at: at.clone(),
            version: crate::text::cleaned(&version),
        })
    }

    fn abilities(&self) -> Abilities {
        Abilities::of_version(&self.version)
    }

    fn insert(&self, table: &Table, batches: &[Batch], table_idx: usize) -> Result<(), FleetError> {
        let rows: Vec<_> = batches.iter().flat_map(|it| &it.rows[table_idx]).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let columns: Vec<&str> = table.columns.iter().map(|it| it.name).collect();
        let sql = format!(
            "INSERT INTO {}.{} ({}) FORMAT TabSeparated",
            self.at.database,
            table.name,
            columns.join(", ")
        );
        let text = tsv::from_rows(rows.into_iter());
        let settings = self.abilities().insert_settings();
        self.http.run(&sql, settings, text.as_bytes(), FEW_BYTES)?;
        Ok(())
    }
}

impl Engine for ClickHouse {
    fn init(&mut self, options: &InitOptions) -> Result<CollectorTables, FleetError> {
        init::run(self, options)
    }

    fn send(&mut self, batches: &[Batch]) -> Result<(), FleetError> {
        for group in groups(batches) {
            for (table_idx, table) in TABLES.into_iter().enumerate() {
                self.insert(table, group, table_idx)?;
            }
        }
        Ok(())
    }

    fn ask(&mut self, question: &Question<'_>) -> Result<Rows, FleetError> {
        let (columns, sql) = question.statement(&DIALECT)?;
        let database = [("database", &*self.at.database)];
        let sql = format!("{sql} FORMAT TabSeparated");
        let answer = self.http.run(&sql, &database, &[], MOST_BYTES)?;
        if !matches!(answer.last(), None | Some(b'\n')) {
            return Err(self.http.strange("its answer ends within a row"));
        }
        let lines = answer
            .strip_suffix(b"\n")
            .map(|all| all.split(|byte| *byte == b'\n'));
        let read = |line| cells::row(&columns, tsv::cells(line));
        let rows: Result<Vec<_>, String> = lines.into_iter().flatten().map(read).collect();
        let rows = rows.map_err(|what| self.http.strange(&what))?;
        let is_cut = rows.len() >= question.n_rows() as usize;
        Ok(Rows {
            columns,
            rows,
            is_cut,
        })
    }
}

const DIALECT: Dialect = Dialect {
    cell,
    text: |digits| format!("unhex('{digits}')"),
};

fn cell(column: &Column) -> String {
    let name = column.name;
    match column.kind {
        Kind::Word | Kind::Text => format!("toString({name})"),
        Kind::Count => format!("toUInt64({name})"),
        Kind::Number => name.to_owned(),
        Kind::Flag => format!("toUInt8({name})"),
        Kind::Time => format!("toUInt32({name})"),
    }
}
