//! Options for whole commands: `--exec` and related ones.

use clap::Args;

/// Options that measure whole commands instead of requests.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ExecArgs {
    /// Run a command over each transport, instead of sending requests.
    ///
    /// In CMD, looptax replaces {transport} with options for the address and the account, in the tool's own syntax. It
    /// knows the tools mysql, mariadb, mysqldump, mariadb-dump, mysqlslap, mariadb-slap, psql, `pg_dump`, pgbench,
    /// sysbench, redis-cli, redis-benchmark, valkey-cli and valkey-benchmark. Words are split as in a shell, but no
    /// shell runs: a pipe needs `sh -c '…'` with --exec-unix and --exec-tcp. The output of the command is discarded.
    #[arg(help_heading = "Whole commands", long, value_name = "CMD", conflicts_with_all = ["exec_unix", "exec_tcp", "connections", "placement", "client", "client_like", "slice_ms", "pipeline", "protocol"])]
    pub(crate) exec: Option<String>,
    /// The command for the unix arm; it may be any program.
    ///
    /// It needs no TARGET. If you pass TARGET, the command's environment has `LOOPTAX_SOCKET`, `LOOPTAX_HOST`,
    /// `LOOPTAX_PORT`, `LOOPTAX_USER`, `LOOPTAX_PASSWORD` and `LOOPTAX_DATABASE`.
    #[arg(help_heading = "Whole commands", hide_short_help = true, long, value_name = "CMD", requires = "exec_tcp", conflicts_with_all = ["connections", "placement", "client", "client_like", "slice_ms", "pipeline", "protocol"])]
    pub(crate) exec_unix: Option<String>,
    /// The command for the tcp arm.
    #[arg(help_heading = "Whole commands", hide_short_help = true, long, value_name = "CMD", requires = "exec_unix")]
    pub(crate) exec_tcp: Option<String>,
    /// Stop a run of the command after this time.
    ///
    /// For example 90s or 10m. looptax then stops the command and all processes that the command started, and ends the
    /// measurement.
    #[arg(help_heading = "Whole commands", hide_short_help = true, long, value_name = "TIME", default_value = "10m")]
    pub(crate) exec_timeout: String,
}
