//! Tests of Redis's protocol from outside. The tests use no sockets: the peer is a recording.

mod session;
mod workload;
