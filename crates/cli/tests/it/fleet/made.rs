//! Invented reports as JSON lines.

use looptax_fleet::{Kind, TABLES};
use serde_json::{Map, Value, json};

#[derive(Clone)]
pub(super) struct Made {
    pub(super) id: String,
    pub(super) host_id: String,
    pub(super) host: String,
    pub(super) at_ms: i64,
    /// The name of each client, and whether it uses TCP.
    pub(super) clients: Vec<(String, bool)>,
    /// A client that was moved to the socket before and uses TCP now.
    pub(super) fallen: Option<String>,
    /// The time in µs that TCP adds to a request of the server, as measured on this machine.
    pub(super) measured_us: Option<f64>,
}

impl Made {
    /// Makes the `n`th report of the machine with this number: it has two clients over TCP.
    pub(super) fn new(host: u32, n: u32) -> Self {
        Self {
            id: format!("{host:08x}{n:08x}"),
            host_id: format!("{host:032x}"),
            host: format!("web{host}"),
            at_ms: 1_790_000_000_000 + i64::from(n) * 3_600_000,
            clients: vec![("php-fpm".to_owned(), true), ("puma".to_owned(), true)],
            fallen: None,
            measured_us: None,
        }
    }

    pub(super) fn lines(&self) -> String {
        let findings = self.clients.iter().enumerate();
        let mut lines: String = findings
            .map(|(n, (client, is_tcp))| {
                self.line(
                    0,
                    &[
                        ("n", json!(n)),
                        ("server", json!("mariadb")),
                        ("has_socket", json!(true)),
                        ("client", json!(client)),
                        ("way", json!(if *is_tcp { "loopback" } else { "unix" })),
                        ("is_tcp", json!(is_tcp)),
                        ("connections", json!(3)),
                        ("requests_per_s", json!(100.5)),
                        ("fell_back", json!(self.fallen.as_ref() == Some(client))),
                    ],
                )
            })
            .collect();
        if let Some(us) = self.measured_us {
            lines += &self.verdict(us);
        }
        lines += &self.line(
            2,
            &[
                ("host", json!(self.host)),
                ("kernel", json!("6.1")),
                ("findings", json!(self.clients.len())),
                ("verdicts", json!(u8::from(self.measured_us.is_some()))),
            ],
        );
        lines
    }

    fn verdict(&self, us: f64) -> String {
        let values = [
            ("run_id", json!(self.id)),
            ("server", json!("mariadb")),
            ("server_version", json!("10.11.4")),
            ("kernel", json!("6.1")),
            ("baseline", json!("unix")),
            ("arm", json!("tcp")),
            ("verdict", json!("difference")),
            ("alpha", json!(0.05)),
            ("epochs", json!(12)),
            ("cpu_us", json!(us)),
            ("cpu_us_lo", json!(us - 0.3)),
            ("cpu_us_hi", json!(us + 0.3)),
        ];
        self.line(1, &values)
    }

    fn line(&self, table_idx: usize, values: &[(&str, Value)]) -> String {
        let table = TABLES[table_idx];
        let mut line = Map::new();
        for column in table.columns {
            let empty = match column.kind {
                Kind::Word | Kind::Text => json!(""),
                Kind::Count | Kind::Time => json!(0),
                Kind::Number => Value::Null,
                Kind::Flag => json!(false),
            };
            line.insert(column.name.to_owned(), empty);
        }
        let common = [
            ("table", json!(table.name)),
            ("schema_version", json!(1)),
            ("report_id", json!(self.id)),
            ("host_id", json!(self.host_id)),
            ("at", json!(self.at_ms)),
        ];
        for (name, value) in common.into_iter().chain(values.iter().cloned()) {
            line.insert(name.to_owned(), value);
        }
        Value::Object(line).to_string() + "\n"
    }
}
