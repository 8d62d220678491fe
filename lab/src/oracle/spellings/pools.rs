//! The values from which settings are drawn, for each kind of server.
//!
//! This file does no I/O. The simplest value comes first, and a missing value before all others, because a false claim
//! is shown with the simplest values that show it.

use std::collections::BTreeMap;

use looptax_model::dsn::Protocol;

use super::ground::{AWKWARD, Ground, NAME, OLD, RIGHT};
use crate::coin::Coin;

/// The names of the values in a template.
pub(crate) const NAMES: [&str; 4] = ["host", "port", "socket", "hostaddr"];

/// A value with its weight in the draw; `None` if the setting is missing.
type Value = (u32, Option<String>);

/// The values for one kind of server, by name.
pub(crate) struct Pools {
    by_name: BTreeMap<&'static str, Vec<Value>>,
}

impl Pools {
    pub(crate) fn of(protocol: Protocol) -> Self {
        let ground = Ground::of(protocol);
        let by_name = [
            ("host", hosts(ground)),
            ("port", ports(ground)),
            ("socket", sockets(ground)),
            ("hostaddr", host_addresses()),
        ];
        Self { by_name: by_name.into() }
    }

    fn of_name(&self, name: &str) -> &[Value] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Draws a value; returns its index in its pool.
    pub(crate) fn draw(&self, name: &str, coin: &mut Coin) -> usize {
        let values = self.of_name(name);
        let total: u32 = values.iter().map(|it| it.0).sum();
        let mut left = (coin.number() % u64::from(total.max(1))) as u32;
        let is_it = |(weight, _): &Value| {
            let is_it = left < *weight;
            left = left.saturating_sub(*weight);
            is_it
        };
        values.iter().position(is_it).unwrap_or_default()
    }

    pub(crate) fn value(&self, name: &str, idx: usize) -> Option<String> {
        self.of_name(name).get(idx)?.1.clone()
    }
}

/// Returns values with their weights; the first entry is the missing value.
fn valued(none: u32, values: impl IntoIterator<Item = (u32, String)>) -> Vec<Value> {
    let named = values.into_iter().map(|(weight, value)| (weight, Some(value)));
    std::iter::once((none, None)).chain(named).collect()
}

fn hosts(ground: Ground) -> Vec<Value> {
    let file = ground.file(RIGHT).display().to_string();
    let (usual, other) = (ground.usual_port, ground.other_port);
    let plain = [
        (8, "localhost"),
        (8, "127.0.0.1"),
        (2, ""),
        (2, "::1"),
        (2, "[::1]"),
        (2, NAME),
        (3, RIGHT),
        (3, &*file),
        (1, "LOCALHOST"),
        (1, "p:localhost"),
        (1, "p:127.0.0.1"),
        (1, "tcp://127.0.0.1"),
        (1, "/srv/nothing"),
    ];
    let made = [
        (1, ground.abstract_name()),
        (2, format!("127.0.0.1:{other}")),
        (2, format!("localhost:{other}")),
        (1, format!("localhost:{usual}")),
        (1, format!("{NAME}:{other}")),
        (1, format!("[::1]:{other}")),
        (1, format!(":{other}")),
        (1, format!("127.0.0.1,{NAME}")),
        (1, format!("{RIGHT},127.0.0.1")),
        (2, format!("{RIGHT}:{other}")),
        (2, format!("localhost:{file}")),
        (2, format!("127.0.0.1:{file}")),
        (2, format!("localhost:{other}:{file}")),
        (1, format!("127.0.0.1:{other}:{file}")),
        (2, format!("unix:{file}")),
        (1, format!("unix://{file}")),
    ];
    let plain = plain.map(|(weight, value)| (weight, value.to_owned()));
    let awkward = AWKWARD.iter().flat_map(|it| [(1, (*it).to_owned()), (1, ground.file(it).display().to_string())]);
    valued(4, plain.into_iter().chain(made).chain(awkward))
}

fn ports(ground: Ground) -> Vec<Value> {
    let (usual, other) = (ground.usual_port.to_string(), ground.other_port.to_string());
    valued(4, [(4, usual), (4, other), (1, "0".to_owned()), (1, String::new())])
}

fn sockets(ground: Ground) -> Vec<Value> {
    let named = |folder: &str| ground.file(folder).display().to_string();
    let first = [(6, named(RIGHT)), (3, named(OLD))];
    let name = ground.abstract_name();
    let odd = ["", RIGHT, &name, "/srv/nothing"].map(|it| (1, it.to_owned()));
    valued(6, first.into_iter().chain(odd).chain(AWKWARD.map(|it| (1, named(it)))))
}

fn host_addresses() -> Vec<Value> {
    valued(6, [(6, "127.0.0.1".to_owned()), (1, "::1".to_owned())])
}
