//! The table of verdicts: each verdict of a machine's measurements, with the effect, its interval and the conditions.

use looptax_model::record::{Comparison, Estimate, Record, Tax};

use super::{Sender, count, ends_of, with_ends};
use crate::column::{Column, Kind, Row, Table, Value};
use crate::text::{known, text};

/// One row per verdict of a record.
pub const VERDICTS: Table = Table {
    name: "verdicts",
    doc: "The cost of arms compared with their baseline, from records of this machine.",
    key: &["host_id", "run_id", "n"],
    columns: &[
        Column { name: "report_id", kind: Kind::Text, doc: "The first report that contained the verdict." },
        Column { name: "host_id", kind: Kind::Text, doc: "The machine's number." },
        Column { name: "at", kind: Kind::Time, doc: "When the report was made, by the machine's own clock." },
        Column { name: "run_id", kind: Kind::Text, doc: "The record's own number." },
        Column { name: "n", kind: Kind::Count, doc: "The verdict's number within the record, from 0." },
        Column {
            name: "started_at",
            kind: Kind::Text,
            doc: "When the run began, by the machine's own clock, RFC 3339.",
        },
        Column {
            name: "method_version",
            kind: Kind::Count,
            doc: "Version of the method: the changelog has the changes of each version.",
        },
        Column {
            name: "server",
            kind: Kind::Word,
            doc: "Kind of the server: mariadb, postgres, redis, …; echo is looptax's own test server.",
        },
        Column { name: "server_version", kind: Kind::Word, doc: "The version as the server states it." },
        Column { name: "is_private", kind: Kind::Flag, doc: "Whether looptax started the server." },
        Column { name: "workload", kind: Kind::Word, doc: "The workload, such as point-select or get." },
        Column { name: "connections", kind: Kind::Count, doc: "Connections per arm." },
        Column { name: "placement", kind: Kind::Word, doc: "The cores on which the ends ran: same, split, free." },
        Column { name: "client_model", kind: Kind::Word, doc: "How the client waited: poll, block, event." },
        Column { name: "kernel", kind: Kind::Word, doc: "Kernel release and version." },
        Column { name: "cpu_model", kind: Kind::Word, doc: "CPU model." },
        Column {
            name: "virtualised",
            kind: Kind::Word,
            doc: "Whether the machine is virtual: yes, no, or empty if it does not report this.",
        },
        Column { name: "baseline", kind: Kind::Word, doc: "The arm that the other arm is compared with." },
        Column { name: "arm", kind: Kind::Word, doc: "The other arm." },
        Column {
            name: "verdict",
            kind: Kind::Word,
            doc: "difference, negligible, equivalent, inconclusive or invalid.",
        },
        Column {
            name: "theta",
            kind: Kind::Number,
            doc: "Natural logarithm of the baseline's throughput divided by the other arm's throughput.",
        },
        Column { name: "theta_lo", kind: Kind::Number, doc: "Lower end of the interval." },
        Column { name: "theta_hi", kind: Kind::Number, doc: "Upper end of the interval." },
        Column { name: "alpha", kind: Kind::Number, doc: "Two-sided level of the intervals." },
        Column { name: "epochs", kind: Kind::Count, doc: "Number of epochs that the verdict is computed from." },
        Column {
            name: "cpu_us",
            kind: Kind::Number,
            doc: "CPU time that the other arm adds to a request, client and server together, µs.",
        },
        Column { name: "cpu_us_lo", kind: Kind::Number, doc: "Lower end of the interval." },
        Column { name: "cpu_us_hi", kind: Kind::Number, doc: "Upper end of the interval." },
        Column {
            name: "is_disturbed",
            kind: Kind::Flag,
            doc: "Whether other programs used much of the machine all the time.",
        },
    ],
};

/// Returns the rows of a record, in the record's order.
pub fn rows(sender: &Sender, record: &Record) -> Vec<Row> {
    let all = record.comparisons.iter().filter(|it| it.remedy.is_none() && !it.is_of_program());
    let all = all.flat_map(|comparison| comparison.tax.iter().map(move |tax| (comparison, tax)));
    let rows = all.enumerate().map(|(n, it)| row(sender, record, n, it));
    rows.collect()
}

fn row(sender: &Sender, record: &Record, n: usize, (comparison, tax): (&Comparison, &Tax)) -> Row {
    let (machine, target) = (&record.host, &comparison.target);
    let virtualised = machine.hypervisor.map(|is_one| if is_one { "yes" } else { "no" });
    let mut row: Row = sender.values().into();
    row.extend([
        text(&record.id),
        count(n),
        text(&record.started_at),
        Value::Count(record.method_version.into()),
        text(&target.kind),
        text(&target.version),
        Value::Flag(target.private),
        text(&comparison.workload.name),
        Value::Count(comparison.connections.into()),
        text(&comparison.placement.asked.to_string()),
        text(&comparison.client.to_string()),
        text(&machine.kernel),
        known(machine.cpu_model.as_deref()),
        known(virtualised),
        text(&tax.baseline),
        text(&tax.arm),
        text(&tax.verdict.to_string()),
    ]);
    row.extend(theta(tax));
    row.extend([Value::Number(Some(tax.alpha).filter(|it| it.is_finite())), Value::Count(tax.n_epochs.into())]);
    row.extend(with_ends(Some(&tax.cpu_us.both)));
    row.push(Value::Flag(tax.disturbance.is_some_and(|it| it.is_throughout)));
    row
}

/// Returns θ and the ends of its interval; absent if the verdict is invalid.
fn theta(tax: &Tax) -> [Value; 3] {
    let known: Option<&Estimate> = tax.theta.known();
    ends_of(known.filter(|_| tax.verdict != looptax_model::record::Verdict::Invalid))
}
