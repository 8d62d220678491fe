//! The table of reports: which machine reports, and its properties at that time.

use looptax_model::record::{Found, Host};

use super::{Sender, count};
use crate::column::{Column, Kind, Row, Table, Value};
use crate::text::{known, text};

/// One row per report: the machine at the time of the report.
pub const REPORTS: Table = Table {
    name: "reports",
    doc: "One row for each report: the machine, its properties and the time.",
    key: &["report_id"],
    columns: &[
        Column { name: "report_id", kind: Kind::Text, doc: "The report's own number." },
        Column {
            name: "host_id",
            kind: Kind::Text,
            doc: "The machine's number: a keyed hash of /etc/machine-id. A new name of the machine does not change \
                this number.",
        },
        Column { name: "at", kind: Kind::Time, doc: "When looptax inspected the machine, by the machine's clock." },
        Column { name: "host", kind: Kind::Text, doc: "The machine's name; hashed with --anonymous." },
        Column { name: "looptax", kind: Kind::Word, doc: "Version of looptax that made the report." },
        Column { name: "kernel", kind: Kind::Word, doc: "Kernel release and version." },
        Column { name: "arch", kind: Kind::Word, doc: "Machine architecture, as uname -m." },
        Column { name: "cpu_model", kind: Kind::Word, doc: "CPU model." },
        Column { name: "cpus", kind: Kind::Count, doc: "CPUs that looptax may use." },
        Column {
            name: "virtualised",
            kind: Kind::Word,
            doc: "Whether the machine is virtual: yes, no, or empty if it does not report this.",
        },
        Column {
            name: "sees_all",
            kind: Kind::Flag,
            doc: "Whether looptax could inspect every process, network namespace and connection; otherwise clients may \
                  be missing.",
        },
        Column {
            name: "rates_over_s",
            kind: Kind::Number,
            doc: "Seconds between the two snapshots that the rates come from.",
        },
        Column { name: "servers", kind: Kind::Count, doc: "Number of running servers." },
        Column { name: "findings", kind: Kind::Count, doc: "Number of findings in this report." },
        Column { name: "verdicts", kind: Kind::Count, doc: "Number of verdicts in this report." },
        Column {
            name: "left_out",
            kind: Kind::Count,
            doc: "Number of findings that the report leaves out because it reached its limit: the findings with the \
                fewest requests.",
        },
    ],
};

/// The number of rows that belong to the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub findings: usize,
    pub verdicts: usize,
    pub left_out: usize,
}

/// Makes the row of the report. `name` is the machine's name in the form in which it may be sent.
pub fn row(sender: &Sender, name: &str, machine: &Host, found: &Found, extent: Extent) -> Row {
    let virtualised = match machine.hypervisor {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    let mut row: Row = sender.values().into();
    row.extend([
        text(name),
        text(&found.looptax_version),
        text(&machine.kernel),
        known(machine.arch.as_deref()),
        known(machine.cpu_model.as_deref()),
        Value::Count(machine.cpus.into()),
        text(virtualised),
        Value::Flag(found.unseen().is_empty()),
        Value::Number(found.rates_over_s.filter(|it| it.is_finite())),
        count(found.servers.len()),
        count(extent.findings),
        count(extent.verdicts),
        count(extent.left_out),
    ]);
    row
}
