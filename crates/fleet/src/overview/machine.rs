//! One machine of a fleet, found by its name or number.

use looptax_model::record::{FleetFinding, FleetMachine, FleetMeasured};

use super::answers::{MEASURED, measured};
use super::cells::{Cells, listed};
use super::saved::saved;
use crate::FleetError;
use crate::engine::{Collector, Only, Order, Question};

/// Maximum number of machines that are shown for one name.
const MOST_MACHINES: u32 = 20;

const REPORT: [&str; 9] = ["host", "host_id", "at", "received", "looptax", "kernel", "cpu_model", "cpus", "sees_all"];
const FINDING: [&str; 8] =
    ["client", "client_user", "server", "way", "connections", "requests_per_s", "has_socket", "fell_back"];

/// Returns the machines with this name. Several machines that were made from the same image may have the same name. If
/// no machine has this name, returns the machine with this number.
///
/// # Errors
/// The same as those of [`Collector::ask`].
pub fn machines(collector: &mut Collector, name: &str) -> Result<Vec<FleetMachine>, FleetError> {
    let mut machines = with(collector, "host", name)?;
    if machines.is_empty() {
        machines = with(collector, "host_id", name)?;
    }
    for it in &mut machines {
        it.findings = findings(collector, &it.host_id)?;
        it.measured = measurements(collector, &it.host_id)?;
    }
    Ok(machines)
}

fn with(collector: &mut Collector, column: &str, is: &str) -> Result<Vec<FleetMachine>, FleetError> {
    let found = collector.ask(&Question {
        view: "latest_reports",
        columns: &REPORT,
        only: Some(Only { column, is }),
        order: &[Order::Down("received")],
        limit: MOST_MACHINES,
    })?;
    Ok(listed(found, machine).rows)
}

fn findings(collector: &mut Collector, host_id: &str) -> Result<Vec<FleetFinding>, FleetError> {
    let found = collector.ask(&Question {
        view: "latest_findings",
        columns: &FINDING,
        only: Some(of_machine(host_id)),
        order: &[Order::Down("requests_per_s")],
        limit: 0,
    })?;
    Ok(listed(found, finding).rows)
}

fn measurements(collector: &mut Collector, host_id: &str) -> Result<Vec<FleetMeasured>, FleetError> {
    let found = collector.ask(&Question {
        view: "measurements",
        columns: &MEASURED,
        only: Some(of_machine(host_id)),
        order: &[Order::Up("server")],
        limit: 0,
    })?;
    let rows = listed(found, measured).rows.into_iter();
    let rows = rows.map(|it| FleetMeasured {
        server: it.server,
        server_version: it.server_version,
        cpu_us: saved(&it.cpu_us),
    });
    Ok(rows.collect())
}

fn of_machine(host_id: &str) -> Only<'_> {
    Only { column: "host_id", is: host_id }
}

fn machine(row: &mut Cells) -> Option<FleetMachine> {
    Some(FleetMachine {
        host: row.text()?,
        host_id: row.text()?,
        at_s: row.seconds()?,
        received_s: row.seconds()?,
        looptax: row.text()?,
        kernel: row.text()?,
        cpu_model: row.text()?,
        cpus: row.count()?,
        sees_all: row.flag()?,
        findings: Vec::new(),
        measured: Vec::new(),
    })
}

fn finding(row: &mut Cells) -> Option<FleetFinding> {
    Some(FleetFinding {
        client: row.text()?,
        client_user: row.text()?,
        server: row.text()?,
        way: row.text()?,
        connections: row.count()?,
        requests_per_s: row.number(),
        has_socket: row.flag()?,
        fell_back: row.flag()?,
    })
}
