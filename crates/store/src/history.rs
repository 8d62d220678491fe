//! The measurements made on this machine: an index of their records in SQLite.
//!
//! The records stay where they were saved, and the index can be rebuilt from them. Two runs may write to the index at
//! the same time, and a run that cannot write to the index loses no data.

use std::path::{Path, PathBuf};
use std::time::Duration;

use looptax_model::record::PastRun;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::StoreError;

/// The version of the tables. looptax does not change tables of a newer version.
const VERSION: i64 = 1;
/// How long a run waits while another run writes.
const PATIENCE: Duration = Duration::from_secs(5);
/// The runs in order of time, each with its summary as JSON.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS run (
        id TEXT PRIMARY KEY,
        started_at TEXT NOT NULL,
        summary TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS run_by_time ON run (started_at);
";

#[derive(Debug)]
pub struct History {
    path: PathBuf,
    connection: Connection,
}

impl History {
    /// Opens the history at `path`; creates the file and its folder if they are missing.
    ///
    /// # Errors
    /// [`StoreError::CreateFolder`], [`StoreError::History`], or [`StoreError::HistoryVersion`] if a newer looptax made
    /// the history.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            looptax_host::own::make_folder(folder)
                .map_err(|source| StoreError::CreateFolder { path: folder.to_owned(), source })?;
        }
        let failed = |source| StoreError::History { path: path.to_owned(), source };
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
        if found > VERSION {
            return Err(StoreError::HistoryVersion { path: path.to_owned(), found });
        }
        if found < VERSION {
            connection
                .execute_batch(&format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))
                .map_err(failed)?;
        }
        Ok(Self { path: path.to_owned(), connection })
    }

    /// Adds a run; replaces a run with the same name.
    ///
    /// # Errors
    /// [`StoreError::History`].
    pub fn add(&self, run: &PastRun) -> Result<(), StoreError> {
        let summary =
            serde_json::to_string(run).map_err(|source| StoreError::HistoryEntry { id: run.id.clone(), source })?;
        self.connection
            .execute(
                "INSERT OR REPLACE INTO run (id, started_at, summary) VALUES (?1, ?2, ?3)",
                params![run.id, run.started_at, summary],
            )
            .map_err(|source| self.failed(source))?;
        Ok(())
    }

    /// Returns the latest runs, the newest first, and the number of entries that were left out because they cannot be
    /// read.
    ///
    /// # Errors
    /// [`StoreError::History`].
    pub fn latest(&self, most: u32) -> Result<(Vec<PastRun>, usize), StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement =
                self.connection.prepare("SELECT summary FROM run ORDER BY started_at DESC, id DESC LIMIT ?1")?;
            let rows = statement.query_map([most], |row| row.get(0))?;
            rows.collect()
        };
        let summaries = read().map_err(|source| self.failed(source))?;
        let runs: Vec<PastRun> =
            summaries.iter().filter_map(|summary| serde_json::from_slice(summary.as_bytes()).ok()).collect();
        let n_unread = summaries.len() - runs.len();
        Ok((runs, n_unread))
    }

    /// Finds the run whose name begins with `start`. If there is none, finds the newest run with this label. For
    /// `last`, finds the newest run.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::SeveralRuns`], [`StoreError::History`],
    /// [`StoreError::HistoryEntry`].
    pub fn find(&self, start: &str) -> Result<PastRun, StoreError> {
        let (id, summary) = if start == "last" {
            let newest = "SELECT id, summary FROM run ORDER BY started_at DESC, id DESC LIMIT 1";
            let found = self.connection.query_row(newest, [], entry).optional();
            found.map_err(|source| self.failed(source))?
        } else {
            let named = self.beginning_with(start)?;
            named.map_or_else(|| self.labelled(start), |it| Ok(Some(it)))?
        }
        .ok_or_else(|| StoreError::NoSuchRun { id: start.to_owned() })?;
        serde_json::from_slice(summary.as_bytes()).map_err(|source| StoreError::HistoryEntry { id, source })
    }

    fn beginning_with(&self, start: &str) -> Result<Option<(String, String)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(String, String)>> {
            let mut statement =
                self.connection.prepare("SELECT id, summary FROM run WHERE substr(id, 1, length(?1)) = ?1 LIMIT 2")?;
            let rows = statement.query_map([start], entry)?;
            rows.collect()
        };
        let mut found = read().map_err(|source| self.failed(source))?;
        if found.len() > 1 && found.iter().all(|(id, _)| id != start) {
            return Err(StoreError::SeveralRuns { start: start.to_owned() });
        }
        found.sort_by_key(|(id, _)| id != start);
        Ok(found.into_iter().next())
    }

    fn labelled(&self, label: &str) -> Result<Option<(String, String)>, StoreError> {
        let newest = "SELECT id, summary FROM run WHERE json_valid(summary) AND summary ->> 'label' = ?1 \
                      ORDER BY started_at DESC, id DESC LIMIT 1";
        let found = self.connection.query_row(newest, [label], entry).optional();
        found.map_err(|source| self.failed(source))
    }

    /// Removes a run from the history. The record of the run stays.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::History`].
    pub fn forget(&self, id: &str) -> Result<(), StoreError> {
        let n_gone =
            self.connection.execute("DELETE FROM run WHERE id = ?1", [id]).map_err(|source| self.failed(source))?;
        if n_gone == 0 {
            return Err(StoreError::NoSuchRun { id: id.to_owned() });
        }
        Ok(())
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::History { path: self.path.clone(), source }
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<(String, String)> {
    Ok((row.get(0)?, row.get(1)?))
}
