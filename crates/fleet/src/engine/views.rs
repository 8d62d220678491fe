//! The views in which a collector shows the data of a fleet; their columns have the same names in every engine.

use crate::column::{Column, Kind, Table};
use crate::sent::findings::FINDINGS;
use crate::sent::reports::REPORTS;
use crate::sent::verdicts::VERDICTS;

#[derive(Debug, Clone, Copy)]
pub struct View {
    pub name: &'static str,
    pub doc: &'static str,
    /// The table whose columns come first in the view; `None` if the view has no such table.
    pub table: Option<&'static Table>,
    pub more: &'static [Column],
}

impl View {
    pub fn columns(&self) -> impl Iterator<Item = Column> {
        let of_table = self.table.map(|it| it.columns).unwrap_or_default();
        of_table.iter().chain(self.more).copied()
    }
}

const fn column(name: &'static str, kind: Kind, doc: &'static str) -> Column {
    Column { name, kind, doc }
}

/// The time at which the collector received the row, on the collector's clock; every table has this column.
pub(crate) const RECEIVED: Column =
    column("received", Kind::Time, "When the report first arrived, by the collector's clock.");
const HOST_ID: Column = column("host_id", Kind::Text, "The machine's number.");
const HOST: Column = column("host", Kind::Text, "The machine's name in its newest report.");
const CLIENT: Column = column("client", Kind::Text, "The client's program.");
const SERVER: Column = column("server", Kind::Word, "Kind of the server.");
const HOSTS: Column = column("hosts", Kind::Count, "Number of machines.");
const CONNECTIONS: Column = column("connections", Kind::Count, "Number of open connections.");
const REQUESTS: Column = column("requests_per_s", Kind::Number, "Requests per second.");
const TCP_REQUESTS: Column = column("tcp_requests_per_s", Kind::Number, "Requests per second over TCP.");

pub const VIEWS: [View; 11] = [
    View {
        name: "latest_reports",
        doc: "The newest report of each machine, by the time of its arrival.",
        table: Some(&REPORTS),
        more: &[RECEIVED],
    },
    View {
        name: "latest_findings",
        doc: "The findings in the newest report of each machine, each finding once.",
        table: Some(&FINDINGS),
        more: &[RECEIVED],
    },
    View {
        name: "latest_verdicts",
        doc: "The newest verdict of each machine for each kind of server, pair of arms, workload, number of \
            connections, placement and client model.",
        table: Some(&VERDICTS),
        more: &[RECEIVED],
    },
    View {
        name: "silent_hosts",
        doc: "Machines from which no report arrived for two days.",
        table: None,
        more: &[HOST_ID, HOST, RECEIVED, column("days", Kind::Count, "Whole days since this arrival.")],
    },
    View {
        name: "shared_ids",
        doc: "Machines that have different names and the same number, and reported in turn within three days: copies \
            of one machine with the same `/etc/machine-id`.",
        table: None,
        more: &[
            HOST_ID,
            column("host", Kind::Text, "A name that the reports have."),
            column("reports", Kind::Count, "Reports with this name."),
            RECEIVED,
        ],
    },
    View {
        name: "pairs",
        doc: "Pairs of a program and the kind of server that the program is connected to. The figures come from the \
            newest report of each machine that reported within a week.",
        table: None,
        more: &[
            CLIENT,
            SERVER,
            HOSTS,
            CONNECTIONS,
            REQUESTS,
            TCP_REQUESTS,
            column(
                "cpu_ms_per_s",
                Kind::Number,
                "CPU time that TCP costs these programs, ms per second: a sum of estimates.",
            ),
            column("cpu_ms_per_s_lo", Kind::Number, "Sum of the lower ends of the intervals."),
            column("cpu_ms_per_s_hi", Kind::Number, "Sum of the upper ends of the intervals."),
            column("hosts_over_tcp", Kind::Count, "Machines on which some of the program's requests are over TCP."),
            column("hosts_with_socket", Kind::Count, "Machines on which the server has a socket."),
        ],
    },
    View {
        name: "movers",
        doc: "Clients that changed their transport to a kind of server. The machine's newest report is compared with a \
            report that is at least a week older, or else with the machine's first report. Only machines that reported \
            within a week are included.",
        table: None,
        more: &[
            HOST_ID,
            HOST,
            CLIENT,
            SERVER,
            column("before", Kind::Word, "Transport in the earlier report: socket, tcp, or both."),
            column("now", Kind::Word, "Transport in the newest report: socket, tcp, or both."),
            column(
                "direction",
                Kind::Word,
                "`to socket` or `to tcp`. If the client used both transports before, this is the transport that the \
                    client still uses.",
            ),
            REQUESTS,
        ],
    },
    View {
        name: "fell_back",
        doc: "Clients that use TCP again after a switch to the socket, on machines that reported within a week.",
        table: None,
        more: &[
            HOST_ID,
            HOST,
            CLIENT,
            SERVER,
            column("at", Kind::Time, "When looptax saw the connections, by the machine's own clock."),
            CONNECTIONS,
            REQUESTS,
        ],
    },
    View {
        name: "conditions",
        doc: "The machines that reported within a week, grouped by kernel, CPU and virtualisation.",
        table: None,
        more: &[
            column("kernel", Kind::Word, "Kernel release and version."),
            column("cpu_model", Kind::Word, "CPU model."),
            column(
                "virtualised",
                Kind::Word,
                "Whether the machines are virtual: yes, no, or empty if they do not report this.",
            ),
            HOSTS,
            TCP_REQUESTS,
        ],
    },
    View {
        name: "payers",
        doc: "Programs that are connected to a kind of server over TCP, by machine; only machines that reported \
            within a week.",
        table: None,
        more: &[
            HOST_ID,
            HOST,
            CLIENT,
            SERVER,
            CONNECTIONS,
            REQUESTS,
            column("has_socket", Kind::Flag, "Whether the server has a socket."),
            column("fell_back", Kind::Flag, "Whether the program uses TCP again after a switch to the socket."),
            column("at", Kind::Time, "When looptax saw the connections, by the machine's own clock."),
        ],
    },
    View {
        name: "measurements",
        doc: "CPU time that TCP over loopback adds to a request, for each machine and kind of server. The figures come \
            from the newest verdict that compares TCP with the socket and has an interval.",
        table: None,
        more: &[
            HOST_ID,
            HOST,
            SERVER,
            column("server_version", Kind::Word, "The server's version."),
            column("kernel", Kind::Word, "Kernel release and version."),
            column("cpu_model", Kind::Word, "CPU model."),
            column(
                "virtualised",
                Kind::Word,
                "Whether the machine is virtual: yes, no, or empty if it does not report this.",
            ),
            column("cpu_us", Kind::Number, "CPU time that TCP adds to a request, client and server together, µs."),
            column("cpu_us_lo", Kind::Number, "Lower end of the interval."),
            column("cpu_us_hi", Kind::Number, "Upper end of the interval."),
            column("alpha", Kind::Number, "Two-sided level of the interval."),
            column("epochs", Kind::Count, "Number of epochs that the verdict is computed from."),
            RECEIVED,
        ],
    },
];
