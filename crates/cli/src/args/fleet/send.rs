//! Options of `fleet send`, and those that all commands of `fleet` share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::begin::STOP_FILE;
use crate::args::{JsonArgs, PeerArgs};

/// The collector of `fleet`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CollectorArgs {
    /// The collector: the URL of a ClickHouse or PostgreSQL database.
    ///
    /// `clickhouse://USER@HOST[:8123]/DATABASE[?secure=true]`, or `postgres://USER@HOST[:5432]/DATABASE[?sslmode=…]`.
    /// With `secure=true`, and for PostgreSQL on another machine unless sslmode says otherwise, looptax uses TLS and
    /// verifies the certificate and the host name. `fleet send` also accepts a folder, which gets
    /// one file per report (`./NAME` creates the folder), and `-` for standard output.
    #[arg(value_name = "DESTINATION")]
    pub(crate) destination: String,
    /// File with the collector's password.
    ///
    /// The password may also be in the URL or in `LOOPTAX_COLLECTOR_PASSWORD`.
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// PEM file of certificate authorities for the collector.
    ///
    /// They replace the system's certificate authorities.
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
    /// File with the key for the hashes of --anonymous.
    ///
    /// Use the same key on all machines, and do not store it on the collector.
    #[arg(long, value_name = "FILE", requires = "anonymous")]
    pub(crate) key_file: Option<PathBuf>,
    /// Folder that keeps reports while the collector is unreachable.
    ///
    /// Default: /var/lib/looptax/spool as root, otherwise `looptax/spool` in `XDG_STATE_HOME`.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) spool: Option<PathBuf>,
    /// Which records of `compare` to send.
    ///
    /// new: records that were not sent yet; all: every record, in several reports if they are too large for one; none:
    /// no record.
    #[arg(long, value_enum, default_value_t = RecordsWord::New, value_name = "WHICH")]
    pub(crate) records: RecordsWord,
    /// First wait a random time, at most this many seconds.
    ///
    /// Machines with the same timer then report at different times.
    #[arg(long, default_value_t = 0, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(..=86_400))]
    pub(crate) jitter: u32,
    /// Do nothing while FILE exists.
    #[arg(long, default_value = STOP_FILE, value_name = "FILE")]
    pub(crate) stop_file: PathBuf,
    /// Send the reports in this file or folder, which were made earlier.
    ///
    /// PLACE is a file, a folder of files, or `-` for standard input; the reports are JSON lines. looptax does not
    /// inspect this machine. A report that is sent twice counts once.
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
    /// Records that are in no report yet.
    New,
    /// Every record of the history.
    All,
    /// No record.
    None,
}
