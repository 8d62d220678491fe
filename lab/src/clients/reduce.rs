//! Reduces a list of system calls to the calls of one request.
//!
//! This file does no I/O. The loop reads a line from stdin before each series of requests and writes a line to stdout
//! after it, so the trace itself shows where the second series begins and ends. Only the second series counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::data::Reduced;
use super::strace::Call;

/// Reduces the second series of requests; `None` if there is no second series.
pub(crate) fn reduce(calls: &[Call]) -> Option<Reduced> {
    let series = second_series(calls)?;
    let socket_threads: BTreeSet<u32> =
        series.iter().filter(|call| call.is_on_socket()).map(|call| call.thread).collect();
    let requests = split(series);
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    for call in series.iter().filter(|call| is_part(call)) {
        *counts.entry(word(call)).or_default() += 1.0;
    }
    for n in counts.values_mut() {
        *n /= requests.len() as f64;
    }
    let mut sequences: HashMap<Vec<String>, usize> = HashMap::new();
    for request in &requests {
        let ours = request.iter().filter(|call| socket_threads.contains(&call.thread) && is_part(call));
        *sequences.entry(ours.map(word).collect()).or_default() += 1;
    }
    // If two sequences are equally frequent, the shorter one is chosen, so that the result is always the same.
    let (sequence, n) = sequences.into_iter().max_by_key(|(sequence, n)| (*n, std::cmp::Reverse(sequence.clone())))?;
    Some(Reduced {
        requests: requests.len(),
        sequence,
        share_pct: round(100.0 * n as f64 / requests.len() as f64, 10.0),
        calls: counts.into_iter().map(|(word, n)| (word, round(n, 1000.0))).filter(|(_, n)| *n >= 0.01).collect(),
    })
}

fn round(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}

fn second_series(calls: &[Call]) -> Option<&[Call]> {
    let is_read = |call: &Call| call.descriptor().is_some_and(|(fd, _)| fd == 0) && call.number() > 0;
    let mut reads = (0..calls.len()).filter(|idx| is_read(&calls[*idx]));
    let begin = reads.nth(1)? + 1;
    let is_answer = |call: &Call| call.descriptor().is_some_and(|(fd, _)| fd == 1);
    let n_calls = calls[begin..].iter().position(is_answer)?;
    Some(&calls[begin..begin + n_calls])
}

/// Splits a series into requests: each begins with its send and ends before the next request's send.
fn split(series: &[Call]) -> Vec<&[Call]> {
    let mut begins = Vec::new();
    let mut is_answered = true;
    for (idx, call) in series.iter().enumerate().filter(|(_, call)| call.is_on_socket()) {
        if is_send(call) && is_answered {
            begins.push(idx);
            is_answered = false;
        } else if !is_send(call) && is_receive(call) && call.number() > 0 {
            is_answered = true;
        }
    }
    let ends = begins.iter().skip(1).copied().chain([series.len()]);
    let ranges = begins.iter().zip(ends);
    ranges.map(|(begin, end)| &series[*begin..end]).collect()
}

pub(crate) fn is_send(call: &Call) -> bool {
    ["write", "send"].iter().any(|it| call.name.starts_with(it))
}

fn is_receive(call: &Call) -> bool {
    ["read", "recv"].iter().any(|it| call.name.starts_with(it))
}

/// Checks whether a call belongs to the client itself. Calls on stdin and stdout do not, nor do reads of the files from
/// which a language runtime learns the size of the memory.
fn is_part(call: &Call) -> bool {
    call.descriptor().is_none_or(|(fd, what)| fd > 2 && !what.starts_with('/'))
}

/// Returns a short description of the call: `recvfrom EAGAIN`, `poll nothing`, `write eventfd`.
fn word(call: &Call) -> String {
    let kind = call.descriptor().filter(|_| !call.is_on_socket());
    let kind = kind.map(|(_, what)| {
        let what = what.trim_start_matches("anon_inode:");
        let name = what.split([':', '>']).next().unwrap_or_default();
        name.trim_matches(['[', ']'])
    });
    let kind = kind.filter(|kind| *kind != "eventpoll");
    let words = std::iter::once(call.name.as_str()).chain(kind);
    words.chain(call.particulars()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::strace;

    const SEND: &str = "1 sendto(3<TCP:[a->b]>, \"x\"..., 30, 0, NULL, 0) = 30\n";
    const NONE: &str =
        "1 recvfrom(3<TCP:[a->b]>, 0x1, 9, MSG_DONTWAIT) = -1 EAGAIN (Resource temporarily unavailable)\n";
    const POLL: &str = "1 poll([{fd=3<TCP:[a->b]>, events=POLLIN}], 1, -1) = 1 ([])\n";
    const TAKE: &str = "1 recvfrom(3<TCP:[a->b]>, \"x\"..., 9, 0) = 9\n";
    const OTHER: &str = "2 futex(0x1, FUTEX_WAIT, 0, NULL) = 0\n";
    const FILE: &str = "1 read(9</sys/fs/memory.stat>, \"x\"..., 9) = 9\n";

    fn trace(requests: &str) -> Option<Reduced> {
        let line = |fd| format!("1 read(0<pipe:[5]>, \"{fd}\"..., 4096) = 4\n");
        let answer = "1 write(1<pipe:[6]>, \"5\"..., 20) = 20\n";
        let warm_up = [SEND, TAKE].concat();
        let text = [&line(5), &warm_up, answer, &line(9), requests, answer].concat();
        reduce(&strace::calls(&text))
    }

    #[test]
    fn takes_the_second_series_and_its_most_frequent_request() {
        let usual = [SEND, NONE, POLL, TAKE].concat();
        let hurried = [SEND, OTHER, TAKE].concat();
        let found = trace(&[&usual, &hurried, FILE, &usual].map(AsRef::<str>::as_ref).concat()).unwrap();
        assert_eq!(found.requests, 3);
        let words = ["sendto", "recvfrom EAGAIN", "poll", "recvfrom"];
        assert_eq!(found.sequence, words);
        assert!((found.share_pct - 66.7).abs() < 1e-9);
        let per_request = |word: &str| found.calls[word];
        assert!((per_request("sendto") - 1.0).abs() < 1e-9);
        assert!((per_request("poll") - 0.667).abs() < 1e-9);
        assert!((per_request("futex") - 0.333).abs() < 1e-9);
        assert_eq!(found.calls.len(), 5);
    }

    #[test]
    fn two_sends_and_two_receives_may_be_one_request_each_way() {
        let found = trace(&[SEND, SEND, TAKE, NONE, SEND, SEND, TAKE].concat()).unwrap();
        assert_eq!(found.requests, 2);
        assert!((found.calls["sendto"] - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_trace_without_requests_is_none() {
        assert!(trace(OTHER).is_none());
        assert!(reduce(&[]).is_none());
    }
}
