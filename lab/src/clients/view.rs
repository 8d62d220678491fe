//! A server's own list of its clients: the transport of each connection, and the number of connections so far.

use anyhow::{Context, Result, bail};
use looptax_bench::path::Conversation;
use looptax_model::dsn::{Kind, Protocol};
use looptax_wire::redis;

use super::server::Server;
use crate::servers::wait_until;

/// The connection over which this file queries the server.
pub(crate) struct View {
    kind: Kind,
    talk: Conversation,
}

impl View {
    pub(crate) fn open(server: &Server) -> Result<Self> {
        Ok(Self { kind: server.kind(), talk: server.talk()? })
    }

    /// Returns `socket` or `TCP` for every connection except this one.
    pub(crate) fn transports(&mut self) -> Result<Vec<String>> {
        let is_socket: Vec<bool> = match self.kind.protocol() {
            Some(Protocol::Mysql) => {
                let sql = "SELECT HOST FROM information_schema.processlist \
                           WHERE ID <> CONNECTION_ID() AND USER <> 'system user' AND USER <> 'event_scheduler'";
                let hosts = self.column(sql)?;
                hosts.iter().map(|host| !host.contains(':')).collect()
            }
            Some(Protocol::Postgres) => {
                let sql = "SELECT client_port::text FROM pg_stat_activity \
                           WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
                let ports = self.column(sql)?;
                ports.iter().map(|port| port == "-1").collect()
            }
            Some(Protocol::Redis) => {
                let list = self.redis(&["CLIENT", "LIST"])?;
                let own = self.redis(&["CLIENT", "ID"])?;
                let own = format!("id={own} ");
                let others = list.lines().filter(|line| !line.starts_with(&own));
                // Valkey 9.1 writes a socket's address as `[/path:0]:0`, Redis as `/path:0`.
                others.map(|line| line.contains("addr=/") || line.contains("addr=[/")).collect()
            }
            Some(Protocol::Memcached | Protocol::Mongodb | Protocol::Fastcgi | Protocol::Http | Protocol::Echo)
            | None => {
                bail!("{} does not report who its clients are", self.kind)
            }
        };
        let word = |is_socket: bool| if is_socket { "socket" } else { "TCP" };
        Ok(is_socket.into_iter().map(|it| word(it).to_owned()).collect())
    }

    /// Returns the number of connections so far, after all connections except this one have ended.
    pub(crate) fn n_dials(&mut self) -> Result<u64> {
        let what = format!("a client of {} does not end", self.kind);
        wait_until(&what, || Ok(self.transports()?.is_empty()))?;
        self.counted()
    }

    fn counted(&mut self) -> Result<u64> {
        let text = match self.kind {
            Kind::Mariadb | Kind::Mysql => {
                let rows = self.talk.query("SHOW GLOBAL STATUS LIKE 'Connections'")?;
                rows.into_iter().next().and_then(|mut row| row.pop().flatten())
            }
            Kind::Postgres => {
                let sql = "SELECT sum(sessions)::bigint::text FROM pg_stat_database";
                self.column(sql)?.pop()
            }
            _ => {
                let text = self.redis(&["INFO", "stats"])?;
                let mut lines = text.lines();
                lines.find_map(|line| line.strip_prefix("total_connections_received:")).map(str::to_owned)
            }
        };
        let text = text.context("the server does not count its connections")?;
        Ok(text.trim().parse()?)
    }

    fn column(&mut self, sql: &str) -> Result<Vec<String>> {
        let rows = self.talk.query(sql)?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next()?).collect())
    }

    fn redis(&mut self, words: &[&str]) -> Result<String> {
        let command = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        match self.talk.pipeline(&[command])?.pop() {
            Some(redis::Value::Bulk(Some(bytes))) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Some(redis::Value::Integer(number)) => Ok(number.to_string()),
            other => bail!("{words:?} gave {other:?}"),
        }
    }
}
