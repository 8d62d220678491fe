//! What can be typed: filled by clap, without a look at the machine.
//!
//! What it means here is `settings`' business. The help texts are the option reference: the man
//! page, `docs/src/cli.md` and the completions are made from them.

mod begin;
mod capture;
mod check;
mod dsn;
pub(crate) mod echo;
mod exec;
mod find;
mod fleet;
mod json;
mod mcp;
mod peer;
mod reproduce;
mod result;
mod run;
mod saved_form;
mod show;
mod doctor;
mod storm;
mod switch;
mod trial;
mod watch;
mod why;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use looptax_experiment::spec::typed;

pub(crate) use begin::{BeginArgs, TurnArgs};
pub(crate) use capture::CaptureArgs;
pub(crate) use check::{CheckArgs, ReachArgs};
pub(crate) use dsn::DsnArgs;
pub(crate) use exec::ExecArgs;
pub(crate) use find::FindArgs;
pub(crate) use fleet::{
    AskArgs, CollectorArgs, FleetArgs, FleetCommand, FleetListArgs, FleetReportArgs, InitArgs, RecordsWord, SendArgs,
};
pub(crate) use json::JsonArgs;
pub(crate) use mcp::McpArgs;
pub(crate) use peer::PeerArgs;
pub(crate) use reproduce::{ReproduceArgs, ReproduceName};
pub(crate) use result::{DetailArgs, ResultArgs};
pub(crate) use run::{MovingArgs, RUN_EXIT_CODES, RunArgs};
pub(crate) use saved_form::SavedForm;
pub(crate) use show::{DiffArgs, FormatArgs, GateArgs, ShowArgs};
pub(crate) use doctor::{DoctorArgs, Test};
pub(crate) use storm::StormArgs;
pub(crate) use switch::{SWITCH_EXIT_CODES, SwitchArgs};
pub(crate) use trial::TrialArgs;
pub(crate) use watch::WatchArgs;
pub(crate) use why::WhyArgs;

/// What does a local database lose by TCP loopback instead of a Unix socket?
#[derive(Debug, Parser)]
#[command(name = "looptax", version, about = "What does a local database lose by TCP loopback instead of a Unix socket?", after_help = EXIT_CODES, long_about = LONG_ABOUT, subcommand_precedence_over_arg = true)]
pub(crate) struct Cli {
    /// What to do. Nothing: who pays here, and one connection to each installed kind of server, within half a minute.
    /// Options of `compare` without a command mean `compare`.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// What `compare` takes.
    #[command(flatten)]
    pub(crate) compare: CompareArgs,
    /// What every command takes.
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// Whether nothing was typed that says what to measure.
    #[arg(skip)]
    pub(crate) is_bare: bool,
}

impl Cli {
    /// What was typed.
    ///
    /// # Errors
    /// What cannot be typed, and the texts of `--help` and `--version`.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let words: Vec<String> = { std::env::args_os().skip(1) }.map(|it| it.to_string_lossy().into_owned()).collect();
        let file_behind_json = json::file_behind(&words);
        let matches = match (command.try_get_matches_from_mut(std::env::args_os()), file_behind_json) {
            (Err(error), Some(file)) if error.exit_code() != 0 && !is_run() => {
                return Err(command.error(error.kind(), json::advice(file)));
            }
            (matches, _) => matches?,
        };
        let is_typed = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let says_what = |id: &clap::Id| !BESIDE_MEASURING.contains(&id.as_str());
        let is_bare = !matches.ids().filter(is_typed).any(says_what);
        let is_of_compare = |id: &clap::Id| !OF_EVERY_COMMAND.contains(&id.as_str());
        if let Some(name) = matches.subcommand_name()
            && matches.ids().filter(is_typed).any(is_of_compare)
        {
            let words = format!("options of a bare `looptax` stand before `{name}`: put them behind it");
            return Err(command.error(ErrorKind::ArgumentConflict, words));
        }
        let cli = Self::from_arg_matches(&matches)?;
        if let Some(file) = file_behind_json.filter(|it| cli.takes_as_word(it)) {
            return Err(command.error(ErrorKind::UnknownArgument, json::advice(file)));
        }
        let mut cli = Self { is_bare: is_bare && cli.command.is_none(), ..cli };
        if let Some(Command::Why(args)) = &mut cli.command {
            args.typed = typed_options(&command, &matches);
        }
        Ok(cli)
    }
}

impl Cli {
    /// Whether a word that may have been meant as the file of `--json` is a server now. A record may have such a name.
    fn takes_as_word(&self, word: &str) -> bool {
        match &self.command {
            None => self.compare.targets.iter().any(|it| it == word),
            Some(Command::Compare(args)) => args.targets.iter().any(|it| it == word),
            Some(Command::Why(args)) => args.compare.targets.iter().any(|it| it == word),
            Some(Command::Doctor(args)) => args.target == word,
            Some(Command::Show(args)) => args.runs.iter().any(|it| it == "-"),
            Some(_) => false,
        }
    }
}

/// The options of a subcommand that were typed, by their long names.
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

/// Options that may stand before any command, and their group.
const OF_EVERY_COMMAND: [&str; 3] = ["color", "quiet", "GlobalArgs"];
/// Options that leave open what is measured, and the groups that they are in.
const BESIDE_MEASURING: [&str; 29] = [
    "trusts_peer",
    "PeerArgs",
    "at",
    "verbose",
    "output",
    "json",
    "html",
    "md",
    "csv",
    "openmetrics",
    "benchmark_json",
    "folded",
    "pprof",
    "label",
    "no_history",
    "wait",
    "between",
    "max_load",
    "stop_file",
    "color",
    "quiet",
    "GlobalArgs",
    "CompareArgs",
    "FormatArgs",
    "JsonArgs",
    "ResultArgs",
    "DetailArgs",
    "TurnArgs",
    "BeginArgs",
];

/// Whether the command line means `run`, also where the rest of it is wrong.
pub(crate) fn is_run() -> bool {
    let found = Cli::command().ignore_errors(true).try_get_matches();
    found.is_ok_and(|it| it.subcommand_name() == Some("run"))
}

/// Whether what ended the reading of arguments is `--version`, with `--verbose` beside it.
pub(crate) fn asks_for_features(ended: &clap::Error) -> bool {
    let is_verbose = |word: std::ffi::OsString| word == "--verbose";
    ended.kind() == ErrorKind::DisplayVersion && std::env::args_os().skip(1).any(is_verbose)
}

const LONG_ABOUT: &str = "Measures what a local database loses by talking over TCP loopback \
instead of a Unix domain socket, on this machine, with an interval.

A bare `looptax` starts private servers from the installed binaries (MariaDB, MySQL, PostgreSQL, \
Redis, Valkey, memcached) and a built-in echo server, one after the other, measures for half a minute in all, and leaves \
nothing behind but its record. Running servers are measured only when they are named.";

/// Exit codes, for the end of the help.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 done (an inconclusive result too), 1 the answer is no, \
2 usage or environment, 3 invalid measurement (check, gate, doctor: not known), 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Hold several transports of the same server against each other.
    #[command(after_help = EXIT_CODES)]
    Compare(Box<CompareArgs>),
    /// Does this machine allow honest verdicts? A/A runs, injected delays, slice length.
    #[command(after_help = EXIT_CODES)]
    Doctor(DoctorArgs),
    /// Which servers run here, on which sockets, and who pays for TCP.
    #[command(after_help = EXIT_CODES)]
    Find(FindArgs),
    /// Requests per second and their times by client, over TCP and over the socket, without a load.
    #[command(after_help = EXIT_CODES)]
    Watch(WatchArgs),
    /// Would the switch to the socket work? Path, permission, account, backlog.
    #[command(after_help = EXIT_CODES)]
    Check(CheckArgs),
    /// The same connection over the socket, in each driver's own words.
    #[command(after_help = EXIT_CODES)]
    Dsn(DsnArgs),
    /// Move an application to the socket: plan, agree, write, reload, prove it, and back where that fails.
    #[command(after_help = SWITCH_EXIT_CODES)]
    Switch(Box<SwitchArgs>),
    /// Run an unmodified program, its connections to local databases moved to their sockets.
    #[command(after_help = RUN_EXIT_CODES)]
    Run(RunArgs),
    /// What the socket would bring your own application: its pages over TCP and over the socket in turns, nothing changed.
    #[command(after_help = EXIT_CODES)]
    Trial(Box<TrialArgs>),
    /// Where the difference goes: a request's CPU time by layer of kernel and programs, over each transport.
    ///
    /// Two records of it in place of targets, by file, name of the run or label: which layer became dearer from the first
    /// to the second.
    #[command(after_help = EXIT_CODES, mut_args(why::of_why))]
    Why(Box<WhyArgs>),
    /// List the runs of this machine, or show some again as text, page or data.
    #[command(after_help = EXIT_CODES)]
    Show(ShowArgs),
    /// Compare two runs, or the same clients before and after a change (`watch --save`).
    #[command(after_help = EXIT_CODES)]
    Diff(DiffArgs),
    /// For continuous integration: does an arm lose more than it may? 1 yes, 0 no, 3 the measurement does
    /// not say.
    #[command(after_help = EXIT_CODES)]
    Gate(GateArgs),
    /// Published comparisons again on this machine, published beside measured.
    #[command(after_help = EXIT_CODES)]
    Reproduce(ReproduceArgs),
    /// Many machines: the collector that they report to.
    #[command(after_help = EXIT_CODES)]
    Fleet(FleetArgs),
    /// The looking commands as tools for an assistant (Model Context Protocol), over standard input and output.
    #[command(after_help = EXIT_CODES)]
    Mcp(McpArgs),
    /// For looptax itself.
    #[command(hide = true, subcommand)]
    Internal(InternalCommand),
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalArgs {
    /// When to colour the output.
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto, global = true, value_name = "WHEN", help_heading = "Global options")]
    pub(crate) color: ColorWhen,
    /// No progress, no plan: only the result.
    #[arg(short, long, global = true, help_heading = "Global options")]
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
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is typed or not")]
pub(crate) struct CompareArgs {
    /// Servers: private:mariadb, private:mysql, private:postgres, private:redis, private:valkey,
    /// private:memcached, private:ferretdb, private:pgbouncer, private:pgpool, private:php-fpm, private:http, echo, or a running one by its URL
    /// (<mysql://user@127.0.0.1:3306/db>, postgres://…, redis://…, http://…).
    /// Default: a private server for every protocol that is installed (MariaDB before MySQL, Redis before Valkey; no
    /// memcached but in a bare `looptax`), and echo.
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Ways to the server to hold against each other: unix, tcp, tcp6; abstract, a socket's abstract name; tls and
    /// tls-unix; bridge, nat and proxy, as a container is reached by its address or its published port; redirect,
    /// opened as TCP and moved to the socket, as `looptax run` does. One that cannot be had is named, and the others are
    /// measured. Default: unix,tcp, and tls on a MySQL, MariaDB or PostgreSQL server that offers it.
    #[arg(long, value_delimiter = ',', value_name = "ARM,…")]
    pub(crate) arms: Vec<String>,
    /// The arm the others are held against. Default: the first of --arms.
    #[arg(long, value_name = "ARM")]
    pub(crate) baseline: Option<String>,
    /// What would help programs that go over --baseline today (tcp, unless it is given)? The socket, no TLS,
    /// the host's network, several requests at once, connections that stay open, placement: each is measured for this
    /// workload, and all are ranked. 16 connections unless -c says otherwise, and --quick unless --precise or --fixed.
    #[arg(long, conflicts_with_all = ["rate", "rate_sweep", "think", "reconnect_every", "sweep", "exec", "exec_unix"])]
    pub(crate) remedies: bool,
    /// Open unix and tls-unix from another network and mount namespace, as a container does that shares the folder of
    /// the socket and nothing else.
    #[arg(long)]
    pub(crate) from_namespace: bool,
    /// Connections per arm, one comparison each. Default: 1,16; 1 on a running server.
    #[arg(short, long, value_delimiter = ',', value_name = "N,…")]
    pub(crate) connections: Vec<u32>,
    /// What is asked: point-select, read-write, tpcb …, get, set, mixed:9:1 …, ping, stream (--list shows
    /// all). Default: point-select, get or ping; on a running server without --write what can be asked
    /// without writing. Several are measured one after the other. storm: many connections at once to private servers.
    #[arg(long, value_name = "NAME,…")]
    pub(crate) workload: Option<String>,
    /// List the workloads and do nothing.
    #[arg(long)]
    pub(crate) list: bool,
    /// How often each key is asked for: uniform, or zipf:S (the k-th key as k to the power of -S).
    #[arg(long, default_value = "uniform", value_name = "DISTRIBUTION")]
    pub(crate) distribution: String,
    /// Keep single latencies up to this size, in MiB, for percentiles; later epochs keep counts alone.
    #[arg(long, default_value_t = 256, value_name = "MIB", value_parser = clap::value_parser!(u32).range(..=256))]
    pub(crate) max_samples: u32,
    /// Set a variable of script:FILE.
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// SQL statements go out prepared, or whole as text.
    #[arg(long, value_enum, default_value_t = ProtocolWord::Prepared, value_name = "PROTOCOL")]
    pub(crate) protocol: ProtocolWord,
    /// Redis, memcached and echo: requests in one send; a request is then the whole batch.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) pipeline: u32,
    /// Redis, memcached: size of a value in bytes. Default: 64, an element of lpush 3.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(..=16_777_216))]
    pub(crate) value_size: Option<u32>,
    /// Where the two ends of a connection run: same (one core), split (two cores), free (the scheduler
    /// decides), client-pinned (only our own threads are pinned). Default: same decides, with a short
    /// look at the others; on a running server same as root (not Redis), else split at one connection.
    #[arg(long, value_delimiter = ',', value_name = "PLACEMENT,…")]
    pub(crate) placement: Vec<String>,
    /// How the client waits: poll, poll-first, block, event, or all in one interleaved schedule.
    /// Default: poll up to 64 connections (poll-first for `PostgreSQL`, as libpq waits), event above; block where
    /// only that makes sense (stream).
    #[arg(long, value_delimiter = ',', value_name = "MODEL,…")]
    pub(crate) client: Vec<String>,
    /// Wait as a real client does: php, java, jdbc, go, node, python, or a library such as libmariadb, libpq,
    /// pgjdbc, hiredis, redis-py. What it means depends on the server. What the client computes beside
    /// waiting is left out.
    #[arg(long, value_delimiter = ',', value_name = "CLIENT,…", conflicts_with = "client")]
    pub(crate) client_like: Vec<String>,
    /// Send at this rate instead of as fast as answers come, whether answers are in or not, one
    /// comparison each: 50k (per second, over all connections of an arm), or 40%,80% of what the slower
    /// arm can serve, which is found first. Latency then counts from when a request was due.
    #[arg(long, value_delimiter = ',', value_name = "RATE,…")]
    pub(crate) rate: Vec<String>,
    /// --rate 10% to 95%: both arms' latency over the load.
    #[arg(long)]
    pub(crate) rate_sweep: bool,
    /// Gaps between the requests of --rate: independent of one another, or all equal.
    #[arg(long, value_enum, default_value_t = ArrivalsWord::Poisson, value_name = "GAPS")]
    pub(crate) arrivals: ArrivalsWord,
    /// Pause between an answer and the connection's next request: 200us, 5ms.
    #[arg(long, value_name = "TIME")]
    pub(crate) think: Option<String>,
    /// Close each connection after so many requests and open another, which counts with the next
    /// request.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) reconnect_every: Option<u32>,
    /// Connections 1, 2, 4 … as 1..1024, or a list as 1,16,256: throughput and latency of each arm over connections,
    /// with the event client, and poll beside it at 64.
    #[arg(long, value_name = "FROM..TO|N,…", conflicts_with = "connections")]
    pub(crate) sweep: Option<String>,
    /// Socket of the running server, or its folder. Default: that of the process on the port, what the server says, and
    /// what else proves to be its.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Rows (keys) of a private server: 100000, 500k, 10M.
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = rows)]
    pub(crate) rows: u32,
    /// private:pgbouncer: for how long a client has a connection to PostgreSQL for itself. Before its version
    /// 1.21 it keeps prepared statements in session mode alone: the others want --protocol text then.
    #[arg(long, value_enum, default_value_t = PoolModeWord::Session, value_name = "MODE")]
    pub(crate) pool_mode: PoolModeWord,
    /// One look after a fixed time (10s) or number of epochs (20), without early stopping.
    #[arg(long, value_name = "T", conflicts_with_all = ["quick", "precise"])]
    pub(crate) fixed: Option<String>,
    /// At most 40 epochs, some 20 s per comparison. A run without targets is quick.
    #[arg(long, conflicts_with = "precise")]
    pub(crate) quick: bool,
    /// Go on until the interval is narrow, and check that the slice length does not matter.
    #[arg(long)]
    pub(crate) precise: bool,
    /// How long everything runs unmeasured first (0s: two epochs). Default: 2 to 10 s, until the rate is
    /// steady; one epoch, whatever is said, on a running server that is not --own-server.
    #[arg(long, value_name = "TIME")]
    pub(crate) warm_up: Option<String>,
    /// Length of a slice in milliseconds. Default: 50, or 250 for free placement.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(10..=60_000))]
    pub(crate) slice_ms: Option<u32>,
    /// Repeat the schedule of an earlier run (the seed stands in its record).
    #[arg(long, value_name = "HEX")]
    pub(crate) seed: Option<String>,
    /// Print the plan and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show the run on the whole terminal while it lasts: both arms, the interval so far, latencies, what
    /// comes next, time left. q ends the run and keeps what it has.
    #[arg(long, conflicts_with = "json_stream")]
    pub(crate) live: bool,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
    #[command(flatten)]
    pub(crate) begin: BeginArgs,
    /// On a running server: may write a scratch schema of its own, dropped afterwards.
    #[arg(long)]
    pub(crate) write: bool,
    /// On a running server: it is mine and idle, lift the limits on connections and time.
    #[arg(long)]
    pub(crate) own_server: bool,
    /// Agree to the plan for a running server without being asked.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Whole commands instead of requests.
    #[command(flatten)]
    pub(crate) exec: ExecArgs,
    /// What is sent to the echo server.
    #[command(flatten)]
    pub(crate) echo: echo::EchoArgs,
    /// What a storm does.
    #[command(flatten)]
    pub(crate) storm: StormArgs,
}

/// How the gaps of an open loop are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsWord {
    /// Exponential.
    Poisson,
    /// Equal.
    Fixed,
}

/// How a private pooler pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PoolModeWord {
    /// As long as it is connected.
    Session,
    /// For a transaction.
    Transaction,
    /// For a statement.
    Statement,
}

/// How statements go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolWord {
    /// Prepared once per connection.
    Prepared,
    /// Whole, each time.
    Text,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InternalCommand {
    /// Stops servers and removes folders when looptax is gone.
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
    /// Copies between two addresses, as Docker's port proxy does.
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
        /// Which.
        #[arg(value_enum, default_value_t = SavedForm::Record)]
        form: SavedForm,
    },
    /// Goes the way to a socket as somebody else.
    Reach(ReachArgs),
}

/// A name that is one word and no file's.
fn label(typed: &str) -> Result<String, String> {
    let is_fine = |it: char| it.is_alphanumeric() || "-_.+".contains(it);
    let has_start = typed.starts_with(char::is_alphanumeric);
    let is_name = has_start && typed.len() <= 60 && typed.chars().all(is_fine) && typed != "last";
    if is_name {
        return Ok(typed.to_owned());
    }
    Err("one word of letters, digits, - _ . +, as before-kernel".to_owned())
}

/// `100000`, `500k` or `10M`.
fn rows(typed: &str) -> Result<u32, String> {
    let rows = typed::count(typed);
    rows.filter(|rows| *rows > 0).ok_or_else(|| "a number of rows as 100000, 500k or 10M".to_owned())
}
