//! Writes the sentence about ports that are held by closed connections, for `find` and `check`.

use std::net::SocketAddr;

use looptax_host::discover::{PortsHeld, ports_held};

/// looptax reports held ports if their share of all ports is at least one divided by this number: a tenth. A quiet
/// server never reaches this share.
const LEAST_SHARE: usize = 10;

/// Reports how many ports towards a server are held in looptax's network namespace; `None` if they are few.
pub(super) fn held(is_server: impl Fn(SocketAddr) -> bool) -> Option<String> {
    let held = ports_held(is_server)?;
    (held.n_held * LEAST_SHARE >= held.n_ports).then(|| words(held))
}

/// The error of a client that finds no free port.
const FAILS: &str = "connecting fails with \"Cannot assign requested address\"";

fn words(held: PortsHeld) -> String {
    let PortsHeld { server, n_held, n_ports, reuse } = held;
    let (most, n_held, n_ports) = (held.most_per_s(), grouped(n_held), grouped(n_ports));
    let end = match reuse {
        None => format!("at {most} connections per second all ports are in use, and {FAILS}"),
        Some(setting) => format!(
            "at {most} connections per second {FAILS}, unless ports can be used again after a second, as on this \
             machine (net.ipv4.tcp_tw_reuse={setting})"
        ),
    };
    format!(
        "closed connections use {n_held} of the {n_ports} ports towards {server}: {end}; a Unix socket needs no ports"
    )
}

/// Writes a number with its digits grouped, such as `14,203`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_has_the_share_and_the_rate_at_which_connecting_fails() {
        let held =
            PortsHeld { server: "127.0.0.1:6379".parse().unwrap(), n_held: 14_203, n_ports: 28_232, reuse: None };
        let said = words(held);
        for part in ["14,203 of the 28,232 ports", "at 470 connections per second", "Cannot assign", "needs no ports"] {
            assert!(said.contains(part), "{part} in {said}");
        }
        let reused = words(PortsHeld { reuse: Some(2), ..held });
        assert!(reused.contains("unless ports can be used again") && reused.contains("tcp_tw_reuse=2"), "{reused}");
        assert!(!said.contains("unless"), "{said}");
        assert_eq!((grouped(7), grouped(1_234_567)), ("7".to_owned(), "1,234,567".to_owned()));
    }
}
