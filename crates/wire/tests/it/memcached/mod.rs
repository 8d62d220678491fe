//! memcached's text protocol as seen from outside. No sockets: the peer is a recording.

mod session;
mod workload;
