//! `cargo lab clients agree`: compares the tax of real clients with the tax of the models that stand for them.
//!
//! Servers and clients share one core. In each round every client is measured once, in random order: the real client in
//! slices whose arms alternate as looptax's own do, and the model by looptax on the same server. A coin decides whether
//! the real client or the model is measured first. Fails only if something cannot be run.

mod model;
mod rates;
mod real;
mod table;

use anyhow::{Context, Result};

use super::data;
use super::server::{Server, start_all};
use crate::coin::Coin;
use crate::one_core::pin_to_last_core;
use crate::workspace;
use rates::{Measured, Round};

/// Number of rounds by default: the interval of a client's figures needs six.
const ROUNDS: u32 = 7;
/// Length of a slice of a real client in milliseconds. Slices are short, because the speed of a machine that others
/// also use changes within a second.
const SLICE_MS: u32 = 100;
/// Number of groups of eight slices in a round.
const OCTETS: u32 = 10;

/// The options of the comparison.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Names of clients; all if none is given
    #[arg(value_name = "CLIENT")]
    names: Vec<String>,
    /// Number of rounds; an interval needs six
    #[arg(long, value_name = "N", default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
    /// Length of a real client's slices in milliseconds; each round has eighty slices
    #[arg(long, value_name = "MS", default_value_t = SLICE_MS, value_parser = clap::value_parser!(u32).range(50..=10_000))]
    slice_ms: u32,
    /// Repeat the order of an earlier run
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// Measures, and prints a Markdown table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let clients = data::clients(&options.names)?;
    let looptax = workspace::looptax()?;
    let core = pin_to_last_core()?;
    let servers = start_all(&looptax, clients.iter().map(|it| &*it.servers[0]))?;
    let mut coin = Coin::new(options.seed)?;
    let seed = coin.seed;
    let mut measured: Vec<Measured> =
        clients.into_iter().map(|client| Measured { client, versions: String::new(), rounds: Vec::new() }).collect();
    for idx in 0..options.rounds {
        for turn in coin.shuffled(0..measured.len()) {
            let it = &mut measured[turn];
            eprintln!("round {} of {}: {}", idx + 1, options.rounds, it.client.name);
            let server = &servers[&it.client.servers[0]];
            let round = measure(it, server, &looptax, options.slice_ms, &mut coin)
                .with_context(|| format!("cannot measure {}", it.client.name))?;
            it.rounds.push(round);
        }
    }
    let names: Vec<String> = servers.values().map(Server::name).collect();
    println!(
        "{}; one connection, both ends on core {core}; {} rounds of {} slices of {} ms, seed {seed}\n",
        names.join(", "),
        options.rounds,
        8 * OCTETS,
        options.slice_ms
    );
    print!("{}", table::render_table(&measured));
    servers.into_values().try_for_each(Server::stop)
}

fn measure(
    it: &mut Measured,
    server: &Server,
    looptax: &std::path::Path,
    slice_ms: u32,
    coin: &mut Coin,
) -> Result<Round> {
    let slice_s = f64::from(slice_ms) / 1000.0;
    let seconds = f64::from(8 * OCTETS) * slice_s;
    let name = it.client.name.clone();
    let by_model = || model::measure(&name, server, looptax, seconds);
    let first = if coin.flip() { Some(by_model()?) } else { None };
    let (real, versions) = real::measure(&name, server, slice_s, OCTETS, coin)?;
    it.versions = versions;
    let model = match first {
        Some(model) => model,
        None => by_model()?,
    };
    Ok(Round { real, model })
}
