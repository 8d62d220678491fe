//! A running server that looptax did not start. This module finds out the server's properties and which requests are
//! allowed, and refuses servers on which a measurement would do harm.

use looptax_bench::path::{
    Conversation, Endpoint, Limits, MISSING_KEYS, PathError, Sealing, TlsClient, Workload, system_row,
};
use looptax_host::discover::{self, process};
use looptax_model::dsn::Arm;
use looptax_model::dsn::{Kind, Protocol, Secret};
use looptax_model::failure::Failure;
use looptax_model::record::Meetings;
use looptax_wire::{Login, Salted, Sent, WireError, site};

use super::load_limits::{refuse_if_crowded, refuse_if_logged, refuse_if_written_on};
use super::scratch::Scratch;
use super::workloads::{self, Place};
use super::{AskPassword, Host};
use super::{Script, Target, connections, sending, socket, threads_of};
use crate::arms::target_arms::TargetArms;
use crate::spec::Experiment;
use crate::spec::target::Running;

/// sysbench's first table and pgbench's largest table, each with its key column.
const SYSBENCH: (&str, &str) = ("sbtest1", "id");
const PGBENCH: (&str, &str) = ("pgbench_accounts", "aid");

/// Logs in over TCP, finds the socket, and decides which requests do no harm.
pub(super) fn open(spec: &Running, settings: &Experiment, host: &Host) -> Result<Target, Failure> {
    let (mut conversation, login) = log_in(spec, host.ask)?;
    refuse_if_logged(&mut conversation)?;
    if !settings.is_own_server {
        let most = connections(settings, false).into_iter().max().unwrap_or(1);
        refuse_if_crowded(&mut conversation, 2 * u64::from(most))?;
    }
    let given = settings.socket.as_ref().or(spec.socket.as_ref());
    let sealing = match spec.no_tls {
        Some(_) => Sealing::Never,
        None => Sealing::IfRefused,
    };
    let (socket, mut by_socket) = socket::find(given, spec.tcp, &mut conversation, &login, sealing)?;
    let pooler = pooler(&mut conversation, &by_socket);
    let is_pooled = pooler.is_some();
    if is_pooled && settings.requests.sent == Sent::Prepared {
        refuse_if_prepared_is_lost(&mut conversation, &mut by_socket)?;
    }
    let mut target = Target {
        kind: pooler.unwrap_or_else(|| conversation.kind()).name().to_owned(),
        // A pooler reports the version of the server behind it, so this is not the pooler's version.
        version: if is_pooled { String::new() } else { conversation.server_version().to_owned() },
        name: spec.shown.clone(),
        protocol: spec.protocol,
        login: Login { salted: Salted::kept(), ..login },
        workload: Workload::Ping,
        sending: sending(settings),
        distribution: settings.requests.distribution,
        reconnect_every: settings.requests.reconnect_every,
        script: Script::read(spec.protocol, settings)?,
        n_keys: 1,
        threads: threads_of(spec.protocol),
        pids: by_socket.facts().peer_pid.into_iter().collect(),
        settings: Vec::new(),
        offers_tls: conversation.offers_tls(),
        is_pooled,
        meetings: None,
        over_tcp: None,
        console: None,
        has_load_limits: !settings.is_own_server,
        reaper: Some(host.reaper.clone()),
        sockets: vec![socket],
        asks: [sealed(&by_socket, [Arm::Unix, Arm::TlsUnix]), sealed(&conversation, [Arm::Tcp, Arm::Tls])],
        addresses: vec![spec.tcp],
        tls_addresses: vec![spec.tcp],
        abstract_names: Vec::new(),
        pools: Vec::new(),
        arms: TargetArms::sealed_by(Some(TlsClient::trusting_anybody().map_err(Failure::new)?)),
        private: None,
        scratch: None,
    };
    choose_workload(&mut target, conversation, settings)?;
    target.meetings = seen_clients(&target);
    Ok(target)
}

/// Returns on which cores the clients of a single-threaded server run. Other servers do not show which of their threads
/// serves which client.
fn seen_clients(target: &Target) -> Option<Meetings> {
    let pid = target.pids.first().filter(|_| target.protocol == Protocol::Redis)?;
    let discover::Meetings { programs, n_looks, n_same } = discover::meetings(*pid)?;
    Some(Meetings { programs, n_looks, n_same })
}

/// Returns the second of two arms if the login used TLS, otherwise the first.
fn sealed(conversation: &Conversation, [plain, sealed]: [Arm; 2]) -> Arm {
    match conversation.facts().tls {
        Some(_) => sealed,
        None => plain,
    }
}

/// Logs in. If the server requires a password and none was given, asks the user for it.
fn log_in(spec: &Running, ask: AskPassword) -> Result<(Conversation, Login), Failure> {
    let endpoint = Endpoint::Tcp(spec.tcp);
    let sealing = match (&spec.tls, &spec.no_tls) {
        (Some(_), _) => Sealing::Always,
        (None, Some(_)) => Sealing::Never,
        (None, None) => Sealing::IfRefused,
    };
    let open = |login: &Login| {
        let limits = Limits::default();
        Conversation::open_as_wanted(spec.protocol, &endpoint, login, sealing, limits)
    };
    let mut login = spec.login.clone();
    let refused = match open(&login) {
        Ok(conversation) => return Ok((conversation, login)),
        Err(refused) => refused,
    };
    if refused.is_needless_password() {
        login.password = Secret::new(String::new());
        let conversation = open(&login)?;
        return Ok((conversation, login));
    }
    if !login.password.is_empty() || !wants_password(&refused) {
        return Err(refused.into());
    }
    let Some(answer) = ask(&spec.shown) else {
        // The login is rejected by a line of pg_hba.conf, both with and without a password.
        let is_about_lines = refused.refusal().is_some_and(|(code, _)| code == "28000");
        let failure = Failure::from(refused);
        let hint = "no password was given: put the password into LOOPTAX_PASSWORD, or run looptax on a terminal, \
            where it asks for the password";
        return Err(if is_about_lines { failure } else { failure.with_hint(hint) });
    };
    login.password = Secret::new(answer?);
    let conversation = open(&login)?;
    Ok((conversation, login))
}

/// Whether the error means that the server requires a password: "Access denied" of MySQL and PostgreSQL,
/// "authentication required" of Redis, `AuthenticationFailed` of `MongoDB`.
fn wants_password(error: &PathError) -> bool {
    match error {
        PathError::Protocol { source: WireError::Server { code, .. }, .. } => {
            matches!(code.as_str(), "1045" | "28P01" | "28000" | "NOAUTH" | "18")
        }
        _ => false,
    }
}

/// Returns the pooler that serves these connections, if there is one: the process that listens on the socket is a known
/// pooler, or the number of the connection in the greeting differs from the number that PostgreSQL reports. The numbers
/// are not enough, because some poolers pass PostgreSQL's number on.
fn pooler(conversation: &mut Conversation, by_socket: &Conversation) -> Option<Kind> {
    if conversation.protocol() != Protocol::Postgres {
        return None;
    }
    let process = by_socket.facts().peer_pid.and_then(process);
    let kind = process.and_then(|it| Kind::of_program(&it.program_name()));
    let is_known = |kind: &Kind| kind.facts().pools == Some(Kind::Postgres);
    let id = conversation.connection_id();
    let mut gives_its_own = || {
        let backend = conversation.backend();
        backend.is_ok_and(|backend| u64::from(backend.pid) != id)
    };
    kind.filter(is_known).or_else(|| gives_its_own().then_some(Kind::Pgbouncer))
}

/// Returns an error if the pooler would pass looptax's prepared statements on to the next client that gets the same
/// connection to the server.
fn refuse_if_prepared_is_lost(conversation: &mut Conversation, by_socket: &mut Conversation) -> Result<(), Failure> {
    if !conversation.shares_backends_with(by_socket)? || by_socket.keeps_prepared()? {
        return Ok(());
    }
    Err(Failure::usage(
        "this pooler gives a server connection to one client after another (pool_mode transaction or statement), \
         and does not keep each client's prepared statements",
        "pass --protocol text, which prepares nothing; PgBouncer 1.21 and newer keep prepared statements in every \
         mode (max_prepared_statements)",
    ))
}

/// With `--write`, makes scratch objects; otherwise chooses requests that do not write.
fn choose_workload(target: &mut Target, conversation: Conversation, settings: &Experiment) -> Result<(), Failure> {
    if target.script.is_some() {
        if !settings.is_own_server {
            return Err(Failure::usage(
                "a script may do anything to a running server",
                "pass --own-server if the server is yours; a private server needs no permission",
            ));
        }
        target.workload = workloads::make(target.protocol, &settings.requests, &Place::private(settings.rows))?;
        return Ok(());
    }
    let has_tables = target.protocol != Protocol::Http;
    if settings.may_write && has_tables && !is_tableless(settings.requests.workload.as_deref()) {
        return in_scratch(target, conversation, settings);
    }
    read_only(target, conversation, settings)
}

/// Whether a workload needs neither a table nor a key.
fn is_tableless(word: Option<&str>) -> bool {
    matches!(word, Some("ping" | "system-row" | "connect"))
}

fn in_scratch(target: &mut Target, mut conversation: Conversation, settings: &Experiment) -> Result<(), Failure> {
    let scratch = Scratch::planned(target.protocol, settings.rows);
    let workload = workloads::make(target.protocol, &settings.requests, &scratch.place(settings.rows))?;
    if let Workload::Incr { .. } | Workload::Lpush { .. } | Workload::DumpValues { .. } = workload {
        return Err(Failure::usage(
            format!(
                "looptax does not run `{workload}` on a running server, because this workload makes keys that \
                do not expire"
            ),
            "use set or mixed, whose keys expire; a private server accepts every workload",
        ));
    }
    refuse_if_written_on(&mut conversation)?;
    tell_leftovers(&mut conversation)?;
    if let Err(failure) = scratch.make(&workload, &mut conversation, settings) {
        // Ctrl-C may have interrupted the dialogue in the middle of a reply, so another connection cleans up. The first
        // error is returned, because it matters more than an error of the clean-up.
        looptax_host::waiting::allow_again();
        drop(conversation);
        if let Ok(mut conversation) = target.converse(target.asks[1]) {
            let _ = scratch.drop_from(&mut conversation);
        }
        return Err(failure);
    }
    target.workload = workload;
    target.n_keys = u64::from(settings.rows);
    target.scratch = Some((scratch, conversation));
    Ok(())
}

/// Returns the requested workload, on existing tables. If the user requested no workload, returns the first possible
/// workload of these three: point selects; reads of a row of the server's own tables (an ordinary query); ping.
fn read_only(target: &mut Target, mut conversation: Conversation, settings: &Experiment) -> Result<(), Failure> {
    let mut requests = settings.requests.clone();
    if target.protocol == Protocol::Http {
        requests.workload.get_or_insert_with(|| site::SIZED.to_owned());
    }
    if requests.workload.is_none() {
        let has_rows = sequence(&mut conversation, SYSBENCH.0, SYSBENCH.1).is_some();
        let word = match has_rows {
            true => "point-select",
            false if has_system_row(&mut conversation) => "system-row",
            false => "ping",
        };
        requests.workload = Some(word.to_owned());
    }
    let place =
        Place { schema: String::new(), prefix: String::new(), ttl_s: None, rows: settings.rows, has_own_site: false };
    let workload = workloads::make(target.protocol, &requests, &place)?;
    if workload.writes() || matches!(workload, Workload::Get { .. } | Workload::DumpValues { .. }) {
        let needs = if workload.writes() { "writes" } else { "needs keys on the server" };
        return Err(Failure::usage(
            format!("`{workload}` {needs}"),
            "pass --workload ping, which needs no data; or pass --write: looptax then writes its own data under a new \
             name, and removes them afterwards",
        ));
    }
    if target.protocol == Protocol::Redis {
        may_get(&mut conversation)?;
    }
    let (table, key) = match workload {
        Workload::PointSelect { .. } | Workload::Oltp { .. } | Workload::Dump { .. } => SYSBENCH,
        Workload::SelectOnly { .. } => PGBENCH,
        _ => {
            target.workload = workload;
            return Ok(());
        }
    };
    target.n_keys = sequence(&mut conversation, table, key).ok_or_else(|| {
        Failure::usage(
            format!(
                "found no table `{table}` that this account can read and whose values of {key} are 1, 2, 3 and so on"
            ),
            "use --workload ping, which needs no table; or use --write: looptax then makes a scratch schema, and drops \
             it afterwards",
        )
    })?;
    target.workload = match workload {
        Workload::Dump { table, .. } => Workload::Dump { table, rows: target.n_keys },
        other => other,
    };
    Ok(())
}

fn has_system_row(conversation: &mut Conversation) -> bool {
    let sql = system_row(conversation.protocol());
    sql.and_then(|sql| conversation.rows_of_users(sql).ok())
        .is_some_and(|rows: Vec<[Option<String>; 1]>| rows.len() == 1)
}

/// Checks that a Redis account may read a key that does not exist on any server.
fn may_get(conversation: &mut Conversation) -> Result<(), Failure> {
    let key = format!("{MISSING_KEYS}0");
    let command = vec![b"GET".to_vec(), key.clone().into_bytes()];
    let asked = conversation.pipeline(&[command]);
    asked.map(drop).map_err(|error| {
        Failure::new(error).with_hint(format!(
            "allow the user to read missing keys: ACL SETUSER NAME +get ~looptax:missing* (each request is GET \
            {key}, and this key does not exist)"
        ))
    })
}

/// Returns the number of rows, if keys run from 1 without gaps.
fn sequence(conversation: &mut Conversation, table: &str, key: &str) -> Option<u64> {
    // On PostgreSQL, looptax first checks whether the table exists, because a query on a missing table would leave an
    // error in PostgreSQL's log.
    if conversation.protocol() == Protocol::Postgres {
        let may = format!("SELECT pg_catalog.has_table_privilege(pg_catalog.to_regclass('{table}'), 'SELECT')");
        // PostgreSQL before 9.4 does not support this query; looptax then reads the table without a check.
        let told: Result<Vec<[Option<String>; 1]>, _> = conversation.rows_of_users(&may);
        if told.is_ok_and(|rows| !matches!(rows.as_slice(), [[Some(may)]] if may == "t")) {
            return None;
        }
    }
    let sql = format!("SELECT COUNT(*), MIN({key}), MAX({key}) FROM {table}");
    let [row] = <[_; 1]>::try_from(conversation.rows_of_users(&sql).ok()?).ok()?;
    let [count, first, last]: [Option<String>; 3] = row;
    let number = |cell: Option<String>| cell?.parse::<u64>().ok();
    let count = number(count)?;
    (number(first)? == 1 && number(last)? == count).then_some(count)
}

fn tell_leftovers(conversation: &mut Conversation) -> Result<(), Failure> {
    let names = match Scratch::leftovers(conversation) {
        // The server does not show the list to this account, or keeps no list.
        Err(WireError::Server { .. } | WireError::Unsupported { .. }) => return Ok(()),
        told => told.map_err(|error| conversation.failed(error))?,
    };
    match names.first() {
        None => Ok(()),
        Some(first) => Err(Failure::usage(
            format!("{} is left over from an earlier run that was killed", names.join(", ")),
            match conversation.protocol() {
                Protocol::Mysql => format!("DROP DATABASE {first};"),
                Protocol::Mongodb => format!("in mongosh: use {first}, then db.dropDatabase()"),
                _ => format!("DROP SCHEMA {first} CASCADE;"),
            },
        )),
    }
}
