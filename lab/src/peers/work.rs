//! The requests that both a peer and looptax send to a server.

use looptax_model::dsn::Kind;
use serde::Deserialize;

/// Number of rows in the table: looptax's default.
pub(crate) const ROWS: u32 = 100_000;

/// The prefix of the keys that redis-benchmark requests.
pub(crate) const KEY_PREFIX: &str = "looptax_scratch_peers:";

/// The request that both a peer and looptax send to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Work {
    /// sysbench's `oltp_point_select`, prepared, keys drawn evenly.
    PointSelect,
    /// sysbench's `oltp_read_write`, prepared, keys drawn evenly. A request is a transaction.
    ReadWrite,
    /// `SELECT 1`, as text.
    Select,
    /// pgbench's `-S`, prepared, keys drawn evenly.
    SelectOnly,
    PooledSelectOnly,
    /// A page of 200 bytes, on connections that stay open.
    Hello,
    /// GET of looptax's keys, drawn evenly.
    Get {
        pipeline: u32,
    },
    /// memcached's `get` of one key.
    Cached,
    /// A page that nginx itself has.
    Page,
    /// A page that nginx gets from PHP-FPM, over a new connection for each request or over some that stay open.
    PhpPage,
    /// A message of `bytes` bytes, and a message back.
    PingPong {
        bytes: u32,
    },
    /// Bytes in one direction, `write_bytes` per write.
    Stream {
        write_bytes: u32,
    },
}

impl Work {
    /// Returns the kind of the private server that looptax and the peer load; `None` if each has its own server.
    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            Self::PointSelect | Self::ReadWrite | Self::Select => Some(Kind::Mariadb),
            Self::SelectOnly => Some(Kind::Postgres),
            Self::PooledSelectOnly => Some(Kind::Pgbouncer),
            Self::Hello => Some(Kind::Http),
            Self::Get { .. } => Some(Kind::Redis),
            Self::Cached => Some(Kind::Memcached),
            Self::PhpPage => Some(Kind::PhpFpm),
            Self::Page | Self::PingPong { .. } | Self::Stream { .. } => None,
        }
    }

    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::PointSelect | Self::Select | Self::SelectOnly | Self::PooledSelectOnly => "queries",
            Self::Hello | Self::Page | Self::PhpPage => "pages",
            Self::ReadWrite => "transactions",
            Self::Get { .. } | Self::Cached => "commands",
            Self::PingPong { .. } => "round trips",
            Self::Stream { .. } => "bytes",
        }
    }

    /// Returns a description for the head of a table.
    pub(crate) fn words(self) -> String {
        match self {
            Self::PointSelect => "point select, prepared".to_owned(),
            Self::ReadWrite => "read-write, prepared".to_owned(),
            Self::Select => "select of a constant".to_owned(),
            Self::SelectOnly => "select only, prepared".to_owned(),
            Self::PooledSelectOnly => "select only, prepared, through PgBouncer".to_owned(),
            Self::Hello => "a page of 200 bytes".to_owned(),
            Self::Get { pipeline } => format!("get, pipeline {pipeline}"),
            Self::Cached => "get".to_owned(),
            Self::Page => "a page of nginx".to_owned(),
            Self::PhpPage => "a page of PHP-FPM behind nginx".to_owned(),
            Self::PingPong { bytes } => format!("{bytes} bytes there and back"),
            Self::Stream { write_bytes } => format!("one way, {write_bytes} bytes per write"),
        }
    }
}
