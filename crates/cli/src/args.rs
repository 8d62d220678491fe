//! The command line, as clap parses it; this module does not look at the machine.
//!
//! `settings` turns the arguments into experiments. The man page, `docs/src/cli.md` and the shell completions are made
//! from the help texts.

mod bare;
mod begin;
mod capture;
mod check;
mod doctor;
mod dsn;
pub(crate) mod echo;
mod exec;
mod find;
mod fleet;
mod formats;
pub(crate) mod help;
mod json;
mod mcp;
mod peer;
mod reproduce;
mod result;
mod run;
mod saved_form;
mod show;
mod storm;
mod switch;
mod trial;
mod watch;
mod why;

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use looptax_experiment::spec::{target, typed};

pub(crate) use bare::BareArgs;
pub(crate) use begin::{BeginArgs, TurnArgs};
pub(crate) use capture::CaptureArgs;
pub(crate) use check::{CheckArgs, ReachArgs};
pub(crate) use doctor::{DoctorArgs, Test};
pub(crate) use dsn::DsnArgs;
pub(crate) use exec::ExecArgs;
pub(crate) use find::FindArgs;
pub(crate) use fleet::{
    AskArgs, CollectorArgs, FleetArgs, FleetCommand, FleetListArgs, FleetReportArgs, InitArgs, RecordsWord, SendArgs,
};
pub(crate) use formats::FormatArgs;
pub(crate) use help::HelpArgs;
pub(crate) use json::JsonArgs;
pub(crate) use mcp::McpArgs;
pub(crate) use peer::PeerArgs;
pub(crate) use reproduce::{ReproduceArgs, ReproduceName};
pub(crate) use result::{DetailArgs, ResultArgs};
pub(crate) use run::{MovingArgs, RUN_EXIT_CODES, RunArgs};
pub(crate) use saved_form::SavedForm;
pub(crate) use show::{DiffArgs, GateArgs, ShowArgs};
pub(crate) use storm::StormArgs;
pub(crate) use switch::{SWITCH_EXIT_CODES, SwitchArgs};
pub(crate) use trial::TrialArgs;
pub(crate) use watch::WatchArgs;
pub(crate) use why::WhyArgs;

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "looptax", version, about = ABOUT, long_about = LONG_ABOUT, after_help = HELP_LEVELS, after_long_help = EXIT_CODES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// The command. Without a command, looptax shows which programs on this machine pay for TCP, and measures one
    /// connection to each installed kind of server, within half a minute.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Options of a bare `looptax`.
    #[command(flatten)]
    pub(crate) bare: BareArgs,
    /// Options of every command.
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

impl Cli {
    /// Parses the command line of this process.
    ///
    /// # Errors
    /// A wrong command line; also the texts of `--help` and `--version`, which end the parsing.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let words: Vec<String> = { std::env::args_os().skip(1) }.map(|it| it.to_string_lossy().into_owned()).collect();
        let mut command = help::command(Self::command(), &words);
        let file_behind_json = json::file_behind(&words);
        let matches = match (command.try_get_matches_from_mut(std::env::args_os()), file_behind_json) {
            (Err(error), Some(file)) if error.exit_code() != 0 && !is_run() => {
                return Err(command.error(error.kind(), json::advice(file)));
            }
            (Err(error), _) => return Err(meant_as_server(&error, &mut command).unwrap_or(error)),
            (Ok(matches), _) => matches,
        };
        let is_typed = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let is_of_bare = |id: &clap::Id| !OF_EVERY_COMMAND.contains(&id.as_str());
        if let Some(name) = matches.subcommand_name()
            && matches.ids().filter(is_typed).any(is_of_bare)
        {
            let words = format!("options before `{name}` apply only to a bare `looptax`; put them after `{name}`");
            return Err(command.error(ErrorKind::ArgumentConflict, words));
        }
        let mut cli = Self::from_arg_matches(&matches)?;
        if let Some(file) = file_behind_json.filter(|it| cli.takes_as_word(it)) {
            return Err(command.error(ErrorKind::UnknownArgument, json::advice(file)));
        }
        if let Some(Command::Why(args)) = &mut cli.command {
            args.typed = typed_options(&command, &matches);
        }
        Ok(cli)
    }
}

/// Returns a better error if the user typed a server in place of a command.
fn meant_as_server(error: &clap::Error, command: &mut clap::Command) -> Option<clap::Error> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let target = if target::parse(word).is_ok() { word.clone() } else { target::meant(word)? };
    let is_like_a_command = error.get(ContextKind::SuggestedSubcommand).is_some();
    if is_like_a_command && target != format!("private:{word}") {
        return None;
    }
    let words = format!("`{word}` is not a command; to measure a server: looptax compare {target}");
    Some(command.error(ErrorKind::InvalidSubcommand, words))
}

impl Cli {
    /// Whether a word was parsed as a server, record or run, although the user may have meant it as the file of
    /// `--json`.
    fn takes_as_word(&self, word: &str) -> bool {
        match &self.command {
            Some(Command::Compare(args)) => args.targets.iter().any(|it| it == word),
            Some(Command::Why(args)) => args.compare.targets.iter().any(|it| it == word),
            Some(Command::Doctor(args)) => args.target == word,
            // `show --json` accepts only one run, so a second word was meant as the file.
            Some(Command::Show(args)) => args.runs.iter().any(|it| it == "-" || it == word && args.runs.len() > 1),
            None | Some(_) => false,
        }
    }
}

/// Parses `16` or `1k`.
fn connections(typed: &str) -> Result<u32, String> {
    typed::count(typed).ok_or_else(|| "give a whole number such as 16 or 1k, or several: 1,16".to_owned())
}

/// Returns the long names of the options that were typed for a subcommand.
fn typed_options(command: &clap::Command, matches: &clap::ArgMatches) -> Vec<String> {
    let Some((name, matches)) = matches.subcommand() else {
        return Vec::new();
    };
    let is_typed = |arg: &&clap::Arg| {
        let id = arg.get_id().as_str();
        matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let subcommand = command.find_subcommand(name).into_iter();
    let typed = subcommand.flat_map(clap::Command::get_arguments).filter(is_typed);
    typed.filter_map(|it| Some(format!("--{}", it.get_long()?))).collect()
}

/// The ids of the options that every command has, and of their group.
const OF_EVERY_COMMAND: [&str; 3] = ["color", "quiet", "GlobalArgs"];
/// Whether the command is `run`, even if the rest of the command line is wrong.
pub(crate) fn is_run() -> bool {
    let found = Cli::command().ignore_errors(true).try_get_matches();
    found.is_ok_and(|it| it.subcommand_name() == Some("run"))
}

/// Whether `--version` ended the parsing of arguments and `--verbose` was typed too.
pub(crate) fn asks_for_features(ended: &clap::Error) -> bool {
    let is_verbose = |word: std::ffi::OsString| word == "--verbose";
    ended.kind() == ErrorKind::DisplayVersion && std::env::args_os().skip(1).any(is_verbose)
}

const ABOUT: &str = "How much speed does a local database lose over TCP loopback, compared with a Unix socket?";

const LONG_ABOUT: &str = "Measures, on this machine, what a local database loses by talking over TCP loopback instead \
of a Unix domain socket. Every figure has an interval.

A bare `looptax` shows which programs on this machine pay for TCP. Then it starts private servers from the installed \
binaries (MariaDB, MySQL, PostgreSQL, Redis, Valkey, memcached) and a built-in echo server, one after the other, and \
measures them. All this takes half a minute. Only the record of the run remains. looptax measures a running server \
only if you pass the server's URL.";

/// The text below the options of `looptax -h`. It names the more detailed levels of help.
const HELP_LEVELS: &str = "`looptax COMMAND -h` lists the main options, `--help` lists all options, and `looptax help \
COMMAND` explains them. `looptax help TOPIC` explains one of the topics measuring, targets and formats.";

/// Exit codes, for the end of the help texts.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 done, even if inconclusive; 1 the answer is no; 2 wrong usage or \
    environment; 3 invalid measurement, or no answer from check, gate or doctor; 130 interrupted.";

/// The commands, in the order of [`help::GROUPS`].
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare the transports of a server, interleaved in one run.
    #[command(after_long_help = EXIT_CODES)]
    Compare(Box<CompareArgs>),
    /// Show where the time of a request goes, layer by layer.
    ///
    /// Shows the CPU time of a request over each transport. Instead of targets you can pass two records of `why`, each
    /// by its file, run name or label. `why` then shows which layers cost more in the second record.
    #[command(after_long_help = EXIT_CODES, mut_args(why::of_why))]
    Why(Box<WhyArgs>),
    /// Repeat published comparisons and compare your figures with the published ones.
    #[command(after_long_help = reproduce::CODES)]
    Reproduce(ReproduceArgs),
    /// Check whether verdicts from this machine can be trusted.
    #[command(after_long_help = EXIT_CODES)]
    Doctor(DoctorArgs),
    /// List servers, their sockets, and the programs that pay for TCP.
    #[command(after_long_help = EXIT_CODES)]
    Find(FindArgs),
    /// Count and time the requests of each client, without adding load.
    #[command(after_long_help = EXIT_CODES)]
    Watch(WatchArgs),
    /// Check whether the switch to the socket would work.
    #[command(after_long_help = EXIT_CODES)]
    Check(CheckArgs),
    /// Print the connection over the socket in each driver's syntax.
    Dsn(DsnArgs),
    /// Measure what your application would gain; nothing is changed.
    ///
    /// looptax requests the application's pages, while the application's connections to its servers use TCP and the
    /// socket in turns.
    #[command(after_long_help = EXIT_CODES)]
    Trial(Box<TrialArgs>),
    /// Move an application to the socket, prove the move, undo it on failure.
    #[command(after_long_help = SWITCH_EXIT_CODES)]
    Switch(Box<SwitchArgs>),
    /// Run an unmodified program and move its local connections to sockets.
    #[command(after_long_help = RUN_EXIT_CODES, override_usage = "looptax run [OPTIONS] -- CMD…")]
    Run(RunArgs),
    /// List the runs of this machine, or show runs as text, a page or data.
    #[command(after_long_help = EXIT_CODES, mut_args(help::shown_in_short))]
    Show(ShowArgs),
    /// Compare two runs, or the same clients before and after a change.
    #[command(after_long_help = EXIT_CODES)]
    Diff(DiffArgs),
    /// For continuous integration: fail if a transport loses too much.
    #[command(after_long_help = show::GATE_CODES)]
    Gate(GateArgs),
    /// Send reports of many machines to one collector, and query it.
    #[command(after_long_help = EXIT_CODES)]
    Fleet(FleetArgs),
    /// Offer read-only commands and comparisons to an assistant (MCP).
    ///
    /// Offers the read-only commands, and comparisons of private servers, as tools of the Model Context Protocol.
    Mcp(McpArgs),
    /// Print the help of a command, or of a topic.
    #[command(hide = true)]
    Help(HelpArgs),
    /// Used by looptax itself.
    #[command(hide = true, subcommand)]
    Internal(InternalCommand),
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalArgs {
    /// When to colour the output: auto, always or never.
    #[arg(hide_short_help = true, hide_possible_values = true, long, value_enum, default_value_t = ColorWhen::Auto, global = true, display_order = 998, value_name = "WHEN")]
    pub(crate) color: ColorWhen,
    /// Print only the result.
    #[arg(short, long, global = true, display_order = 997)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Options of `compare`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each of these fields is an option of the command line")]
pub(crate) struct CompareArgs {
    /// Servers: private:KIND, echo, or the URL of a running server.
    ///
    /// private:KIND is one of private:mariadb, private:mysql, private:postgres, private:redis, private:valkey,
    /// private:memcached, private:ferretdb, private:pgbouncer, private:pgpool, private:php-fpm and private:http. A
    /// running server is given by its URL (<mysql://user@127.0.0.1:3306/db>, postgres://…, redis://…, http://…).
    /// Default: echo, and a private server for every installed protocol (MariaDB before MySQL, Redis before Valkey;
    /// memcached only in a bare `looptax`).
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Transports to compare, such as unix,tcp,tls (default: unix,tcp).
    ///
    /// A transport that takes part in a comparison is an arm. The arms are unix, tcp, tcp6, tls, tls-unix (TLS over the
    /// socket), abstract (a Unix socket with an abstract name), bridge (a container at its own address), nat and proxy
    /// (a container at its published port), pasta (a port of rootless Podman), and redirect (a connection that is opened
    /// as TCP and moved to the socket, as `looptax run` does). If a transport is not available, looptax names it and measures the others. Default:
    /// unix,tcp, and tls on a MySQL, MariaDB or PostgreSQL server that offers TLS.
    #[arg(long, value_delimiter = ',', value_name = "ARM,…")]
    pub(crate) arms: Vec<String>,
    /// Transport to compare the others with (default: the first).
    #[arg(hide_short_help = true, long, value_name = "ARM")]
    pub(crate) baseline: Option<String>,
    /// Measure and rank what would help, such as no TLS or pipelining.
    ///
    /// For programs that use the transport of --baseline today (default: tcp). The remedies are the socket, no TLS,
    /// host network for containers, pipelining, connections that stay open, and placement; each is measured for this
    /// workload. Default: 16 connections, and --quick unless --precise or --fixed is given.
    #[arg(long, conflicts_with_all = ["rate", "rate_sweep", "think", "reconnect_every", "sweep", "exec", "exec_unix"])]
    pub(crate) remedies: bool,
    /// Connect to the socket from new namespaces, as a container does.
    ///
    /// The network and mount namespaces are new; only the socket's folder is shared with the server. The option applies
    /// to unix and tls-unix.
    #[arg(hide_short_help = true, long)]
    pub(crate) from_namespace: bool,
    /// Number of connections over each transport (default: 1, then 16).
    ///
    /// Each number that you pass is a separate comparison. On a running server the default is 1.
    #[arg(short, long, value_delimiter = ',', value_name = "N,…", value_parser = connections)]
    pub(crate) connections: Vec<u32>,
    /// Requests to send: point-select, read-write, get, set, ping, ...
    ///
    /// point-select, read-write, tpcb …, get, set, mixed:9:1 …, ping, stream; --list shows all. Several workloads are
    /// measured one after the other. storm opens many connections at once to private servers. Default: point-select,
    /// get or ping; on a running server without --write, a workload that writes nothing.
    #[arg(long, value_name = "NAME,…")]
    pub(crate) workload: Option<String>,
    /// List the workloads and exit.
    #[arg(long)]
    pub(crate) list: bool,
    /// How keys are chosen: uniform, or zipf:S.
    ///
    /// With zipf:S, the probability of the k-th key is proportional to k to the power of -S.
    #[arg(hide_short_help = true, long, default_value = "uniform", value_name = "HOW")]
    pub(crate) distribution: String,
    /// Memory for the latencies of single requests, in MiB.
    ///
    /// looptax keeps the latency of each request, for percentiles, until this memory is full. For later epochs it keeps
    /// only counts.
    #[arg(hide_short_help = true, long, default_value_t = 256, value_name = "MIB", value_parser = clap::value_parser!(u32).range(..=256))]
    pub(crate) max_samples: u32,
    /// Set a variable of the workload script:FILE.
    #[arg(hide_short_help = true, short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// How SQL is sent: prepared, or text.
    #[arg(hide_short_help = true, hide_possible_values = true, long, value_enum, default_value_t = ProtocolWord::Prepared, value_name = "FORM")]
    pub(crate) protocol: ProtocolWord,
    /// Requests per send (Redis, memcached, echo).
    ///
    /// The results then count the whole batch as one request.
    #[arg(hide_short_help = true, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) pipeline: u32,
    /// Bytes per value (Redis, memcached).
    ///
    /// Default: 64; 3 for an element of lpush.
    #[arg(hide_short_help = true, long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(..=16_777_216))]
    pub(crate) value_size: Option<u32>,
    /// Cores of client and server: same, split, free, client-pinned.
    ///
    /// same: both ends of a connection on one core; split: on two cores; free: the scheduler decides; client-pinned:
    /// only looptax's own threads are pinned. Default: same, and a short run with each of the others. On a running
    /// server: same if looptax runs as root (except for Redis); otherwise split if there is one connection, and
    /// client-pinned if there are more.
    #[arg(long, value_delimiter = ',', value_name = "WHERE,…")]
    pub(crate) placement: Vec<String>,
    /// How the client waits: poll, poll-first, block, event, all.
    ///
    /// `poll`: try to receive; if nothing is there, wait in poll(2), then receive. `poll-first`: wait in poll(2), then
    /// receive. `block`: wait in a blocking receive. `event`: a few threads with epoll. `all`: compare these models in
    /// one interleaved schedule. Default: `poll` for up to 64 connections (`poll-first` for PostgreSQL, as libpq does),
    /// `event` for more; `block` for the workload stream.
    #[arg(long, value_delimiter = ',', value_name = "MODEL,…")]
    pub(crate) client: Vec<String>,
    /// Wait like a real client: php, java, go, libpq, hiredis, ...
    ///
    /// php, java, jdbc, go, node, python, or a library such as libmariadb, libpq, pgjdbc, hiredis or redis-py. The name
    /// and the server determine the client model (see --client). looptax imitates only how the client waits, not what
    /// the client computes.
    #[arg(long, value_delimiter = ',', value_name = "CLIENT,…", conflicts_with = "client")]
    pub(crate) client_like: Vec<String>,
    /// Send at a fixed rate: 50k per second, or 40%,80% of capacity.
    ///
    /// Requests are sent at this rate even if earlier answers are still missing; each rate is one comparison. 50k means
    /// 50,000 requests per second, over all connections of an arm. 40%,80% are shares of the rate that the slower arm
    /// can serve; looptax measures that rate first. Latency then counts from the time at which a request was due.
    #[arg(long, value_delimiter = ',', value_name = "RATE,…")]
    pub(crate) rate: Vec<String>,
    /// Measure latency at loads from 10% to 95%.
    ///
    /// This is --rate with these loads; the result is the latency of both arms at each load.
    #[arg(hide_short_help = true, long)]
    pub(crate) rate_sweep: bool,
    /// Gaps between requests of --rate: poisson or fixed.
    ///
    /// poisson: the gaps are independent of one another; fixed: all gaps are equal.
    #[arg(hide_short_help = true, hide_possible_values = true, long, value_enum, default_value_t = ArrivalsWord::Poisson, value_name = "GAPS")]
    pub(crate) arrivals: ArrivalsWord,
    /// Pause between an answer and the next request: 200us, 5ms.
    #[arg(hide_short_help = true, long, value_name = "TIME")]
    pub(crate) think: Option<String>,
    /// Open a new connection after N requests.
    ///
    /// The time that connecting takes counts as part of the next request.
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) reconnect_every: Option<u32>,
    /// Measure with several numbers of connections: 1..1024, or 1,16,256.
    ///
    /// 1..1024 means 1, 2, 4 and so on. The result is each arm's throughput and latency at each number of connections,
    /// measured with the event client; at 64 connections it is also measured with poll.
    #[arg(long, value_name = "FROM..TO|N,…", conflicts_with = "connections")]
    pub(crate) sweep: Option<String>,
    /// Socket of the running server, or the socket's folder.
    ///
    /// Default: the socket of the process that listens on the port, or the socket that the server reports, or another
    /// socket that is proved to belong to the server.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Rows or keys of a private server: 500k, 10M.
    #[arg(hide_short_help = true, long, default_value_t = 100_000, value_name = "N", value_parser = rows)]
    pub(crate) rows: u32,
    /// pgbouncer: pool by session, transaction or statement.
    ///
    /// For private:pgbouncer: how long a client keeps a connection to PostgreSQL. `PgBouncer` before version 1.21
    /// supports prepared statements only in session mode; with these versions the other modes need --protocol text.
    #[arg(hide_short_help = true, hide_possible_values = true, long, value_enum, default_value_t = PoolModeWord::Session, value_name = "MODE")]
    pub(crate) pool_mode: PoolModeWord,
    /// Measure for a fixed time (such as 10s) or number of epochs (20).
    ///
    /// An epoch is a group of eight or more slices, on fresh connections. The result is judged once, at the end; the
    /// run does not stop early.
    #[arg(long, value_name = "T", conflicts_with_all = ["quick", "precise"])]
    pub(crate) fixed: Option<String>,
    /// At most 40 epochs, about 20 s per comparison.
    ///
    /// Default if you pass no TARGET.
    #[arg(long, conflicts_with = "precise")]
    pub(crate) quick: bool,
    /// Measure until the 95 % interval of the tax is narrow.
    ///
    /// Also checks that the result does not depend on the length of a slice.
    #[arg(long)]
    pub(crate) precise: bool,
    /// Warm-up before measuring (default: 2 to 10 s).
    ///
    /// 0s means two epochs. Default: 2 to 10 s, until the rate is steady. On a running server without --own-server
    /// the warm-up is always one epoch.
    #[arg(hide_short_help = true, long, value_name = "TIME")]
    pub(crate) warm_up: Option<String>,
    /// Length of a slice in ms (default: 50; with --rate or free placement 250).
    ///
    /// A slice is a short time in which exactly one arm runs. The default is 250 with free placement and with --rate,
    /// otherwise 50.
    #[arg(hide_short_help = true, long, value_name = "MS", value_parser = clap::value_parser!(u32).range(10..=60_000))]
    pub(crate) slice_ms: Option<u32>,
    /// Repeat the schedule of an earlier run.
    ///
    /// The seed is in the record of that run.
    #[arg(hide_short_help = true, long, value_name = "HEX")]
    pub(crate) seed: Option<String>,
    /// Print the plan and exit.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show the run on the whole terminal; q ends it.
    ///
    /// Shows both arms, the interval so far, latencies, the next step and the time left. q ends the run and keeps the
    /// result so far.
    #[arg(long, conflicts_with = "json_stream")]
    pub(crate) live: bool,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
    #[command(flatten)]
    pub(crate) begin: BeginArgs,
    /// On a running server: allow a scratch schema, dropped afterwards.
    #[arg(long)]
    pub(crate) write: bool,
    /// Lift the limits that protect other users of the running server.
    ///
    /// For a server that only you use.
    #[arg(long)]
    pub(crate) own_server: bool,
    /// Do not ask before measuring a running server.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Options for whole commands instead of requests.
    #[command(flatten)]
    pub(crate) exec: ExecArgs,
    /// Options of the echo server.
    #[command(flatten)]
    pub(crate) echo: echo::EchoArgs,
    /// Options of storms.
    #[command(flatten)]
    pub(crate) storm: StormArgs,
}

/// Distribution of the gaps in an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsWord {
    /// Exponential.
    Poisson,
    /// Equal.
    Fixed,
}

/// How long a client of a private pooler keeps a connection to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PoolModeWord {
    /// Until it disconnects.
    Session,
    /// For a transaction.
    Transaction,
    /// For a statement.
    Statement,
}

/// How statements are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolWord {
    /// Prepared once per connection.
    Prepared,
    /// As text each time.
    Text,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InternalCommand {
    /// Stops servers and removes folders when looptax has ended.
    Reaper,
    /// The built-in echo server.
    EchoServer {
        /// Socket to listen on.
        #[arg(long)]
        socket: PathBuf,
        /// Abstract socket to listen on.
        #[arg(long = "abstract")]
        abstract_name: Option<String>,
        /// Addresses to listen on.
        #[arg(long)]
        tcp: Vec<std::net::SocketAddr>,
        /// Serve all connections with one thread.
        #[arg(long)]
        one_thread: bool,
        /// Speak HTTP.
        #[arg(long)]
        http: bool,
    },
    /// Copies bytes between two addresses, as Docker's port proxy does.
    PortProxy {
        /// Address to listen on.
        #[arg(long)]
        on: std::net::SocketAddr,
        /// Address to connect to.
        #[arg(long)]
        to: std::net::SocketAddr,
    },
    /// Writes the option reference, the codes, man pages, completions and schemas.
    Documents {
        /// Folder to write into.
        folder: PathBuf,
    },
    /// Prints the JSON schema of a saved form.
    Schema {
        /// The saved form.
        #[arg(value_enum, default_value_t = SavedForm::Record)]
        form: SavedForm,
    },
    /// Tries to reach a socket as another user.
    Reach(ReachArgs),
}

/// Parses a label: one word that is not the name of a file.
fn label(typed: &str) -> Result<String, String> {
    let is_fine = |it: char| it.is_alphanumeric() || "-_.+".contains(it);
    let has_start = typed.starts_with(char::is_alphanumeric);
    let is_name = has_start && typed.len() <= 60 && typed.chars().all(is_fine) && typed != "last";
    if is_name {
        return Ok(typed.to_owned());
    }
    Err("give one word of letters, digits and - _ . +, for example before-kernel; `last` is reserved".to_owned())
}

/// Parses `100000`, `500k` or `10M`.
fn rows(typed: &str) -> Result<u32, String> {
    let rows = typed::count(typed);
    rows.filter(|rows| *rows > 0).ok_or_else(|| "give a number of rows, for example 100000, 500k or 10M".to_owned())
}
