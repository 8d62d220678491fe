//! The meaning of the arguments of `trial`, and the messages before and after the trial.

use std::fmt::Write;
use std::io::{self, BufReader};
use std::path::Path;
use std::time::Duration;

use looptax_bench::path::Resolve;
use looptax_experiment::spec::target::{self, TargetSpec};
use looptax_experiment::spec::tool::without_passwords;
use looptax_experiment::spec::{Effort, effort, exec, new_seed, seed, typed};
use looptax_experiment::trial::pages::{Page, from_list, from_log};
use looptax_experiment::trial::{Account, Ask, Load, Server, Way};
use looptax_host::read;
use looptax_model::dsn::{MASK, Protocol, masked};
use looptax_model::failure::Failure;
use looptax_model::record::{Comparison, Direction, Record, TrialDesign, Verdict};
use looptax_switch::diagnose::moving::Candidate;
use looptax_wire::Login;

use crate::args::TrialArgs;

/// Largest size of a file with a list of pages.
const MOST_LIST_BYTES: u64 = 64 << 20;

/// Use at most this many pages of a log.
const MOST_OF_LOG: usize = 1_000;

/// Returns the trial that the arguments describe, for these servers.
///
/// # Errors
/// A usage failure if an option does not accept its value, or if options exclude each other. Also fails if a file
/// cannot be read.
pub(crate) fn asked(args: &TrialArgs, servers: Vec<Server>) -> Result<Ask, Failure> {
    let seed = args.seed.as_deref().map_or_else(new_seed, seed)?;
    let pages = pages(args, seed)?;
    let Some(first) = pages.first() else {
        return Err(Failure::usage(
            "there is no page to request",
            "pass a page with --url http://127.0.0.1:8080/, or many pages with --urls FILE",
        ));
    };
    let ready = match &args.ready {
        Some(url) => {
            let page = Page::parse(url, &looptax_switch::diagnose::own_address);
            let hint = "for example --ready http://127.0.0.1:8080/";
            let page = page.map_err(|what| Failure::usage(format!("--ready: {what}"), hint))?;
            page.address().at
        }
        None => first.address().at,
    };
    Ok(Ask {
        command: shown_command(args),
        load: load(args, pages)?,
        clients: args.clients as usize,
        rate_per_s: args.rate,
        design: args.restart.then_some(TrialDesign::Restart),
        arms: arms(&args.arms)?,
        is_each: args.each,
        effort: how_long(args)?,
        seed,
        ready,
        start_limit: limit("--start-limit", &args.start_limit)?,
        page_limit: limit("--page-limit", &args.page_limit)?,
        servers,
        inject: args.inject_us.map(Duration::from_micros),
        start: Duration::from_millis(args.start_ms),
    })
}

/// Returns all pages that the user named, each with the requested headers and method.
fn pages(args: &TrialArgs, seed: u64) -> Result<Vec<Page>, Failure> {
    let resolve: Resolve<'_> = &looptax_switch::diagnose::own_address;
    let wrong = |what: String| {
        let hint = "pass a page such as http://127.0.0.1:8080/, at an address of this machine";
        Failure::usage(what, hint)
    };
    let parsed = args.url.iter().map(|url| Page::parse(url, resolve));
    let parsed: Result<Vec<Page>, String> = parsed.collect();
    let mut pages = parsed.map_err(wrong)?;
    if let Some(path) = &args.urls {
        let bytes = read::read(path, MOST_LIST_BYTES).map_err(|source| cannot_read(path, source))?;
        let (found, problems) = from_list(&String::from_utf8_lossy(&bytes), resolve);
        if let Some(problem) = problems.first() {
            return Err(wrong(format!("{}: {problem}", path.display())));
        }
        pages.extend(found);
    }
    if let (Some(path), Some(base)) = (&args.from_log, pages.first().cloned()) {
        let log = read::open(path).map_err(|source| cannot_read(path, source))?;
        let (found, problems) = from_log(BufReader::new(log), &base, MOST_OF_LOG, seed);
        if found.is_empty() {
            let why = problems.first().map_or_else(String::new, |it| format!(": {it}"));
            let what = format!("{}: the log has no GET request answered with 200{why}", path.display());
            return Err(Failure::usage(what, "pass an access log in the combined format"));
        }
        pages = found;
    }
    let headers = args.header.iter().map(|header| {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            let what = format!("--header `{}` has no colon", masked(header));
            Failure::usage(what, "for example --header 'Cookie: session=1'")
        })?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    });
    let headers: Result<Vec<(String, String)>, Failure> = headers.collect();
    let headers = headers?;
    for page in &mut pages {
        page.headers.clone_from(&headers);
        if page.method == "GET" {
            page.method.clone_from(&args.method);
        }
    }
    Ok(pages)
}

fn cannot_read(path: &Path, source: io::Error) -> Failure {
    Failure::from(source).context(format!("cannot read {}", path.display()))
}

fn load(args: &TrialArgs, pages: Vec<Page>) -> Result<Load, Failure> {
    let Some(line) = &args.exec_load else {
        return Ok(Load::Pages(pages));
    };
    let words = exec::split("--exec-load", line)?;
    Ok(Load::Command {
        shown: exec::joined(&without_passwords(&words)),
        words,
        limit: limit("--exec-timeout", &args.exec_timeout)?,
        pages,
    })
}

fn arms(typed: &str) -> Result<[Way; 2], Failure> {
    match typed {
        "unix,tcp" => Ok([Way::Socket, Way::Tcp]),
        "tcp,unix" => Ok([Way::Tcp, Way::Socket]),
        "tcp,tcp" => Ok([Way::Tcp, Way::Tcp]),
        "unix,unix" => Ok([Way::Socket, Way::Socket]),
        _ => Err(Failure::usage(
            format!("--arms `{typed}`: a trial has two arms, unix and tcp"),
            "use --arms unix,tcp; or tcp,tcp to compare TCP with itself",
        )),
    }
}

fn how_long(args: &TrialArgs) -> Result<Effort, Failure> {
    match &args.fixed {
        Some(fixed) => effort::fixed(fixed),
        None if args.precise => Ok(Effort::Precise),
        None if args.quick => Ok(Effort::Quick),
        None => Ok(Effort::Full),
    }
}

fn limit(option: &str, typed: &str) -> Result<Duration, Failure> {
    let parsed = typed::time(typed).filter(|it| !it.is_zero());
    parsed
        .ok_or_else(|| Failure::usage(format!("{option} `{typed}` is not a time"), format!("for example {option} 30s")))
}

fn shown_command(args: &TrialArgs) -> String {
    let words = args.command.iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    let masked: Vec<String> = without_passwords(&words).iter().map(|it| masked(it)).collect();
    exec::joined(&masked)
}

/// Returns the command line, without its secrets.
pub(crate) fn command_line(args: &TrialArgs) -> Vec<String> {
    // With `--site`, the user did not type the command.
    let n_typed = if args.site.is_some() { 0 } else { args.command.len() };
    let n_own = std::env::args_os().count().saturating_sub(n_typed);
    let is_header = |word: &str| args.header.iter().any(|header| word.ends_with(header.as_str()));
    let own = std::env::args().take(n_own).map(|word| match word.split_once(':') {
        Some((name, _)) if is_header(&word) => format!("{name}: {MASK}"),
        _ => masked(&word),
    });
    own.chain(args.site.is_none().then(|| shown_command(args))).collect()
}

/// Returns the accounts of `--login`, each with the port of its server.
pub(crate) fn accounts(checked: &[String]) -> Result<Vec<(u16, Account)>, Failure> {
    let account = |word: &String| match target::parse(word)? {
        TargetSpec::Running(running) => {
            Ok(Some((running.tcp.port(), Account { protocol: running.protocol, login: running.login })))
        }
        TargetSpec::Private(_) => Ok(None),
    };
    let found: Result<Vec<_>, Failure> = checked.iter().map(account).collect();
    Ok(found?.into_iter().flatten().collect())
}

/// Returns the account with which looptax may query a server for its counts: the account that the user named, or an
/// empty account if the server does not require one.
pub(crate) fn account_of(candidate: &Candidate, accounts: &[(u16, Account)]) -> Option<Account> {
    let is_its = |port: &u16| candidate.from.iter().any(|from| from.port() == *port);
    let named = accounts.iter().find(|(port, _)| is_its(port));
    if let Some((_, account)) = named {
        return Some(account.clone());
    }
    let (program, _) = candidate.server.as_ref()?;
    let protocol = match program.as_str() {
        "redis-server" | "valkey-server" => Protocol::Redis,
        "memcached" => Protocol::Memcached,
        _ => return None,
    };
    Some(Account { protocol, login: Login::default() })
}

/// Returns the text of the plan, which is printed before anything is started; `stays` has the reasons why servers stay
/// on TCP, and `copies` describes the copies of a site.
pub(crate) fn plan(ask: &Ask, stays: &[String], copies: &[String]) -> String {
    let mut text = String::from("plan (Ctrl-C ends it and keeps what was measured)\n");
    for words in copies {
        let _ = writeln!(text, "  {words}");
    }
    let _ = writeln!(text, "  start: {}", ask.command);
    let pages = match &ask.load {
        Load::Pages(pages) => pages,
        Load::Command { pages, shown, .. } => {
            let _ = writeln!(text, "  load: {shown}");
            pages
        }
    };
    let first = pages.first().map_or("", |page| &*page.url);
    let more = match pages.len() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let pace = match ask.rate_per_s {
        Some(rate) => format!("{rate} pages a second"),
        None => "one after another".to_owned(),
    };
    let _ = writeln!(text, "  request: {first}{more}, {} at a time, {pace}", ask.clients);
    for server in &ask.servers {
        let from: Vec<String> = server.from.iter().map(ToString::to_string).collect();
        let to = moving_to(server);
        let _ = writeln!(text, "  connections to {} at {}: alternately TCP and {to}", server.kind, from.join(" and "));
    }
    for words in stays {
        let _ = writeln!(text, "  {words}");
    }
    text += "  the application's queries and writes reach its servers as usual; looptax itself changes nothing\n";
    text += "  looptax first measures for some seconds to estimate how long the trial takes; --fixed 60s sets the \
        time\n";
    text
}

fn moving_to(server: &Server) -> String {
    looptax_switch::diagnose::moving::shown(&server.to)
}

pub(crate) fn next_step(ask: &Ask, record: &Record) -> String {
    let Some(comparison) = record.comparisons.first() else {
        return String::new();
    };
    if ask.arms != [Way::Socket, Way::Tcp] {
        return String::new();
    }
    let Some(tax) = comparison.tax.first() else {
        return String::new();
    };
    if comparison.is_slower_by_supervisor() {
        return "inconclusive: the pages are short, and looptax itself takes more time than the socket could save. Rely \
                on the line `without looptax`; --precise narrows the interval in that line\n"
            .to_owned();
    }
    let switch = "`looptax switch FILE` changes the application's configuration, and puts the old file back unless \
        the change is proved to work";
    match (tax.verdict, tax.direction) {
        (Verdict::Difference, Some(Direction::OtherSlower)) => format!("next: {switch}\n"),
        (Verdict::Inconclusive, _) => format!("inconclusive: {}\n", more_time(comparison)),
        (Verdict::Invalid, _) => String::new(),
        // On a short page, the supervisor needs more time to move a connection than the socket saves.
        _ if costs_by_configuration(comparison) => format!(
            "not worth it if looptax moves the connections: on these pages, looptax needs more time to move a \
             connection than the socket saves. Without looptax the socket does save time: {switch}\n"
        ),
        (Verdict::Difference, _) => "not worth it: the application is slower over the socket\n".to_owned(),
        (Verdict::Negligible | Verdict::Equivalent, _) => {
            "not worth it: the pages take the same time over TCP and the socket\n".to_owned()
        }
    }
}

/// Whether TCP certainly costs more than the smallest cost that is reported, after the cost of the supervisor has been
/// subtracted.
fn costs_by_configuration(comparison: &Comparison) -> bool {
    let trial = comparison.trial.as_ref();
    let added = trial.and_then(|it| it.added_by_configuration_us.known());
    let page = comparison.arms.last().and_then(|arm| arm.latency_us.mean.known());
    let least = page.map(|us| us.value * comparison.schedule.delta_pct / 100.0);
    let lo = added.and_then(|it| it.lo);
    lo.zip(least).is_some_and(|(lo, least)| lo > least)
}

fn more_time(comparison: &Comparison) -> &'static str {
    if comparison.schedule.precise {
        "this machine is too noisy for such a small difference"
    } else {
        "--precise measures longer"
    }
}
