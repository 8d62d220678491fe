//! PostgreSQL from version 13 on, through the project's own client code.
//!
//! COPY writes reports into temporary tables of the session; an INSERT then copies the rows that are new into the
//! collector's tables. Therefore the sender needs the right to insert, but not the right to read. [`session`] checks
//! the identity of the server.

mod ddl;
mod init;
mod session;

use looptax_model::record::CollectorTables;

use self::session::{Session, in_transaction};
use super::access::Access;
use super::destination::PostgresAt;
use super::question::Dialect;
use super::question::{Question, Rows};
use super::scheme::InitOptions;
use super::work::{Engine, groups};
use super::{cells, tsv};
use crate::FleetError;
use crate::batch::{Batch, TABLES};
use crate::column::{Column, Kind, Table};

pub(super) use ddl::script;

/// Number of rows of a result that are fetched together. With the longest rows that a view has, these are some 40 MB,
/// which is within the limit of a reply.
const ROWS_AT_ONCE: usize = 10_000;

pub(super) struct Postgres {
    session: Session,
}

impl Postgres {
    /// # Errors
    /// The same as those of [`super::Collector::open`].
    pub(super) fn open(at: &PostgresAt, access: &Access) -> Result<Self, FleetError> {
        let mut session = Session::open(at, access)?;
        // JIT is off because compiling a plan for each month's partition takes longer than running the views. The
        // planner optimizes for the whole result, because looptax fetches all rows of a result, in several pieces.
        session
            .execute("SET TimeZone TO 'UTC'; SET jit TO off; SET work_mem TO '64MB'; SET cursor_tuple_fraction TO 1")?;
        Ok(Self { session })
    }

    /// Sends a group of reports; the collector stores either the whole group or nothing.
    fn send_group(&mut self, batches: &[Batch]) -> Result<(), FleetError> {
        in_transaction(&mut self.session, |session| {
            let mut tables = TABLES.into_iter().enumerate();
            tables.try_for_each(|(idx, table)| insert(session, table, batches, idx))
        })
    }
}

fn insert(session: &mut Session, table: &Table, batches: &[Batch], idx: usize) -> Result<(), FleetError> {
    let rows = batches.iter().flat_map(|it| &it.rows[idx]);
    let text = tsv::from_rows(rows);
    if text.is_empty() {
        return Ok(());
    }
    session.execute(&ddl::incoming(table))?;
    let copy = format!("COPY pg_temp.incoming_{} FROM STDIN", table.name);
    let copied = session.connection.copy_in(&copy, text.as_bytes());
    copied.map_err(|error| session.failed(&error))?;
    let columns: Vec<&str> = table.columns.iter().map(|it| it.name).collect();
    let columns = columns.join(", ");
    let schema = &session.schema;
    session.execute(&format!(
        "INSERT INTO {schema}.{name} ({columns}) SELECT {columns} FROM pg_temp.incoming_{name} ON CONFLICT DO NOTHING",
        name = table.name,
    ))?;
    Ok(())
}

impl Engine for Postgres {
    fn init(&mut self, options: &InitOptions) -> Result<CollectorTables, FleetError> {
        init::run(&mut self.session, options)
    }

    fn send(&mut self, batches: &[Batch]) -> Result<(), FleetError> {
        groups(batches).try_for_each(|group| self.send_group(group))
    }

    fn ask(&mut self, question: &Question<'_>) -> Result<Rows, FleetError> {
        let (columns, sql) = question.statement(&DIALECT, Some(&self.session.schema))?;
        let mut rows = Vec::new();
        in_transaction(&mut self.session, |session| {
            session.execute(&format!("DECLARE asked NO SCROLL CURSOR FOR {sql}"))?;
            loop {
                let found = session.connection.query(&format!("FETCH {ROWS_AT_ONCE} FROM asked"));
                let found = found.map_err(|error| session.failed(&error))?;
                let n_found = found.len();
                for row in found {
                    let row = cells::row(&columns, row.into_iter());
                    rows.push(row.map_err(|what| session.strange(what))?);
                }
                if n_found < ROWS_AT_ONCE {
                    return Ok(());
                }
            }
        })?;
        let is_cut = rows.len() >= question.n_rows() as usize;
        Ok(Rows { columns, rows, is_cut })
    }
}

const DIALECT: Dialect = Dialect { cell, text: |digits| format!("convert_from(decode('{digits}', 'hex'), 'UTF8')") };

fn cell(column: &Column) -> String {
    let name = column.name;
    match column.kind {
        Kind::Word | Kind::Text | Kind::Count | Kind::Number => name.to_owned(),
        Kind::Flag => format!("{name}::int"),
        Kind::Time => format!("floor(extract(epoch FROM {name}))::bigint"),
    }
}
