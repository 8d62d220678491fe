//! ClickHouse over its HTTP interface, from version 18.16 (the version in Debian) on.
//!
//! Features that a version lacks are not used, and `fleet init` reports them: see [`abilities`].

mod abilities;
mod ddl;
mod http;
mod init;
mod server;

use looptax_model::record::CollectorTables;

use self::server::{FEW_BYTES, Server};
use super::access::Access;
use super::destination::ClickHouseAt;
use super::question::Dialect;
use super::question::{Question, Rows};
use super::scheme::InitOptions;
use super::work::{Engine, groups};
use super::{cells, tsv};
use crate::FleetError;
use crate::batch::{Batch, TABLES};
use crate::column::{Column, Kind, Table};

pub(super) use ddl::script;

/// Maximum size of a reply to a query, in bytes. A million rows of the widest view would be some 400 MB, but no query
/// requests that many rows.
const MOST_BYTES: u64 = 256 << 20;

pub(super) struct ClickHouse {
    server: Server,
}

impl ClickHouse {
    /// # Errors
    /// The same as those of [`super::Collector::open`].
    pub(super) fn open(at: &ClickHouseAt, access: &Access) -> Result<Self, FleetError> {
        Server::open(at, access).map(|server| Self { server })
    }

    fn insert(&self, table: &Table, batches: &[Batch], table_idx: usize) -> Result<(), FleetError> {
        let rows: Vec<_> = batches.iter().flat_map(|it| &it.rows[table_idx]).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let columns: Vec<&str> = table.columns.iter().map(|it| it.name).collect();
        let sql = format!(
            "INSERT INTO {}.{} ({}) FORMAT TabSeparated",
            self.server.at.database,
            table.name,
            columns.join(", ")
        );
        let text = tsv::from_rows(rows.into_iter());
        let settings = self.server.abilities().insert_settings();
        let http = &self.server.http;
        http.run(&sql, settings, text.as_bytes(), FEW_BYTES)?;
        Ok(())
    }
}

impl Engine for ClickHouse {
    fn init(&mut self, options: &InitOptions) -> Result<CollectorTables, FleetError> {
        init::run(&self.server, options)
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
        let (columns, sql) = question.statement(&DIALECT, None)?;
        let database = [("database", &*self.server.at.database)];
        let sql = format!("{sql} FORMAT TabSeparated");
        let answer = self.server.http.run(&sql, &database, &[], MOST_BYTES)?;
        if !matches!(answer.last(), None | Some(b'\n')) {
            return Err(self.server.http.strange("the collector's answer ends in the middle of a row"));
        }
        let lines = answer.strip_suffix(b"\n").map(|all| all.split(|byte| *byte == b'\n'));
        let read = |line| cells::row(&columns, tsv::cells(line));
        let rows: Result<Vec<_>, String> = lines.into_iter().flatten().map(read).collect();
        let rows = rows.map_err(|what| self.server.http.strange(&what))?;
        let is_cut = rows.len() >= question.n_rows() as usize;
        Ok(Rows { columns, rows, is_cut })
    }
}

const DIALECT: Dialect = Dialect { cell, text: |digits| format!("unhex('{digits}')") };

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
