//! Tests of memcached's text protocol from outside. The tests use no sockets: the peer is a recording.

mod session;
mod workload;
