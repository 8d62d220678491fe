//! Call chains that are made for the page: any number of them, with function names from real chains.
//!
//! The figures in them mean nothing; only their number and form matter.

use std::collections::BTreeSet;

use looptax_model::record::{Figure, Record, Sampling, Stacks, Why, WhyRow};
use looptax_store::{Stack, pack_stacks};
use looptax_testkit::dice::Dice;

const LAYERS: [&str; 10] = [
    "client, its own code",
    "server, its own code",
    "system call entry and exit",
    "copying the bytes",
    "Unix socket",
    "TCP, IP",
    "loopback device, softirq",
    "waking the other end, scheduler",
    "waiting (poll, epoll, futex)",
    "not attributed",
];
const PROCESSES: [&str; 2] = ["server", "client"];
const FRAMES: [&str; 24] = [
    "start_thread",
    "main",
    "handle_one_connection",
    "do_command(THD*, bool)",
    "dispatch_command(enum_server_command, THD*, char*, unsigned int, bool)",
    "std::vector<int, std::allocator<int> >::operator[](unsigned long) const&",
    "std::operator<< <std::char_traits<char> >(std::basic_ostream<char>&, char const*)",
    "mysql_parse",
    "JOIN::exec",
    "net_write_packet",
    "__libc_send",
    "entry_SYSCALL_64_after_hwframe",
    "do_syscall_64",
    "__x64_sys_sendto",
    "__sys_sendto",
    "sock_sendmsg",
    "tcp_sendmsg_locked",
    "unix_stream_sendmsg",
    "copyin",
    "__schedule",
    "ep_poll",
    "try_to_wake_up",
    "__local_bh_enable_ip",
    "[mariadbd]",
];
const REQUESTS: [u64; 2] = [120_000, 90_000];
/// CPU time of the most expensive chain, in ns.
const DEAREST_NS: usize = 600_000_000;

/// Returns a record with only the first comparison of `real`, with `n_chains` chains in addition to the comparison's
/// own epochs.
pub(super) fn with_why(real: &Record, n_chains: usize) -> Record {
    let mut record = real.clone();
    record.comparisons.truncate(1);
    for comparison in &mut record.comparisons {
        comparison.why = vec![why(n_chains)];
    }
    record
}

/// Puts hostile strings in every place that may contain text from outside.
pub(super) fn make_hostile(why: &mut Why, words: &str) {
    let hostile = || words.to_owned();
    let rows = why.rows.iter_mut().chain(&mut why.counts);
    for row in rows.chain(why.sum.as_mut()) {
        row.name.push_str(words);
    }
    why.sampling.event = hostile();
    why.sampling.notes = vec![hostile()];
    why.invalid = vec![hostile()];
    let chain =
        |ns: u64| Stack { folded: format!("{words};{words};{}", words.repeat(ns as usize)), ns: [1_000 * ns; 2] };
    why.stacks = pack_stacks((1..9).map(chain).collect(), REQUESTS);
}

fn why(n_chains: usize) -> Why {
    let chains = chains(n_chains);
    let of_layer = |layer: usize| {
        let ns = chains.iter().skip(layer).step_by(LAYERS.len());
        row(LAYERS[layer], total_us(ns))
    };
    let rows = (0..LAYERS.len()).map(of_layer).collect();
    let sum = total_us(chains.iter());
    let sampling = Sampling {
        event: "cpu-clock".to_owned(),
        period_ns: 111_111,
        cores: 1,
        sees_kernel: true,
        n_samples: 86_000,
        n_of_others: 120,
        n_lost: 0,
        notes: vec!["The server has no symbols: its own code stands as one frame.".to_owned()],
    };
    Why {
        rows,
        sum: Some(row("sum", sum)),
        by_clocks: Some(row("by the kernel's clocks", sum.map(|us| us * 1.01))),
        without_sampler: Some(row("without the sampler", sum.map(|us| us * 0.98))),
        idle: None,
        sampler_pct: Some(Figure::new(2.1, 1.7, 2.6, 10)),
        counts: vec![row("system calls", [4.0, 4.0]), row("wake-ups", [2.0, 1.02])],
        stacks: packed(chains),
        ..Why::unmeasured([0, 1], sampling, LAYERS.map(str::to_owned).to_vec())
    }
}

fn packed(chains: Vec<Stack>) -> Stacks {
    let mut stacks = pack_stacks(chains, REQUESTS);
    stacks.left_out_ns = [9_000_000, 8_000_000];
    stacks
}

fn row(name: &str, us: [f64; 2]) -> WhyRow {
    let around = |us: f64| Figure::new(us, us - 0.1, us + 0.1, 10);
    WhyRow { name: name.to_owned(), arms: us.map(around), difference: around(us[1] - us[0]), p: Some(0.03) }
}

fn total_us<'a>(chains: impl Iterator<Item = &'a Stack>) -> [f64; 2] {
    let ns = chains.fold([0; 2], |all: [u64; 2], it| [0, 1].map(|side| all[side] + it.ns[side]));
    [0, 1].map(|side| ns[side] as f64 / 1e3 / REQUESTS[side] as f64)
}

/// Makes `n` different chains, the most expensive first.
fn chains(n: usize) -> Vec<Stack> {
    let mut dice = Dice::new(1);
    let mut known = BTreeSet::new();
    let mut chains = Vec::new();
    while chains.len() < n {
        let folded = chain(&mut dice);
        if !known.insert(folded.clone()) {
            continue;
        }
        let ns = (DEAREST_NS / (chains.len() + 3)) as u64;
        let ns = match chains.len() % 5 {
            1 => [ns, 0],
            2 => [0, ns],
            _ => [ns, ns * (80 + dice.below(50) as u64) / 100],
        };
        chains.push(Stack { folded, ns });
    }
    chains
}

/// Makes a process and its calls: often the same few functions, rarely others.
fn chain(dice: &mut Dice) -> String {
    let length = 4 + dice.below(10) + dice.below(16);
    let mut folded = dice.one(&PROCESSES).to_owned();
    for depth in 0..length {
        let seldom = dice.below(4).min(dice.below(4)).min(dice.below(3));
        folded.push(';');
        folded.push_str(FRAMES[(5 * depth + 7 * seldom) % FRAMES.len()]);
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_and_chains_add_up_to_the_same() {
        let why = why(500);
        let unpacked = looptax_store::unpack_stacks(&why.stacks).unwrap();
        assert_eq!(unpacked.len(), 500);
        let us = |row: &WhyRow, side: usize| row.arms[side].known().unwrap().value;
        for side in [0, 1] {
            let rows: f64 = why.rows.iter().map(|it| us(it, side)).sum();
            let chains = total_us(unpacked.iter())[side];
            let sum = us(why.sum.as_ref().unwrap(), side);
            assert!((rows - sum).abs() < 1e-9 && (chains - sum).abs() < 1e-9);
        }
    }
}
