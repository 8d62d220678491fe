//! A report: the rows of all tables that belong to one snapshot of a machine.

use looptax_model::record::{Found, Host, Record};

use crate::anonymous::Names;
use crate::column::{Row, Table};
use crate::sent::Sender;
use crate::sent::findings::{self, FINDINGS, FallenClient};
use crate::sent::reports::{self, Extent, REPORTS};
use crate::sent::verdicts::{self, VERDICTS};

pub const SCHEMA_VERSION: u32 = 1;

/// All tables, in the order in which a report's rows are sent. The table `reports` is last: if a report's row in it has
/// arrived, all other rows of this report have arrived too.
pub const TABLES: [&Table; 3] = [&FINDINGS, &VERDICTS, &REPORTS];

const MOST_VERDICTS: usize = 1_000;

/// The rows of a report, in one list for each of [`TABLES`].
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub report_id: String,
    pub rows: [Vec<Row>; 3],
}

/// The facts from which a report is made.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub name: &'a str,
    pub machine: &'a Host,
    /// The result of `find`.
    pub found: &'a Found,
    /// Clients that a switch had moved to a socket and that use TCP again.
    pub fallen: &'a [FallenClient],
    /// Records that have not been sent yet.
    pub records: &'a [Record],
}

impl Batch {
    pub fn new(sender: &Sender, seen: Seen<'_>, names: &Names) -> Self {
        let (findings, left_out) = findings::rows(sender, seen.found, seen.fallen, names);
        let verdicts = seen.records.iter().flat_map(|it| verdicts::rows(sender, it));
        let verdicts: Vec<Row> = verdicts.take(MOST_VERDICTS).collect();
        let extent = Extent { findings: findings.len(), verdicts: verdicts.len(), left_out };
        let name = names.shown(seen.name);
        let report = reports::row(sender, &name, seen.machine, seen.found, extent);
        Self { report_id: sender.report_id.clone(), rows: [findings, verdicts, vec![report]] }
    }

    pub fn tables(&self) -> impl Iterator<Item = (&'static Table, &[Row])> {
        TABLES.into_iter().zip(self.rows.iter().map(Vec::as_slice))
    }
}
