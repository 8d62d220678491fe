//! The number of system calls and context switches per request, and what they explain.
//!
//! These are counts and not times, so they are the same on a noisy and on a quiet machine.

use looptax_model::record::{Arm, Client, Comparison};

use super::sentence;
use crate::format::Text;

/// From this number of switches per request on, a blocked client is woken more than once. Waiting for a reply takes one
/// switch; if the count is well above one, there are other wake-ups.
const WOKEN_AGAIN: f64 = 1.2;

/// Returns one line with the counts of every arm, and another line if the counts explain the difference.
pub(crate) fn count_sentences(comparison: &Comparison, text: Text) -> Vec<String> {
    let place = sentence::place(comparison, text);
    let counts: Vec<String> = comparison.arms.iter().filter_map(|arm| counts(arm, text)).collect();
    if counts.is_empty() {
        return Vec::new();
    }
    let mut lines =
        vec![format!("{place}: the client's system calls and context switches per request: {}", counts.join("; "))];
    lines.extend(woken_again(comparison, &place, text));
    lines
}

fn counts(arm: &Arm, text: Text) -> Option<String> {
    let calls = arm.syscalls_per_query?;
    let switches = arm.context_switches_per_query.known();
    let switches = switches.map_or_else(String::new, |switches| format!(", {} switches", text.per_request(switches)));
    Some(format!(
        "{} {:.2} send, {:.2} receive, {:.2} wait{switches}",
        text.clean(&arm.name),
        calls.send,
        calls.receive,
        calls.wait
    ))
}

/// Returns a sentence if the client is woken more than once per request over the socket. When the peer has read a
/// message and there is space to write again, Linux wakes every process that sleeps on a Unix socket, including a
/// process that sleeps in `recv`. `poll` filters out such wake-ups.
///
/// # Source
/// `unix_write_space` in `net/unix/af_unix.c`; call stacks of `sched_waking` in
/// docs/src/results/clients.md.
fn woken_again(comparison: &Comparison, place: &str, text: Text) -> Option<String> {
    // Requests with several replies have to wake their client several times, too.
    let is_one_answer = comparison.workload.stream.is_none() && comparison.workload.name != "connect";
    if comparison.client != Client::Block || !is_one_answer {
        return None;
    }
    let (arm, switches) = comparison.arms.iter().find_map(|arm| {
        let switches = arm.context_switches_per_query.known()?.value;
        (arm.proof.family == "AF_UNIX" && switches > WOKEN_AGAIN).then_some((arm, switches))
    })?;
    Some(format!(
        "{place}: on {} a client that blocks in receive leaves its core {switches:.1} times per request, \
         although once is enough to wait for one answer; Linux is known to wake such a client too early, when the \
         server has read the request; this wake-up would hide a part of the tax, and --client poll shows that part",
        text.clean(&arm.name)
    ))
}
