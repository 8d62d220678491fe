//! The files of web servers and proxies: the servers to which each block passes requests.
//!
//! Takes texts, and returns settings with their places. A setting contains only the address (`127.0.0.1:9000`,
//! `unix:/run/app.sock`), so a change keeps the text around it. The last part of the setting's name is the directive,
//! which shows the protocol. Addresses with TLS are left out. `words` splits a text, `sink` collects the addresses,
//! each program has its own file, and `named` finds all other uses of a port. Called by `read` and by `switch`.

mod apache;
mod caddy;
mod haproxy;
mod named;
mod nginx;
mod sink;
mod tree;
mod words;

use super::setting::Read;
pub use named::NamedPort;
pub(crate) use named::named_ports;
use sink::Sink;
pub use tree::{Statement, statements};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    Nginx,
    Apache,
    Caddy,
    Haproxy,
}

pub(crate) fn read(text: &str, proxy: Proxy) -> Read {
    let mut sink = Sink::new(text);
    let mut problems = Vec::new();
    match proxy {
        Proxy::Nginx => nginx::read(&mut sink),
        Proxy::Apache => apache::read(&mut sink),
        Proxy::Caddy => caddy::read(&mut sink),
        Proxy::Haproxy => haproxy::read(&mut sink),
    }
    let settings = sink.sorted();
    if settings.is_empty() && proxy == Proxy::Nginx {
        problems.extend(nginx::includes(text));
    }
    (settings, problems)
}

#[cfg(test)]
mod tests;
