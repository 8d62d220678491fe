//! Web servers' and proxies' own files: to which server behind them each block hands its requests.
//!
//! Text in, settings with their places out. A setting is the address alone (`127.0.0.1:9000`, `unix:/run/app.sock`), so
//! that whatever stands around it stays; its last name says which directive it belongs to, and so what is spoken there.
//! What goes through TLS is left out. `words` takes a text apart, `sink` keeps
//! what is found; one file for each program. `named` finds whatever else goes to a port. Called by `read` and by `switch`.

mod apache;
mod caddy;
mod haproxy;
mod named;
mod nginx;
mod sink;
mod words;

use super::setting::Read;
pub use named::NamedPort;
pub(crate) use named::named_ports;
use sink::Sink;

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
