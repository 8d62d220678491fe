//! The servers' own counts of connections, with which these tests compare looptax's counts.

use std::fs;

use crate::fixture::Server;

/// MariaDB's general log, which shows each connection and its transport.
pub(super) struct General<'a>(&'a Server);

impl<'a> General<'a> {
    pub(super) fn listen(server: &'a Server) -> Self {
        let mut talk = server.talk();
        for sql in
            ["SET GLOBAL log_output = 'TABLE'", "TRUNCATE TABLE mysql.general_log", "SET GLOBAL general_log = ON"]
        {
            talk.execute(sql).expect("the account may do everything");
        }
        Self(server)
    }

    /// Returns the connections over the socket and over TCP, without the connection of this query.
    pub(super) fn heard(&self) -> [u64; 2] {
        let mut talk = self.0.talk();
        let count = "SELECT argument FROM mysql.general_log WHERE command_type = 'Connect'";
        let rows = talk.query(count).expect("a table of the server");
        let said: Vec<String> = rows.into_iter().filter_map(|row| row[0].clone()).collect();
        let over = |way: &str| said.iter().filter(|it| it.ends_with(way)).count() as u64;
        let ways = [over("using Socket"), over("using TCP/IP")];
        assert_eq!(ways[0] + ways[1], said.len() as u64, "{said:?}");
        [ways[0] - 1, ways[1]]
    }
}

/// PostgreSQL's log, which shows each login and its transport.
pub(super) struct Connections<'a>(&'a Server);

impl<'a> Connections<'a> {
    pub(super) fn listen(server: &'a Server) -> Self {
        let mut talk = server.talk();
        for sql in [
            "ALTER SYSTEM SET log_connections = on",
            "ALTER SYSTEM SET log_line_prefix = '%h '",
            "SELECT pg_reload_conf()",
        ] {
            talk.execute(sql).expect("the account may do everything");
        }
        Self(server)
    }

    /// Returns the connections over the socket and over TCP.
    pub(super) fn heard(&self) -> [u64; 2] {
        let log = fs::read_to_string(self.0.it.folder().join("log")).unwrap();
        let over = |way: &str| {
            let line = format!("{way} LOG:  connection authorized:");
            log.lines().filter(|it| it.starts_with(&line)).count() as u64
        };
        [over("[local]"), over("127.0.0.1")]
    }
}
