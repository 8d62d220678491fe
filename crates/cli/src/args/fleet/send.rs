//! What `fleet send` takes, and what it shares with the other commands of `fleet`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::begin::STOP_FILE;
use crate::args::{JsonArgs, PeerArgs};

/// The collector of `fleet`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CollectorArgs {
    /// The collector: the URL of a ClickHouse or PostgreSQL database.
    ///
    /// The collector: `clickhouse://USER@HOST[:8123]/DATABASE[?secure=true]`, or
    /// `postgres://USER@HOST[:5432]/DATABASE[?sslmode=…]`. One on another machine is verified by its certificate and name,
    /// unless sslmode says otherwise or `secure` is missing. `fleet send` also takes a folder, which gets a file per report
    /// (`./NAME` makes one), and `-` for standard output.
    #[arg(value_name = "DESTINATION")]
    pub(crate) destination: String,
    /// File with the collector's password.
    ///
    /// The collector's password, in a file. Else it is in the address, or in `LOOPTAX_COLLECTOR_PASSWORD`.
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// PEM file of authorities for the collector's certificate.
    ///
    /// A PEM of who may have signed the collector's certificate, in place of the system's authorities.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

/// Options of `fleet send`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    pub(crate) collector: CollectorArgs,
    /// Send names of users, programs and the machine as keyed hashes.
    #[arg(long, requires = "key_file", conflicts_with = "from")]
    pub(crate) anonymous: bool,
    /// Key file of --anonymous.
    ///
    /// The key of --anonymous: the same on all machines, and not on the collector.
    #[arg(long, value_name = "FILE", requires = "anonymous")]
    pub(crate) key_file: Option<PathBuf>,
    /// Folder for reports while the collector is away.
    ///
    /// Where reports wait while the collector is away. Default: /var/lib/looptax/spool as root, else
    /// `looptax/spool` below `XDG_STATE_HOME`.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) spool: Option<PathBuf>,
    /// Which records of `compare` to send.
    ///
    /// Which records of `compare` are told of: those that were not sent yet; all, of which what is too much for a report goes
    /// with the next ones; or none.
    #[arg(long, value_enum, default_value_t = RecordsWord::New, value_name = "WHICH")]
    pub(crate) records: RecordsWord,
    /// Wait a random time up to this first.
    ///
    /// Sleep a random time up to this first, so that not all machines report at once.
    #[arg(long, default_value_t = 0, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(..=86_400))]
    pub(crate) jitter: u32,
    /// Do nothing while FILE exists.
    #[arg(long, default_value = STOP_FILE, value_name = "FILE")]
    pub(crate) stop_file: PathBuf,
    /// Send reports that were gathered earlier instead.
    ///
    /// Do not look at this machine: send on reports (JSON lines) that were gathered before, from a file, the files of
    /// a folder, or `-`. What is sent twice counts once.
    #[arg(long, value_name = "PLACE")]
    pub(crate) from: Option<PathBuf>,
    /// Print the report; send and keep nothing.
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordsWord {
    /// Those that no report told of.
    New,
    /// Every one of the history.
    All,
    /// None.
    None,
}
