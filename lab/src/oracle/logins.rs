//! Random `pg_hba.conf` files. With the lines for a moved connection, the server must accept the same logins over the
//! socket as over TCP, and no others.
//!
//! This is checked in two ways: by an evaluator that is written from PostgreSQL's documentation, for each file and each
//! login that the file can distinguish; and, for some of the files, by a PostgreSQL.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use looptax_advise::check::{Hba, Origin};
use looptax_testkit::hba::{File, Files, Language};

use super::live::Live;
use crate::coin::Coin;

/// Options of `logins`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Number of files
    #[arg(long, default_value_t = 2_000)]
    files: usize,
    /// The seed of the random numbers; random if not given
    #[arg(long)]
    seed: Option<u64>,
    /// Files that are also tested with a private PostgreSQL
    #[arg(long, default_value_t = 200)]
    live: usize,
}

/// Number of random choices for facts that a file does not show: the members of a role, the names that a pattern
/// matches.
const WORLDS: u64 = 16;

/// Runs the comparison; fails at the first login with a different result.
pub(crate) fn run(options: &Options) -> Result<()> {
    let coin = Coin::new(options.seed)?;
    println!("seed {}", coin.seed);
    let start = Instant::now();
    let (mut n_moved, mut n_plain, mut n_logins) = (0, 0, 0);
    let mut plain = Files::new(coin.seed, Language::Plain);
    let mut whole = Files::new(coin.seed ^ 1, Language::Whole);
    for idx in 0..options.files {
        let file = if idx % 2 == 0 { plain.draw() } else { whole.draw() };
        let families: &[bool] = if idx % 4 < 2 { &[false] } else { &[false, true] };
        let worlds = if file.is_plain() { 1 } else { WORLDS };
        let seen = (0..worlds).find_map(|world| file.differs(families, world));
        let is_moved = is_moved(&file, families)?;
        n_moved += usize::from(is_moved);
        n_plain += usize::from(file.is_plain());
        // Over the socket, and over TCP: plain, with TLS and with GSS encryption.
        n_logins += file.logins().len() * families.len() * 4 * worlds as usize;
        match seen {
            Some((login, transport)) if is_moved => {
                bail!("moved, but {login:?} over {transport:?} differs:\n{}", file.text)
            }
            None if !is_moved && file.is_plain() => {
                bail!("left on TCP without a difference:\n{}", file.text)
            }
            _ => {}
        }
    }
    println!(
        "evaluator: {} files, {n_plain} of them without roles, patterns, lists and names of hosts; {n_moved} moved; {n_logins} answers; 0 differ; {:.1} s",
        options.files,
        start.elapsed().as_secs_f64()
    );
    if options.live > 0 {
        live(options.live, coin.seed)?;
    }
    Ok(())
}

fn is_moved(file: &File, families: &[bool]) -> Result<bool> {
    let origins: Vec<_> = families.iter().map(|is_v6| origin(*is_v6)).collect();
    let hba = Hba::parse(&file.text);
    // looptax does not understand a line that refers to a list in another file (`@names`).
    let has_list = file.text.contains("@names");
    if let Some(number) = hba.unread.first().filter(|_| !has_list) {
        bail!("cannot parse line {number}:\n{}", file.text);
    }
    Ok(hba.difference(&origins).is_none())
}

fn origin(is_v6: bool) -> Origin {
    let ip = if is_v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    Origin::Known { ip, is_localhost: true }
}

fn live(n_files: usize, seed: u64) -> Result<()> {
    let start = Instant::now();
    let mut server = Live::start()?;
    let mut files = Files::new(seed ^ 2, Language::Live);
    let mut coin = Coin::new(Some(seed))?;
    let mut n_moved = 0;
    for _ in 0..n_files {
        let file = files.draw();
        let failed = || format!("with these rules:\n{}", file.text);
        server.rule(&file.text)?;
        let is_moved = is_moved(&file, &[false])?;
        n_moved += usize::from(is_moved);
        let logins = coin.shuffled(file.logins());
        server.hold_against(&file, &logins).with_context(failed)?;
        if is_moved {
            server.compare(&logins).with_context(failed)?;
        }
    }
    println!(
        "{}: {n_files} files, {} answers to a first message as the evaluator says; {n_moved} moved, {} logins with right and wrong passwords over the socket, TCP and TLS: 0 differ; {:.1} s",
        server.name(),
        server.n_asked,
        server.n_tried,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
